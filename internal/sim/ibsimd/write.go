package ibsimd

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"reflect"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Write writes a net file, which ibsim and [ReadNet] read. Faults and the configuration by subnet
// managers are not part of it, LIDs neither.
func (n *Net) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	current := PortSettings{Width: uint8(mad.LinkWidth4X), Speed: 1}
	for _, one := range n.Nodes {
		one.write(b, &current)
	}
	for _, one := range n.Nodes {
		one.writeCounters(b)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write net: %w", err)
	}
	return nil
}

// write writes one node. current holds the settings that the file has set before.
func (n *Node) write(w *bufio.Writer, current *PortSettings) {
	guidWord, kind := "caguid", "Ca"
	switch n.Type {
	case mad.NodeTypeSwitch:
		guidWord, kind = "switchguid", "Switch"
	case mad.NodeTypeRouter:
		guidWord, kind = "rtguid", "Rt"
	}
	usual := n.Settings[len(n.Settings)-1].enabled()
	for _, s := range []struct {
		word     string
		now, set *uint8
	}{
		{"width", &current.Width, &usual.Width},
		{"speed", &current.Speed, &usual.Speed},
		{"extspeed", &current.Extended, &usual.Extended},
	} {
		if *s.now != *s.set {
			fmt.Fprintf(w, "%s=%d\n", s.word, *s.set)
			*s.now = *s.set
		}
	}
	if n.VendorID != 0 {
		fmt.Fprintf(w, "vendid=0x%x\n", n.VendorID)
	}
	fmt.Fprintf(w, "devid=0x%x\n", n.DeviceID)
	if system := n.SystemGUID; !system.IsZero() && system != n.GUID {
		fmt.Fprintf(w, "sysimgguid=0x%x\n", number(system))
	}
	port0 := ""
	if n.EnhancedPort0 {
		port0 = " enhanced port 0"
	}
	fmt.Fprintf(w, "%s=0x%x\n%s\t%d \"%s\"\t\t# \"%s\"%s\n", guidWord, number(n.GUID), kind, len(n.Ports)-1, n.Name,
		printable(cmp.Or(n.Description, n.Name)), port0)
	for i := range n.Ports {
		end := &n.Ports[i]
		if end.Peer == nil {
			continue
		}
		fmt.Fprintf(w, "[%d]\t\"%s\"[%d]", i, end.Peer.Name, end.PeerPort)
		if s := n.Settings[i].enabled(); s != usual {
			fmt.Fprintf(w, "\tw=%d s=%d e=%d", s.Width, s.Speed, s.Extended)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

// enabled returns what is enabled, of a saved sweep that of the port's state.
func (s *PortSettings) enabled() PortSettings {
	if s.Info == nil {
		return PortSettings{Width: s.Width, Speed: s.Speed, Extended: s.Extended}
	}
	e := PortSettings{
		Width: uint8(s.Info.LinkWidthEnabled) & 31, Speed: s.Info.LinkSpeedEnabled & 7,
		Extended: s.Info.LinkSpeedExtEnabled & 15,
	}
	if s.Info.LinkSpeedExtEnabled == extendedNone {
		e.Extended = 0
	}
	// A port that has nothing enabled can't be described: it gets the least.
	e.Width, e.Speed = cmp.Or(e.Width, 1), cmp.Or(e.Speed, 1)
	return e
}

// extendedNone is the value of LinkSpeedExtEnabled that enables no extended speed.
const extendedNone = 30

// writeCounters writes the counters that are not zero.
func (n *Node) writeCounters(w *bufio.Writer) {
	for i := range n.Ports {
		v := reflect.ValueOf(&n.Ports[i].Counters).Elem()
		for f := range v.Type().Fields() {
			value := v.FieldByIndex(f.Index).Uint()
			if f.Type.Bits() != 64 || value == 0 || f.Name == "QP1Dropped" { // which ibsim doesn't know
				continue
			}
			fmt.Fprintf(w, "do PerformanceSet \"%s\"[%d] PortCounters.%s=%d\n", n.Name, i, f.Name,
				min(value, classicMost(f.Name)))
		}
	}
}

func number(g ib.GUID) uint64 { return binary.BigEndian.Uint64(g[:]) }

// printable replaces what would end a description in a net file.
func printable(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c < 0x20 || c > 0x7e || c == '"' {
			b[i] = ' '
		}
	}
	return string(b)
}
