// Package logline reads the lines of logs without what launchers, containers and terminals put
// around them, and keeps what these prefixes say: rank, host, process and time.
//
//	r := logline.NewReader(file, "job.log")
//	for r.Next() {
//		line := r.Line() // Text "node1:12:40 [0] NCCL INFO …", Process.Rank 3
//	}
//	if err := r.Err(); err != nil { … }
//
// It knows the prefixes of mpirun, srun, torchrun, Ray, DeepSpeed, kubectl, the container runtimes'
// log files, docker's json-file, docker compose, the journal and syslog, the kernel's log, and time
// stamps of several forms, in any order, and ANSI colours, also those whose escape byte got lost.
// Memory is bounded: of a line that is longer than [MaxLine] the rest is skipped. One goroutine may
// use a Reader.
package logline
