// Package evidence is the common form of what logs, captures and reports of RDMA programs say:
// lines, the processes that wrote them, and events with named fields.
//
//	store := evidence.NewStore(evidence.Limits{})
//	for _, form := range forms { // tables of forms, one for each program
//		if e, ok := form.Read(&line); ok {
//			store.Add(e)
//		}
//	}
//	for e := range store.Of("nccl.completion") { … }
//
// Readers of logs turn lines into events; facts and rules read events only, so that they don't
// depend on the form that a release of a program uses. A [Store] holds a bounded number of events
// and counts the others, so that logs of any size can be read. One goroutine may use a Store.
package evidence
