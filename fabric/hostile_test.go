package fabric_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// reporter returns the first try of a request behind a leaf's first ports as lost, at the moment
// when the sweep's timer fires too.
type reporter struct {
	fabric.Transport
	after time.Duration
	lost  []lostAt
}

type lostAt struct {
	at time.Time
	d  fabric.Datagram
}

func (r *reporter) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var p mad.DirectedSMP
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		path, _ := p.Path()
		if p.AttributeID == mad.AttributeNodeInfo && path.Len() == 2 && path.Ports()[1] > 2 && p.TransactionID&15 == 0 {
			d := batch[i]
			d.Lost = true
			r.lost = append(r.lost, lostAt{time.Now().Add(r.after), d})
			continue
		}
		if n, err := r.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (r *reporter) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	until := deadline
	if len(r.lost) > 0 && r.lost[0].at.Before(deadline) {
		until = r.lost[0].at
	}
	n, err := r.Transport.Receive(ctx, batch, until)
	for n < len(batch) && len(r.lost) > 0 && !r.lost[0].at.After(time.Now()) {
		batch[n] = r.lost[0].d
		r.lost = r.lost[1:]
		n++
	}
	return n, err
}

// TestLostWhenDue lets the transport report losses at the moment when the sweep gives up the tries
// itself.
func TestLostWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 80, 0)
		net.Delay = roundTrip
		answers := 0
		lie(net, func(d *fabric.Datagram) int {
			// of the port infos behind the losses, one in ten is lost too, which halves the window
			if mad.Attribute(d.MAD[17]) != mad.AttributePortInfo {
				return 1
			}
			answers++
			return min(1, answers%10)
		})
		topology := discover(t, &reporter{Transport: net.Transport("host0"), after: 50 * time.Millisecond},
			fabric.Options{})
		if len(topology.Nodes) != 81 || !topology.Complete || topology.Stats.Retries != 78+answers/10 {
			t.Errorf("%d nodes, complete %v, %+v, %d unreached, want 81 nodes behind %d retries",
				len(topology.Nodes), topology.Complete, topology.Stats, len(topology.Unreached), 78+answers/10)
		}
	})
}

// kernelLike refuses a transaction ID that it still has open, as user_mad.c does.
type kernelLike struct {
	fabric.Transport
	open map[uint64]time.Time
}

func (k *kernelLike) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var h mad.Header
		h.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		key := h.TransactionID<<8 | uint64(h.MgmtClass)
		if k.open[key].After(time.Now()) {
			return i, fmt.Errorf("write: %w", syscall.EINVAL)
		}
		k.open[key] = time.Now().Add(batch[i].Timeout)
		if n, err := k.Transport.Send(batch[i : i+1]); n != 1 || err != nil {
			return i, err
		}
	}
	return len(batch), nil
}

func (k *kernelLike) Receive(ctx context.Context, batch []fabric.Datagram, deadline time.Time) (int, error) {
	n, err := k.Transport.Receive(ctx, batch, deadline)
	for i := range n {
		var h mad.Header
		h.Decode(batch[i].MAD[:]) //nolint:errcheck // long enough
		delete(k.open, h.TransactionID<<8|uint64(h.MgmtClass))
	}
	return n, err
}

// TestSecondSweep sweeps twice through one transport, which still has requests of the first
// sweep open.
func TestSecondSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		net.Delay = roundTrip
		k := &kernelLike{net.Transport("host0"), map[uint64]time.Time{}}
		net.Node("host2").Dead = true
		_, err := fabric.Discover(t.Context(), k, fabric.Options{Budget: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fabric.Discover(t.Context(), k, fabric.Options{}); err != nil {
			t.Errorf("second sweep: %v", err)
		}
	})
}

// TestLateAnswersOfAnotherSweep checks that late answers to a stopped sweep don't confuse the next
// one, which sends other requests in their place.
func TestLateAnswersOfAnotherSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 12, 0)
		net.Delay = roundTrip
		for _, n := range net.Nodes[2:] {
			n.Delay = 20 * time.Millisecond // all hosts except the local one are slow
		}
		transport := net.Transport("host0")
		if _, err := fabric.Discover(t.Context(), transport,
			fabric.Options{Budget: 15 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		net.Disconnect(net.Node("leaf0"), 2)
		topology := discover(t, transport, fabric.Options{})
		for i := 2; i < 12; i++ {
			host := net.Node(fmt.Sprintf("host%d", i))
			want := fabric.PortID{Node: net.Node("leaf0").GUID, Port: uint8(1 + i)}
			if p := topology.Port(fabric.PortID{Node: host.GUID, Port: 1}); p == nil || p.Peer != want {
				t.Errorf("host%d is at %v, want port %s", i, p, want)
			}
		}
		if len(topology.Anomalies) > 0 {
			t.Errorf("anomalies %v, stats %+v, want no anomaly", topology.Anomalies, topology.Stats)
		}
	})
}

