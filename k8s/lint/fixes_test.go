package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFixes checks the remedies that depend on the finding: "" for none.
func TestFixes(t *testing.T) {
	capabilities := func(text string) string {
		return "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovIBNetwork\nmetadata: {name: a, namespace: b}\n" +
			"spec: {resourceName: rail0, capabilities: '" + text + "'}\n"
	}
	ranged := func(ipam string) string {
		return fill(somePolicy, "SPEC",
			"linkType: ib, nicSelector: {pfNames: [ens1]}") + fill(someNetwork, "IPAM", ipam)
	}
	priorities := func(wide, single string) string {
		return fill(somePolicy, "NAME", "a", "SPEC", wide+`nicSelector: {vendor: "15b3"}`) + fill(somePolicy, "NAME",
			"b", "SPEC", single+`nicSelector: {vendor: "15b3", pfNames: [ens1]}`)
	}
	card := card0("linkType: IB, totalvfs: 8")
	for _, tt := range []struct {
		name, rule, in, nodes string
		want                  []string
	}{
		{"mac on InfiniBand", "network-capabilities", capabilities(`{"mac": true}`), "", []string{
			`capabilities: '{"infinibandGUID": true}'`,
		}},
		{"nothing alike", "network-capabilities", capabilities(`{"bandwidth": true}`), "", []string{""}},
		{"in quotes", "network-capabilities", capabilities(`{"infinibandGUID": "true"}`), "", []string{
			`capabilities: '{"infinibandGUID": true}'`,
		}},

		{
			"a wider range", "ipam-capacity", ranged(`{"type": "whereabouts", "range": "192.168.0.0/29"}`), card,
			[]string{"range: 192.168.0.0/28"},
		},
		{"bounds stand in the way", "ipam-capacity", ranged(`{"type": "whereabouts", "range": "192.168.0.0/24", ` +
			`"range_start": "192.168.0.10", "range_end": "192.168.0.12"}`), card, []string{""}},
		{"a start alone", "ipam-capacity", ranged(
			`{"type": "host-local", "subnet": "192.168.0.0/29", "rangeStart": "192.168.0.4"}`), card, []string{""}},
		{
			"bounds in the range", "ipam-capacity",
			ranged(`{"type": "whereabouts", "range": "192.168.0.10-192.168.0.12/24"}`), card,
			[]string{""},
		},
		{
			"several ranges", "ipam-capacity",
			ranged(`{"type": "whereabouts", "ipRanges": [{"range": "192.168.0.0/24"}, {"range": "192.168.1.0/29"}]}`),
			card,
			[]string{""},
		},

		{
			"below the one that wins", "priority-order", priorities("priority: 20, ", "priority: 30, "), card,
			[]string{"priority: 19"},
		},
		{"nothing is below 0", "priority-order", priorities("priority: 0, ", "priority: 30, "), card, []string{""}},
		{"with the webhook", "priority-order", priorities("priority: 20, ", ""), card, []string{"priority: 19"}},
		{"with the webhook, nothing is below 0", "priority-order", priorities("priority: 0, ", ""), card, []string{""}},
	} {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			var got []string
			for _, f := range check(t, tt.rule, tt.in, tt.nodes) {
				got = append(got, f.Fix)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fixes of %s differ (-want +got):\n%s", tt.rule, diff)
			}
		})
	}
}
