// Package process replaces the process with another program, like execvp, and reads data about
// other processes from the kernel.
//
//	gate := process.NewGate() // no signal is lost before Exec
//	files := process.Find(args[0], os.Getenv("PATH"))
//	p := process.Program{Args: args, Files: files, Environ: environ}
//	if s := gate.Close(); s == nil {
//		err = p.Start(process.Exec) // returns only if it fails
//	}
//
// It also runs programs that answer on standard output, within limits:
//
//	text, err := process.Command{File: "lldpctl", Limit: time.Second, MaxOutput: 1 << 20}.Output(ctx)
package process
