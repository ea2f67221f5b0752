package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// serviceLease is the bit of the component mask for ServiceLease (the kernel's
// IB_SA_SERVICE_REC_SERVICE_LEASE).
const serviceLease = 1 << 4

// tables are the lengths of the tables that the SAs have.
func tables() []int { return []int{1, 2, 7, 100, 2000} }

// service returns a record of the SAs: each has the length of its table as ServiceLease.
func service(i, records int) mad.ServiceRecord {
	r := mad.ServiceRecord{
		ServiceID: uint64(records)<<32 | uint64(i), ServiceLease: uint32(records), ServicePKey: ib.PKeyDefault,
	}
	copy(r.ServiceName[:], fmt.Sprintf("service %d of %d", i, records))
	for k := range r.ServiceData8 {
		r.ServiceData8[k] = uint8(i + k)
	}
	r.ServiceData64 = [2]uint64{uint64(i) * 0x9e3779b97f4a7c15, uint64(records)}
	return r
}

// request is a query.
type request struct {
	Records   int // one of tables, or any other for a table without records
	Fault     fault
	TimeoutMs int // of each try
	TotalMs   int // of the transfer
	Retries   int
}

// result is what has come of a query.
type result struct {
	Result, Right int // numbers of records, and of those whose contents are as the SA has them
	Segments      int
	Length        int // of the records, in bytes
	Error         string
	Ms            int64
}

// routed sends with a global route header: a RoCE port has no LIDs.
type routed struct {
	*fabric.UMAD
	gid ib.GID
}

// Send implements [fabric.Transport].
func (r *routed) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		batch[i].Address.HasGRH, batch[i].Address.GIDIndex, batch[i].Address.GID = true, 0, r.gid
	}
	return r.UMAD.Send(batch)
}

func query(ctx context.Context, device, address string) error {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	port, err := fabric.OpenUMAD(ctx, fabric.UMADOptions{Device: device})
	if err != nil {
		return err
	}
	defer port.Close() //nolint:errcheck // no request is outstanding
	return askAll(ctx, &routed{UMAD: port, gid: ib.GIDFromAddr(ip)})
}

// askAll sends the queries of the input, one after the other.
func askAll(ctx context.Context, transport fabric.Transport) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q request
		if err := in.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := out.Encode(ask(ctx, transport, q)); err != nil {
			return err
		}
	}
}

func ask(ctx context.Context, transport fabric.Transport, q request) result {
	client := sa.Client{
		Transport: transport, Retries: q.Retries,
		LID:     1, // not used: the transport knows the address
		Timeout: time.Duration(q.TimeoutMs) * time.Millisecond, TotalTime: time.Duration(q.TotalMs) * time.Millisecond,
	}
	start := time.Now()
	table, err := client.Table(ctx, sa.Query{
		Attribute: mad.AttributeServiceRecord, Modifier: uint32(q.Fault), Mask: serviceLease,
		Record: (&mad.ServiceRecord{ServiceLease: uint32(q.Records)}).Append(nil),
	})
	r := result{Ms: time.Since(start).Milliseconds()}
	if err != nil {
		r.Error = err.Error()
	}
	if table == nil {
		return r
	}
	r.Segments, r.Length = table.Segments, len(table.Data)
	list, err := sa.Records[mad.ServiceRecord](table)
	if err != nil {
		r.Error = fmt.Sprint(r.Error, err)
	}
	r.Result = len(list)
	for i := range list {
		if list[i] == service(i, q.Records) {
			r.Right++
		}
	}
	return r
}
