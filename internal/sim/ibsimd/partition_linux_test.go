package ibsimd_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestPartitions checks that GMPs pass within a partition only: perfquery, which uses the first
// P_Key of its port, reaches no other limited member of that partition. fabric chooses the second
// key. SMPs always pass.
func TestPartitions(t *testing.T) {
	at := faulty(t, `{lostAfter: 10ms, managers: [{node: host0}], nodes: {
		'host*': {pkeys: ["0x7fff"]}, host0: {pkeys: ["0x7fff", "0xffff"]}, host1: {pkeys: ["0xffff", "0x7fff"]},
		host3: {pkeys: ["0x8001"]}, host4: {sl: 5}}}`)
	topology := discover(t, at, "host0", fabric.Options{Counters: true})
	lid := map[string]string{}
	answers := map[string]bool{}
	for _, n := range topology.Nodes {
		name, _, _ := strings.Cut(n.Name(), " ")
		if !n.IsSwitch() {
			lid[name] = strconv.Itoa(int(n.LID(1)))
		}
		answers[name] = n.Performance != nil
	}
	if len(topology.Nodes) != 9 && len(topology.Nodes) != 10 || !answers["host1"] || !answers["host2"] ||
		answers["host3"] || answers["host4"] || !answers["host5"] {
		t.Errorf("%d nodes; performance agents that answer: %v; unreached %v", len(topology.Nodes), answers,
			topology.Unreached)
	}
	for host, reaches := range map[string]bool{"host1": true, "host2": false, "host3": false} {
		out, errOut, code := at.Try("host0", "perfquery", lid[host], "1")
		if (code == 0) != reaches {
			t.Errorf("perfquery %s: exit code %d, want success: %v\n%s%s", host, code, reaches, out, errOut)
		}
		if out, errOut, code := at.Try("host0", "smpquery", "portinfo", lid[host], "1"); code != 0 ||
			reaches != strings.HasSuffix(regexp.MustCompile(`PkeyViolations:\.+\d+`).FindString(out), ".0") {
			t.Errorf("smpquery portinfo %s: exit code %d\n%s%s", host, code, out, errOut)
		}
	}
}

// TestPartitionInCommon reads the partition table of a port that doesn't answer, over the sockets.
func TestPartitionInCommon(t *testing.T) {
	at := faulty(t, `{lostAfter: 10ms, managers: [{node: host0}], nodes: {
		host0: {pkeys: ["0x7fff", "0x8001"]}, host1: {pkeys: ["0x7fff", "0x0001"]}, host2: {pkeys: ["0x7fff"]}}}`)
	topology := discover(t, at, "host0", fabric.Options{})
	tr := open(t, at, "host0")
	client := fabric.Client{Transport: tr, ReadPKeys: true}
	for _, n := range topology.Nodes {
		_, err := client.Performance(t.Context(), n.LID(1), mad.MethodGet, mad.AttributeClassPortInfo, nil)
		switch name, _, _ := strings.Cut(n.Name(), " "); {
		case name == "host1" && err != nil:
			t.Errorf("%s: %v", name, err)
		case name == "host2":
			sent, ok := fabric.SentOf(err)
			if !errors.Is(err, fabric.ErrNoAnswer) || !ok || !sent.Disjoint || sent.PKey != 0x7fff {
				t.Errorf("%s: %v, %+v, want no partition in common", name, err, sent)
			}
		}
	}
}
