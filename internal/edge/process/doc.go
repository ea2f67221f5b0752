// Package process replaces the process with another program, like execvp, and reads data about
// other processes from the kernel.
//
//	gate := process.NewGate() // no signal is lost before Exec
//	files := process.Find(args[0], os.Getenv("PATH"))
//	p := process.Program{Args: args, Files: files, Environ: environ}
//	if s := gate.Close(); s == nil {
//		err = p.Start(process.Exec) // returns only if it fails
//	}
package process
