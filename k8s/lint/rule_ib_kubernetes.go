package lint

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkPKeys(p *pass, d *nad) {
	for _, plugin := range pluginsOf(d.Value.Spec.Config) {
		if plugin.Type == "ib-sriov" {
			checkPKey(p, d, plugin)
		}
	}
}

func checkPKey(p *pass, d *nad, plugin cniPlugin) {
	at := path{"spec", "config"}
	value := d.Find(at...)
	if plugin.PKey == "" || value == nil {
		return
	}
	place := d.Inside(value, max(0, strings.Index(value.Text, `"pkey"`)))
	digits, prefixed := strings.CutPrefix(strings.ToLower(plugin.PKey), "0x")
	n, err := strconv.ParseUint(digits, 16, 32)
	switch {
	case !prefixed || err != nil:
		p.error(d.Object, at, "pkey %q is not a hexadecimal number with 0x",
			plugin.PKey).place(place).Remedy = "write it as 0x0001"
	case n == 0 || n > 0x7fff:
		f := p.error(d.Object, at,
			"pkey %s is outside of 0x0001 to 0x7fff: it must not contain the membership bit",
			plugin.PKey).place(place)
		if n > 0x7fff && n&0x7fff != 0 && n <= 0xffff {
			f.fix(`"pkey": "0x%04x"`, n&0x7fff)
		}
	}
}

func checkIBKubernetes(p *pass, o *manifest.Object) {
	if o.Kind != k8s.KindConfigMap || o.Find("data", "DAEMON_SM_PLUGIN") == nil {
		return
	}
	text := func(key string) string {
		if v := o.Find("data", key); v != nil {
			return v.Text
		}
		return ""
	}
	switch plugin := text("DAEMON_SM_PLUGIN"); {
	case plugin == "noop":
		p.warn(o, path{"data", "DAEMON_SM_PLUGIN"},
			"the plugin noop assigns GUIDs but no partitions").Remedy = "use ufm, or assign partitions in the subnet " +
			"manager"
	case !slices.Contains([]string{"ufm", "noop"}, plugin):
		p.warn(o, path{"data", "DAEMON_SM_PLUGIN"}, "ib-kubernetes has no plugin %q, only ufm and noop",
			plugin).Remedy = "use ufm"
	}
	var bounds []uint64
	for _, key := range []string{"GUID_POOL_RANGE_START", "GUID_POOL_RANGE_END"} {
		if text(key) == "" {
			continue
		}
		guid, ok := parseGUID(text(key))
		if !ok {
			p.error(o, path{"data", key}, "%q is not a GUID", shorten(text(key))).Remedy = "write eight bytes " +
				"as 02:00:00:00:00:00:00:00"
			return
		}
		bounds = append(bounds, guid)
	}
	if len(bounds) == 2 && bounds[0] > bounds[1] {
		p.error(o, path{"data", "GUID_POOL_RANGE_START"},
			"the range of GUIDs starts after its end").Remedy = "swap start and end"
	}
}
