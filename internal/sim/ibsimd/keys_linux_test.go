package ibsimd_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
)

// keyed is a fat tree whose leaf1 and two hosts have M_Keys, one of each level. host4 and host5 are
// behind leaf1, host1 is not.
const keyed = `lostAfter: 10ms
nodes:
  leaf1: {mkey: "0x11", protect: 2}
  host4: {mkey: "0x22", protect: 3}
  host1: {mkey: "0x33", protect: 1}
managers: [{node: host0}]
`

// hosts returns the names of the hosts in an output of ibnetdiscover.
func hosts(text string) string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^Ca\s.*# "(\w+) `).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// hostsOf returns the names of the hosts in a sweep.
func hostsOf(topology *fabric.Topology) string {
	var list []string
	for _, n := range topology.Nodes {
		if !n.IsSwitch() {
			list = append(list, strings.Fields(n.Description.String())[0])
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestProtectLevels compares ibnetdiscover with a sweep, by the levels of section 14.2.4 of the
// specification: at level 1 reads without the key are answered, at levels 2 and 3 they are dropped.
// A node is asked for itself, so the directed route to a host behind a silent switch works, but
// nobody learns of that host: leaf1's PortInfo, which shows that there are cables, is silent.
//
// ibnetdiscover has one key for all nodes (-y): with leaf1's it finds leaf1 and host5, which has no
// key and so takes any, but not host4; with host4's or none it ends at leaf1. The sweep with a file
// finds all.
func TestProtectLevels(t *testing.T) {
	at := faulty(t, keyed)
	const front = "host0 host1 host2"
	for key, want := range map[uint64]string{
		0: front, 0x11: front + " host3 host5", 0x22: front, 0x33: front,
	} {
		arguments := []string{}
		if key != 0 {
			arguments = []string{"-y", fmt.Sprintf("0x%x", key)}
		}
		out, _, _ := at.Try("host0", "ibnetdiscover", arguments...)
		topology := discover(t, at, "host0", fabric.Options{Keys: fabric.Keys{M: fabric.KeyTable{Default: key}}})
		if got := hosts(out); got != want {
			t.Errorf("ibnetdiscover %q finds %q, want %q", arguments, got, want)
		}
		if got := hostsOf(topology); got != want || topology.Complete {
			t.Errorf("sweep with 0x%x finds %q, want %q; complete %v", key, got, want, topology.Complete)
		}
	}
	var keys fabric.Keys
	const file = "0x0020000000000700 0x0000000000000011\n\n0x0010000000000901 0x0000000000000022\n\n" +
		"0x0010000000000501 0x0000000000000033\n\n"
	if err := keys.M.Read("guid2mkey", strings.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	topology := discover(t, at, "host0", fabric.Options{Keys: keys, Routes: true, Counters: true, SubnetManagers: true})
	if got := hostsOf(topology); got != front+" host3 host4 host5" || !topology.Complete {
		t.Errorf("sweep with the file finds %q, unreached %v", got, topology.Unreached)
	}
}

// TestPMKey reads counters of a node with a PM_Key.
func TestPMKey(t *testing.T) {
	at := faulty(t, "lostAfter: 10ms\nnodes: {host1: {pmkey: '0x33'}}\nmanagers: [{node: host0}]")
	topology := discover(t, at, "host0", fabric.Options{Counters: true})
	if topology.Complete || !strings.Contains(topology.Unreached[0].Why(), "another PM_Key (PM_Key 0 was tried)") {
		t.Errorf("without the key: %v", topology.Unreached)
	}
	keys := fabric.Keys{PM: fabric.KeyTable{Default: 0x33}}
	if topology = discover(t, at, "host0", fabric.Options{Counters: true, Keys: keys}); !topology.Complete {
		t.Errorf("with the key: %v", topology.Unreached)
	}
	if _, _, code := at.Try("host0", "perfquery", "-G", "0x10000000000501", "1"); code == 0 {
		t.Error("perfquery, which knows no PM_Key, has an answer")
	}
}
