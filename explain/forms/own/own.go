// Package own has the forms of the text output of rdmactl, as people paste it: connect, ping and
// bench, doctor, env consensus and lint, cluster verify and report, fabric errors and trace.
//
//	matcher := forms.NewMatcher(own.Table())
//
// Events are those of the commands' JSON documents, see package explain/own. Texts are wrapped on
// terminals, so a form needs a few words of one line only.
package own

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// Table returns the forms.
func Table() forms.Table {
	list := slices.Concat(connectRows(), benchRows(), checkRows(), clusterRows(), fabricRows())
	t := forms.Table{Program: "rdmactl", Strict: true, Forms: forms.Rows("rdmactl", list, nil)}
	for _, r := range list {
		if !slices.Contains(t.Markers, r.Anchor) {
			t.Markers = append(t.Markers, r.Anchor)
		}
	}
	return t
}

// stages are those of connect and ping, with which the line of a failure begins.
var stages = regexp.MustCompile(`(?:^|rdmactl: (?:connect|ping): )` +
	`(open|register|resolve|exchange|CM|RTR|RTS|first send|data|listen|connect): `)

// connectRows are failures of connect and ping: what the cause of each code says.
func connectRows() []forms.Row {
	row := func(name, code, anchor string, stage ...string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.OwnConnect, Anchor: anchor, Source: "connect/explain.go, bench/rping/explain.go",
			Parse: func(_, before string, f evidence.Fields) bool {
				at := stages.FindStringSubmatch(before)
				if at != nil {
					f["stage"] = at[1]
				}
				f["code"], f["cause"] = code, anchor
				return len(at) > 1 && (len(stage) == 0 || slices.Contains(stage, at[1]))
			},
		}
	}
	return []forms.Row{
		row("large-lost", "large-lost", "messages of 64 bytes were acknowledged"),
		row("unacknowledged", "unacknowledged", "no acknowledgement from"),
		row("route-mtu", "large-lost", "the route has an MTU below"),
		row("rnr", "rnr", "no receive request (RNR)"),
		row("rejected", "rejected", "device rejected the request"),
		row("no-gid", "no-gid", "the GID table is empty", "resolve"),
		row("no-entry", "no-gid", "the GID table has no entry", "resolve"),
		row("link-local", "no-gid", "only link-local addresses", "resolve"),
		row("gid-family", "gid-family", "their address families differ"),
		row("gid-type", "gid-type", "their types differ"),
		row("link-layer", "link-layer", "the link layers differ"),
		row("pkey", "pkey", "the partition keys differ"),
		row("limited", "pkey", "both ends are limited members"),
		row("port-down", "port-down", "not ACTIVE", "open"),
		row("memlock", "memlock", "cannot allocate memory", "register"),
		row("refused", "exchange-refused", "connection refused: the machine answers"),
		row("data", "data-mismatch", "differs from byte"),
		row("modify", "modify", "connect queue pair", "RTR", "RTS"),
		row("stalled", "stalled", "nothing has completed for"),
		row("no-route", "no-route", "no route leads to the peer"),
		row("unreachable", "no-route", "network is unreachable", "resolve", "first send"),
		row("blocked", "blocked-here", "drops UDP port 4791"),
		row("ended", "peer-ended", "the peer's program ended"),
		row("disconnected", "peer-ended", "the server has disconnected"),
		row("no-answer", "no-answer", "no answer to the connection request"),
		row("nobody", "nobody-listens", "nobody listens on port"),
	}
}

// benchRows are errors of bench, which prints no document when it fails.
func benchRows() []forms.Row {
	return []forms.Row{{
		Name: "bench", Kind: evidence.OwnConnect, Anchor: "rdmactl: bench ", Source: "bench",
		Parse: func(m, _ string, f evidence.Fields) bool {
			for _, c := range [...]struct{ text, code string }{
				{"RNR", "rnr"},
				{"retry counter exceeded", "unacknowledged"},
				{"remote access error", "rejected"},
				{"connection refused", "exchange-refused"},
				{"cannot allocate memory", "memlock"},
			} {
				if strings.Contains(m, c.text) {
					f["code"], f["cause"], f["stage"] = c.code, strings.TrimPrefix(m, "rdmactl: "), "bench"
					return true
				}
			}
			return false
		},
	}}
}

// finding is the head of a finding of doctor: "  FAIL     memlock: …" and
// "  WARN     mtu mlx5_0:1: …", or with -v "FAIL  memlock: …".
var finding = regexp.MustCompile(`^ *(FAIL|WARN) {2,}([a-z][a-z-]*)(?: ([^:]\S*(?:, \S+)*?))?(?: \(\d+\))?: (.+)$`)

