package nl

import (
	"testing"

	"github.com/mdlayher/netlink"
)

func TestFields(t *testing.T) {
	var n uint16
	var s string
	f := Fields{1: Number(&n), 2: Text(&s)}
	attr := func(typ uint16, v []byte) []byte {
		b, err := netlink.MarshalAttributes([]netlink.Attribute{{Type: typ, Data: v}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := append(attr(1, []byte{5}), attr(9, []byte("other"))...)
	b = append(b, attr(2, []byte("a\xffb\x00c"))...)
	if err := f.Decode(b); err != nil || n != 5 || s != "a\uFFFDb" {
		t.Errorf("Decode() = %v, %d, %q", err, n, s)
	}
	for name, b := range map[string][]byte{
		"too large": attr(1, []byte{0, 0, 1, 0, 0, 0, 0, 0}), "three bytes": attr(1, []byte{1, 2, 3}),
		"length": {9, 0, 1, 0, 1},
	} {
		if err := f.Decode(b); err == nil || n != 5 {
			t.Errorf("Decode() of %s = %v, %d, want an error and the old number", name, err, n)
		}
	}
}
