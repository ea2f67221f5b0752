package lint

import (
	"encoding/json"
	"strings"

	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkNetworkJSON(p *pass, n *network) {
	p.jsonText(n.Object, path{"spec", "ipam"}, "{")
	p.jsonText(n.Object, path{"spec", "capabilities"}, "{")
	p.jsonText(n.Object, path{"spec", "metaPlugins"}, "[")
}

func checkConfigJSON(p *pass, d *nad) { p.jsonText(d.Object, path{"spec", "config"}, "{") }

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
