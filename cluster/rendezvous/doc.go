// Package rendezvous lets the tasks of a job find their leader and trust it, and lets the leader
// trust them, with what a launcher or the site offers.
//
//	way, err := rendezvous.Choose(ctx, task, os.Getenv)
//	defer way.Close()
//	err = way.Publish(ctx, invitation)      // the leader
//	invitation, err := way.Find(ctx, nil)   // a worker
//	err = way.Pass(ctx)                     // a task that is neither
//
// Two ways carry the invitation: the key-value space of PMI ([PMI]), which only the tasks of the
// job can read, and a file in a shared home that only its owner can read ([File]). With the two
// others a worker knows only the address of the leader, and both ends prove to each other who they
// are ([Trust]): by MUNGE that they are processes of the same user ([Munge]), or that they know the
// same secret ([Token]). Proofs are bound to the certificates of both ends, so that nobody in
// between can use one; they and the connection carry no secret.
//
// The identification of a job, which everybody on a cluster can see, is part of proofs and of names
// of files, but no way relies on it as a secret.
//
// The methods of a Way must not be called concurrently, those of a Trust may. All waiting ends with
// the context.
package rendezvous
