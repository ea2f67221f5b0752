// Package process is the edge to processes: becoming another program, as execvp does it, and
// reading what the kernel tells of another one.
//
//	gate := process.NewGate() // no signal is lost on the way
//	files := process.Find(args[0], os.Getenv("PATH"))
//	p := process.Program{Args: args, Files: files, Environ: environ}
//	if s := gate.Close(); s == nil {
//		err = p.Start(process.Exec) // returns only if it fails
//	}
package process
