package lint

import (
	"encoding/json"
	"errors"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// nad is a NetworkAttachmentDefinition.
type nad = typed[k8s.NetworkAttachmentDefinition]

// Limits on what is checked in one value, higher than in any real network. A text of megabytes can
// contain many thousand of each.
const (
	maxPlugins     = 64
	maxRanges      = 256
	maxAttachments = 256
)

// ranges returns the ranges to check.
func (r ipamRef) ranges() []ipam.Range {
	all := r.conf.Ranges()
	return all[:min(len(all), maxRanges)]
}

// cniPlugin is a plugin of a CNI configuration, with the fields that rules use.
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
	// wrongType is a field whose type sriov and ib-sriov don't accept, or nil.
	wrongType *json.UnmarshalTypeError
}

// pluginsOf returns the plugins of a CNI configuration, without those that can't be decoded.
func pluginsOf(config string) []cniPlugin {
	var out []cniPlugin
	all := plugins(config)
	for _, text := range all[:min(len(all), maxPlugins)] {
		var p cniPlugin
		if err := json.Unmarshal(text, &p); err != nil {
			p.wrongType, _ = errors.AsType[*json.UnmarshalTypeError](err) // the other fields are decoded
		}
		if json.Unmarshal(text, &p.keys) == nil {
			out = append(out, p)
		}
	}
	return out
}

// handwritten returns the NetworkAttachmentDefinitions that the operator didn't write from a
// network.
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

// capabilities returns the capabilities of a network.
func capabilities(text string) map[string]bool {
	var caps map[string]bool
	if json.Unmarshal([]byte(text), &caps) != nil {
		return nil
	}
	return caps
}
