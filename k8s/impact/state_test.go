package impact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnderWay checks the operator's work in progress on a node without changes.
func TestUnderWay(t *testing.T) {
	card := pfText("ens1", a0, "linkType: IB, mtu: 4092, numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF))
	with := func(annotations, status string) string {
		text := stateText("n", wantsText, status, card)
		return strings.Replace(text, "namespace: sriov}", "namespace: sriov, annotations: {"+annotations+"}}", 1)
	}
	const wanted, now = "sriovnetwork.openshift.io/desired-state: ", ", sriovnetwork.openshift.io/current-state: "
	tests := []struct {
		name, state, more string
		want, notes       []string
	}{
		{"at rest", with(wanted+"Idle"+now+"Idle", "syncStatus: Succeeded"), "", []string{"nothing"}, nil},
		{"no annotations", with("", "syncStatus: Succeeded"), "", []string{"nothing"}, nil},
		{
			"waits for a drain", with(wanted+"Drain_Required"+now+"Idle", "syncStatus: InProgress"), "",
			[]string{"drain", "node drain-pending drain"},
			nil,
		},
		{
			"waits for the drain before a reboot", with(wanted+"Reboot_Required"+now+"Idle", ""), "",
			[]string{"drain", "node drain-pending drain"},
			nil,
		},
		{
			"waits, draining disabled", with(wanted+"Drain_Required"+now+"Idle", ""), configText("disableDrain: true"),
			[]string{"disrupt", "node drain-pending disrupt"},
			nil,
		},
		{
			"drains", with(wanted+"Drain_Required"+now+"Draining", "syncStatus: InProgress"), "",
			[]string{"nothing"},
			[]string{"the node is already draining"},
		},
		{"drained", with(wanted+"Drain_Required"+now+"DrainComplete", ""), "", []string{"nothing"}, []string{
			"the node is already drained, and the daemon is configuring it",
		}},
		{"at work", with(wanted+"Idle"+now+"Idle", "syncStatus: InProgress"), "", []string{"nothing"}, []string{
			"the daemon is configuring the node, and the recorded state may change",
		}},
		{"failed", with("", "syncStatus: Failed, lastSyncError: no such device"), "", []string{"nothing"}, []string{
			"the daemon failed on the node: no such device",
		}},
		{
			"failed, and nothing says why", with("", "syncStatus: Failed"), "",
			[]string{"nothing"},
			[]string{"the daemon failed on the node"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(input(t, policyText("p", "numVfs: 4, linkType: IB, nicSelector: {pfNames: [ens1]}"),
				tt.more+tt.state))
			if diff := cmp.Diff(tt.want, short(r.Nodes[0])); diff != "" {
				t.Errorf("forecast differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.notes, r.Nodes[0].Notes); diff != "" {
				t.Errorf("notes differ (-want +got):\n%s", diff)
			}
		})
	}
}
