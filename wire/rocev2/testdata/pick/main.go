// Command pick chooses test vectors from a capture and prints them as packets.txt:
// the first packet of each opcode, syndrome and IP version, and one of each larger
// path MTU. The fields that tshark decodes are included as the expected result.
//
//	go run ./wire/rocev2/testdata/pick CAPTURE 'PROVENANCE' >wire/rocev2/testdata/packets.txt
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/testkit/tshark"
	"github.com/rdmakit/rdmakit/wire/ib"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pick:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: pick CAPTURE PROVENANCE")
	}
	packets, err := tshark.Dissect(ctx, args[0])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for line := range strings.Lines(args[1]) {
		fmt.Fprintf(out, "# %s\n", strings.TrimSpace(line))
	}
	seen := map[string]bool{}
	for _, p := range packets {
		opcode, version := ib.Opcode(p.Fields["bth.opcode"]), p.Frame[14]>>4
		kind := fmt.Sprintf("%v, IPv%d", opcode, version)
		if opcode.Layout()&ib.LayoutAETH != 0 {
			kind += ", " + ib.Syndrome(p.Fields["aeth.syndrome"]).String()
		}
		size := fmt.Sprintf("payload of %d bytes", len(p.Payload))
		small := len(p.Payload) <= 256
		if small && seen[kind] || !small && seen[size] || opcode.IsUC() && version == 6 {
			continue
		}
		seen[kind], seen[size] = true, true
		write(out, kind+", "+size, p)
	}
	return out.Flush()
}

func write(out *bufio.Writer, name string, p tshark.Packet) {
	fmt.Fprintf(out, "\npacket %s\nfields", name)
	var names []string
	for name := range p.Fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, " %s=%#x", name, p.Fields[name])
	}
	fmt.Fprintln(out)
	for line := range slices.Chunk(p.Frame, 48) {
		fmt.Fprintf(out, "%x\n", line)
	}
}
