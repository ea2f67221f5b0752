package subnet_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestAgainstPerfquery lets perfquery of infiniband-diags read attributes that ibsim doesn't have.
// A client of ibsim passes the requests to host9 on to the simulated agent.
func TestAgainstPerfquery(t *testing.T) {
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	sim.StartStillSM("host31")
	net, host := counted(nil)
	const samplesControl, xmitDataSL mad.Attribute = 0x10, 0x36 // specification sections 16.1.3.2, 16.1.4
	bySL := make([]byte, 4+16*4)
	for sl := range 16 {
		binary.BigEndian.PutUint32(bySL[4+4*sl:], uint32(7000+sl))
	}
	host.Ports[1].Tables = map[mad.Attribute][]byte{samplesControl: {2: 0x2a, 3: 5}, xmitDataSL: bySL}
	serve(t, sim.GetenvSM("host9"), net, host)
	near, err := fabric.OpenIBSim(t.Context(), sim.Getenv("host0"))
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close() //nolint:errcheck // a test's end
	topology, err := fabric.Discover(t.Context(), near, fabric.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := topology.Find("host9")
	if err != nil {
		t.Fatal(err)
	}
	lid := strconv.Itoa(int(e.LID))
	want := map[string]string{"PortSelect": "1", "CounterSelect": "0x0000"}
	for sl := range 16 {
		want[fmt.Sprintf("XmtDataSL%d", sl)] = strconv.Itoa(7000 + sl)
	}
	if diff := cmp.Diff(want, printed(sim.Tool("host0", "perfquery", "-X", lid, "1"))); diff != "" {
		t.Errorf("perfquery -X (-want +perfquery):\n%s", diff)
	}
	got := printed(sim.Tool("host0", "perfquery", "-c", lid, "1"))
	if got["PortSelect"] != "1" || got["Tick"] != "0x2a" || got["CounterWidth"] != "5" || len(got) < 20 {
		t.Errorf("perfquery -c prints %v", got)
	}
}

var printedField = regexp.MustCompile(`(?m)^(\w+):\.+(\w+)$`)

// printed returns the fields that perfquery prints.
func printed(text string) map[string]string {
	fields := map[string]string{}
	for _, m := range printedField.FindAllStringSubmatch(text, -1) {
		fields[m[1]] = m[2]
	}
	return fields
}

// serve passes requests that ibsim delivers on to a node of the simulated subnet.
func serve(t *testing.T, getenv func(string) string, net *subnet.Subnet, n *subnet.Node) {
	t.Helper()
	transport, err := fabric.OpenIBSim(t.Context(), getenv)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
		transport.Close() //nolint:errcheck // a test's end
	})
	inside := net.Transport("host0")
	go func() {
		defer close(ended)
		var in, out [1]fabric.Datagram
		for ctx.Err() == nil {
			k, err := transport.Receive(ctx, in[:], time.Now().Add(time.Second))
			if err != nil || k == 0 {
				continue
			}
			out[0] = in[0]
			out[0].Address = fabric.Address{LID: n.LIDs[1], QPN: 1, QKey: fabric.QKeyGSI}
			inside.Send(out[:]) //nolint:errcheck // the client complains
			if k, _ := inside.Receive(ctx, out[:], time.Now().Add(time.Second)); k == 1 {
				out[0].Address = in[0].Address
				transport.Send(out[:]) //nolint:errcheck // the client complains
			}
		}
	}()
}
