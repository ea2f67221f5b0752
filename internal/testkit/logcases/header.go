package logcases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// header holds the lines "key: value" in front of the logs.
type header map[string]string

// headerKeys are the keys of a header. Those below "nccl" describe the session that @init expands.
var headerKeys = []string{
	"title", "source", "by", "cause", "trap", "trap-text", "candidates", "allowed", "herring", "hidden", "note",
	"versions", "network", "nics", "gids", "gdr", "hosts", "ranks", "decoded", "facts",
	"nccl", "cuda", "driver", "nodes", "gpus", "net", "link", "hcas", "oob", "subsys", "env", "mtu",
	"gid", "gid-index", "direct", "plugin", "start", "arch", "library", "ro", "hca-ports",
}

func parseHeader(text string) (header, error) {
	h := header{}
	last := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "  "); ok && last != "" {
			h[last] += " " + strings.TrimSpace(rest) // a continued value
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !slices.Contains(headerKeys, key) {
			return nil, fmt.Errorf("header line %q: want one of the keys %s", line, strings.Join(headerKeys, ", "))
		}
		if _, twice := h[key]; twice {
			return nil, fmt.Errorf("header: duplicate key %q", key)
		}
		h[key], last = strings.TrimSpace(value), key
	}
	return h, nil
}

// list returns the words of a value.
func (h header) list(key string) []string { return strings.Fields(h[key]) }

// perNode returns a value for each node: either one value for all, or words "node=value".
func (h header) perNode(key, fallback string, nodes []string) (map[string]string, error) {
	values := map[string]string{}
	text, ok := h[key]
	if !ok {
		text = fallback
	}
	for _, n := range nodes {
		values[n] = text
	}
	if !strings.Contains(text, "=") {
		return values, nil
	}
	given := map[string]string{}
	for word := range strings.FieldsSeq(text) {
		node, value, ok := strings.Cut(word, "=")
		if !ok || !slices.Contains(nodes, node) {
			return nil, fmt.Errorf("header %s: %q isn't NODE=VALUE with one of the nodes %s", key, word,
				strings.Join(nodes, ", "))
		}
		given[node] = value
	}
	for _, n := range nodes {
		if _, ok := given[n]; !ok {
			return nil, fmt.Errorf("header %s: no value for node %s", key, n)
		}
	}
	maps.Copy(values, given)
	return values, nil
}

func newCase(id string, h header) (*Case, error) {
	c := &Case{
		ID: id, Title: h["title"], Source: h["source"], Family: Family(id[:1]), By: h.list("by"),
		Causes: h.list("cause"), Traps: h.list("trap"), Candidates: h.list("candidates"),
		Allowed: h.list("allowed"), Herring: h["herring"], Note: h["note"], Hidden: h.list("hidden"),
	}
	if _, ok := h["nodes"]; ok {
		s, err := newSession(id, h)
		if err != nil {
			return nil, err
		}
		c.session = s
		c.Facts = s.facts()
	}
	return c, h.facts(&c.Facts)
}

// facts overrides what the session says by the facts that the header names. "facts: none" drops the
// session's facts, for logs that don't show them.
func (h header) facts(f *Facts) error {
	for _, word := range h.list("facts") {
		if err := f.drop(word); err != nil {
			return err
		}
	}
	if v, ok := h["versions"]; ok {
		f.Versions = splitTrim(v, ";")
	}
	if v, ok := h["gids"]; ok {
		f.GIDs = strings.Fields(v)
	}
	if v, ok := h["hosts"]; ok {
		f.Hosts = strings.Fields(v)
	}
	if v, ok := h["gdr"]; ok {
		f.GDR = v
	}
	if v, ok := h["decoded"]; ok {
		f.Decoded = splitTrim(v, ";")
	}
	if v, ok := h["ranks"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil {
			return fmt.Errorf("header ranks: %w", err)
		}
		f.Ranks = n
	}
	if v, ok := h["network"]; ok {
		f.Networks = map[string]string{}
		for _, pair := range splitTrim(v, ";") {
			node, network, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("header network: %q isn't NODE=NETWORK", pair)
			}
			f.Networks[node] = network
		}
	}
	if v, ok := h["nics"]; ok {
		f.NICs = map[string][]string{}
		for word := range strings.FieldsSeq(v) {
			node, nics, ok := strings.Cut(word, "=")
			if !ok {
				return fmt.Errorf("header nics: %q isn't NODE=DEVICE,DEVICE", word)
			}
			f.NICs[node] = strings.Split(nics, ",")
		}
	}
	return nil
}

// drop removes facts that the session knows but the log doesn't show: "-gdr", "-nics", …, "none".
func (f *Facts) drop(word string) error {
	switch word {
	case "none":
		*f = Facts{}
	case "-versions":
		f.Versions = nil
	case "-network":
		f.Networks = nil
	case "-nics":
		f.NICs = nil
	case "-gids":
		f.GIDs = nil
	case "-gdr":
		f.GDR = ""
	case "-hosts":
		f.Hosts = nil
	case "-ranks":
		f.Ranks = 0
	default:
		return fmt.Errorf("header facts: unknown word %q", word)
	}
	return nil
}

func splitTrim(s, sep string) (parts []string) {
	for part := range strings.SplitSeq(s, sep) {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