// pinger delivers pings and rejects the answer to the first.
type pinger struct {
	fabric.Transport
	in   []fabric.Datagram
	sent int
	stop func()
}

func (p *pinger) Serve(mad.Class, mad.OUI, ...mad.Method) error { return nil }

func (p *pinger) Send(batch []fabric.Datagram) (int, error) {
	if batch[0].Address.LID == 1 {
		return 0, fmt.Errorf("write: %w", syscall.ETIMEDOUT)
	}
	p.sent++
	return 1, nil
}

func (p *pinger) Receive(ctx context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	if len(p.in) == 0 {
		p.stop()
		return 0, context.Cause(ctx)
	}
	n := copy(batch[:1], p.in)
	p.in = p.in[n:]
	return n, nil
}

// TestServePingGoesOn checks that a requester to which no answer can be sent doesn't stop the
// others from being served.
func TestServePingGoesOn(t *testing.T) {
	var in []fabric.Datagram
	for lid := range ib.LID(3) {
		d := fabric.Datagram{Address: fabric.Address{LID: 1 + lid, QPN: 1}}
		ping := mad.NewPing(uint64(lid))
		ping.Append(d.MAD[:0])
		in = append(in, d)
	}
	ctx, stop := context.WithCancel(t.Context())
	p := &pinger{in: in, stop: stop}
	if err := fabric.ServePing(ctx, p, mad.OUIPing(), "x", nil); !errors.Is(err, context.Canceled) || p.sent != 2 {
		t.Errorf("ServePing = %v behind %d answers, want 2", err, p.sent)
	}
}

// full accepts no datagram.
type full struct{ fabric.Transport }

func (full) Send([]fabric.Datagram) (int, error) { return 0, nil }

// TestCallThroughAFullTransport checks that the call ends by the client's timeout.
func TestCallThroughAFullTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		transport := full{subnet.FatTree(1, 2, 0).Transport("host0")}
		c := fabric.Client{Transport: transport, Timeout: 10 * time.Millisecond, Retries: -1}
		start := time.Now()
		_, err := c.SMP(ctx, fabric.Target{}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		if !errors.Is(err, fabric.ErrNoAnswer) || time.Since(start) > time.Second {
			t.Errorf("SMP = %v behind %v, want no answer", err, time.Since(start))
		}
	})
}

// TestHostileLIDs lets ports report LIDs that are not unicast LIDs.
func TestHostileLIDs(t *testing.T) {
	for _, lid := range []ib.LID{0xc000, 0xffff} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(2, 2, 1)
			net.Delay = roundTrip
			net.Node("host2").PortInfo = func(_ uint8, info *mad.PortInfo) { info.LID = lid }
			sent := map[ib.LID]int{}
			discover(t, &addresses{net.Transport("host0"), sent}, fabric.Options{Counters: true})
			if sent[lid] > 0 {
				t.Errorf("%d MADs of performance management were sent to LID 0x%x", sent[lid], uint16(lid))
			}
		})
	}
}

type addresses struct {
	fabric.Transport
	sent map[ib.LID]int
}

func (a *addresses) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		if batch[i].Address.QPN == 1 {
			a.sent[batch[i].Address.LID]++
		}
	}
	return a.Transport.Send(batch)
}

// TestFullMulticastTable saves and reads a table of almost the largest size.
func TestFullMulticastTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 200, 0)
		var all fabric.PortSet
		for port := range uint8(201) {
			all.Add(port)
		}
		leaf := net.Node("leaf0")
		leaf.Multicast = map[ib.LID]fabric.PortSet{}
		for lid := 0xc000; lid < 0xffff; lid++ {
			leaf.Multicast[ib.LID(lid)] = all
		}
		checkRoundTrip(t, discover(t, net.Transport("host0"), fabric.Options{Multicast: true}))
	})
}

// TestLateAnswerOfAnotherClient lets the answer to one client arrive while the next client waits
// for its answer.
func TestLateAnswerOfAnotherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 4, 0)
		net.Delay = time.Millisecond
		net.Node("host1").Delay, net.Node("host2").Delay = 20*time.Millisecond, 30*time.Millisecond
		transport := net.Transport("host0")
		ask := func(timeout time.Duration, ports ...uint8) (string, error) {
			path, err := mad.NewPath(ports...)
			if err != nil {
				t.Fatal(err)
			}
			c := fabric.Client{Transport: transport, Timeout: timeout, Retries: -1}
			data, err := c.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet,
				mad.AttributeNodeDescription, 0, nil)
			if err != nil {
				return "", err
			}
			var d mad.NodeDescription
			d.Decode(data) //nolint:errcheck // the client has the length
			return d.String(), nil
		}
		if _, err := ask(10*time.Millisecond, 1, 2); !errors.Is(err, fabric.ErrNoAnswer) {
			t.Fatalf("host1 answered in time: %v", err)
		}
		if name, err := ask(time.Second, 1, 3); name != "host2" || err != nil {
			t.Errorf("description of host2 = %q, %v", name, err)
		}
	})
}

