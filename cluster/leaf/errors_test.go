package leaf_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rdmakit/rdmakit/cluster/leaf"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestReadErrors checks the errors of files that can't be read, and of files that are of no use.
func TestReadErrors(t *testing.T) {
	for _, tt := range []struct {
		text, want string
	}{
		{"", "the file is empty"},
		{" \n", "the file is empty"},
		{"hello", "neither a saved sweep nor the output of lldpctl -f json"},
		{"[1]", "neither a saved sweep nor the output of lldpctl -f json"},
		{`{"a": 1}`, "neither a saved sweep nor the output of lldpctl -f json"},
		{`{"lldp": `, "not JSON: it ends before it is complete"},
		{`{"lldp": {}} x`, "not JSON: after byte 12: invalid character 'x' looking for beginning of value"},
		{`{"lldp": {}} [1]`, "neither a saved sweep nor the output of lldpctl -f json"},
		{`{"lldp": 7}`, "lldp: a number where an object is expected"},
		{`{"lldp": {"interface": ["eth0"]}}`, "lldp: interface: a string where an object is expected"},
		{"<?xml version='1.0'?>", "XML: lldpctl -f json prints JSON"},
		{
			"#\n# Topology file: generated on Sat", "the output of ibnetdiscover, which is not read: " +
				"rdmactl fabric topology --save FILE saves a sweep",
		},
	} {
		err := new(leaf.Sources).Read("x.json", strings.NewReader(tt.text))
		want := "read topology: x.json: " + tt.want
		if !errors.Is(err, leaf.ErrKind) || err.Error() != want {
			t.Errorf("Read(%q) = %v, want %s", tt.text, err, want)
		}
	}
	err := new(leaf.Sources).Read("x.json", strings.NewReader(`{"schema": "rdmakit.fabric/v1", "nodes": [7]}`))
	if err == nil || !strings.HasPrefix(err.Error(), "read topology: x.json: read topology: nodes: node 0: ") {
		t.Errorf("Read of a damaged sweep = %v", err)
	}
	cause := errors.New("the disk is gone")
	if err := new(leaf.Sources).Read("x.json", iotest.ErrReader(cause)); !errors.Is(err, cause) {
		t.Errorf("Read = %v, want %v", err, cause)
	}
}

// TestFindErrors checks the errors of files that have no card of the cluster, or contradict.
func TestFindErrors(t *testing.T) {
	lldp := func(text string) string { return `{"local-chassis": {"chassis": {"` + text + `": {}}}}` }
	w := new(world)
	w.add("gpu-1", netdev("eth7"))
	w.add("gpu-2", netdev("eth7"))
	for _, tt := range []struct {
		files []string
		want  string
		is    error
	}{
		{
			[]string{"x.json=" + `{"lldp": {}}`}, "find leaves: x.json: no card of the cluster is in it: the " +
				"output of lldpctl is in a file named after its node, such as gpu-1.json", leaf.ErrNoCard,
		},
		{
			[]string{"gpu-1.json=" + `{"lldp": {}}`, "gpu-1.example.net.json=" + `{"lldp": {}}`},
			"find leaves: contradictory topologies: gpu-1.json and gpu-1.example.net.json are both of node gpu-1",
			leaf.ErrContradiction,
		},
		{
			[]string{"d/gpu-1.json=" + lldp("gpu-2")},
			"find leaves: contradictory topologies: d/gpu-1.json is named after node gpu-1, and the " +
				"local chassis in it is gpu-2",
			leaf.ErrContradiction,
		},
	} {
		_, err := read(t, tt.files...).Find(w.cluster, w.nodes)
		if !errors.Is(err, tt.is) || err.Error() != tt.want {
			t.Errorf("Find = %v, want %s", err, tt.want)
		}
	}
	s := new(leaf.Sources)
	if err := s.Read("sweep.json", bytes.NewReader(saved(t, subnet.FatTree(2, 2, 1)))); err != nil {
		t.Fatal(err)
	}
	_, err := s.Find(w.cluster, w.nodes)
	want := "find leaves: sweep.json: no card of the cluster is in it: no card has reported a GUID"
	if !errors.Is(err, leaf.ErrNoCard) || err.Error() != want {
		t.Errorf("Find = %v, want %s", err, want)
	}
	w.add("gpu-3", guids(ib.GUID{9}, ib.GUID{}))
	_, err = s.Find(w.cluster, w.nodes)
	want = "find leaves: sweep.json: no card of the cluster is in it"
	if !errors.Is(err, leaf.ErrNoCard) || err.Error() != want {
		t.Errorf("Find = %v, want %s", err, want)
	}
}

// FuzzRead reads any text. What is read has answers for any cluster.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json*"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no recorded output of lldpctl: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := new(leaf.Sources)
		if s.Read("a.json", bytes.NewReader(text)) != nil {
			return
		}
		w := new(world)
		w.add("a", netdev("eth0"), netdev("eth1, eth0"), guids(ib.GUID{1}, ib.GUID{2}))
		w.add("b", netdev("eth0"))
		l, err := s.Find(w.cluster, w.nodes)
		if err != nil {
			return
		}
		for i, name := range l.Nodes {
			if name == "" {
				continue
			}
			for j := range l.Ports[i] {
				facts := leaf.Facts(l.Ports[i][j])
				if (len(l.Ports[i][j]) > 0) != (facts != nil) {
					t.Errorf("ports %v have the facts %v", l.Ports[i][j], facts)
				}
			}
		}
		if (l.From == "") != (strings.Join(l.Nodes, "") == "") && len(l.Odd) == 0 {
			t.Errorf("leaves %q from %q", l.Nodes, l.From)
		}
	})
}
