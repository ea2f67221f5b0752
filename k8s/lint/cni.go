package lint

import (
	"encoding/json"
	"errors"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// nad is a NetworkAttachmentDefinition.
type nad = typed[k8s.NetworkAttachmentDefinition]

// Bounds on what is judged of one value: more than any network has. A text of megabytes may hold
// many thousand of each.
const (
	maxPlugins     = 64
	maxRanges      = 256
	maxAttachments = 256
)

// ranges returns the ranges that are judged.
func (r ipamRef) ranges() []ipam.Range {
	all := r.conf.Ranges()
	return all[:min(len(all), maxRanges)]
}

// cniPlugin is a plugin of a CNI configuration, as far as it matters here.
type cniPlugin struct {
	Type          string          `json:"type"`
	PKey          string          `json:"pkey"`
	RDMAIsolation bool            `json:"rdmaIsolation"`
	IBKubernetes  bool            `json:"ibKubernetesEnabled"`
	DeviceID      string          `json:"deviceID"`
	Capabilities  map[string]bool `json:"capabilities"`
	IPAM          struct {
		Type string `json:"type"`
	} `json:"ipam"`
	LinkState string `json:"link_state"`
	VLAN      *int   `json:"vlan"`
	SpoofChk  string `json:"spoofchk"`
	Trust     string `json:"trust"`
	// keys are all fields.
	keys map[string]json.RawMessage
	// misfit is a field of another type than sriov and ib-sriov take, nil for none.
	misfit *json.UnmarshalTypeError
}

// pluginsOf reads the plugins of a CNI configuration; what doesn't fit is left out.
func pluginsOf(config string) []cniPlugin {
	var out []cniPlugin
	all := plugins(config)
	for _, text := range all[:min(len(all), maxPlugins)] {
		var p cniPlugin
		if err := json.Unmarshal(text, &p); err != nil {
			p.misfit, _ = errors.AsType[*json.UnmarshalTypeError](err) // the other fields are there
		}
		if json.Unmarshal(text, &p.keys) == nil {
			out = append(out, p)
		}
	}
	return out
}

// handwritten returns the NetworkAttachmentDefinitions that the operator didn't write from
// a network.
func (m *model) handwritten() []*nad {
	written := map[string]bool{}
	for _, n := range m.networks {
		written[n.target()+"/"+n.Name] = true
	}
	var out []*nad
	for _, d := range m.nads {
		if !written[d.Namespace+"/"+d.Name] {
			out = append(out, d)
		}
	}
	return out
}

// capabilities returns what a network passes on to its plugin.
func capabilities(text string) map[string]bool {
	var caps map[string]bool
	if json.Unmarshal([]byte(text), &caps) != nil {
		return nil
	}
	return caps
}
