package rules

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// witness is what another kind of evidence says for causes.
type witness struct {
	kind  evidence.Kind
	field string // of the event, whose value is the key; "": the kind itself
	// causes are the causes that a value speaks for.
	causes map[string][]string
}

// witnesses are the sources that can strengthen the causes of findings from logs.
func witnesses() []witness { return append(comparisonWitnesses(), nodeWitnesses()...) }

// nodeWitnesses are doctor, connect and ping, cluster verify, and captures. Keys are IDs of checks,
// codes, causes and findings.
func nodeWitnesses() []witness { //nolint:funlen // a table
	return []witness{
		{
			evidence.OwnDoctor,
			"check",
			map[string][]string{
				"acs":          {"acs"},
				"iommu":        {"acs"},
				"memlock":      {"memlock"},
				"memlock-jobs": {"memlock"},
				"gpudirect":    {"peermem-missing", "peermem-build", "gdr-off"},
				"gid-routable": {"gid-index", "gid-empty"},
				"gid-index": {
					"gid-index",
					"gid-moved",
				},
				"path-mtu": {"mtu-too-small"},
				"mtu":      {"mtu-differs", "mtu-too-small"},
				"verbs-mtu": {
					"mtu-differs",
					"mtu-too-small",
				},
				"roce-peer":     {"udp-blocked"},
				"packet-filter": {"udp-blocked"},
				"rail-route": {
					"rails-not-connected",
				},
				"rail-subnet": {"rails-not-connected"},
				"uverbs":      {"no-device-node"},
				"netns-mode":  {"netns-mode"},
				"port-active": {"port-down", "vf-guid"},
				"link-downed": {"link-flap"},
				"carrier-lost": {
					"link-flap",
				},
				"symbol-errors":  {"cable"},
				"bit-errors":     {"cable"},
				"module-health":  {"cable"},
				"lane-errors":    {"cable"},
				"devlink-health": {"card-firmware"},
				"pfc-priority":   {"congestion"},
				"roce-trust": {
					"traffic-class",
					"congestion",
				},
				"dscp-lossless":    {"traffic-class"},
				"traffic-class":    {"traffic-class"},
				"socket-interface": {"interface-choice"},
				"host-name":        {"loopback-address"},
				"pkey":             {"partition"},
				"subnet-manager": {
					"subnet-manager",
				},
				"out-of-sequence": {"congestion", "cable"},
				"packets-lost":    {"congestion"},
				"rdma-bond":       {"one-link-of-bond"},
			},
		},
		{evidence.OwnConnect, "code", connectCauses()},
		{evidence.OwnPing, "code", connectCauses()},
		{
			evidence.OwnCluster,
			"cause",
			map[string][]string{
				"slow":         {"bad-nic", "cable"},
				"slow-send":    {"bad-nic", "cable"},
				"slow-receive": {"bad-nic", "cable"},
				"dead-card":    {"bad-nic"},
				"missing-card": {"bad-nic"},
				"loss":         {"bad-nic", "cable", "congestion"},
				"loss-send": {
					"bad-nic",
					"cable",
				},
				"loss-receive": {"bad-nic", "cable"},
				"bit-errors":   {"cable", "bad-nic"},
				"flapping": {
					"link-flap",
				},
				"mtu":           {"mtu-differs", "mtu-too-small"},
				"no-gid":        {"gid-empty"},
				"gid-type":      {"gid-index"},
				"pkey":          {"partition"},
				"absent":        {"dead-peer"},
				"lost":          {"dead-peer"},
				"pfc":           {"congestion"},
				"subnet":        {"rails-not-connected"},
				"traffic-class": {"traffic-class"},
				"incast":        {"congestion"},
			},
		},
		{
			evidence.CapturePrefix,
			"finding",
			map[string][]string{
				"one-way":          {"udp-blocked", "dead-peer"},
				"no-answer":        {"dead-peer"},
				"mtu":              {"mtu-too-small", "mtu-differs"},
				"icmp-frag-needed": {"mtu-too-small"},
				"arp-unanswered":   {"rails-not-connected", "dead-peer"},
				"icmp-unreachable": {"rails-not-connected", "udp-blocked"},
				"loss":             {"congestion", "cable"},
				"retransmission":   {"congestion", "cable"},
				"nak-access":       {"stale-rkey"},
				"nak-invalid":      {"mtu-differs"},
				"nak-operation":    {"stale-rkey"},
				"rnr":              {"receiver-not-ready", "rnr-timer"},
				"icrc":             {"middlebox"},
				"ecn-cnp": {
					"congestion",
				},
				"dscp-differs": {"traffic-class"},
				"ttl-1":        {"gid-index"},
				"gid-mismatch": {"gid-index"},
			},
		},
	}
}

