package impact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEffective merges policies for one PF as the operator does.
func TestEffective(t *testing.T) {
	state := stateText("n", "", "", pfText("ens1", a0, "linkType: IB, mtu: 4092, totalvfs: 8"))
	tests := []struct {
		name, apply string
		// want: VFs, MTU, groups and what each policy does.
		want string
	}{
		{
			"one", policyText("a", "numVfs: 4, mtu: 1500, nicSelector: {vendor: \"15b3\"}"),
			"4 VFs mtu 1500 a 0-3; a decides",
		},
		{
			"lower number wins",
			policyText("a", "priority: 10, numVfs: 4, mtu: 1500, nicSelector: {vendor: \"15b3\"}") + policyText("b",
				"priority: 20, numVfs: 8, mtu: 9000, nicSelector: {vendor: \"15b3\"}"),
			"4 VFs mtu 1500 a 0-3; b overridden a decides",
		},
		{
			"equal priority: the later name, the higher figures",
			policyText("a", "priority: 10, numVfs: 8, mtu: 9000, nicSelector: {vendor: \"15b3\"}") + policyText("b",
				"priority: 10, numVfs: 4, mtu: 1500, nicSelector: {vendor: \"15b3\"}"),
			"8 VFs mtu 9000 b 0-3; a overridden b decides",
		},
		{
			"ranges", policyText("a", "priority: 20, numVfs: 8, mtu: 9000, nicSelector: {pfNames: [\"ens1#4-7\"]}") +
				policyText("b", "priority: 10, numVfs: 4, nicSelector: {pfNames: [\"ens1#0-3\"]}"),
			"8 VFs mtu 9000 b 0-3 a 4-7; a shares b decides",
		},
		{
			"ranges that overlap", policyText("a", "priority: 20, numVfs: 8, nicSelector: {pfNames: [\"ens1#3-7\"]}") +
				policyText("b", "priority: 10, numVfs: 4, nicSelector: {pfNames: [\"ens1#0-3\"]}"),
			"4 VFs mtu 0 b 0-3; a overridden b decides",
		},
		{
			"one resource", policyText("a", "priority: 20, numVfs: 8, nicSelector: {pfNames: [\"ens1#4-7\"]}") +
				strings.Replace(policyText("b", "priority: 10, numVfs: 4, nicSelector: {pfNames: [\"ens1#0-3\"]}"),
					"resourceName: b", "resourceName: a", 1),
			"4 VFs mtu 0 b 0-3; a overridden b decides",
		},
		{
			"a range behind another name is lost",
			policyText("a", "numVfs: 8, nicSelector: {pfNames: [\"altens1#4-7\"]}"), "8 VFs mtu 0 a 0-7; a decides",
		},
		{
			"equal priority, in whatever order they stand",
			policyText("b", "priority: 10, numVfs: 4, nicSelector: {vendor: \"15b3\"}") + policyText("a",
				"priority: 10, numVfs: 4, nicSelector: {vendor: \"15b3\"}"),
			"4 VFs mtu 0 b 0-3; a overridden b decides",
		},
		{
			"a dash too many", policyText("a", "numVfs: 8, nicSelector: {pfNames: [\"ens1#0-3-5\"]}"),
			"8 VFs mtu 0 a 0-3; a decides",
		},
		{
			"two marks are no range", policyText("a", "numVfs: 8, nicSelector: {pfNames: [\"ens1##4-7\"]}"),
			"8 VFs mtu 0 a 0-7; a decides",
		},
		{
			"no VFs change nothing",
			policyText("a", "priority: 20, numVfs: 8, nicSelector: {vendor: \"15b3\"}") + policyText("b",
				"priority: 10, numVfs: 0, nicSelector: {vendor: \"15b3\"}"), "8 VFs mtu 0 a 0-7; a decides",
		},
		{"without a priority: 0", policyText("a", "numVfs: 8, nicSelector: {vendor: \"15b3\"}") + policyText(
			"b", "priority: 10, numVfs: 4, nicSelector: {vendor: \"15b3\"}",
		), "8 VFs mtu 0 a 0-7; b overridden a decides; differs"},
		{
			"with the webhook: 99",
			configText("enableOperatorWebhook: true") + policyText("a", "numVfs: 8, nicSelector: {vendor: \"15b3\"}") +
				policyText("b", "priority: 10, numVfs: 4, nicSelector: {vendor: \"15b3\"}"),
			"4 VFs mtu 0 b 0-3; a overridden b decides",
		},
		{
			"the webhook is off",
			configText("enableOperatorWebhook: false") + policyText("a", "numVfs: 8, nicSelector: {vendor: \"15b3\"}") +
				policyText("b", "priority: 10, numVfs: 4, nicSelector: {vendor: \"15b3\"}"),
			"8 VFs mtu 0 a 0-7; b overridden a decides",
		},
		{"default is ignored", policyText("default", "numVfs: 8, nicSelector: {vendor: \"15b3\"}"), "none"},
		{"empty selector", policyText("a", "numVfs: 8, nicSelector: {}"), "none"},
		{"net filter", policyText("a", "numVfs: 8, nicSelector: {netFilter: \"aws/NetworkID:1\"}"), "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := Run(input(t, tt.apply, state))
			got := "none"
			if cards := r.Nodes[0].Cards; len(cards) > 0 {
				got = describe(cards[0])
			}
			if len(r.Nodes[0].Unknown) > 0 {
				got += "; differs"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("setting differs (-want +got):\n%s", diff)
			}
		})
	}
}

