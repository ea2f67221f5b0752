// Package pmi is a client of the process managers that speak PMI-1: mpiexec of MPICH and its
// relatives (Hydra), and Slurm's plugin pmi2. Tasks of a job exchange short texts through its
// key-value space.
//
//	c, err := pmi.Open(ctx, os.Getenv)
//	if c.Rank() == 0 {
//		err = c.Put(ctx, "rdmakit", text)
//	}
//	err = c.Barrier(ctx) // every task of the job
//	text, err = c.Get(ctx, "rdmakit")
//	err = c.Close(ctx)
//
// A value is visible to others, and with Hydra even to its own task, only after the next barrier. A
// barrier returns when all tasks of the job have entered it: tasks that have nothing to exchange
// must open a client, too, enter as many barriers and close it. Hydra ends the job if a task ends
// that has opened a client and not closed it.
//
// The protocol is lines of text over an inherited socket (PMI_FD), or over a TCP connection
// (PMI_PORT and PMI_ID, mpiexec -pmi-port). Its description is src/pmi/src/pmi_v1.c of MPICH, and
// src/plugins/mpi/pmi2/pmi1.c of Slurm is another server. Process managers pass the values on over
// their own connections between the nodes, which neither of the two encrypts.
//
// A client must not be used by several goroutines at once. All calls end with their context.
package pmi
