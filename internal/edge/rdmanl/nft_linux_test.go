package rdmanl

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/mdlayher/netlink"
)

// nested appends an attribute with attributes in it.
func nested(b []byte, typ uint16, inner []byte) []byte {
	return appendAttr(b, typ|netlink.Nested, inner)
}

func text(s string) []byte { return append([]byte(s), 0) }

// lookupRule encodes a rule of the chain c in the table t that looks up dport in a set.
func lookupRule(set string) []byte {
	number := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	lookup := appendAttr(appendAttr(nil, NFTA_LOOKUP_SET, text(set)), NFTA_LOOKUP_SREG, number(1))
	expr := nested(appendAttr(nil, NFTA_EXPR_NAME, text("lookup")), NFTA_EXPR_DATA, lookup)
	b := appendAttr([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_RULE_TABLE, text("t"))
	b = appendAttr(b, NFTA_RULE_CHAIN, text("c"))
	return nested(b, NFTA_RULE_EXPRESSIONS, nested(nil, NFTA_LIST_ELEM, expr))
}

// elements encodes a message with elements of a set, each of 4 bytes.
func elements(from, n int) []byte {
	var list []byte
	for i := range n {
		key := appendAttr(nil, NFTA_DATA_VALUE, binary.BigEndian.AppendUint32(nil, uint32(from+i)))
		list = nested(list, NFTA_LIST_ELEM, nested(nil, NFTA_SET_ELEM_KEY, key))
	}
	return nested([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_SET_ELEM_LIST_ELEMENTS, list)
}

// TestFilterSetLimits has sets of many elements: those beyond the limits are opaque, and a set that
// no rule looks up is not asked for.
func TestFilterSetLimits(t *testing.T) {
	const set, get = "abcdefghijklmnopqrstu", NFNL_SUBSYS_NFTABLES << 8
	size := func(name string) int {
		switch name {
		case "b":
			return maxSetElements + 1
		case "c":
			return 0
		}
		return maxSetElements
	}
	asked := map[string]bool{}
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		var bodies [][]byte
		switch q.Header.Type {
		case get | NFT_MSG_GETRULE:
			for _, name := range set {
				if name != 'd' {
					bodies = append(bodies, lookupRule(string(name)))
				}
			}
		case get | NFT_MSG_GETSET:
			for _, name := range set {
				b := appendAttr([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_SET_TABLE, text("t"))
				bodies = append(bodies, appendAttr(b, NFTA_SET_NAME, text(string(name))))
			}
		case get | NFT_MSG_GETSETELEM:
			i := bytes.LastIndexAny(q.Data, set)
			name := string(q.Data[i : i+1])
			asked[name] = true
			for n := size(name); n > 0; n -= 500 {
				bodies = append(bodies, elements(n, min(n, 500)))
			}
		}
		return multi(q, 0, bodies...)
	})
	_, rules, sets, err := c.Filter(t.Context())
	if err != nil || len(rules) != len(set)-1 || len(sets) != len(set) {
		t.Fatalf("Filter: %d rules, %d sets, %v", len(rules), len(sets), err)
	}
	total := 0
	for _, s := range sets {
		// 16 sets of 4096 elements are the 65536 of all together: a, e, …, s.
		opaque := s.Name == "b" || s.Name == "d" || s.Name > "s"
		want := size(s.Name)
		if opaque {
			want = 0
		}
		if s.Opaque != opaque || len(s.Elements) != want {
			t.Errorf("set %s: opaque %t, %d elements, want %t, %d", s.Name, s.Opaque, len(s.Elements), opaque, want)
		}
		total += len(s.Elements)
		if ask := s.Name != "d" && s.Name <= "s"; asked[s.Name] != ask {
			t.Errorf("set %s: asked for its elements: %t, want %t", s.Name, asked[s.Name], ask)
		}
	}
	if total != maxElements {
		t.Errorf("%d elements in all, want %d", total, maxElements)
	}
}
