package fabric_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

var (
	tracertStart = regexp.MustCompile(`^From (?:ca|switch) \{0x([0-9a-f]{16})\} portnum (\d+) `)
	tracertHop   = regexp.MustCompile(
		`^\[(\d+)\] -> (?:ca|switch) port \{0x[0-9a-f]{16}\}\[(\d+)\] lid (\d+)-\d+ "(.*)"$`)
)

// ibtracertHops parses the hops of ibtracert: the output port, and the node and port that it leads
// to.
func ibtracertHops(t *testing.T, text string) []string {
	t.Helper()
	var hops []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := tracertHop.FindStringSubmatch(line); m != nil {
			hops = append(hops, fmt.Sprintf("%s to %s of %s, LID %s", m[1], m[2], m[4], m[3]))
		}
	}
	if !tracertStart.MatchString(text) {
		t.Fatalf("ibtracert prints\n%s\nwant hops", text)
	}
	return hops
}

func traceHops(t *fabric.Topology, tr fabric.Trace) []string {
	var hops []string
	for i, h := range tr.Hops[1:] {
		n := t.Node(h.Node)
		hops = append(hops,
			fmt.Sprintf("%d to %d of %s, LID %d", tr.Hops[i].Out, h.In, n.Description.String(), uint16(n.LID(h.In))))
	}
	return hops
}

// TestTraceAgainstIbtracert compares both ways of looking up routes with the C tool, between hosts
// and switches of three nets.
func TestTraceAgainstIbtracert(t *testing.T) {
	for net, sm := range map[string]string{"ft2": "host31", "dualsm": "host0", "rail": "gpu000-mlx5_0"} {
		t.Run(net, func(t *testing.T) {
			sim := ibsimtest.Start(t, "testdata/"+net+"/net")
			sim.StartSM(sm)
			host := map[string]string{"rail": "gpu001-mlx5_0"}[net]
			if host == "" {
				host = "host1"
			}
			transport := open(t, sim, host)
			topology := discover(t, transport, fabric.Options{Routes: true})
			client := fabric.Client{Transport: transport}
			live := client.RouteLookup(t.Context())
			var ends []fabric.Endpoint
			for i := 0; i < len(topology.Nodes); i += 1 + len(topology.Nodes)/4 {
				e, err := topology.Find(fmt.Sprintf("0x%x", topology.Nodes[i].Info.NodeGUID[:]))
				if err != nil {
					t.Fatal(err)
				}
				ends = append(ends, e)
			}
			for _, from := range ends {
				for _, to := range ends {
					text := sim.Tool(host, "ibtracert", fmt.Sprint(uint16(from.LID)), fmt.Sprint(uint16(to.LID)))
					for name, lookup := range map[string]fabric.RouteLookup{"read": fabric.RoutesRead, "asked": live} {
						tr, err := topology.Trace(from, to, lookup)
						if err != nil || tr.End != fabric.TraceArrived {
							t.Fatalf("Trace(%v, %v) by tables %s = %+v, %v", from, to, name, tr, err)
						}
						if diff := gocmp.Diff(ibtracertHops(t, text), traceHops(topology, tr)); diff != "" {
							t.Errorf("Trace from LID %d to %d by tables %s (-ibtracert +ours):\n%s",
								from.LID, to.LID, name, diff)
						}
					}
				}
			}
		})
	}
}