// connectCauses are the causes for codes of connect and ping.
func connectCauses() map[string][]string {
	return map[string][]string{
		"memlock": {"memlock"}, "memory": {"no-cma"}, "no-gid": {"gid-empty"}, "gid-family": {"gid-index"},
		"gid-type": {"gid-index", "roce-version-differs"}, "link-layer": {"networks-mixed"}, "pkey": {"partition"},
		"port-down": {"port-down"}, "no-route": {"rails-not-connected"}, "blocked-here": {"udp-blocked"},
		"unacknowledged": {"udp-blocked"}, "no-answer": {"udp-blocked"}, "cm-silent": {"udp-blocked"},
		"rnr": {"receiver-not-ready"}, "large-lost": {"mtu-too-small"}, "rejected": {"stale-rkey"},
		"request-rejected": {"stale-rkey"}, "peer-ended": {"dead-peer"}, "exchange-refused": {"dead-peer"},
		"cm-refused": {"nobody-listens"}, "nobody-listens": {"nobody-listens"},
	}
}

// corroborate adds what other kinds of evidence say to the causes of a finding. A source that says
// the same of several objects counts once.
func corroborate(f *facts.Facts, x *Finding) {
	counted := map[string]bool{}
	for _, w := range witnesses() {
		for e := range f.Store.Of(w.kind) {
			if w.kind == evidence.OwnDoctor && !concerns(f, x, e) {
				continue
			}
			for i := range x.Causes {
				c := &x.Causes[i]
				value := e.Fields[w.field]
				if !slices.Contains(w.causes[value], c.Slug) || len(c.For) > maxEvidence {
					continue
				}
				if key := string(e.Kind) + " " + value + " " + c.Slug; !counted[key] {
					counted[key] = true
					c.Weight += weightOf(e)
				}
				c.For = append(c.For, Evidence{
					Text: fmt.Sprintf(
						"%s says so too: %s",
						source(e.Kind),
						e.Text,
					),
					Places: []evidence.Place{e.Place},
				})
				if c.Confidence == Possible && c.Weight >= likely {
					c.Confidence = Likely
				}
			}
		}
	}
}

// weightOf returns the weight of what another kind of evidence says: a check that only warns says
// less.
func weightOf(e *evidence.Event) int {
	switch {
	case e.Kind == evidence.OwnDoctor && e.Fields["outcome"] == "warn", e.Fields["severity"] == "warning":
		return usual
	case e.Fields["severity"] == "note":
		return 0
	}
	return strong
}

// maxEvidence bounds the evidence of a cause, so that a long list of equal findings doesn't decide.
const maxEvidence = 8

// source names where an event is from.
func source(k evidence.Kind) string {
	switch k {
	case evidence.OwnConnect:
		return "rdmactl connect"
	case evidence.OwnPing:
		return "rdmactl ping"
	case evidence.OwnDoctor:
		return "rdmactl doctor"
	case evidence.OwnCluster:
		return "rdmactl cluster verify"
	case evidence.OwnConsensus:
		return "rdmactl env consensus"
	case evidence.OwnLint:
		return "rdmactl lint"
	case evidence.OwnFabric:
		return "rdmactl fabric"
	}
	return "the capture"
}

