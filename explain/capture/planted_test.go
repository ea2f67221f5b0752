package capture

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdmakit/rdmakit/internal/edge/udpio"
	"github.com/rdmakit/rdmakit/internal/sim/packetnet"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// fate is what the network does with a datagram.
type fate struct {
	drop, twice bool
	hold        bool   // until after the next one
	flip        bool   // a bit of the payload
	mark        bool   // as congested
	from        string // another source address, with a right ICRC
	unseen      bool   // by the capture
}

// tapped is a network with two engines whose datagrams are captured.
type tapped struct {
	// near captures packets where they are sent, before their fate; otherwise where they arrive.
	near bool
	plan func(toB bool, p *ib.Packet) fate
	snap int
	now  time.Time // of the next packet, if it isn't the clock's
	id   uint16    // IPv4 identification of the next packet

	mu   sync.Mutex
	out  bytes.Buffer
	pcap *pcapgo.Writer
	held []udpio.Outbound
}

// port is the connection of an engine to a tapped network.
type port struct {
	*packetnet.Conn
	w    *tapped
	addr netip.Addr
}

// Write implements [roce.PacketSender].
func (c *port) Write(list []udpio.Outbound) ([]udpio.Outbound, error) {
	for _, o := range list {
		size := o.Segment
		if size == 0 {
			size = len(o.Data)
		}
		for data := o.Data; len(data) > 0; {
			one := o
			one.Data, one.Segment, one.Numbered = slices.Clone(data[:min(size, len(data))]), 0, false
			data = data[len(one.Data):]
			if err := c.send(one); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

func (c *port) send(o udpio.Outbound) error {
	var p ib.Packet
	if _, err := p.Decode(o.Data[:len(o.Data)-rocev2.ICRCLen]); err != nil {
		return err
	}
	c.w.mu.Lock()
	var f fate
	if c.w.plan != nil {
		f = c.w.plan(c.addr == addrA, &p)
	}
	if f.mark {
		o.TrafficClass |= ecnCE
	}
	if c.w.near {
		c.record(o, f)
	}
	if f.flip {
		o.Data[len(o.Data)-rocev2.ICRCLen-1] ^= 1
	}
	if !c.w.near && !f.drop && !f.hold {
		c.record(o, f)
	}
	sends := []udpio.Outbound{o}
	switch {
	case f.drop:
		sends = nil
	case f.hold:
		sends, c.w.held = nil, append(c.w.held, o)
	case f.twice:
		sends = append(sends, o)
		c.record(o, f)
	}
	if len(sends) > 0 && len(c.w.held) > 0 && o.To == c.w.held[0].To {
		for _, late := range c.w.held {
			if !c.w.near {
				c.record(late, fate{})
			}
			sends = append(sends, late)
		}
		c.w.held = nil
	}
	c.w.mu.Unlock()
	_, err := c.Conn.Write(sends)
	return err
}

// record writes a datagram to the capture, as the kernel would send it.
func (c *port) record(o udpio.Outbound, f fate) {
	if f.unseen {
		return
	}
	from := c.addr
	if f.from != "" {
		from = netip.MustParseAddr(f.from)
		flow := rocev2.Flow{
			Source: ib.GIDFromAddr(from), Destination: ib.GIDFromAddr(o.To.Addr()), SourcePort: 49152,
			DestinationPort: rocev2.Port, DontFragment: true,
		}
		o.Data = flow.AppendICRC(slices.Clone(o.Data[:len(o.Data)-rocev2.ICRCLen]))
	}
	ttl := o.HopLimit
	if ttl == 0 {
		ttl = 64
	}
	sourcePort := uint16(rocev2.Port)
	if f.from != "" {
		sourcePort = 49152
	}
	c.w.writeIPv4(from, o.To.Addr(), o.TrafficClass, ttl, sourcePort, o.Data)
}

func (w *tapped) writeIPv4(from, to netip.Addr, tclass, ttl uint8, sourcePort uint16, datagram []byte) {
	ip := &layers.IPv4{
		Version: 4, TOS: tclass, TTL: ttl, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolUDP, Id: w.id,
		SrcIP: from.AsSlice(), DstIP: to.AsSlice(),
	}
	udp := &layers.UDP{SrcPort: layers.UDPPort(sourcePort), DstPort: rocev2.Port}
	w.write(ethernet(layers.EthernetTypeIPv4), ip, udp, gopacket.Payload(datagram))
}

func ethernet(t layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: t}
}

// write adds a packet to the capture.
func (w *tapped) write(list ...gopacket.SerializableLayer) {
	if w.pcap == nil {
		w.pcap = pcapgo.NewWriterNanos(&w.out)
		must(w.pcap.WriteFileHeader(1<<16, layers.LinkTypeEthernet))
	}
	b := gopacket.NewSerializeBuffer()
	must(gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, list...))
	data := b.Bytes()
	at := w.now
	if at.IsZero() {
		at = time.Now()
	}
	ci := gopacket.CaptureInfo{Timestamp: at, Length: len(data), CaptureLength: len(data)}
	if w.snap > 0 && w.snap < len(data) {
		data, ci.CaptureLength = data[:w.snap], w.snap
	}
	must(w.pcap.WritePacket(ci, data))
}

func must(err error) {
	if err != nil {
		panic(err) // in tests only
	}
}

var addrA, addrB = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

// end is an engine with one of everything.
type end struct {
	t    *testing.T
	addr netip.Addr
	e    *roce.Engine
	pd   provider.ProtectionDomain
	cq   provider.CompletionQueue
	qp   provider.QueuePair
	mr   provider.MemoryRegion
}

func newEnd(t *testing.T, n *packetnet.Network, w *tapped, addr netip.Addr) *end {
	t.Helper()
	conn, err := n.Listen(netip.AddrPortFrom(addr, rocev2.Port))
	check(t, err)
	e, err := roce.New(roce.Config{Conn: &port{conn, w, addr}, Addr: addr, MTU: ib.MTU4096})
	check(t, err)
	pd, err := e.AllocatePD()
	check(t, err)
	s := &end{t: t, addr: addr, e: e, pd: pd}
	s.cq, err = e.CreateCQ(provider.CQConfig{Wait: provider.WaitEvent})
	check(t, err)
	s.qp, err = pd.CreateQP(provider.QPConfig{
		SendCQ: s.cq, RecvCQ: s.cq, Capacity: provider.QPCapacity{MaxSendWR: 64, MaxRecvWR: 64},
	})
	check(t, err)
	s.mr, err = pd.RegisterMemory(make([]byte, 1<<16), provider.MemoryOptions{
		Access: provider.AccessLocalWrite | provider.AccessRemoteRead | provider.AccessRemoteWrite |
			provider.AccessRemoteAtomic,
	})
	check(t, err)
	t.Cleanup(func() {
		for _, c := range []interface{ Close() error }{s.qp, s.mr, s.cq, pd, e} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link is what differs between connections in the tests.
type link struct {
	mtu              ib.MTU
	tclass, hopLimit uint8
	reads            int // READs that the peer may have outstanding; 0 is 16
}

func (s *end) connect(peer *end, l link) {
	s.t.Helper()
	if l.mtu == 0 {
		l.mtu = ib.MTU1024
	}
	gid := ib.GIDFromAddr(addrA)
	psn, peerPSN := ib.PSN(0xfffff8), ib.PSN(0x123456)
	if l.hopLimit == 0 {
		l.hopLimit = 64
	}
	reads := l.reads
	if reads == 0 {
		reads = 16
	}
	if s.addr == addrA {
		gid = ib.GIDFromAddr(addrB)
	} else {
		psn, peerPSN = peerPSN, psn
	}
	attr := provider.QPAttributes{
		Mask: ^provider.QPMask(0), Access: 0xff, PathMTU: l.mtu, DestQPN: peer.qp.QPN(),
		Path:       provider.Path{DGID: gid, TrafficClass: l.tclass, HopLimit: l.hopLimit},
		ReceivePSN: peerPSN, SendPSN: psn, MaxDestReadAtomic: reads, MaxReadAtomic: 16, MinRNRTimer: 12,
		Timeout: 14, RetryCount: 3, RNRRetry: 7, Port: 1,
	}
	for attr.State = provider.QPStateInit; attr.State <= provider.QPStateRTS; attr.State++ {
		required, optional, _ := provider.TransitionAttributes(provider.QPTypeRC, s.qp.State(), attr.State)
		one := attr
		one.Mask = required | optional
		check(s.t, s.qp.Modify(one))
	}
}

// post posts a request and returns the status of its completion.
func (s *end) post(wr provider.SendRequest) provider.WCStatus {
	s.t.Helper()
	wr.Flags |= provider.SendSignaled
	if _, err := s.qp.PostSend([]provider.SendRequest{wr}); err != nil {
		s.t.Fatal(err)
	}
	return s.wait()
}

func (s *end) wait() provider.WCStatus {
	s.t.Helper()
	var wc [1]provider.WorkCompletion
	n, err := s.cq.Wait(s.t.Context(), wc[:])
	if err != nil || n != 1 {
		s.t.Fatal(n, err)
	}
	return wc[0].Status
}

func (s *end) request(op provider.SendOp, length int, peer *end) provider.SendRequest {
	return provider.SendRequest{
		Op: op, Segments: []provider.Segment{{Region: s.mr, Length: length}},
		RKey: peer.mr.RKey(), RemoteAddr: peer.mr.Addr(),
	}
}

func (s *end) receive(length int) {
	s.t.Helper()
	_, err := s.qp.PostReceive([]provider.ReceiveRequest{
		{Segments: []provider.Segment{{Region: s.mr, Length: length}}},
	})
	check(s.t, err)
}

// fileHeaderLen is the length of the header of a pcap file.
const fileHeaderLen = 24

// scene is a capture with planted faults and the findings that they must lead to.
type scene struct {
	name string
	tap  *tapped // nil: no faults
	a, b link
	run  func(t *testing.T, w *tapped, a, b *end)
	want []Name
	// summary is that of a finding.
	summary string
	// notJudged is part of a limit that the report must name.
	notJudged string
}

// record returns the capture of a scene.
func (s *scene) record(t *testing.T) []byte {
	t.Helper()
	if s.tap == nil {
		s.tap = &tapped{}
	}
	synctest.Test(t, func(t *testing.T) {
		n := packetnet.New(packetnet.Faults{Delay: 5 * time.Microsecond})
		a, b := newEnd(t, n, s.tap, addrA), newEnd(t, n, s.tap, addrB)
		a.connect(b, s.a)
		b.connect(a, s.b)
		s.run(t, s.tap, a, b)
	})
	return s.tap.out.Bytes()
}

// names returns the names of findings, sorted, each once.
func names(r *Report) []Name {
	var out []Name
	for _, f := range r.Findings {
		out = append(out, f.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// expect compares the findings of a capture with the expected ones. Tests of captures of other
// origin use it too.
func expect(t *testing.T, capture []byte, want []Name) *Report {
	t.Helper()
	r, err := Read(bytes.NewReader(capture), Options{})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got := names(r); !slices.Equal(want, got) {
		diff := cmp.Diff(want, got)
		t.Errorf("findings (-want +got):\n%s%s", diff, dump(r))
	}
	for _, f := range r.Findings {
		if f.Count == 0 || f.Summary == "" || f.Means == "" || f.Name != NameNoRoCE && len(f.Evidence) == 0 {
			t.Errorf("incomplete finding %+v", f)
		}
	}
	return r
}

// Each planted fault is found, and nothing else.
func TestPlanted(t *testing.T) {
	var all bytes.Buffer // the captures of all scenes
	for _, s := range scenes() {
		var b []byte
		t.Run(s.name, func(t *testing.T) {
			b = s.record(t)
			r := expect(t, b, s.want)
			if s.summary != "" && !slices.ContainsFunc(r.Findings, func(f Finding) bool {
				return f.Summary == s.summary
			}) {
				t.Errorf("no finding %q\n%s", s.summary, dump(r))
			}
			if s.notJudged != "" && !slices.ContainsFunc(r.NotJudged, func(n string) bool {
				return bytes.Contains([]byte(n), []byte(s.notJudged))
			}) {
				t.Errorf("NotJudged = %q, want %q", r.NotJudged, s.notJudged)
			}
		})
		if all.Len() > 0 {
			b = b[fileHeaderLen:]
		}
		all.Write(b)
	}
	file := filepath.Join(t.TempDir(), "planted.pcap")
	check(t, os.WriteFile(file, all.Bytes(), 0o600))
	if n := agree(t, file); n < 1000 {
		t.Errorf("only %d packets", n)
	}
}
