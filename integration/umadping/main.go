// Command umadping sends vendor pings over a device's management queue pair, from one user MAD file to another of the same port, and prints
// how many came back. The kernel ring runs it in its guest, where rxe has such a queue pair.
//
//	umadping DEVICE GID-INDEX GID
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

const (
	pings   = 100
	timeout = time.Second
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "umadping:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return errors.New("usage: umadping DEVICE GID-INDEX GID")
	}
	index, err := strconv.ParseUint(args[1], 10, 8)
	if err != nil {
		return err
	}
	gid, err := ib.ParseGID(args[2])
	if err != nil {
		return err
	}
	server, err := fabric.OpenUMAD(ctx, fabric.UMADOptions{Device: args[0]})
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Serve(mad.ClassPing, mad.OUIPing(), mad.MethodGet); err != nil {
		return err
	}
	client, err := fabric.OpenUMAD(ctx, fabric.UMADOptions{Device: args[0]})
	if err != nil {
		return err
	}
	defer client.Close()

	to := fabric.Address{QPN: 1, QKey: fabric.QKeyGSI, HasGRH: true, GIDIndex: uint8(index), GID: gid}
	answers := 0
	for i := range pings {
		if err := ping(ctx, client, server, to, uint32(i)); err != nil {
			return fmt.Errorf("ping %d: %w", i, err)
		}
		answers++
	}
	lost := "lost"
	if err := ping(ctx, client, nil, to, pings); !errors.Is(err, errLost) {
		lost = fmt.Sprintf("not lost: %v", err)
	}
	_, err = fmt.Fprintf(os.Stdout, "%d of %d pings answered, one without a server %s\n", answers, pings, lost)
	return err
}

var errLost = errors.New("the kernel gave the request back")

// ping sends one request, has the server, if any, answer it, and checks the answer.
func ping(ctx context.Context, client, server *fabric.UMAD, to fabric.Address, tid uint32) error {
	request := mad.NewPing(uint64(tid))
	d := make([]fabric.Datagram, 1)
	d[0] = fabric.Datagram{Address: to, Timeout: timeout}
	request.Append(d[0].MAD[:0])
	if n, err := client.Send(d); n != 1 {
		return fmt.Errorf("sent %d: %w", n, err)
	}
	got := make([]fabric.Datagram, 1)
	if err := serve(ctx, server, got); err != nil {
		return err
	}
	n, err := client.Receive(ctx, got, time.Now().Add(3*timeout))
	if err != nil {
		return err
	}
	var answer mad.VendorMAD
	answer.Decode(got[0].MAD[:]) //nolint:errcheck // long enough
	switch {
	case n == 0:
		return errors.New("neither an answer nor the request")
	case got[0].Lost:
		return errLost
	case answer.Method != mad.MethodGetResp || answer.TransactionID&(1<<32-1) != uint64(tid) || !got[0].Address.HasGRH:
		return fmt.Errorf("answer has method 0x%x, transaction %x, global route %v", uint8(answer.Method), answer.TransactionID, got[0].Address.HasGRH)
	}
	return nil
}

// serve answers one request.
func serve(ctx context.Context, server *fabric.UMAD, got []fabric.Datagram) error {
	if server == nil {
		return nil
	}
	n, err := server.Receive(ctx, got, time.Now().Add(timeout/2))
	if err != nil || n == 0 {
		return err
	}
	got[0].Address.QKey = fabric.QKeyGSI
	got[0].MAD[3] = uint8(mad.MethodGetResp)
	if n, err := server.Send(got); n != 1 {
		return fmt.Errorf("answered %d: %w", n, err)
	}
	return nil
}
