package facts

import (
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// addGID adds a GID that a connection used.
func (d *Device) addGID(index, text string, p evidence.Place) {
	d.GIDs = withGID(d.GIDs, index, text, p)
}

// withGID returns the list with a GID, unless it has it already or the text is none.
func withGID(list []GIDUse, index, text string, p evidence.Place) []GIDUse {
	gid, err := ib.ParseGID(text)
	if err != nil {
		return list
	}
	number, err := strconv.Atoi(index)
	if err != nil {
		number = -1
	}
	for _, g := range list {
		if g.GID == gid && (g.Index == number || number < 0) {
			return list
		}
	}
	return append(list, GIDUse{Index: number, GID: gid, Place: p})
}

// failureGIDs adds the GIDs in lines of failures: the local one to its device, or to the node if
// the line names none, and the remote one to the peer's.
func (c *collector) failureGIDs() {
	for _, kind := range failureKinds {
		for e := range c.facts.Store.Of(kind) {
			local, remote := e.Fields["localGID"], e.Fields["remoteGID"]
			if local == "" && remote == "" {
				continue
			}
			n := c.node(e.Process)
			if device := n.deviceByGID(local); device == "" && local != "" {
				n.GIDs = withGID(n.GIDs, e.Fields["gidIndex"], local, e.Place)
			}
			if remote != "" && c.peer(remote, n) == nil {
				n.PeerGIDs = withGID(n.PeerGIDs, "", remote, e.Place)
			}
		}
	}
	for e := range c.facts.Store.Of(evidence.UCXPath) {
		n := c.node(e.Process)
		n.PeerGIDs = withGID(n.PeerGIDs, "", e.Fields["remoteGID"], e.Place)
	}
}

// otherNodes reads the devices and GIDs that programs other than NCCL name.
func (c *collector) otherNodes() {
	for _, kind := range [...]evidence.Kind{
		evidence.MooncakeDevice, evidence.PerftestPort, evidence.UCXCompletion, evidence.NCCLVerb, evidence.NCCLDevice,
	} {
		for e := range c.facts.Store.Of(kind) {
			name := e.Fields["device"]
			if name == "" {
				continue
			}
			n := c.node(e.Process)
			port, _ := e.Fields.Int("port")
			d := n.device(name, port, e.Place)
			if link := linkOf(e.Fields["link"]); link != LinkUnknown {
				d.Link = link
			}
			if mtu, ok := e.Fields.Int("mtu"); ok {
				d.MTU = mtu
			}
			gid := e.Fields["gid"]
			if kind == evidence.NCCLVerb {
				gid = e.Fields["localGID"]
			}
			d.addGID(e.Fields["gidIndex"], gid, e.Place)
		}
	}
	for e := range c.facts.Store.Of(evidence.PerftestAddress) {
		if lid := strings.Trim(e.Fields["lid"], "0x"); lid != "" {
			c.node(e.Process).LIDs = true
		}
	}
	for e := range c.facts.Store.Of(evidence.NCCLCompletion) {
		if e.Fields["device"] != "" {
			n := c.node(e.Process)
			n.device(e.Fields["device"], 0, e.Place).addGID("", e.Fields["localGID"], e.Place)
		}
	}
	c.failureGIDs()
}