// difference is the head of a difference of env consensus: "BREAKS  mtu: rail 0: …".
var difference = regexp.MustCompile(`^ *(BREAKS|SLOWS) +([a-z][a-z-]*): (.+)$`)

// lintHead is the head of a finding of env lint, "ERROR  NAME=VALUE  rule", and of k8s lint,
// "ERROR  FILE:LINE:COLUMN  rule".
var lintHead = regexp.MustCompile(`^ *(ERROR|WARN) +([A-Z][A-Z0-9_]*=\S*|\S+:\d+:\d+) {2,}([a-z][a-z0-9-]*)$`)

func checkRows() []forms.Row {
	check := func(name, anchor string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.OwnDoctor, Anchor: anchor, Source: "internal/cli/node/doctor_text_short.go",
			Parse: func(m, before string, f evidence.Fields) bool {
				p := finding.FindStringSubmatch(before + m)
				if len(p) < 3 || !slices.Contains(Checks(), p[2]) {
					return false
				}
				f["outcome"], f["check"], f["object"] = strings.ToLower(p[1]), p[2], strings.TrimSuffix(p[3], ",")
				if f["object"] == "" {
					f["object"] = "node"
				}
				return true
			},
		}
	}
	differs := func(name, anchor, severity string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.OwnConsensus, Anchor: anchor, Source: "internal/cli/node/env_consensus_text.go",
			Parse: func(m, before string, f evidence.Fields) bool {
				p := difference.FindStringSubmatch(before + m)
				if p == nil {
					return false
				}
				f["severity"], f["check"] = severity, p[2]
				return true
			},
		}
	}
	lint := func(name, anchor, severity string) forms.Row {
		return forms.Row{
			Name: name, Kind: evidence.OwnLint, Anchor: anchor, Source: "internal/cli/node/env_lint_text.go",
			Parse: func(m, before string, f evidence.Fields) bool {
				p := lintHead.FindStringSubmatch(before + m)
				if p == nil {
					return false
				}
				f["severity"], f["rule"], f["object"] = severity, p[3], p[2]
				return true
			},
		}
	}
	return []forms.Row{
		check("doctor-fail", "FAIL  "), check("doctor-warn", "WARN  "),
		differs("consensus-breaks", "BREAKS  ", "breaks"), differs("consensus-slows", "SLOWS  ", "slows"),
		lint("lint-error", "ERROR  ", "error"), lint("lint-warn", "WARN   ", "warn"),
	}
}

// verdict is a finding of cluster verify: "slow-send  gpu-001 mlx5_1 (…): … (52 % lost, confidence
// 97 %)".
var verdict = regexp.MustCompile(`^([a-z][a-z-]*)  (\S.*?): (.*) ?\((?:[^()]*, )?confidence (\d+) %\)$`)

func clusterRows() []forms.Row {
	return []forms.Row{{
		Name: "verdict", Kind: evidence.OwnCluster, Anchor: "confidence ", Source: "cluster/report",
		Parse: func(m, before string, f evidence.Fields) bool {
			p := verdict.FindStringSubmatch(before + m)
			if p == nil {
				return false
			}
			f["cause"], f["where"], f["confidence"] = p[1], p[2], percent(p[4])
			return true
		},
	}}
}

// percent returns "0.97" for "97".
func percent(s string) string {
	switch {
	case len(s) == 1:
		return "0.0" + s
	case s == "100":
		return "1.00"
	}
	return "0." + s
}

// traced is the result of fabric trace: "from host0 mlx5_0[1] (LID 1) to …: black-hole: …".
var traced = regexp.MustCompile(`^from .+ \(LID \d+\) to .+ \(LID \d+\): (loop|black-hole|stray): (.+)$`)

// counted is a row of fabric errors: port, counter and value.
var counted = regexp.MustCompile(`^(\S.*\[\d+\]) {2,}([A-Z][A-Za-z]+) {2,}≥?(\d+) `)

func fabricRows() []forms.Row {
	rows := []forms.Row{{
		Name: "trace", Kind: evidence.OwnFabric, Anchor: " (LID ", Source: "internal/cli/fabric/trace.go",
		Parse: func(m, before string, f evidence.Fields) bool {
			p := traced.FindStringSubmatch(before + m)
			if p == nil {
				return false
			}
			f["fault"] = p[1]
			return true
		},
	}}
	for _, counter := range Counters() {
		rows = append(rows, forms.Row{
			Name: counter, Kind: evidence.OwnFabric, Anchor: "  " + counter, Source: "internal/cli/fabric/errors.go",
			Parse: func(m, before string, f evidence.Fields) bool {
				p := counted.FindStringSubmatch(before + m + " ")
				if len(p) < 3 || p[2] != counter {
					return false
				}
				f["object"], f["fault"], f["value"] = p[1], counter, p[3]
				return true
			},
		})
	}
	return rows
}