// ownRules are about what commands of rdmactl have named.
func ownRules() []Rule {
	return []Rule{
		{
			ID: "RDX-201", Name: "rdmactl-connect", Title: "rdmactl connect or ping failed",
			Explanation: "The command has named the stage and the cause itself.",
			Sources:     []string{"docs/connect.md"},
			Find:        findOwnConnect,
		},
		{
			ID:    "RDX-202",
			Name:  "rdmactl-doctor",
			Title: "rdmactl doctor found a fault",
			Explanation: "A check of the node failed. It strengthens causes of other findings; by itself it is a " +
				"finding if jobs can't run with it.",
			Sources: []string{"docs/checks.md"},
			Find:    findOwnDoctor,
		},
		{
			ID: "RDX-203", Name: "rdmactl-cluster", Title: "rdmactl cluster verify named a fault",
			Explanation: "The verification has measured the cluster and named place and cause.",
			Sources:     []string{"docs/verification.md"},
			Find:        findOwnCluster,
		},
	}
}

// findOwnConnect returns a finding for each kind of failure of an input: what is printed to
// standard output and to standard error is one failure.
func findOwnConnect(f *facts.Facts) []Finding {
	var out []Finding
	at := map[string]int{}
	for _, kind := range [...]evidence.Kind{evidence.OwnConnect, evidence.OwnPing} {
		for e := range f.Store.Of(kind) {
			key := e.Fields["code"] + " " + e.Process.File
			if i, found := at[key]; found {
				out[i].Events = append(out[i].Events, e)
				continue
			}
			at[key] = len(out)
			out = append(out, Finding{
				What: source(kind) + " failed: " + e.Text, Events: []*evidence.Event{e},
				Causes: []Cause{
					{
						Slug:       slugOf(kind, e.Fields["code"]),
						Title:      e.Fields["cause"],
						Confidence: Likely,
						Weight:     decisive,
						Remedy:     e.Fields["remedy"],
						For: []Evidence{
							{
								Text:   "stage " + e.Fields["stage"] + ", code " + e.Fields["code"],
								Places: []evidence.Place{e.Place},
							},
						},
					},
				},
			})
		}
	}
	return out
}

// findOwnDoctor returns a finding for each check that failed on a node.
func findOwnDoctor(f *facts.Facts) []Finding {
	var out []Finding
	at := map[string]int{}
	for e := range f.Store.Of(evidence.OwnDoctor) {
		if e.Fields["outcome"] != "fail" {
			continue
		}
		check := e.Fields["check"]
		key := check + " " + e.Process.Host + " " + e.Process.File
		if i, found := at[key]; found {
			out[i].Events = append(out[i].Events, e)
			continue
		}
		at[key] = len(out)
		slug := slugOf(evidence.OwnDoctor, check)
		where := ""
		if e.Process.Host != "" {
			where = " on " + e.Process.Host
		}
		decide := "rdmactl doctor --only " + check
		if e.Recorded {
			decide += " --from " + e.Process.File
		}
		out = append(out, Finding{
			What: "rdmactl doctor found a fault" + where + ": " + e.Text, Events: []*evidence.Event{e},
			Causes: []Cause{
				{
					Slug:       slug,
					Title:      e.Text,
					Confidence: Likely,
					Weight:     strong,
					Decide:     decide,
					Remedy:     e.Fields["remedy"],
					For:        []Evidence{{Text: "check " + check, Places: []evidence.Place{e.Place}}},
				},
			},
		})
	}
	return out
}

func findOwnCluster(f *facts.Facts) []Finding {
	var out []Finding
	for e := range f.Store.Of(evidence.OwnCluster) {
		slug := slugOf(evidence.OwnCluster, e.Fields["cause"])
		out = append(out, Finding{
			What: "rdmactl cluster verify: " + e.Text, Events: []*evidence.Event{e},
			Causes: []Cause{
				{
					Slug:       slug,
					Title:      e.Text,
					Confidence: Likely,
					Weight:     decisive,
					Decide:     e.Fields["next"],
					For: []Evidence{
						{Text: "measured; confidence " + e.Fields["confidence"], Places: []evidence.Place{e.Place}},
					},
				},
			},
		})
	}
	return out
}
