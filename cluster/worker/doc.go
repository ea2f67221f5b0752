// Package worker measures on the cards of one node what a leader asks for: bandwidth by RDMA WRITE,
// round trips by SEND, all-reduce over host memory.
//
//	w := worker.New(worker.Config{Node: node})
//	defer w.Close()
//	reply := w.Do(ctx, command) // of package protocol
//
// Devices stay open from the survey to the end, queue pairs live for one round. Each end of a
// connection has its own protection domain, memory and completion queues, and one goroutine while
// it measures. A measurement that fails is a failure in the reply; it doesn't end the others.
package worker
