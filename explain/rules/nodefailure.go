package rules

import (
	"fmt"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// failedNode puts the node in the finding of Slurm's DUE TO NODE FAILURE, whose line names the node
// that prints it: the failed one is the peer that all lost connections have in common.
func failedNode(f *facts.Facts, x *Finding) {
	if x.Failure.Event.Fields["line"] != "node-failure" {
		return
	}
	x.What = "a node of the job failed"
	peer := ""
	var lost []evidence.Place
	for e := range f.Store.Of(evidence.NCCLPeerClosed) {
		name := e.Fields["peer"]
		if name == "" || peer != "" && name != peer {
			return
		}
		peer, lost = name, append(lost, e.Place)
	}
	if peer == "" {
		return
	}
	x.What = fmt.Sprintf("a node of the job failed, probably %s", peer)
	for i := range x.Causes {
		if c := &x.Causes[i]; c.Slug == "dead-node" {
			text := "all lost connections were to " + peer
			c.Weight += hint
			c.For = append(c.For, Evidence{Text: text, Places: lost[:min(len(lost), 3)]})
			c.Decide = "sinfo -R; the console and dmesg of " + peer
		}
	}
}
