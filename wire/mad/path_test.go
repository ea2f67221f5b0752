package mad_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestParsePath(t *testing.T) {
	tests := []struct {
		in, out string
		ports   []uint8
	}{
		{"0", "0", nil},
		{"0,1,35,1", "0,1,35,1", []uint8{1, 35, 1}},
		{"7,2", "0,7,2", []uint8{7, 2}},
		{" 0, 255 ", "0,255", []uint8{255}},
		{"0,0", "0,0", []uint8{0}},
	}
	for _, tt := range tests {
		p, err := mad.ParsePath(tt.in)
		if err != nil || p.String() != tt.out || p.Len() != len(tt.ports) || string(p.Ports()) != string(tt.ports) {
			t.Errorf("ParsePath(%q) = %s, %v, %v, want %s, %v", tt.in, p, p.Ports(), err, tt.out, tt.ports)
		}
	}
	for _, in := range []string{"", "0,", "a", "0,256", "-1", "0,1,,2", "0;1"} {
		if p, err := mad.ParsePath(in); err == nil {
			t.Errorf("ParsePath(%q) = %s, want an error", in, p)
		}
	}
}

func TestPathLimits(t *testing.T) {
	p, err := mad.NewPath(make([]uint8, mad.MaxHops)...)
	if err != nil || p.Len() != mad.MaxHops {
		t.Fatalf("NewPath of %d ports = %d hops, %v", mad.MaxHops, p.Len(), err)
	}
	if _, err := p.Extend(1); !errors.Is(err, mad.ErrPathTooLong) {
		t.Errorf("Extend of %d hops = %v, want ErrPathTooLong", mad.MaxHops, err)
	}
	if _, err := mad.NewPath(make([]uint8, mad.MaxHops+1)...); !errors.Is(err, mad.ErrPathTooLong) {
		t.Errorf("NewPath of %d ports = %v, want ErrPathTooLong", mad.MaxHops+1, err)
	}
}

func TestExtendLeavesThePathAlone(t *testing.T) {
	p, err := mad.NewPath(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	q, err := p.Extend(3)
	r, err2 := p.Extend(4)
	if err != nil || err2 != nil || p.String() != "0,1,2" || q.String() != "0,1,2,3" || r.String() != "0,1,2,4" {
		t.Errorf("paths = %s, %s, %s, want 0,1,2 and its extensions", p, q, r)
	}
	same, err := mad.NewPath(1, 2, 3)
	if err != nil || same != q {
		t.Errorf("NewPath(1, 2, 3) == %s is false", q)
	}
}

func TestPathInPacket(t *testing.T) {
	path, err := mad.ParsePath("0,5,6")
	if err != nil {
		t.Fatal(err)
	}
	smp := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, 1, &path)
	smp.InitialPath[40] = 9 // after the end of the route
	got, ok := smp.Path()
	if !ok || got != path || smp.HopCount() != 2 || smp.HopPointer() != 0 {
		t.Errorf("Path() = %s, %t, want %s; hop %d of %d", got, ok, path, smp.HopPointer(), smp.HopCount())
	}
	if diff := cmp.Diff([]byte{0, 5, 6, 0}, smp.InitialPath[:4]); diff != "" {
		t.Errorf("InitialPath (-want +got):\n%s", diff)
	}
	smp.ClassSpecific = mad.MaxHops + 1
	if got, ok := smp.Path(); ok {
		t.Errorf("Path() of 64 hops = %s, want none", got)
	}
	smp.SetPath(&mad.Path{})
	if smp.HopCount() != 0 || smp.InitialPath != [64]byte{} {
		t.Errorf("SetPath of no hops left hop count %d, path %v", smp.HopCount(), smp.InitialPath)
	}
}
