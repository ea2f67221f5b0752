package mad_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// vector has the requests and responses of one command of testdata/mads.txt, and its output.
type vector struct {
	name, command string
	exchanges     []exchange
}

type exchange struct {
	request, reply []byte
	dropped        bool // the reply is the request, because ibsim could not deliver it
}

func vectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/mads.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "", "#":
		case "vector":
			all = append(all, vector{name: rest})
		case "command":
			all[len(all)-1].command = rest
		case ">":
			v := &all[len(all)-1]
			v.exchanges = append(v.exchanges, exchange{request: madOf(t, rest)})
		case "<":
			v := &all[len(all)-1]
			e := &v.exchanges[len(v.exchanges)-1]
			e.reply, e.dropped = madOf(t, rest), !strings.HasPrefix(rest, "0 ")
		default:
			t.Fatalf("testdata/mads.txt: %.60q", line)
		}
	}
	return all
}

// madOf parses the status and the MAD of a line.
func madOf(t testing.TB, s string) []byte {
	t.Helper()
	_, digits, _ := strings.Cut(s, " ")
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != mad.Len {
		t.Fatalf("testdata/mads.txt: %d bytes, %v", len(b), err)
	}
	return b
}

// answer returns the last response with the attribute.
func (v *vector) answer(t *testing.T, a mad.Attribute) []byte {
	t.Helper()
	for _, e := range slices.Backward(v.exchanges) {
		var h mad.Header
		decode(t, &h, e.reply)
		if h.AttributeID == a {
			return e.reply
		}
	}
	t.Fatalf("vector %s has no response with attribute %#x", v.name, a)
	return nil
}

func decode(t *testing.T, c codec, b []byte) {
	t.Helper()
	if _, err := c.Decode(b); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, name string) *vector {
	t.Helper()
	for _, v := range vectors(t) {
		if v.name == name {
			return &v
		}
	}
	t.Fatalf("testdata/mads.txt has no vector %s", name)
	return nil
}

// field matches "Key:.....value" of smpquery and "key.....value" of saquery.
var field = regexp.MustCompile(`^\s*([^.:]+)(?::\.+|\.\.+)(.*)$`)

// printed returns the fields that a vector's command printed.
func printed(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/output/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if m := field.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil && line[0] != '#' {
			fields[m[1]] = m[2]
		}
	}
	return fields
}

// packet returns a packet of the type for a MAD's class.
func packet(t *testing.T, b []byte) codec {
	t.Helper()
	switch class := mad.Class(b[1]); class {
	case mad.ClassSubnet:
		return &mad.SMP{}
	case mad.ClassSubnetDirected:
		return &mad.DirectedSMP{}
	case mad.ClassSA:
		return &mad.SA{}
	case mad.ClassPerformance:
		return &mad.PerformanceMAD{}
	case mad.ClassPing:
		return &mad.VendorMAD{}
	default:
		t.Fatalf("class %#x has no packet type", class)
		return nil
	}
}

func TestRecordedPacketsRoundTrip(t *testing.T) {
	count := 0
	for _, v := range vectors(t) {
		for _, e := range v.exchanges {
			for _, b := range [][]byte{e.request, e.reply} {
				p := packet(t, b)
				decode(t, p, b)
				if again := p.Append(nil); !bytes.Equal(again, b) {
					t.Errorf("%s: Append(Decode(%x)) = %x", v.name, b, again)
				}
				count++
			}
		}
	}
	if count < 90 {
		t.Errorf("testdata/mads.txt has %d packets, want at least 90", count)
	}
}

// The fields that a response copies from its request are equal.
func TestRecordedAnswers(t *testing.T) {
	for _, v := range vectors(t) {
		for _, e := range v.exchanges {
			var q, r mad.Header
			decode(t, &q, e.request)
			decode(t, &r, e.reply)
			if uint32(q.TransactionID) != uint32(r.TransactionID) || q.AttributeID != r.AttributeID {
				t.Errorf("%s: %+v answers %+v", v.name, r, q)
			}
			if e.dropped != (v.name == "unroutable") || r.Method.IsResponse() == e.dropped {
				t.Errorf("%s: dropped %t, method %#x", v.name, e.dropped, r.Method)
			}
			if s := r.Result(); s != 0 {
				t.Errorf("%s: %s, want none", v.name, s)
			}
			if r.MgmtClass == mad.ClassSubnetDirected && !e.dropped {
				var smp mad.DirectedSMP
				decode(t, &smp, e.reply)
				if !smp.IsReturning() {
					t.Errorf("%s: D bit of the response is not set", v.name)
				}
			}
		}
	}
}

// The constructors return the same requests as the C tools, byte for byte.
func TestConstructorsMakeTheRequests(t *testing.T) {
	path, err := mad.ParsePath("0,1,35,1")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		vector string
		make   func(tid uint64) []byte
	}{
		{"nodeinfo-direct-far", func(tid uint64) []byte {
			p := mad.NewDirectedSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, tid, &path)
			return p.Append(nil)
		}},
		{"portinfo-own", func(tid uint64) []byte {
			p := mad.NewDirectedSMP(mad.MethodGet, mad.AttributePortInfo, 1, tid, &mad.Path{})
			return p.Append(nil)
		}},
		{"nodeinfo-lid", func(tid uint64) []byte {
			p := mad.NewSMP(mad.MethodGet, mad.AttributeNodeInfo, 0, tid)
			return p.Append(nil)
		}},
		{"noderecord", func(tid uint64) []byte {
			p := mad.NewSA(mad.MethodGetTable, mad.AttributeNodeRecord, mad.NodeRecordMaskLID, tid)
			(&mad.NodeRecord{LID: 4}).Append(p.Data[:0])
			return p.Append(nil)
		}},
		{"portinforecord", func(tid uint64) []byte {
			mask := mad.PortInfoRecordMaskLID | mad.PortInfoRecordMaskPortNum
			p := mad.NewSA(mad.MethodGetTable, mad.AttributePortInfoRecord, mask, tid)
			(&mad.PortInfoRecord{EndportLID: 4, PortNum: 1}).Append(p.Data[:0])
			return p.Append(nil)
		}},
		{"pathrecord", func(tid uint64) []byte {
			mask := mad.PathRecordMaskSLID | mad.PathRecordMaskDLID | mad.PathRecordMaskNumPath
			p := mad.NewSA(mad.MethodGetTable, mad.AttributePathRecord, mask, tid)
			(&mad.PathRecord{SLID: 1, DLID: 6, NumPath: 0x7f}).Append(p.Data[:0])
			return p.Append(nil)
		}},
		{"counters", func(tid uint64) []byte {
			p := mad.NewPerformanceMAD(mad.MethodGet, mad.AttributeClassPortInfo, tid)
			(&mad.PortCounters{PortSelect: 1}).Append(p.Data[:0])
			return p.Append(nil)
		}},
		{"ping", func(tid uint64) []byte {
			p := mad.NewPing(tid)
			return p.Append(nil)
		}},
	}
	for _, tt := range tests {
		want := find(t, tt.vector).exchanges[0].request
		var h mad.Header
		decode(t, &h, want)
		if diff := cmp.Diff(hex.Dump(want), hex.Dump(tt.make(h.TransactionID))); diff != "" {
			t.Errorf("request of %s (-recorded +made):\n%s", tt.vector, diff)
		}
	}
}
