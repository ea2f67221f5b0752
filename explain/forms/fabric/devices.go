package fabric

import (
	"maps"
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms"
)

// How many lines of ibv_devinfo -v, ibstat and show_gids belong to one head.
const (
	devinfoMore = 600
	ibstatMore  = 40
	gidsMore    = 4096
)

// deviceFollower reads the output of ibv_devinfo, ibstat, ibstatus and show_gids, and what follows
// a prompt with "ulimit -l" or "uname -r".
type deviceFollower struct {
	command   string // the one whose output this is
	device    string
	transport string
	port      evidence.Fields // of the port that is being read
	more      int
}

func (d *deviceFollower) Read(l *evidence.Line) (*evidence.Event, int) {
	d.more = max(d.more-1, 0)
	text := strings.TrimSpace(l.Text)
	if d.head(text) || d.more == 0 {
		return nil, d.more
	}
	var kind evidence.Kind
	var fields evidence.Fields
	switch d.command {
	case "ibv_devinfo":
		kind, fields = d.devinfo(text)
	case "ibstat":
		kind, fields = d.ibstat(text)
	case "ibstatus":
		kind, fields = d.ibstatus(text)
	case "show_gids":
		kind, fields = evidence.DeviceGID, gidRow(text)
	case "uname":
		if release, _, ok := strings.Cut(text, "-"); ok && strings.Trim(release, "0123456789.") == "" {
			kind, fields = evidence.Setting, evidence.Fields{"name": "kernel", "value": release}
		}
	case "ulimit":
		if limit(text) {
			kind, fields = evidence.Setting, evidence.Fields{"name": "memlock", "value": text}
		}
	}
	if fields == nil {
		return nil, d.more
	}
	for name, value := range fields {
		if value == "" {
			delete(fields, name)
		}
	}
	return &evidence.Event{
		Kind: kind, Place: l.Place, Process: l.Process, Time: l.Time, Text: text, Fields: fields,
		Form: "command/" + d.command,
	}, d.more
}

// head recognizes the first line of a command's output, and of each device in it.
func (d *deviceFollower) head(text string) bool {
	start := func(command, device string, more int) bool {
		*d = deviceFollower{command: command, device: device, more: more}
		return true
	}
	if device, ok := strings.CutPrefix(text, "hca_id:"); ok {
		return start("ibv_devinfo", strings.TrimSpace(device), devinfoMore)
	}
	if device, ok := strings.CutPrefix(text, "CA '"); ok && strings.HasSuffix(device, "'") {
		return start("ibstat", strings.TrimSuffix(device, "'"), ibstatMore)
	}
	words := strings.Fields(text)
	if len(words) == 6 && words[0] == "Infiniband" && words[1] == "device" && words[5] == "status:" {
		start("ibstatus", strings.Trim(words[2], "'"), ibstatMore)
		d.port = evidence.Fields{"device": d.device, "port": words[4]}
		return true
	}
	if len(words) >= 5 && words[0] == "DEV" && words[2] == "INDEX" && words[3] == "GID" {
		return start("show_gids", "", gidsMore)
	}
	if strings.HasSuffix(text, "ulimit -l") {
		return start("ulimit", "", 2) // the next line only
	}
	if strings.HasSuffix(text, "$ uname -r") || strings.HasSuffix(text, "# uname -r") {
		return start("uname", "", 2)
	}
	return false
}

// pair splits "active_mtu:\t\t4096 (5)" and "Physical state: LinkUp".
func pair(text string) (name, value string) {
	name, value, _ = strings.Cut(text, ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// devinfo reads a line of ibv_devinfo (rdma-core, libibverbs/examples/devinfo.c). link_layer is the
// last line of a port that is always printed.
func (d *deviceFollower) devinfo(text string) (evidence.Kind, evidence.Fields) {
	name, value := pair(text)
	word, _, _ := strings.Cut(value, " ")
	switch name {
	case "transport":
		d.transport = word
	case "port":
		d.port = evidence.Fields{"device": d.device, "port": word, "transport": d.transport}
	case "state":
		d.set("state", strings.TrimPrefix(word, "PORT_"))
	case "active_mtu":
		d.set("mtu", word)
	case "port_lid":
		d.set("lid", word)
	case "link_layer":
		d.set("link", word)
		return evidence.DevicePort, d.copy()
	}
	if index, ok := strings.CutPrefix(name, "GID["); ok && d.port != nil {
		gid, kind, _ := strings.Cut(value, ",")
		return evidence.DeviceGID, evidence.Fields{
			"device": d.device, "port": d.port["port"], "gidIndex": strings.Trim(index, " ]"), "gid": gidText(gid),
			"type": strings.TrimSpace(kind),
		}
	}
	return "", nil
}

// ibstat reads a line of ibstat (rdma-core, infiniband-diags/ibstat.c).
func (d *deviceFollower) ibstat(text string) (evidence.Kind, evidence.Fields) {
	name, value := pair(text)
	if port, ok := strings.CutPrefix(name, "Port "); ok && value == "" {
		d.port = evidence.Fields{"device": d.device, "port": port}
		d.more = ibstatMore
		return "", nil
	}
	switch name {
	case "State":
		d.set("state", strings.ToUpper(value))
	case "Physical state":
		d.set("physical", value)
	case "Rate":
		d.set("rate", value)
	case "Base lid":
		d.set("lid", value)
	case "Link layer":
		d.set("link", value)
		return evidence.DevicePort, d.copy()
	}
	return "", nil
}

// ibstatus reads a line of ibstatus (rdma-core, infiniband-diags/scripts/ibstatus).
func (d *deviceFollower) ibstatus(text string) (evidence.Kind, evidence.Fields) {
	name, value := pair(text)
	switch name {
	case "base lid":
		d.set("lid", value)
	case "state":
		_, value, _ = strings.Cut(value, ": ")
		d.set("state", value)
	case "phys state":
		_, value, _ = strings.Cut(value, ": ")
		d.set("physical", value)
	case "rate":
		d.set("rate", value)
	case "link_layer":
		d.set("link", value)
		return evidence.DevicePort, d.copy()
	}
	return "", nil
}

func (d *deviceFollower) set(name, value string) {
	if d.port != nil {
		d.port[name] = value
	}
}

// copy returns the fields of the port, nil if there is none.
func (d *deviceFollower) copy() evidence.Fields {
	if d.port == nil {
		return nil
	}
	return maps.Clone(d.port)
}

// gidRow reads a row of show_gids: "mlx5_0\t1\t3\t0000:…:0001\t10.0.0.1\tv2\teth0", of which the
// address and the interface can be missing.
func gidRow(text string) evidence.Fields {
	words := strings.Fields(text)
	if len(words) < 5 || !limit(words[1]) || !limit(words[2]) || gidText(words[3]) == "" {
		return nil
	}
	f := evidence.Fields{"device": words[0], "port": words[1], "gidIndex": words[2], "gid": gidText(words[3])}
	for i, w := range words[4:] {
		if w == "v1" || w == "v2" {
			f["type"] = "RoCE " + w
			if i+5 < len(words) {
				f["netdev"] = words[i+5]
			}
		}
	}
	return f
}

// gidText returns a GID as it is printed everywhere else, "" if it isn't one.
func gidText(s string) string {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil || !a.Is6() {
		return ""
	}
	return a.String()
}

var _ forms.Follower = (*deviceFollower)(nil)
