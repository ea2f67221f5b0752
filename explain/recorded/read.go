package recorded

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
)

// MaxStream is how much of an archive that isn't compressed is read, in bytes: as much as the
// loader accepts of a compressed one.
const MaxStream = 128 << 20

// maxLoad is one byte more than any bundle has that can be loaded.
const maxLoad = 64<<20 + 1

// Read reads a recorded node: an archive of rdmactl snapshot, compressed or not, or a tree as text.
// It implements [explain.ReadRecording]. Errors name the recording and the cause.
func Read(ctx context.Context, name string, r io.Reader) (*explain.Recording, error) {
	data, err := load(r)
	if err != nil {
		return nil, fmt.Errorf("open bundle %s: %w", name, err)
	}
	node, err := sources.ReadBundle(name, bytes.NewReader(data))
	switch {
	case err == nil:
		defer node.Close()
		return recording(ctx, name, node, false), nil
	case !errors.Is(err, nodetree.ErrDamaged):
		return nil, err
	}
	part, _ := nodetree.Salvage(bytes.NewReader(data)) // the error is the same
	if part == nil {
		return nil, err
	}
	node, partErr := sources.FromFS(part.FS(), nil, name)
	if partErr != nil {
		return nil, err
	}
	defer node.Close()
	return recording(ctx, name, node, true), err
}

