package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func checkMetaPluginNames(p *pass, n *network) {
	for _, plugin := range pluginsOf(metaPlugins(n)) {
		if near := nearestPlugin(plugin.Type); near != "" {
			p.error(n.Object, path{"spec", "metaPlugins"}, "unknown plugin %q", plugin.Type).fix(`"type": %q`, near)
		}
	}
}

// cniTypes returns the names of CNI plugins.
func cniTypes() []string {
	return []string{
		"sriov", "ib-sriov", "rdma", "host-device", "macvlan", "ipvlan", "ipoib", "bridge", "ovs", "tuning", "sbr",
		"vlan", "vrf", "bandwidth", "portmap", "firewall", "ptp", "loopback", "dummy", "bond",
	}
}

// ibFields returns the fields of sriov that ib-sriov doesn't have, and misspelt fields of ib-sriov
// with the right name.
func ibFields() map[string]string {
	return map[string]string{
		"vlan": "", "vlanQoS": "", "vlanProto": "", "spoofchk": "", "trust": "", "min_tx_rate": "", "max_tx_rate": "",
		"mac": "", "linkState": "link_state", "rdma_isolation": "rdmaIsolation", "rdmaisolation": "rdmaIsolation",
		"RdmaIsolation": "rdmaIsolation", "ibKubernetes": "ibKubernetesEnabled", "PKey": "pkey", "pKey": "pkey",
	}
}

type nadWalk struct {
	*pass
	nad *nad
}

// at reports a finding of a rule about a text of the configuration.
func (w *nadWalk) at(rule string, severity Severity, text, format string, args ...any) *Finding {
	way := path{"spec", "config"}
	f := w.as(rule).report(severity, w.nad.Object, way, format, args...)
	if v := w.nad.Find(way...); v != nil {
		if i := strings.Index(v.Text, text); i >= 0 {
			f.place(w.nad.Inside(v, i))
		}
	}
	return f
}

// checkNAD is the check of the rules of the group nad-structure, except for SriovNetworks.
func checkNAD(p *pass, d *nad) {
	w := nadWalk{pass: p, nad: d}
	config := d.Value.Spec.Config
	list := pluginsOf(config)
	if len(list) == 0 {
		return // absent, or reported by ipam-json
	}
	for i, plugin := range list {
		w.kind(plugin)
		if plugin.Type == "rdma" && i == 0 {
			w.at("nad-order", SeverityError, `"rdma"`,
				"rdma is the first plugin, but it needs the interface of a plugin before it").Remedy = "put " +
				creator(list) + " before it"
		}
		if i > 0 && plugin.IPAM.Type == "whereabouts" {
			w.at("nad-order", SeverityWarn, `"whereabouts"`,
				"whereabouts is the IPAM of plugin %d, but it cleans up addresses of the first plugin only",
				i+1).Remedy = "put the plugin with the addresses first"
		}
		if plugin.Type == "sriov" || plugin.Type == "ib-sriov" {
			w.values(plugin)
		}
		if plugin.Type == "ib-sriov" {
			w.ibFields(plugin)
		}
	}
	w.resource(list)
	var top struct {
		Version string            `json:"cniVersion"`
		Plugins []json.RawMessage `json:"plugins"`
	}
	if json.Unmarshal([]byte(config), &top) == nil && len(top.Plugins) > 1 && top.Version == "" {
		w.at("nad-version", SeverityWarn, `"plugins"`, "the list of plugins has no cniVersion").fix(
			`"cniVersion": "1.0.0"`)
	}
}

// creator names the first plugin of a list that creates an interface.
func creator(list []cniPlugin) string {
	others := []string{"rdma", "tuning", "sbr", "vrf", "bandwidth", "portmap", "firewall", "loopback"}
	for _, plugin := range list {
		if slices.Contains(cniTypes(), plugin.Type) && !slices.Contains(others, plugin.Type) {
			return plugin.Type
		}
	}
	return "the plugin that creates the interface, such as sriov,"
}

