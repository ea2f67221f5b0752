// Package kserve reproduces the shell script in KServe's LLM inference configurations, bug for bug,
// for those who must replace it without a change of behaviour. It reads the file tree as the script
// does, with grep's patterns and in the order of bash's tables, and shares nothing with
// [launch.Derive] but the [launch.Plan] that comes out.
//
//	plan, err := kserve.Derive(root.FS(), map[string]string{"KSERVE_INFER_ROCE": "true"})
//	text, err := launch.Format(plan, launch.FormatShell)
//
// The functions of the package may be called concurrently.
package kserve
