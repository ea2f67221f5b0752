package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/edge/umad"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// kernelServe is an SA whose answers the kernel makes segments of, as it does for OpenSM.
func kernelServe(ctx context.Context, device string) error {
	root, err := sysfs.OpenRoot("/")
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it was only read
	ports, err := umad.Ports(ctx, root)
	if err != nil {
		return err
	}
	port, err := umad.Choose(ports, device, 1)
	if err != nil {
		return err
	}
	conn, err := umad.Open(port)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the kernel cancels what it still sends
	if _, err := conn.Register(umad.Agent{
		Class: uint8(mad.ClassSA), ClassVersion: mad.SAClassVersion, QPN: 1, RMPPVersion: mad.RMPPVersion,
		Methods: []uint8{uint8(mad.MethodGetTable)},
	}); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "serving")
	in := make([]umad.Packet, 1)
	for {
		n, err := conn.Receive(ctx, in, time.Time{})
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case n == 0 || in[0].Status != 0: // a report about an answer that wasn't acknowledged
			continue
		}
		answer := answerTo(&in[0])
		if n, err := conn.Send([]umad.Packet{answer}); n != 1 || err != nil {
			return fmt.Errorf("answer: %d sent, %w", n, err)
		}
	}
}

// answerTo returns the table that a query asks for.
func answerTo(in *umad.Packet) umad.Packet {
	var m mad.SA
	m.Decode(in.MAD[:]) //nolint:errcheck // long enough
	var want mad.ServiceRecord
	want.Decode(m.Data[:]) //nolint:errcheck // long enough
	m.Method = mad.MethodGetTableResp
	m.RMPP = mad.RMPP{Version: mad.RMPPVersion, Type: mad.RMPPData, Flags: mad.RMPPActive}
	m.AttributeOffset = mad.ServiceRecordLen / 8
	var data []byte
	if records := int(want.ServiceLease); slices.Contains(tables(), records) {
		for i := range records {
			r := service(i, records)
			data = r.Append(data)
		}
	}
	m.Data = [mad.SADataLen]byte{}
	rest := data[copy(m.Data[:], data):]
	out := *in
	out.Length, out.Rest, out.Timeout, out.Retries, out.QKey = mad.SAHeaderLen+len(data), rest, 0, 3, mad.QKeyGSI
	m.Append(out.MAD[:0])
	return out
}
