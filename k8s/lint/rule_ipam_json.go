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
		ID: "ipam-json", Title: "a JSON text in a field that is no valid JSON", Severity: SeverityError,
		Kinds: []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			ipam, capabilities and metaPlugins of a network, and config of a
			NetworkAttachmentDefinition, are JSON in a string. The API server doesn't look into it,
			the operator strips blanks and pastes it, and the fault shows when the operator renders
			the network or a pod starts. NVIDIA's own example for InfiniBand has a comma before a
			closing bracket.`),
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

// jsonText judges a text that must be an object of JSON, or with "[" several with commas between.
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
		_ = json.Unmarshal([]byte(text), &items) // it is a list by now
		for _, item := range items[:min(len(items), maxPlugins)] {
			switch {
			case item[0] == '[':
				p.error(o, at, "%s is a list, and the operator puts it into one: no pod starts",
					name).Remedy = "remove the brackets: objects with commas between"
				return
			case item[0] != '{':
				p.error(o, at, "%s has %s, and plugins are objects",
					name, shorten(string(item))).Remedy = `write plugins as {"type": "rdma"}`
				return
			}
		}
	}
	if form == "{" && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		p.error(o, at, "%s is JSON, and no object", name)
	}
}