// values checks the values of fields of sriov and ib-sriov.
func (w *nadWalk) values(plugin cniPlugin) {
	if e := plugin.wrongType; e != nil && !strings.HasPrefix(e.Field, "ipam") {
		name, _, _ := strings.Cut(e.Field, ".")
		w.at("nad-value", SeverityError, `"`+name+`"`, "%s %s: %s rejects it, and no pod starts",
			name, wrongTypeText(e), plugin.Type).Remedy = "change the type of the value"
	}
	choice := func(name, value string, allowed ...string) {
		if value != "" && !slices.Contains(allowed, value) {
			f := w.at("nad-value", SeverityError, `"`+name+`"`,
				"%s %q is not one of %s: %s rejects it, and no pod starts",
				name, shorten(value), strings.Join(allowed, ", "), plugin.Type)
			if f.Remedy = "write one of these values"; spelling.Nearest(value, allowed, spelling.Loose) != "" {
				f.fix("%q: %q", name, spelling.Nearest(value, allowed, spelling.Loose))
			}
		}
	}
	choice("link_state", plugin.LinkState, "auto", "enable", "disable")
	if plugin.Type == "sriov" {
		choice("spoofchk", plugin.SpoofChk, "on", "off")
		choice("trust", plugin.Trust, "on", "off")
		if plugin.VLAN != nil && (*plugin.VLAN < 0 || *plugin.VLAN > 4094) {
			w.at("nad-value", SeverityError, `"vlan"`,
				"vlan %d is outside of 0 to 4094: sriov rejects it, and no pod starts",
				*plugin.VLAN).Remedy = "write a number from 0 to 4094"
		}
	}
}

func (w *nadWalk) kind(plugin cniPlugin) {
	if plugin.Type == "" {
		w.at("nad-plugin", SeverityError, `{`, "a plugin has no type")
	} else if near := nearestPlugin(plugin.Type); near != "" {
		w.at("nad-plugin", SeverityError, `"`+plugin.Type+`"`, "unknown plugin %q", plugin.Type).fix(`"type": %q`, near)
	}
}

// nearestPlugin returns the plugin that a wrong name most likely means, "" if the name is right or
// resembles none.
func nearestPlugin(name string) string {
	if slices.Contains(cniTypes(), name) {
		return ""
	}
	bare := strings.TrimSuffix(name, "-cni")
	if slices.Contains(cniTypes(), bare) {
		return bare
	}
	if near := spelling.Nearest(bare, cniTypes(), spelling.Strict); near != "" {
		return near
	}
	lower := strings.ToLower(name)
	switch {
	case !strings.Contains(lower, "sriov"):
		return ""
	case strings.Contains(lower, "ib") || strings.Contains(lower, "infiniband"):
		return "ib-sriov"
	}
	return "sriov"
}

func (w *nadWalk) ibFields(plugin cniPlugin) {
	known := ibFields()
	for _, f := range slices.Sorted(maps.Keys(plugin.keys)) {
		right, ours := known[f]
		switch {
		case !ours:
		case right == "":
			w.at("nad-field", SeverityWarn, `"`+f+`"`, "ib-sriov has no field %s and ignores it",
				f).Remedy = "remove it"
		default:
			w.at("nad-field", SeverityError, `"`+f+`"`, "ib-sriov has no field %s and ignores it", f).fix("%s", right)
		}
	}
}

// resource checks the annotation that names the resource of the VFs.
func (w *nadWalk) resource(list []cniPlugin) {
	i := slices.IndexFunc(list, func(p cniPlugin) bool { return p.Type == "sriov" || p.Type == "ib-sriov" })
	if i < 0 || list[i].DeviceID != "" {
		return
	}
	at := path{"metadata", "annotations", k8s.AnnotationResourceName}
	switch name := w.nad.Value.Metadata.Annotations[k8s.AnnotationResourceName]; {
	case name == "" && list[i].Type == "sriov" && w.dynamicAllocation: // dra-driver-sriov gives the VF
	case name == "":
		f := w.as("nad-resource").error(w.nad.Object, at, "%s gets no VF without the annotation %s",
			list[i].Type, k8s.AnnotationResourceName).fix("%s: PREFIX/RESOURCE", k8s.AnnotationResourceName)
		if list[i].Type == "sriov" {
			f.Severity = SeverityWarn
			f.Summary += ", unless dra-driver-sriov assigns one"
		}
	case w.dynamicAllocation: // dra-driver-sriov compares the name with an attribute of the device
	case !strings.Contains(name, "/"):
		w.as("nad-resource").error(w.nad.Object, at, "%q has no prefix, but multus needs the full name of the resource",
			name).Remedy = "write PREFIX/RESOURCE, as in the nodes' allocatable"
	}
}