func describe(c Card) string {
	out := fmt.Sprintf("%d VFs mtu %d", c.Wanted.VFs, c.Wanted.MTU)
	for _, g := range c.Wanted.Groups {
		out += fmt.Sprintf(" %s %d-%d", g.Policy, g.First, g.Last)
	}
	out += ";"
	for _, a := range c.Policies {
		out += " " + a.Policy + " " + a.Effect
	}
	return out
}

// TestUnused names policies that select nothing, and those that the operator doesn't read.
func TestUnused(t *testing.T) {
	in := input(t, policyText("a", "numVfs: 4, nicSelector: {pfNames: [ens9]}")+"---\n"+
		"apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\n"+
		"metadata: {name: b, namespace: default}\n"+
		"spec: {numVfs: 4, nodeSelector: {}, nicSelector: {pfNames: [ens1]}}\n",
		stateText("n", "", "", pfText("ens1", a0, "linkType: IB")))
	r := Run(in)
	if diff := cmp.Diff([]string{"a"}, r.Unused); diff != "" {
		t.Errorf("Unused differs (-want +got):\n%s", diff)
	}
	if len(r.NoNode) > 0 {
		t.Errorf("NoNode = %q, want none: the policy takes the node, whose cards don't fit", r.NoNode)
	}
	if len(r.Ignored) != 1 {
		t.Errorf("Ignored = %q, want policy b, which is in another namespace than the states", r.Ignored)
	}
}

// TestNoNode distinguishes a policy whose labels no node has from one that matches no card.
func TestNoNode(t *testing.T) {
	apply := strings.Replace(policyText("a", "numVfs: 4, nicSelector: {pfNames: [ens1]}"), "nodeSelector: {}",
		`nodeSelector: {rdma: "on"}`, 1)
	in := input(t, apply,
		stateText("n", "", "", pfText("ens1", a0, "linkType: IB"))+
			"---\napiVersion: v1\nkind: Node\nmetadata: {name: n, labels: {rdma: \"off\"}}\n")
	r := Run(in)
	if diff := cmp.Diff([]string{"a"}, r.NoNode); diff != "" {
		t.Errorf("NoNode differs (-want +got):\n%s", diff)
	}
}

// TestAssumedPriority checks the default for a missing priority, and its reason.
func TestAssumedPriority(t *testing.T) {
	const pick = "numVfs: 8, nicSelector: {vendor: \"15b3\"}"
	node := stateText("n", "", "", pfText("ens1", a0, "linkType: IB, totalvfs: 8"))
	tests := []struct{ name, apply, cluster, want string }{
		{"unknown", policyText("a", pick), node, "no priority in policy a: assumed 0, the highest, because it is " +
			"unknown whether the operator's webhook is on, which would set 99, the lowest"},
		{"on", policyText("a", pick), configText("enableOperatorWebhook: true") + node, "no priority in policy a: " +
			"the operator's webhook sets 99, the lowest (enableOperatorWebhook is true)"},
		{"off", policyText("a", pick), configText("enableOperatorWebhook: false") + node, "no priority in policy a: " +
			"0, the highest, because the operator's webhook is off (enableOperatorWebhook isn't true)"},
		{"off by default", policyText("a", pick), configText("") + node, "no priority in policy a: 0, the highest, " +
			"because the operator's webhook is off (enableOperatorWebhook isn't true)"},
		{
			"of the cluster", "", configText("enableOperatorWebhook: true") + policyText("a", pick) + node,
			"no priority in policy a of the cluster: 0, the highest, because no webhook set one",
		},
		{"written", policyText("a", "priority: 5, "+pick), node, ""},
	}
	for _, tt := range tests {
		got := ""
		for _, text := range Run(input(t, tt.apply, tt.cluster)).Assumptions {
			if strings.HasPrefix(text, "no priority") {
				got += text
			}
		}
		if got != tt.want {
			t.Errorf("%s: assumed %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestAssumedPriorityKeepsOthers checks the priorities after the webhook while the cards of other
// policies stay unchanged.
func TestAssumedPriorityKeepsOthers(t *testing.T) {
	const pick = "numVfs: 8, linkType: IB, nicSelector: {pfNames: [ens1]}"
	spec := `{interfaces: [{pciAddress: "0000:2d:00.0", name: ens2, numVfs: 4, linkType: IB, vfGroups: ` +
		`[{resourceName: q, deviceType: netdevice, vfRange: 0-3, policyName: q}]}]}`
	node := stateText("n", spec, "", pfText("ens1", a0, "linkType: IB, totalvfs: 8"),
		pfText("ens2", "0000:2d:00.0", "linkType: IB, numVfs: 4, totalvfs: 4, "+vfsText(4, kernelVF)))
	r := Run(input(t, policyText("a", pick)+policyText("b", "priority: 10, "+pick), node))
	if diff := cmp.Diff([]string{"nothing", "ens1 first-vfs nothing", "unknown"}, short(r.Nodes[0])); diff != "" {
		t.Errorf("forecast differs (-want +got):\n%s\n%q", diff, r.Nodes[0].Unknown)
	}
}
