// Package explainscore scores package explain by the cases of internal/testkit/logcases: how often
// the confirmed cause comes first, how often a trap does, and whether anything is claimed that
// nobody has confirmed.
//
//	report := logcases.Run(cases, explainscore.Explain)
//	fmt.Print(report.Markdown())
//
// The figures are in docs/explain.md; a test keeps them up to date, and requires the targets.
package explainscore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/testkit/logcases"
)

// Explain explains the files of a case.
func Explain(files []logcases.File) logcases.Result {
	report, err := explain.Explain(context.Background(), inputs(files), explain.Options{})
	if err != nil {
		return logcases.Result{}
	}
	r := logcases.Result{Recognised: report.Verdict() != explain.VerdictNothing, Facts: factsOf(report.Facts)}
	seen := map[string]bool{}
	for _, f := range report.Findings {
		if f.Harmless && f.Note != "" {
			r.Notes = append(r.Notes, f.Note)
		}
		for _, c := range f.Causes {
			if !seen[c.Slug] {
				seen[c.Slug] = true
				r.Causes = append(r.Causes, logcases.Ranked{Slug: c.Slug, Confidence: confidence(c.Confidence)})
			}
		}
	}
	return r
}

func confidence(c rules.Confidence) logcases.Confidence {
	switch c {
	case rules.Proven:
		return logcases.Proven
	case rules.Likely:
		return logcases.Likely
	}
	return logcases.Possible
}

func inputs(files []logcases.File) iter.Seq2[input.Input, error] {
	return func(yield func(input.Input, error) bool) {
		for _, f := range files {
			if !yield(input.Input{Name: f.Name, Reader: bufio.NewReader(bytes.NewReader(f.Data))}, nil) {
				return
			}
		}
	}
}

// names are the libraries' names in the cases.
var names = map[string]string{
	"nccl": "NCCL", "rccl": "RCCL", "ucx": "UCX", "nvshmem": "NVSHMEM", "torch": "PyTorch", "deepep": "DeepEP",
}

func factsOf(f *facts.Facts) logcases.Facts {
	out := logcases.Facts{Networks: map[string]string{}, NICs: map[string][]string{}, GDR: f.GDR, Ranks: f.Ranks}
	for _, l := range f.Libraries {
		for _, v := range l.Versions {
			out.Versions = append(out.Versions, names[l.Name]+" "+v.Text)
		}
	}
	for _, n := range f.Nodes {
		out.Hosts = append(out.Hosts, n.Name)
		if len(n.Networks) > 0 {
			out.Networks[n.Name] = n.Networks[0].Text
		}
		for _, d := range n.Devices {
			out.NICs[n.Name] = append(out.NICs[n.Name], d.Name)
			out.GIDs = append(out.GIDs, gids(d.GIDs)...)
		}
		out.GIDs = append(out.GIDs, gids(slices.Concat(n.GIDs, n.PeerGIDs))...)
	}
	for e := range f.Store.Of(evidence.MLX5CQE) {
		vendor, _ := e.Fields.Int("vendor")
		qpn, _ := e.Fields.Int("qpn")
		out.Decoded = append(out.Decoded, fmt.Sprintf("status=%s vendor=%#x opcode=%s qpn=%#x side=%s",
			e.Fields["status"], vendor, e.Fields["opcode"], qpn, e.Fields["side"]))
	}
	return out
}

// gids returns GIDs as the cases write them: IPv4 addresses as IPv4-mapped ones.
func gids(list []facts.GIDUse) []string {
	var out []string
	for _, g := range list {
		out = append(out, netip.AddrFrom16(g.GID).String())
	}
	return out
}
