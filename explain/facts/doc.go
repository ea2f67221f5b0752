// Package facts is what logs and captures say about a job, before anything is concluded: nodes,
// ranks, networks, devices, GIDs, versions, settings, failures in their order, and what can't be
// seen. Each fact has the places where it was read.
//
//	f := facts.New(store)
//	for _, n := range f.Nodes {
//		fmt.Println(n.Name, n.Networks, n.Devices)
//	}
//	origin := f.Failures[0] // who failed first; its Echoes only noticed
//
// Facts are plain data, safe to read from several goroutines.
package facts
