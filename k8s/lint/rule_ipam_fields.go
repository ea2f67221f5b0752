package lint

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

func ipamFields() Rule {
	return Rule{
		ID: "ipam-fields", Title: "a field of an address plugin that it doesn't have, or lacks",
		Severity: SeverityError,
		Kinds:    []string{k8s.KindNetwork, k8s.KindIBNetwork, k8s.KindNAD},
		Explanation: prose.Join(`
			Nobody checks the fields of ipam before a pod starts, and unknown ones are passed over.
			whereabouts takes range, range_start and range_end; host-local takes subnet, rangeStart
			and rangeEnd, or ranges, a list of lists of them; static takes addresses. With the
			fields of the other a plugin has no range, or one without its bounds. node_slice_size
			divides the range among nodes, so it is a longer prefix than the range has.`),
		Remedy:  "write the fields of the plugin that type names",
		Wrong:   "      \"subnet\": \"192.168.0.0/24\"",
		Right:   "      \"range\": \"192.168.0.0/24\"",
		Sources: []string{srcWhereabouts, srcHostLocal},
		check: func(p *pass) {
			for _, ref := range p.ipams() {
				checkIPAMFields(p, ref)
			}
		},
	}
}

// mapKeys is maps.Keys, for slices.Sorted.
func mapKeys[V any](m map[string]V) func(func(string) bool) { return maps.Keys(m) }

// ipamTypes are plugins for addresses.
func ipamTypes() []string {
	return []string{
		"whereabouts", "host-local", "static", "dhcp", "nv-ipam", "calico-ipam", "spiderpool", "kube-ovn",
		"azure-ipam", "aws-cni",
	}
}

// ipamKeys are the fields of the plugins that are judged; nil for others.
func ipamKeys(plugin string) []string {
	switch plugin {
	case ipam.TypeWhereabouts:
		return []string{
			"type", "range", "range_start", "range_end", "exclude", "gateway", "routes", "ipRanges",
			"addresses", "dns",
			"network_name", "node_slice_size", "enable_overlapping_ranges", "sleep_for_race", "log_file", "log_level",
			"datastore", "kubernetes", "configuration_path", "leader_lease_duration", "leader_renew_deadline",
			"leader_retry_period", "reconciler_cron_expression", "etcd_host", "etcd_username", "etcd_password",
			"etcd_key_file", "etcd_cert_file", "etcd_ca_cert_file", "name", "podName", "podNamespace",
		}
	case ipam.TypeHostLocal:
		return []string{
			"type", "subnet", "rangeStart", "rangeEnd", "gateway", "ranges", "routes", "dataDir", "resolvConf", "name",
		}
	case ipam.TypeStatic:
		return []string{"type", "addresses", "routes", "dns", "name"}
	}
	return nil
}

// rangeFields are the fields of the entries of a list.
func rangeFields(list string) []string {
	switch list {
	case "ranges":
		return []string{"subnet", "rangeStart", "rangeEnd", "gateway"}
	case "ipRanges":
		return []string{"range", "range_start", "range_end", "exclude"}
	case "addresses":
		return []string{"address", "gateway"}
	}
	return nil
}

// ipamTwins are fields of one plugin with those of the other.
func ipamTwins(plugin string) map[string]string {
	twins := map[string]string{
		"subnet": "range", "rangeStart": "range_start", "rangeEnd": "range_end", "ranges": "ipRanges",
	}
	switch plugin {
	case ipam.TypeWhereabouts:
		return twins
	case ipam.TypeStatic:
		return map[string]string{
			"address": "addresses", "range": "addresses", "subnet": "addresses", "ips": "addresses",
			"ranges": "addresses", "ipRanges": "addresses",
		}
	}
	back := map[string]string{}
	for k, v := range twins {
		back[v] = k
	}
	return back
}

// raw returns the fields of an ipam.
func (r ipamRef) raw() map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if r.network != nil {
		_ = json.Unmarshal(lenient(r.network.Spec.IPAM), &fields) // what can't be read has no fields
		return fields
	}
	if r.value == nil {
		return nil
	}
	for _, plugin := range pluginsOf(r.value.Text) {
		if plugin.IPAM.Type != "" {
			_ = json.Unmarshal(plugin.keys["ipam"], &fields)
			return fields
		}
	}
	return nil
}

