package impact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAlso has two nodes with one policy; one of them already has the firmware settings for it.
func TestAlso(t *testing.T) {
	pf := func(vfs, total string) string {
		return pfText("ens1", a0, "linkType: IB, numVfs: "+vfs+", totalvfs: "+total)
	}
	r := Run(input(t, policyText("p", "numVfs: 4, linkType: IB, priority: 1, nicSelector: {pfNames: [ens1]}"),
		stateText("a", "", "", pf("0", "4"))+stateText("b", "", "", pf("0", "8"))))
	got := map[string][]string{}
	for i := range r.Nodes {
		r.Nodes[i].avoids(func(a *Avoid) { got[a.Change] = a.Also })
	}
	want := []string{"a"}
	if diff := cmp.Diff(want, got["numVfs: 8, as in the firmware, in policy p"]); diff != "" {
		t.Errorf("nodes that the change of numVfs hits as well (-want +got):\n%s\n%v", diff, got)
	}
	if also, ok := got["SRIOV_EN=1 NUM_OF_VFS=4 set with mstconfig beforehand, "+
		"followed by a planned reboot"]; !ok || also != nil {
		t.Errorf("a change to the firmware hits %v, %t, want no other node", also, ok)
	}
}
