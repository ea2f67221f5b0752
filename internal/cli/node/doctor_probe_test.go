package node

import (
	"fmt"
	"testing"
)

func TestProbePeers(t *testing.T) {
	for _, tt := range []struct {
		in        []string
		want, err string
	}{
		{[]string{"10.0.0.1", "::ffff:10.0.0.2"}, "[10.0.0.1 10.0.0.2]", ""},
		{[]string{"node7"}, "[]", `--probe "node7": not an IPv4 address; host names are not resolved`},
		{[]string{"10.0.0"}, "[]", `--probe "10.0.0": not an IPv4 address; host names are not resolved`},
		{[]string{""}, "[]", `--probe "": not an IPv4 address; host names are not resolved`},
		{[]string{"10.0.0.1:22"}, "[]", `--probe "10.0.0.1:22": give the address without a port: 10.0.0.1`},
		{[]string{"10.0.0.1/24"}, "[]", `--probe "10.0.0.1/24": give the address without a prefix length: 10.0.0.1`},
		{[]string{"fe80::1%eth0"}, "[]", `--probe "fe80::1%eth0": an IPv6 address; the probe needs IPv4`},
		{[]string{"127.0.0.9"}, "[]", `--probe "127.0.0.9": an address of this node, not of another one`},
		{[]string{"0.0.0.0"}, "[]", `--probe "0.0.0.0": not the address of a node`},
		{[]string{"224.0.0.1"}, "[]", `--probe "224.0.0.1": not the address of a node`},
		{[]string{"255.255.255.255"}, "[]", `--probe "255.255.255.255": not the address of a node`},
		{[]string{"10.0.0.1", "::ffff:10.0.0.1"}, "[]", `--probe "::ffff:10.0.0.1": the address is given twice`},
	} {
		got, err := probePeers(tt.in)
		if fmt.Sprint(got) != tt.want || errorText(err) != tt.err {
			t.Errorf("probePeers(%q) = %v, %v, want %s, %s", tt.in, got, err, tt.want, tt.err)
		}
	}
}