func checkIPAMFields(p *pass, ref ipamRef) {
	fields := ref.raw()
	plugin := ref.conf.Type
	if len(fields) == 0 {
		return
	}
	if fields["ipam"] != nil {
		f := p.error(
			ref.Object, ref.at, "ipam has another ipam in it: plugins look for its fields one level higher",
		).place(ref.key("ipam"))
		f.Remedy = "leave only what is within the inner one"
		return
	}
	if plugin == "" {
		p.error(ref.Object, ref.at, "ipam has no type").fix(`"type": "whereabouts"`)
		return
	}
	known := ipamKeys(plugin)
	if known == nil {
		if near := spelling.Nearest(plugin, ipamTypes(), spelling.Strict); near != "" && near != plugin {
			p.error(ref.Object, ref.at, "no plugin is called %q", plugin).place(ref.key("type")).fix(`"type": %q`, near)
		}
		return
	}
	if e := ref.misfit; e != nil {
		name := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
		whose := name
		if e.Value != "array" && strings.HasPrefix(string(fields[name]), "[") {
			whose = "an entry of " + name
		}
		p.error(ref.Object, ref.at, "%s %s: %s refuses it, and no pod starts", whose, misfitText(e), plugin).place(
			ref.key(name),
		).Remedy = "write it as the manual of the plugin has it"
	}
	checkKeys(p, ref, fields, known)
	for _, list := range []string{"ranges", "ipRanges", "addresses"} {
		if slices.Contains(known, list) {
			for _, entry := range entriesOf(fields[list]) {
				checkKeys(p, ref, entry, rangeFields(list))
			}
		}
	}
	switch plugin {
	case ipam.TypeWhereabouts:
		checkWhereabouts(p, ref, fields)
	case ipam.TypeHostLocal:
		if len(ref.conf.Sets()) == 0 && ref.misfit == nil {
			p.error(ref.Object, ref.at, "host-local has no range").place(ref.key("type")).fix(
				`"ranges": [[{"subnet": "192.168.0.0/24"}]]`)
		}
	}
}

// checkKeys tells of fields that the plugin doesn't have and that are meant as others.
func checkKeys(p *pass, ref ipamRef, fields map[string]json.RawMessage, known []string) {
	plugin := ref.conf.Type
	twins := ipamTwins(plugin)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			continue // encoding/json takes upper and lower case
		}
		right := twins[name]
		if right == "" {
			right = spelling.Nearest(name, known, spelling.Strict)
		}
		if right != "" {
			p.error(ref.Object, ref.at, "%s has no field %s", plugin, name).place(ref.key(name)).fix("%s", right)
		}
	}
}

// entriesOf returns the objects of a list, or of a list of lists.
func entriesOf(text json.RawMessage) []map[string]json.RawMessage {
	var out []map[string]json.RawMessage
	var items []json.RawMessage
	_ = json.Unmarshal(text, &items) // what is no list has no entries
	for _, item := range items[:min(len(items), maxRanges)] {
		var entry map[string]json.RawMessage
		var inner []map[string]json.RawMessage
		switch {
		case json.Unmarshal(item, &entry) == nil:
			out = append(out, entry)
		case json.Unmarshal(item, &inner) == nil:
			out = append(out, inner...)
		}
	}
	return out[:min(len(out), maxRanges)]
}

func checkWhereabouts(p *pass, ref ipamRef, fields map[string]json.RawMessage) {
	if ref.conf.Range == "" && ref.conf.Subnet == "" && len(ref.conf.IPRanges) == 0 && fields["addresses"] == nil {
		p.error(ref.Object, ref.at, "whereabouts has no range").place(ref.key("type")).fix(`"range": "192.168.0.0/24"`)
	}
	for _, name := range []string{"enable_overlapping_ranges", "sleep_for_race"} {
		var value any
		_ = json.Unmarshal(fields[name], &value) // absent: nil
		if text, quoted := value.(string); quoted {
			p.error(ref.Object, ref.at, "%s is a string: whereabouts refuses it, and no pod starts", name).place(
				ref.key(name),
			).fix("%q: %s", name, text)
		}
	}
	var slice string
	if json.Unmarshal(fields["node_slice_size"], &slice) != nil || slice == "" {
		return
	}
	bits, err := strconv.Atoi(strings.TrimPrefix(slice, "/"))
	if err != nil || bits < 0 || bits > 128 {
		p.error(ref.Object, ref.at, "node_slice_size %q is no length of a prefix", slice).place(
			ref.key("node_slice_size"),
		).fix(`"node_slice_size": "/26"`)
		return
	}
	for _, s := range ref.spans {
		if bits <= s.Prefix.Bits() || bits > s.Prefix.Addr().BitLen()-2 {
			p.error(ref.Object, ref.at, "node_slice_size /%d doesn't divide %s among nodes", bits, s.Prefix).place(
				ref.key("node_slice_size"),
			).Remedy = "write a length between those of the range and of an address"
			return
		}
	}
}
