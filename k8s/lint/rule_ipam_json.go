package lint

import (
	"encoding/json"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func ipamJSON() Rule {
	return Rule{
		ID: "ipam-json", Title: "invalid JSON in a field", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			ipam, capabilities and metaPlugins of a network, and config of a
			NetworkAttachmentDefinition, are JSON in a string. The API server doesn't check the
			JSON, and the operator copies it without spaces. The error appears when the operator
			renders the network or when a pod starts. NVIDIA's own example for InfiniBand has a
			comma before a closing bracket.`),
		Remedy:  "make it valid JSON",
		Wrong:   "      \"range\": \"192.168.0.0/24\",\n    }",
		Right:   "      \"range\": \"192.168.0.0/24\"\n    }",
		Sources: []string{srcAPIServer, srcRender, srcNVIDIA},
		check: func(p *pass) {
			for _, n := range p.networks {
				p.jsonText(n.Object, path{"spec", "ipam"}, "{")
				p.jsonText(n.Object, path{"spec", "capabilities"}, "{")
				p.jsonText(n.Object, path{"spec", "metaPlugins"}, "[")
			}
			for _, nad := range p.nads {
				p.jsonText(nad.Object, path{"spec", "config"}, "{")
			}
		},
	}
}

// jsonText checks a text that must be a JSON object or, if form is "[", a comma-separated list of
// JSON objects without the brackets.
func (p *pass) jsonText(o *manifest.Object, at path, form string) {
	v := o.Find(at...)
	if v == nil || v.Kind != manifest.String || strings.TrimSpace(v.Text) == "" {
		return
	}
	text, shift := v.Text, 0
	if form == "[" {
		text, shift = "["+v.Text+"]", 1
	}
	name := manifest.PathText(at...)
	if offset, what := jsonFault(text); what != "" {
		offset = min(max(offset-shift, 0), len(v.Text))
		p.error(o, at, "%s is not valid JSON: %s", name, what).place(o.Inside(v, offset))
		return
	}
	if form == "[" {
		var items []json.RawMessage
		_ = json.Unmarshal([]byte(text), &items) // jsonFault found no error
		for _, item := range items[:min(len(items), maxPlugins)] {
			switch {
			case item[0] == '[':
				p.error(o, at, "%s has brackets, but the operator adds them itself: no pod starts",
					name).Remedy = "remove the brackets, and separate the objects with commas"
				return
			case item[0] != '{':
				p.error(o, at, "%s contains %s, but a plugin must be an object",
					name, shorten(string(item))).Remedy = `write plugins as {"type": "rdma"}`
				return
			}
		}
	}
	if form == "{" && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		p.error(o, at, "%s is not a JSON object", name)
	}
}
