package lint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
)

func nadStructure() Rule {
	return Rule{
		ID: "nad-structure", Title: "a CNI configuration that the plugins don't take as meant", Severity: SeverityError,
		Kinds: []string{k8s.KindNAD, k8s.KindNetwork, k8s.KindIBNetwork},
		Explanation: prose.Join(`
			A NetworkAttachmentDefinition is not checked by anybody before a pod starts. type is the
			name of a plugin's program: sriov, ib-sriov, rdma. sriov and ib-sriov get their VF by
			the annotation k8s.v1.cni.cncf.io/resourceName, PREFIX/RESOURCE; without it pods fail
			with "VF pci addr is required". In a list the plugin that makes the interface stands
			first, and rdma after it; whereabouts looks for its addresses in the first one only when
			it cleans up. Fields that a plugin doesn't have are passed over, such as those of sriov
			in ib-sriov.`),
		Remedy: "write the configuration as the manual of the plugin has it",
		Wrong:  "\"type\": \"ib-sriov-cni\"",
		Right:  "\"type\": \"ib-sriov\"",
		Reports: []string{
			"k8snetworkplumbingwg/sriov-network-device-plugin#258",
			"k8snetworkplumbingwg/sriov-network-device-plugin#310",
		},
		Sources: []string{srcMultus, srcIBCNI, srcRDMACNI, srcWhereabouts},
		check: func(p *pass) {
			for _, d := range p.handwritten() {
				w := nadWalk{pass: p, nad: d}
				w.chain()
			}
			for _, n := range p.networks {
				for _, plugin := range pluginsOf(`{"plugins": [` + n.Spec.MetaPlugins + `]}`) {
					if near := nearestPlugin(plugin.Type); near != "" {
						p.error(n.Object, path{"spec", "metaPlugins"}, "no plugin is called %q", plugin.Type).fix(
							`"type": %q`, near)
					}
				}
			}
		},
	}
}

// cniTypes are the plugins that networks of this kind are made of.
func cniTypes() []string {
	return []string{
		"sriov", "ib-sriov", "rdma", "host-device", "macvlan", "ipvlan", "ipoib", "bridge", "ovs", "tuning", "sbr",
		"vlan", "vrf", "bandwidth", "portmap", "firewall", "ptp", "loopback", "dummy", "bond",
	}
}

// ibFields are the fields of sriov that ib-sriov hasn't, and misspelt ones of its own with the
// right name.
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

// at reports at a field of the configuration.
func (w *nadWalk) at(severity Severity, text, format string, args ...any) *Finding {
	way := path{"spec", "config"}
	f := w.report(severity, w.nad.Object, way, format, args...)
	if v := w.nad.Find(way...); v != nil {
		if i := strings.Index(v.Text, text); i >= 0 {
			f.place(w.nad.Inside(v, i))
		}
	}
	return f
}

func (w *nadWalk) chain() {
	config := w.nad.Value.Spec.Config
	list := pluginsOf(config)
	if len(list) == 0 {
		return // absent, or ipam-json's business
	}
	for i, plugin := range list {
		w.kind(plugin)
		if plugin.Type == "rdma" && i == 0 {
			w.at(SeverityError, `"rdma"`,
				"rdma is the first plugin: it needs the interface of one before it").Remedy = "put sriov before it"
		}
		if i > 0 && plugin.IPAM.Type == "whereabouts" {
			w.at(SeverityWarn, `"whereabouts"`,
				"whereabouts belongs to plugin %d: it cleans up addresses of the first one only", i+1).Remedy = "put " +
				"the plugin with the addresses first"
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
		w.at(SeverityWarn, `"plugins"`, "a list of plugins without cniVersion").fix(`"cniVersion": "1.0.0"`)
	}
}

// values holds fields of sriov and ib-sriov to what these take.
func (w *nadWalk) values(plugin cniPlugin) {
	if e := plugin.misfit; e != nil && !strings.HasPrefix(e.Field, "ipam") {
		name, _, _ := strings.Cut(e.Field, ".")
		w.at(SeverityError, `"`+name+`"`, "%s %s: %s refuses it, and no pod starts",
			name, misfitText(e), plugin.Type).Remedy = "write it in that type"
	}
	choice := func(name, value string, allowed ...string) {
		if value != "" && !slices.Contains(allowed, value) {
			f := w.at(SeverityError, `"`+name+`"`, "%s %q is none of %s: %s refuses it, and no pod starts",
				name, shorten(value), strings.Join(allowed, ", "), plugin.Type)
			if f.Remedy = "write one of them"; spelling.Nearest(value, allowed, spelling.Loose) != "" {
				f.fix("%q: %q", name, spelling.Nearest(value, allowed, spelling.Loose))
			}
		}
	}
	choice("link_state", plugin.LinkState, "auto", "enable", "disable")
	if plugin.Type == "sriov" {
		choice("spoofchk", plugin.SpoofChk, "on", "off")
		choice("trust", plugin.Trust, "on", "off")
		if plugin.VLAN != nil && (*plugin.VLAN < 0 || *plugin.VLAN > 4094) {
			w.at(SeverityError, `"vlan"`, "vlan %d is outside of 0 to 4094: sriov refuses it, and no pod starts",
				*plugin.VLAN).Remedy = "write a number from 0 to 4094"
		}
	}
}

func (w *nadWalk) kind(plugin cniPlugin) {
	if plugin.Type == "" {
		w.at(SeverityError, `{`, "a plugin has no type")
	} else if near := nearestPlugin(plugin.Type); near != "" {
		w.at(SeverityError, `"`+plugin.Type+`"`, "no plugin is called %q", plugin.Type).fix(`"type": %q`, near)
	}
}

// nearestPlugin returns the plugin that is meant by another name, "" where none is or the name
// is right.
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
	for _, f := range slices.Sorted(mapKeys(plugin.keys)) {
		right, ours := known[f]
		switch {
		case !ours:
		case right == "":
			w.at(SeverityWarn, `"`+f+`"`, "ib-sriov has no field %s: it is passed over", f).Remedy = "remove it"
		default:
			w.at(SeverityError, `"`+f+`"`, "ib-sriov has no field %s: it is passed over", f).fix("%s", right)
		}
	}
}

// resource judges the annotation by which a pod gets its VF.
func (w *nadWalk) resource(list []cniPlugin) {
	i := slices.IndexFunc(list, func(p cniPlugin) bool { return p.Type == "sriov" || p.Type == "ib-sriov" })
	if i < 0 || list[i].DeviceID != "" {
		return
	}
	at := path{"metadata", "annotations", k8s.AnnotationResourceName}
	switch name := w.nad.Value.Metadata.Annotations[k8s.AnnotationResourceName]; {
	case name == "":
		w.error(w.nad.Object, at, "%s needs the annotation %s, by which it gets a VF",
			list[i].Type, k8s.AnnotationResourceName).fix("%s: PREFIX/RESOURCE", k8s.AnnotationResourceName)
	case !strings.Contains(name, "/"):
		w.error(w.nad.Object, at, "%q has no prefix: multus looks for the full name of the resource",
			name).Remedy = "write PREFIX/RESOURCE as allocatable of the nodes has it"
	}
}
