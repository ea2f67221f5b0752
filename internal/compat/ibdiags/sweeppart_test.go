package ibdiags

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// endless answers with a new switch behind every port of every switch.
type endless struct {
	answers []fabric.Datagram
	asked   int
	nodes   uint64
}

func (e *endless) Send(batch []fabric.Datagram) (int, error) {
	for _, d := range batch {
		e.asked++
		var p mad.DirectedSMP
		p.Decode(d.MAD[:]) //nolint:errcheck // long enough
		p.Method |= mad.MethodResponse
		p.SetReturning(true)
		switch p.AttributeID {
		case mad.AttributeNodeInfo:
			e.nodes++
			info := mad.NodeInfo{
				BaseVersion: 1, ClassVersion: 1, NodeType: mad.NodeTypeSwitch, NumPorts: 200, LocalPortNum: 1,
			}
			binary.BigEndian.PutUint64(info.NodeGUID[:], e.nodes)
			info.PortGUID = info.NodeGUID
			info.Append(p.Data[:0])
		case mad.AttributePortInfo:
			info := mad.PortInfo{LID: 1, PortState: mad.PortStateActive, PortPhysicalState: mad.PortPhysicalStateLinkUp}
			info.Append(p.Data[:0])
		}
		p.Append(d.MAD[:0])
		e.answers = append(e.answers, d)
	}
	return len(batch), nil
}

func (e *endless) Receive(_ context.Context, batch []fabric.Datagram, _ time.Time) (int, error) {
	n := copy(batch, e.answers)
	e.answers = e.answers[n:]
	return n, nil
}

func (e *endless) Close() error { return nil }

func TestPartIsBounded(t *testing.T) {
	var said strings.Builder
	transport := &endless{}
	r := newRun(&Host{Name: "iblinkinfo", Stderr: &said}, &Program{})
	r.client.Transport = transport
	s := newScan(&asking{ctx: t.Context(), r: r, nodes: map[ib.GUID]*fabric.Node{}, most: 5000}, mad.Path{})
	s.maxHops = 10
	s.run()
	if len(s.nodes) != 5000/201 || transport.asked > 6000 ||
		strings.Count(said.String(), "the nodes have more than 5000 ports") != 1 {
		t.Errorf("%d nodes by %d questions, said %q, want 24 nodes and one line",
			len(s.nodes), transport.asked, said.String())
	}
}
