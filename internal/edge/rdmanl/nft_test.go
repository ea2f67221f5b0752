package rdmanl

import (
	"bytes"
	"slices"
	"testing"
)

func TestDecodeFilter(t *testing.T) {
	check(t, "filter-chains", decodeAll(t, "filter-chains", decodeFilterChain), []FilterChain{
		{Family: NFPROTO_INET, Table: "t", Name: "other"},
		{
			Family: NFPROTO_INET, Table: "t", Name: "c", Type: "filter", Hook: new(uint32(1)), Priority: -10,
			Policy: new(uint32(0)),
		},
	})
	rule := func(verdict, target string, conditions ...FilterCondition) FilterRule {
		return FilterRule{
			Family: NFPROTO_INET, Table: "t", Chain: "c", Verdict: verdict, Target: target, Conditions: conditions,
		}
	}
	is := func(key, op string, low ...byte) FilterCondition { return FilterCondition{Key: key, Op: op, Low: low} }
	udp, tcp, ipv4 := is("l4proto", "==", 17), is("l4proto", "==", 6), is("nfproto", "==", 2)
	back := rule("return", "", udp, is("dport", "==", 0x48, 0x53))
	back.Chain = "other"
	check(t, "filter-rules", decodeAll(t, "filter-rules", decodeFilterRule), []FilterRule{
		back,
		rule("accept", "", FilterCondition{Key: "ct state", Op: "!=", Mask: []byte{6, 0, 0, 0}, Low: make([]byte, 4)}),
		rule("accept", "", is("iifname", "==", append([]byte("rail0"), make([]byte, 11)...)...), udp,
			FilterCondition{Key: "dport", Op: "in", Set: "ports"}),
		rule("jump", "other", ipv4, is("saddr", "==", 10), udp, is("dport", "!=", 0x12, 0xb7)),
		rule("reject", "", tcp, is("dport", ">=", 4, 0), is("dport", "<=", 7, 255)),
		rule("drop", "", udp, is("dport", "==", 0, 9), is("(limit)", "==")),
	})
	sets := decodeAll(t, "filter-sets", decodeFilterSet)
	check(t, "filter-sets", sets, []FilterSet{{Family: NFPROTO_INET, Table: "t", Name: "ports", Interval: true}})
	for _, b := range readVector(t, "filter-elements") {
		if err := decodeFilterElements(&sets[0], b); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(sets[0].Elements, bytes.Compare)
	check(t, "filter-elements", sets[0].Elements, [][]byte{
		{0, 0, 0}, {0, 22, 1}, {0, 23, 0}, {0x12, 0xb7, 1}, {0x12, 0xb8, 0}, {0xc3, 0x50, 1}, {0xc3, 0x5b, 0},
	})
}
