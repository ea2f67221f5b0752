package explain_test

import (
	"strings"
	"testing"
)

// Versions are compared within what can be one job: another one in the same log that is there as a
// whole has its own.
func TestVersionsOfTwoJobs(t *testing.T) {
	const failure = `a:1:1 [0] NCCL INFO NCCL version 2.27.7+cuda12.8
a:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth4
a:1:1 [0] misc/socket.cc:1 NCCL WARN ncclSocketInit: connecting to address  with family 31744 is neither AF_INET(2) ` +
		`nor AF_INET6(10)
`
	const versions, ifname = "version-mismatch", "interface-choice"
	for _, c := range []struct {
		name  string
		other string
		want  string // the first cause; "" if none is likely
	}{
		{"alone", "", ifname},
		{"a whole job", "b:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n" + started("b", 2) +
			started("c", 2), ifname},
		{"a whole job, with a version of no node", "NCCL version 2.21.5+cuda12.4\n" + started("b", 2) +
			started("c", 2), ifname},
		{"a whole job that found an interface", "b:1:1 [0] NCCL INFO Bootstrap : Using eno1:10.9.0.1<0>\n" +
			started("b", 1), ifname},
		{
			"a part of a job", "b:1:1 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n" + started("b", 3) + started("c", 3),
			versions,
		},
		{"a whole job that fails", "b:1:1 [0] NCCL INFO Bootstrap : Using eno1:10.9.0.1<0>\n" + started("b", 1) +
			strings.ReplaceAll(failure, "a:", "b:"), ""},
		{"no job known", "NCCL version 2.21.5+cuda12.4\n", versions},
	} {
		d, err := read(t, c.other+failure)
		if err != nil {
			t.Fatal(err)
		}
		f, cause := d.First()
		got := cause.Cause
		if cause.Confidence == "possible" {
			got = ""
		}
		if f.Rule != "RDX-133" || got != c.want {
			t.Errorf("%s: %s, cause %s (%s), want %s", c.name, f.Rule, cause.Cause, cause.Confidence, c.want)
		}
	}
}

// started is the line of a node's only rank, of a communicator of some ranks.
func started(node string, ranks int) string {
	rank := strings.Index("bc", node)
	return node + ":1:1 [0] NCCL INFO ncclCommInitRank comm 0x7f rank " + string(rune('0'+rank)) + " nranks " +
		string(rune('0'+ranks)) + " cudaDev 0 nvmlDev 0 busId 1a000 commId 0x5e1 - Init START\n"
}
