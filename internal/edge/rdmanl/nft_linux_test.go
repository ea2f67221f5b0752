package rdmanl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/mdlayher/netlink"
)

// nested appends an attribute with attributes in it.
func nested(b []byte, typ uint16, inner []byte) []byte {
	return appendAttr(b, typ|netlink.Nested, inner)
}

func text(s string) []byte { return append([]byte(s), 0) }

func bigEndian(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// fakeSet is a set of the table t in the fake kernel. Its elements are numbers from 1; those of a
// map of verdicts drop even numbers, and jump to a chain for odd ones.
type fakeSet struct {
	name   string
	flags  uint32 // NFT_SET_MAP, NFT_SET_CONCAT, …
	data   uint32 // NFT_DATA_VERDICT, or the type of a map's values
	n      int    // elements
	ranges bool   // elements have an end, as those of intervals of several fields do
	unused bool   // no rule looks it up
}

// lookupRule encodes a rule of the chain c in the table t that looks up a property in a set.
func (s fakeSet) lookupRule() []byte {
	lookup := appendAttr(appendAttr(nil, NFTA_LOOKUP_SET, text(s.name)), NFTA_LOOKUP_SREG, bigEndian(1))
	if s.data == NFT_DATA_VERDICT {
		lookup = appendAttr(lookup, NFTA_LOOKUP_DREG, bigEndian(0)) // NFT_REG_VERDICT
	}
	expr := nested(appendAttr(nil, NFTA_EXPR_NAME, text("lookup")), NFTA_EXPR_DATA, lookup)
	b := appendAttr([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_RULE_TABLE, text("t"))
	b = appendAttr(b, NFTA_RULE_CHAIN, text("c"))
	return nested(b, NFTA_RULE_EXPRESSIONS, nested(nil, NFTA_LIST_ELEM, expr))
}

func (s fakeSet) encode() []byte {
	b := appendAttr([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_SET_TABLE, text("t"))
	b = appendAttr(appendAttr(b, NFTA_SET_NAME, text(s.name)), NFTA_SET_FLAGS, bigEndian(s.flags))
	return appendAttr(b, NFTA_SET_DATA_TYPE, bigEndian(s.data))
}

// request is the body of a request for the elements.
func (s fakeSet) request() []byte {
	b := appendAttr([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_SET_ELEM_LIST_TABLE, text("t"))
	return appendAttr(b, NFTA_SET_ELEM_LIST_SET, text(s.name))
}

// result is what a map of verdicts has for a number.
func (fakeSet) result(i int) Result {
	if i%2 == 0 {
		return Result{Verdict: "drop"}
	}
	return Result{Verdict: "jump", Target: fmt.Sprint("chain", i)}
}

// elements encodes a message with the elements from first to last.
func (s fakeSet) elements(first, last int) []byte {
	var list []byte
	for i := first; i <= last; i++ {
		e := nested(nil, NFTA_SET_ELEM_KEY, appendAttr(nil, NFTA_DATA_VALUE, bigEndian(uint32(i))))
		if s.ranges {
			e = nested(e, NFTA_SET_ELEM_KEY_END, appendAttr(nil, NFTA_DATA_VALUE, bigEndian(uint32(i))))
		}
		if s.data == NFT_DATA_VERDICT {
			verdict := appendAttr(nil, NFTA_VERDICT_CODE, bigEndian(0))
			if r := s.result(i); r.Target != "" {
				verdict = appendAttr(nil, NFTA_VERDICT_CODE, bigEndian(^uint32(2))) // NFT_JUMP, -3
				verdict = appendAttr(verdict, NFTA_VERDICT_CHAIN, text(r.Target))
			}
			e = nested(e, NFTA_SET_ELEM_DATA, nested(nil, NFTA_DATA_VERDICT, verdict))
		}
		list = nested(list, NFTA_LIST_ELEM, e)
	}
	return nested([]byte{NFPROTO_INET, 0, 0, 0}, NFTA_SET_ELEM_LIST_ELEMENTS, list)
}

// filterOf returns the sets that Filter returns if the kernel has the sets of the test, and the
// names of those that it asked for elements.
func filterOf(t *testing.T, kernel []fakeSet) (sets []FilterSet, asked map[string]bool) {
	t.Helper()
	const get = NFNL_SUBSYS_NFTABLES << 8
	asked = map[string]bool{}
	wanted := 0
	c := fake(func(q netlink.Message) ([]netlink.Message, error) {
		var bodies [][]byte
		for _, s := range kernel {
			switch q.Header.Type {
			case get | NFT_MSG_GETRULE:
				if !s.unused {
					bodies = append(bodies, s.lookupRule())
				}
			case get | NFT_MSG_GETSET:
				bodies = append(bodies, s.encode())
			case get | NFT_MSG_GETSETELEM:
				if !bytes.Equal(q.Data, s.request()) {
					continue
				}
				asked[s.name] = true
				for i := 1; i <= s.n; i += 500 {
					bodies = append(bodies, s.elements(i, min(i+499, s.n)))
				}
			}
		}
		return multi(q, 0, bodies...)
	})
	for _, s := range kernel {
		if !s.unused {
			wanted++
		}
	}
	_, rules, sets, err := c.Filter(t.Context())
	if err != nil || len(rules) != wanted || len(sets) != len(kernel) {
		t.Fatalf("Filter: %d rules, %d sets, %v, want %d, %d", len(rules), len(sets), err, wanted, len(kernel))
	}
	return sets, asked
}

// checkElements compares a set with the kernel's: elements, and verdicts if it should have them.
func checkElements(t *testing.T, s fakeSet, got FilterSet, n int, verdicts bool) {
	t.Helper()
	results := 0
	if verdicts {
		results = n
	}
	if len(got.Elements) != n || len(got.Results) != results || got.Verdicts != verdicts {
		t.Errorf("set %s: %d elements, %d verdicts (%t), want %d, %d (%t)", s.name, len(got.Elements),
			len(got.Results), got.Verdicts, n, results, verdicts)
		return
	}
	for i := range n {
		if want := bigEndian(uint32(i + 1)); !bytes.Equal(got.Elements[i], want) {
			t.Fatalf("set %s: element %d = %x, want %x", s.name, i, got.Elements[i], want)
		}
		if verdicts && got.Results[i] != s.result(i+1) {
			t.Fatalf("set %s: verdict %d = %+v, want %+v", s.name, i, got.Results[i], s.result(i+1))
		}
	}
}

// TestFilterSetLimits has sets of many elements: those beyond the limits are opaque, and a set that
// no rule looks up is not asked for.
func TestFilterSetLimits(t *testing.T) {
	kernel := []fakeSet{
		{name: "a", n: maxSetElements},
		{name: "b", n: maxSetElements + 1},
		{name: "c"},
		{name: "d", n: maxSetElements, unused: true},
	}
	for name := 'e'; name <= 'u'; name++ {
		kernel = append(kernel, fakeSet{name: string(name), n: maxSetElements})
	}
	sets, asked := filterOf(t, kernel)
	total := 0
	for i, s := range sets {
		// 16 sets of 4096 elements are the 65536 of all together: a, e, …, s.
		opaque := s.Name == "b" || s.Name == "d" || s.Name > "s"
		want := kernel[i].n
		if opaque {
			want = 0
		}
		if s.Opaque != opaque {
			t.Errorf("set %s: opaque %t, want %t", s.Name, s.Opaque, opaque)
		}
		checkElements(t, kernel[i], s, want, false)
		total += len(s.Elements)
		if ask := s.Name != "d" && s.Name <= "s"; asked[s.Name] != ask {
			t.Errorf("set %s: asked for its elements: %t, want %t", s.Name, asked[s.Name], ask)
		}
	}
	if total != maxElements {
		t.Errorf("%d elements in all, want %d", total, maxElements)
	}
}

// TestFilterMapLimits has maps of verdicts: those of an opaque map are kept, because a lookup has
// no other result, unless it exceeds a limit.
func TestFilterMapLimits(t *testing.T) {
	const verdicts, concat = uint32(NFT_DATA_VERDICT), NFT_SET_MAP | NFT_SET_CONCAT
	cases := []struct {
		fakeSet
		opaque, asked bool
		elements      int
		verdicts      bool
	}{
		{fakeSet{"full", NFT_SET_MAP, verdicts, maxSetElements, false, false}, false, true, maxSetElements, true},
		{fakeSet{"too many", NFT_SET_MAP, verdicts, maxSetElements + 1, false, false}, true, true, 0, false},
		{fakeSet{"several fields", concat, verdicts, 3, false, false}, true, true, 3, true},
		{
			fakeSet{"several fields, too many", concat, verdicts, maxSetElements + 1, false, false},
			true, true, 0,
			false,
		},
		{fakeSet{"ranges", NFT_SET_MAP, verdicts, 3, true, false}, true, true, 3, true},
		{fakeSet{"set of ranges", 0, 0, 3, true, false}, true, true, 0, false},
		{fakeSet{"values", NFT_SET_MAP, 0, 3, false, false}, true, false, 0, false},
		{fakeSet{"not looked up", NFT_SET_MAP, verdicts, 3, false, true}, true, false, 0, false},
		{fakeSet{"set of several fields", NFT_SET_CONCAT, 0, 3, false, false}, true, false, 0, false},
	}
	full := cases[0]
	for i := range maxElements/maxSetElements - 2 {
		full.name = fmt.Sprint("full", i)
		cases = append(cases, full)
	}
	left := maxSetElements - 6 // the elements of the opaque maps count
	one := full
	one.name, one.n, one.opaque, one.elements, one.verdicts = "more than are left", left+1, true, 0, false
	cases = append(cases, one)
	one.name, one.n, one.opaque, one.elements, one.verdicts = "all that are left", left, false, left, true
	cases = append(cases, one)
	one.name, one.n, one.opaque, one.asked, one.elements, one.verdicts = "none are left", 1, true, false, 0, false
	cases = append(cases, one)
	kernel := make([]fakeSet, len(cases))
	for i, c := range cases {
		kernel[i] = c.fakeSet
	}
	sets, asked := filterOf(t, kernel)
	for i, want := range cases {
		if sets[i].Name != want.name || sets[i].Opaque != want.opaque {
			t.Errorf("set %s: opaque %t, want %s: %t", sets[i].Name, sets[i].Opaque, want.name, want.opaque)
		}
		checkElements(t, want.fakeSet, sets[i], want.elements, want.verdicts)
		if asked[want.name] != want.asked {
			t.Errorf("set %s: asked for its elements: %t, want %t", want.name, asked[want.name], want.asked)
		}
	}
}
