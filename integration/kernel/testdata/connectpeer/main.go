// Command connectpeer is a peer of rdmactl connect that posts no receive request: it connects its
// queue pair as it should, and then does nothing until the client ends. Arguments: the device, the
// TCP address to listen on.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// peer is the connection to the client.
type peer struct {
	net.Conn
	in *bufio.Reader
}

func (p *peer) next(m *connect.Message) error {
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	*m = connect.Message{}
	return json.Unmarshal(line, m)
}

func (p *peer) say(m connect.Message) error {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = p.Write(append(line, '\n'))
	}
	return err
}

func run(ctx context.Context, device, address string) error {
	d, err := verbs.Open(ctx, device, builtin.All()...)
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	p := &peer{conn, bufio.NewReader(conn)}
	var m connect.Message
	for {
		if err := p.next(&m); err != nil {
			return err
		}
		switch m.Kind {
		case connect.KindHello:
			err = p.say(connect.Message{Kind: connect.KindHello, Hello: &connect.Hello{
				Protocol: connect.Protocol, Version: connect.Version, Node: connect.Node{Host: "standin"},
			}})
		case connect.KindPort:
			err = p.connect(ctx, d, m.Port)
		case connect.KindStatus:
			if m.Failure != nil {
				fmt.Println(m.Failure.Error())
			}
			err = p.say(connect.Message{Kind: connect.KindStatus, Status: &connect.Status{
				Stage: m.Status.Stage, Aborted: m.Failure != nil,
			}})
		case connect.KindBye:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// connect connects a queue pair without receive requests to the client's.
func (p *peer) connect(ctx context.Context, d *verbs.Device, theirs *connect.Endpoint) error {
	pd, err := d.AllocatePD()
	if err != nil {
		return err
	}
	cq, err := d.CreateCQ(verbs.CQConfig{})
	if err != nil {
		return err
	}
	qp, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq})
	if err != nil {
		return err
	}
	gids, err := d.GIDs(ctx, 1)
	if err != nil {
		return err
	}
	var own verbs.GIDEntry
	for _, g := range gids {
		if g.GID.Addr().Is4() && g.Type == verbs.GIDTypeRoCEv2 {
			own = g
		}
	}
	psn := verbs.RandomPSN()
	if err := p.say(connect.Message{Kind: connect.KindPort, Port: &connect.Endpoint{
		Host: "standin", Port: d.Name(), LinkLayer: verbs.LinkLayerEthernet.String(), ActiveMTU: ib.MTU1024,
		MTU: ib.MTU1024, QPN: uint32(qp.QPN()), PSN: uint32(psn), PKey: ib.PKeyDefault,
		GIDs: []connect.GIDChoice{{Index: own.Index, GID: own.GID, Kind: connect.KindV2IPv4}},
	}}); err != nil {
		return err
	}
	return qp.Connect(verbs.ConnectConfig{
		Remote: verbs.Remote{QPN: ib.QPN(theirs.QPN), PSN: ib.PSN(theirs.PSN), GID: theirs.GIDs[0].GID}, PSN: psn,
		MTU: ib.MTU1024, SGIDIndex: own.Index,
	})
}
