package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// A message of the connection manager may get lost, and the kernel repeats it after four seconds:
// so it is sent twice.
const (
	askTries = 2
	askWait  = 1500 * time.Millisecond
)

// askPeer asks the connection manager of a peer through an RDMA device of this machine for a
// service that nobody has (SIDR_REQ), and reports whether it answers. The error of a peer that
// doesn't is that of a timeout.
func askPeer(ctx context.Context, name string, source, peer netip.Addr) (answered bool, err error) {
	device, _, err := cli.OpenConnector(ctx, cli.ConnectorRequest{Name: name})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	return askThrough(ctx, device, source, peer)
}

func askThrough(ctx context.Context, device *verbs.Device, source, peer netip.Addr) (answered bool, err error) {
	pd, err := device.AllocatePD()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, pd.Close()) }()
	cq, err := device.CreateCQ(verbs.CQConfig{Depth: 1})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, cq.Close()) }()
	qp, err := pd.CreateQP(verbs.QPConfig{Type: verbs.QPTypeUD, SendCQ: cq, RecvCQ: cq})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, qp.Close()) }()
	for range askTries {
		answered, err = askOnce(ctx, device, qp, source, peer)
		if answered || err == nil || ctx.Err() != nil {
			break
		}
	}
	return answered, err
}

func askOnce(
	ctx context.Context, device *verbs.Device, qp *verbs.QueuePair, source, peer netip.Addr,
) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	connection, err := device.Dial(ctx, qp, netip.AddrPortFrom(peer, rocev2.Port), verbs.ConnectOptions{Local: source})
	if _, rejected := errors.AsType[*verbs.RejectedError](err); rejected {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the connection manager of %v: %w", peer, err)
	}
	return true, connection.Close()
}
