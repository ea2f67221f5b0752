// Package kserve reproduces the shell script in KServe's LLM inference configurations, including
// its errors, to replace it without a change of behaviour. It reads the file tree like the script,
// with grep's patterns and in the order of bash's hash tables. It shares no code with
// [launch.Derive], only the [launch.Plan] that both return.
//
//	plan, err := kserve.Derive(root.FS(), map[string]string{"KSERVE_INFER_ROCE": "true"})
//	text, err := launch.Format(plan, launch.FormatShell)
//
// The functions of the package may be called concurrently.
package kserve