// many answers with a new switch with 254 ports behind each port.
func many(net *subnet.Subnet) {
	serial := uint32(0)
	net.Node("leaf0").PortInfo = func(_ uint8, info *mad.PortInfo) {
		info.PortPhysicalState = mad.PortPhysicalStateLinkUp
	}
	lie(net, rewrite(func(i *mad.NodeInfo) {
		if i.NodeType == mad.NodeTypeCA && serial > 0 || serial > 2 {
			i.NodeType, i.NumPorts = mad.NodeTypeSwitch, 254
			i.NodeGUID = ib.GUID{1, byte(serial >> 16), byte(serial >> 8), byte(serial)}
		}
		serial++
	}))
}

// TestPortsAreBounded checks the limit of ports in a fabric with invalid answers.
func TestPortsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 200, 0)
		many(net)
		const nodes = 100
		topology := discover(t, net.Transport("host0"), fabric.Options{MaxNodes: nodes})
		ports := 0
		for _, n := range topology.Nodes {
			ports += len(n.Ports)
		}
		if ports > 32*nodes || !slices.ContainsFunc(topology.Anomalies,
			func(a fabric.Anomaly) bool { return a.Kind == fabric.AnomalyTooMany }) {
			t.Errorf("%d nodes with %d ports, want at most 32 a node and an anomaly", len(topology.Nodes), ports)
		}
	})
}

// echo answers a ping with a name that contains terminal control sequences.
type echo struct {
	fabric.Transport
	d fabric.Datagram
}

func (e *echo) Send(batch []fabric.Datagram) (int, error) { e.d = batch[0]; return 1, nil }

func (e *echo) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	var p mad.VendorMAD
	p.Decode(e.d.MAD[:]) //nolint:errcheck // long enough
	p.Method = mad.MethodGetResp
	copy(p.Data[:], "a\x1b[2Jb\xffc")
	p.Append(e.d.MAD[:0])
	batch[0] = e.d
	return 1, nil
}

func TestPingNameIsPlain(t *testing.T) {
	c := fabric.Client{Transport: &echo{}}
	name, _, err := c.Ping(t.Context(), fabric.Address{LID: 1, QPN: 1}, mad.OUIPing())
	if name != "a [2Jb c" || err != nil {
		t.Errorf("Ping = %q, %v, want plain text", name, err)
	}
}

// TestOneAddressRefused lets the transport reject the datagrams to one LID: only that node's
// counters are missing.
func TestOneAddressRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		net.Delay = roundTrip
		topology := discover(t, &subnet.Refuser{Transport: net.Transport("host0"), LID: net.Node("host5").LIDs[1]},
			fabric.Options{Counters: true})
		for _, n := range topology.Nodes {
			read := n.Ports[1].Extended != nil || n.Ports[1].Counters != nil
			if want := n.GUID() != net.Node("host5").GUID; read != want {
				t.Errorf("counters of %s read: %v, want %v", n.Description, read, want)
			}
		}
		if len(topology.Unreached) != 1 || !strings.Contains(topology.Unreached[0].Reason, "can't be sent") ||
			topology.Complete {
			t.Errorf("unreached %v, complete %v, want the one that was refused", topology.Unreached, topology.Complete)
		}
	})
}

// TestUnreachedAreBounded has more dead nodes than the limit of the list.
func TestUnreachedAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 40, 0)
		net.Delay = roundTrip
		for i := 1; i < 40; i++ {
			net.Node(fmt.Sprintf("host%d", i)).Dead = true
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{MaxUnreached: 5})
		if len(topology.Unreached) != 5 || topology.Stats.Unreached != 39 || topology.Complete {
			t.Errorf("%d listed, %d counted, complete %v, want 5 of 39",
				len(topology.Unreached), topology.Stats.Unreached, topology.Complete)
		}
	})
}

// TestEnhancedPort0 has a switch with counters at port 0, and one without.
func TestEnhancedPort0(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 2, 1)
		net.Delay = roundTrip
		enhanced := net.Node("leaf0")
		enhanced.Lie = func(d *fabric.Datagram) int {
			var p mad.DirectedSMP
			p.Decode(d.MAD[:]) //nolint:errcheck // long enough
			if p.AttributeID == mad.AttributeSwitchInfo {
				var info mad.SwitchInfo
				info.Decode(p.Data[:]) //nolint:errcheck // long enough
				info.EnhancedPort0 = true
				info.Append(p.Data[:0])
				p.Append(d.MAD[:0])
			}
			return 1
		}
		topology := discover(t, net.Transport("host0"), fabric.Options{Counters: true})
		for _, n := range topology.Nodes {
			p := &n.Ports[0]
			if got, want := p.Extended != nil || p.Counters != nil, n.GUID() == enhanced.GUID; got != want {
				t.Errorf("counters of port 0 of %s: %v, want %v", n.Description, got, want)
			}
		}
	})
}
