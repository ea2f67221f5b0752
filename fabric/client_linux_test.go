package fabric_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func TestClient(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartSM("host31")
	client := fabric.Client{Transport: open(t, sim, "host0"), Timeout: 5 * time.Second}
	data, err := client.SMP(t.Context(), fabric.Target{}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var own mad.PortInfo
	own.Decode(data) //nolint:errcheck // the client has the length
	if own.LID == 0 || own.MasterSMLID == 0 {
		t.Fatalf("port info of the local port = %+v, want LIDs", own)
	}
	data, err = client.SMP(t.Context(), fabric.Target{LID: own.MasterSMLID}, mad.MethodGet,
		mad.AttributeNodeDescription, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var d mad.NodeDescription
	d.Decode(data) //nolint:errcheck // the client has the length
	if d.String() != "host31 mlx5_0" {
		t.Errorf("node description at the LID of the master = %q, want host31's", d)
	}
	data, err = client.Performance(t.Context(), own.LID, mad.MethodGet, mad.AttributePortCounters, []byte{0, 1})
	if err != nil || data[1] != 1 {
		t.Errorf("port counters = %x, %v, want those of port 1", data[:8], err)
	}
	_, err = client.SMP(t.Context(), fabric.Target{LID: own.LID}, mad.MethodGet, mad.AttributeSwitchInfo, 0, nil)
	if _, ok := errors.AsType[*fabric.StatusError](err); !ok {
		t.Errorf("switch info of an adapter: %v, want a status", err)
	}
	_, err = client.SMP(t.Context(), fabric.Target{LID: 0x3fff}, mad.MethodGet, mad.AttributePortInfo, 3, nil)
	if want := "query LID 16383 for PortInfo 3: the transport reports no answer to 3 tries: the node is dead, " +
		"or it has an M_Key of protect level 2 or 3 (M_Key 0 was tried)"; !errors.Is(err,
		fabric.ErrNoAnswer) || err.Error() != want {
		t.Errorf("port info of an unused LID: %v, want %s", err, want)
	}
	_, err = client.Performance(t.Context(), 0x3fff, mad.MethodGet, mad.AttributePortCounters, nil)
	if want := "query performance agent at LID 16383 for PortCounters: "; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("counters of an unused LID: %v, want %s", err, want)
	}
}

func TestPing(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/ft2/net")
	sim.StartSM("host31")
	server, err := fabric.OpenIBSim(t.Context(), sim.GetenvSM("host1"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	lid := lidOf(t, server)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- fabric.ServePing(ctx, server, mad.OUIPing(), "worker.lab", nil) }()
	client := fabric.Client{Transport: open(t, sim, "host0"), Timeout: 5 * time.Second}
	name, roundTrip, err := client.Ping(t.Context(), fabric.Address{LID: lid, QPN: 1, QKey: fabric.QKeyGSI},
		mad.OUIPing())
	if name != "worker.lab" || roundTrip <= 0 || err != nil {
		t.Errorf("Ping = %q, %v, %v, want the server's name", name, roundTrip, err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ServePing = %v, want the context's cause", err)
	}
	plain := open(t, sim, "host2")
	if err := fabric.ServePing(t.Context(), plain, mad.OUIPing(), "", nil); err == nil {
		t.Error("ServePing of a client that gets no requests: no error")
	}
}

// TestPingServerWithoutSimulator ends the simulator while a server uses it.
func TestPingServerWithoutSimulator(t *testing.T) {
	sim := ibsimtest.Start(t, "testdata/dualsm/net")
	transport, err := fabric.OpenIBSim(t.Context(), sim.GetenvSM("host1"))
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close()
	ready := false
	server := fabric.PingServer{OUI: mad.OUIPing(), Name: "x", Ready: func() { ready = true; sim.Console("Quit") }}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := server.Serve(ctx, transport); !ready || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Serve, without its simulator = %v, ready %t, want a connection that is refused", err, ready)
	}
}

func lidOf(t *testing.T, transport fabric.Transport) ib.LID {
	t.Helper()
	client := fabric.Client{Transport: transport}
	data, err := client.SMP(t.Context(), fabric.Target{}, mad.MethodGet, mad.AttributePortInfo, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var info mad.PortInfo
	info.Decode(data) //nolint:errcheck // the client has the length
	return info.LID
}