// load reads an archive, which it compresses if it isn't, or a text.
func load(r io.Reader) ([]byte, error) {
	var head [512]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	in := io.MultiReader(bytes.NewReader(head[:n]), r)
	if n < len(head) || string(head[257:262]) != "ustar" {
		return io.ReadAll(io.LimitReader(in, maxLoad)) // the loader rejects what is longer
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(w, io.LimitReader(in, MaxStream+1))
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// recording returns what a node says. A part of a node isn't checked.
func recording(ctx context.Context, name string, n *sources.Node, part bool) *explain.Recording {
	snap, _ := inventory.Scan(ctx, n.Sources) // the checks report what could not be read
	b := builder{
		Recording: &explain.Recording{Node: snap.Host.Name, Taken: snap.Taken}, file: name, snap: &snap, part: part,
	}
	b.node()
	for i := range snap.Devices {
		b.ports(&snap.Devices[i])
	}
	b.environment(n)
	b.kernelLog(n)
	if part {
		b.Notes = append(b.Notes,
			"the recording is damaged: no check was run, and what is missing in it proves nothing")
	} else {
		b.checks(ctx, n)
	}
	return b.Recording
}

// builder makes a Recording.
type builder struct {
	*explain.Recording
	file string
	snap *inventory.Snapshot
	part bool
}

// add adds an event; fields without value are left out.
func (b *builder) add(kind evidence.Kind, severity evidence.Severity, at, text string, fields evidence.Fields) {
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	place := b.file
	if at != "" {
		place += ":" + at
	}
	b.Events = append(b.Events, &evidence.Event{
		Kind: kind, Place: evidence.Place{File: place}, Severity: severity, Fields: fields, Text: text,
		Process: evidence.Process{File: b.file, Host: b.Node, Rank: evidence.NoRank}, Time: b.Taken,
	})
}

func (b *builder) node() {
	h := &b.snap.Host
	fields := evidence.Fields{"kernel": h.Kernel}
	if m := h.Memlock; m != nil {
		fields["memlock"] = m.Soft.String()
	}
	if !b.Taken.IsZero() {
		fields["taken"] = b.Taken.UTC().Format(time.RFC3339)
	}
	if b.part {
		fields["partial"] = "yes"
	}
	b.add(evidence.RecordedNode, evidence.Info, "", "recorded node "+b.Node, fields)
}

func (b *builder) ports(d *inventory.Device) {
	for i := range d.Ports {
		p := &d.Ports[i]
		fields := evidence.Fields{
			"device": d.Name, "port": strconv.Itoa(p.Number), "link": link(p), "state": p.State.String(),
			"driver": d.Driver, "firmware": d.Firmware, "netdev": p.Netdev, "gids": table(p),
			"addresses": b.addresses(p.Netdev),
		}
		if p.ActiveMTU != 0 {
			fields["mtu"] = strconv.Itoa(int(p.ActiveMTU))
		}
		object := d.Name + ":" + strconv.Itoa(p.Number)
		b.add(evidence.RecordedPort, evidence.Info, object,
			fmt.Sprintf("%s is %s, %s", object, p.State, p.LinkLayer), fields)
	}
}

// link returns the word of package facts for the kind of a port.
func link(p *inventory.Port) string {
	switch {
	case p.Transport == inventory.TransportIWARP, p.Transport == inventory.TransportEFA:
		return string(p.Transport)
	case p.LinkLayer == inventory.LinkLayerInfiniBand:
		return "InfiniBand"
	case p.LinkLayer == inventory.LinkLayerEthernet:
		return "RoCE"
	}
	return ""
}

// table returns the entries of a port's GID table in the form of [evidence.RecordedPort].
func table(p *inventory.Port) string {
	var list []string
	for _, g := range p.GIDs {
		kind := "?"
		switch g.Type {
		case inventory.GIDTypeRoCEv1:
			kind = "v1"
		case inventory.GIDTypeRoCEv2:
			kind = "v2"
		case inventory.GIDTypeIB:
			kind = "ib"
		case inventory.GIDTypeUnknown:
		}
		list = append(list, fmt.Sprintf("%d %s %s", g.Index, g.GID, kind))
	}
	return strings.Join(list, ";")
}

func (b *builder) addresses(netdev string) string {
	n := b.snap.Netdev(netdev)
	if n == nil {
		return ""
	}
	var list []string
	for _, a := range n.Addresses {
		list = append(list, a.String())
	}
	return strings.Join(list, " ")
}

// environment adds the variables of the process that recorded.
func (b *builder) environment(n *sources.Node) {
	env := map[string]string{}
	if n.Bundle != nil {
		variables, _ := n.Bundle.Environment() // checked when it was opened
		maps.Copy(env, variables)
	}
	if f := n.Facts(); f.Environment.Known() {
		maps.Copy(env, f.Environment.Value)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		b.add(evidence.RecordedSetting, evidence.Info, "environment", name+"="+env[name],
			evidence.Fields{"name": name, "value": env[name]})
	}
}

// kernelLog adds the messages of the kernel, with their times if it is known when the node started.
func (b *builder) kernelLog(n *sources.Node) {
	log := n.Facts().KernelLog
	if !log.Known() {
		why := "it was not recorded"
		if err := log.State(); log != nil && err != nil {
			why = err.Error()
		}
		b.Notes = append(b.Notes, "the kernel's log can't be seen: "+why)
		return
	}
	start := b.started(n)
	for _, m := range log.Value {
		message := explain.KernelMessage{Text: m.Text}
		if !start.IsZero() {
			message.Time = start.Add(m.Since)
		}
		b.KernelLog = append(b.KernelLog, message)
	}
}

// started returns when the node started, the zero time if that was not recorded.
func (b *builder) started(n *sources.Node) time.Time {
	text, err := n.Facts().Files.Text(sysfs.ProcUptime)
	seconds, _, _ := strings.Cut(text, " ")
	uptime, parseErr := strconv.ParseFloat(seconds, 64)
	if err != nil || parseErr != nil || b.Taken.IsZero() {
		return time.Time{}
	}
	return b.Taken.Add(-time.Duration(uptime * float64(time.Second)))
}

// checks runs the checks that rdmactl doctor --from runs.
func (b *builder) checks(ctx context.Context, n *sources.Node) {
	in := doctor.Input{Snapshot: b.snap, Facts: n.Facts()}
	report, err := doctor.Run(ctx, checks.All(), in, doctor.Options{NotCovered: checks.NotCovered()})
	if err != nil {
		b.Notes = append(b.Notes, fmt.Sprintf("the checks could not be run: %v", err))
		return
	}
	c := report.CheckCounts
	b.Failed, b.Warned, b.NoResult = c.Fail, c.Warn, c.Unknown+c.Privilege
	b.Checks = c.Fail + c.Warn + c.Unknown + c.Privilege + c.Pass + c.Info
	for _, f := range report.Findings {
		if f.Outcome != doctor.OutcomeFail && f.Outcome != doctor.OutcomeWarn || !f.Counts() {
			continue
		}
		severity := evidence.Warning
		if f.Outcome == doctor.OutcomeFail {
			severity = evidence.Error
		}
		text := f.Summary
		if f.Object != doctor.ObjectNode {
			text = f.Object + ": " + text
		}
		b.add(evidence.OwnDoctor, severity, "check "+f.CheckID, text, evidence.Fields{
			"check": f.CheckID, "outcome": string(f.Outcome), "object": f.Object, "remedy": firstCommand(f.Remedy),
		})
		if f.Outcome == doctor.OutcomeWarn && !slices.Contains(b.Warnings, f.CheckID) {
			b.Warnings = append(b.Warnings, f.CheckID)
		}
	}
	if report.NoDevice != "" {
		b.Notes = append(b.Notes, report.NoDevice)
	}
}

// firstCommand returns the first line of a remedy that isn't a comment; "" if there is none.
func firstCommand(remedy []string) string {
	for _, line := range remedy {
		if !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return ""
}
