package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
	"github.com/rdmakit/rdmakit/k8s/ipam"
)

// ipamTypes returns the names of IPAM plugins.
func ipamTypes() []string {
	return []string{
		"whereabouts", "host-local", "static", "dhcp", "nv-ipam", "calico-ipam", "spiderpool", "kube-ovn",
		"azure-ipam", "aws-cni",
	}
}

// ipamKeys returns the fields of a plugin, nil for plugins that the rule doesn't check.
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

// rangeFields returns the fields of the entries of a list.
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

// ipamTwins maps fields of other plugins to the plugin's own.
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

func checkIPAMFields(p *pass, ref ipamRef) {
	fields := ref.fields
	plugin := ref.conf.Type
	if len(fields) == 0 {
		return
	}
	if fields["ipam"] != nil {
		f := p.atField(ref, "ipam", "ipam contains another ipam: plugins look for the fields one level higher")
		f.Remedy = "keep only the content of the inner ipam"
		return
	}
	if plugin == "" {
		p.error(ref.Object, ref.at, "ipam has no type").fix(`"type": "whereabouts"`)
		return
	}
	known := ipamKeys(plugin)
	if known == nil {
		if near := spelling.Nearest(plugin, ipamTypes(), spelling.Strict); near != "" && near != plugin {
			p.atField(ref, "type", "unknown plugin %q", plugin).fix(`"type": %q`, near)
		}
		return
	}
	if e := ref.wrongType; e != nil {
		name := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
		whose := name
		if e.Value != "array" && strings.HasPrefix(string(fields[name]), "[") {
			whose = "an entry of " + name
		}
		p.as("ipam-value").atField(
			ref, name, "%s %s: %s rejects it, and no pod starts", whose, wrongTypeText(e), plugin,
		).Remedy = "change the type of the value"
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
		if len(ref.conf.Sets()) == 0 && ref.wrongType == nil {
			p.as("ipam-field").atField(ref, "type", "host-local has no range").fix(
				`"ranges": [[{"subnet": "192.168.0.0/24"}]]`)
		}
	}
}

// checkKeys reports unknown fields for which the intended field is known.
func checkKeys(p *pass, ref ipamRef, fields map[string]json.RawMessage, known []string) {
	plugin := ref.conf.Type
	twins := ipamTwins(plugin)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			continue // encoding/json ignores case
		}
		right := twins[name]
		if right == "" {
			right = spelling.Nearest(name, known, spelling.Strict)
		}
		if right != "" {
			p.as("ipam-field").atField(ref, name, "%s has no field %s", plugin, name).fix("%s", right)
		}
	}
}

// entriesOf returns the objects of a list, or of a list of lists.
func entriesOf(text json.RawMessage) []map[string]json.RawMessage {
	var out []map[string]json.RawMessage
	var items []json.RawMessage
	_ = json.Unmarshal(text, &items) // a text that is not a list has no entries
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
		p.as("ipam-field").atField(ref, "type", "whereabouts has no range").fix(`"range": "192.168.0.0/24"`)
	}
	for _, name := range []string{"enable_overlapping_ranges", "sleep_for_race"} {
		var value any
		_ = json.Unmarshal(fields[name], &value) // absent: nil
		if text, quoted := value.(string); quoted {
			p.as("ipam-value").atField(
				ref, name, "%s is a string: whereabouts rejects it, and no pod starts", name,
			).fix("%q: %s", name, text)
		}
	}
	var slice string
	if json.Unmarshal(fields["node_slice_size"], &slice) != nil || slice == "" {
		return
	}
	bits, err := strconv.Atoi(strings.TrimPrefix(slice, "/"))
	if err != nil || bits < 0 || bits > 128 {
		p.as("ipam-value").atField(ref, "node_slice_size", "node_slice_size %q is not a prefix length", slice).fix(
			`"node_slice_size": "/26"`)
		return
	}
	for _, s := range ref.spans {
		if bits <= s.Prefix.Bits() || bits > s.Prefix.Addr().BitLen()-2 {
			p.as("ipam-value").atField(
				ref, "node_slice_size", "node_slice_size /%d can't divide %s among nodes", bits, s.Prefix,
			).Remedy = fmt.Sprintf("write a prefix length longer than /%d and at most /%d", s.Prefix.Bits(),
				s.Prefix.Addr().BitLen()-2)
			return
		}
	}
}
