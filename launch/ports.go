package launch

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rdmakit/rdmakit/inventory"
)

// candidate is a port that is being evaluated.
type candidate struct {
	device *inventory.Device
	port   *inventory.Port
	plan   *PortPlan
	names  []string // selectorNames
	gids   gidTable // RoCE only
	slave  string   // the bond member that has the addresses of the port's entries
}

// portRule evaluates a single port. The first rule that returns a reason decides.
type portRule struct {
	Rule
	decision Decision
	// reason returns why the rule applies, "" if it doesn't, and the files that it depends on.
	reason func(dv *derivation, c *candidate) (why string, files []string)
}

// portRules are in the order in which they are applied.
var portRules = []portRule{
	{
		Rule{"port-excluded", KindPort, "a selector of --exclude matches", "leave the port out", "the user decides"},
		DecisionCandidate, reasonExcluded,
	},
	{
		Rule{
			"port-not-included", KindPort, "--include is given and none of its selectors matches",
			"leave the port out", "the user decides",
		},
		DecisionCandidate, reasonIncluded,
	},
	{Rule{
		"port-no-verbs", KindPort, "a hardware device has no file below /dev/infiniband, and /dev is visible",
		"reject the port",
		"no program can open the device: the library falls back to TCP, and a job whose ranks differ hangs",
	}, DecisionRejected, reasonNoVerbs},
	{Rule{
		"port-iwarp", KindPort, "the device is an RNIC (node_type 4), but not eRDMA", "reject the port",
		"NCCL uses iWARP ports and fails to connect; the other libraries need GIDs, which iWARP does not have",
	}, DecisionRejected, reasonIWARP},
	{Rule{
		"port-transport", KindPort, "the port is neither InfiniBand nor RoCE nor EFA (usNIC, unknown link layers)",
		"reject the port", "no library uses it through verbs",
	}, DecisionRejected, reasonTransport},
	{Rule{
		"port-state", KindPort, "the state is not 4: ACTIVE (5: ACTIVE_DEFER is a different state)",
		"reject the port",
		"NCCL requires IBV_PORT_ACTIVE, and a job with an inactive port in its list hangs or falls back to TCP",
	}, DecisionRejected, reasonState},
	{Rule{
		"port-name", KindPort,
		"the device's name has a character that a list can't contain: , : ^ = [ ] * ?, white space, control " +
			"characters, bytes that aren't UTF-8",
		"reject the port", "NCCL, NVSHMEM and UCX would parse other devices from the list, or none",
	}, DecisionRejected, reasonName},
	{Rule{
		"port-data-direct", KindPort, "the name is that of another device followed by _dma", "reject the port",
		"NCCL gives the Data Direct function of a ConnectX-8 that name, but matches lists against the plain name",
	}, DecisionRejected, reasonDataDirect},
	{Rule{
		"port-bond-slave", KindPort, "all usable GIDs of a RoCE port are on a bond member", "reject the port",
		"the addresses belong to the bond: use the bond's device (mlx5_bond_0)",
	}, DecisionRejected, reasonBondSlave},
	{Rule{
		"port-no-gid", KindPort, "a RoCE port has only link-local GIDs",
		"reject the port: no routable GID, assign an IP address",
		"peers on other subnets can't be reached, and the libraries would use the port anyway",
	}, DecisionRejected, reasonNoGID},
	{Rule{
		"port-role", KindPort,
		"the role is storage, management, unused or uncertain, or unknown although the node has compute ports " +
			"(software devices, VFs and representors of others), and --include does not select the port",
		"leave the port out", "a slow port or another network among the rails slows every job down",
	}, DecisionCandidate, reasonRole},
}

func reasonExcluded(dv *derivation, c *candidate) (string, []string) {
	if s := firstMatch(dv.exclude, c.names); s != "" {
		return fmt.Sprintf("--exclude %s", printableName(s)), nil
	}
	return "", nil
}

func reasonIncluded(dv *derivation, c *candidate) (string, []string) {
	if len(dv.include) > 0 && firstMatch(dv.include, c.names) == "" {
		return "no --include matches", nil
	}
	return "", nil
}

func reasonNoVerbs(dv *derivation, c *candidate) (string, []string) {
	host := &dv.snapshot.Host
	switch {
	case c.device.SMIOf != "":
		return "subnet management of " + c.device.SMIOf + ", not for jobs", []string{c.device.Path}
	case !host.DevVisible || c.device.UverbsNode() || c.device.Software != "":
		return "", nil
	case !host.DevInfiniBand:
		return "/dev/infiniband does not exist, so no program can open the device", []string{"/dev/infiniband"}
	case !slices.ContainsFunc(dv.snapshot.Devices, func(d inventory.Device) bool { return len(d.Chars) > 0 }):
		return "", nil // /sys/class/infiniband_verbs was not recorded
	}
	return "no uverbs file of the device below /dev/infiniband", []string{"/dev/infiniband"}
}

func reasonIWARP(_ *derivation, c *candidate) (string, []string) {
	if c.port.Transport == inventory.TransportIWARP || c.device.NodeType == inventory.NodeTypeRNIC && !c.isERDMA() {
		return "iWARP: the libraries need InfiniBand or RoCE", []string{c.device.Path + "/node_type"}
	}
	return "", nil
}

func reasonTransport(_ *derivation, c *candidate) (string, []string) {
	if c.isEFA() || c.isERDMA() || c.isInfiniBand() || c.isRoCE() {
		return "", nil
	}
	what := string(c.port.Transport)
	if what == "" {
		return "its transport is not known, and so not whether a library can use it",
			[]string{portFile(c.port, "link_layer")}
	}
	if c.port.Transport == inventory.TransportUSNIC {
		what = "usNIC has no reliable connections, so libraries that try to use it fail"
		return what, []string{portFile(c.port, "link_layer")}
	}
	return what + ": no library uses it through verbs", []string{portFile(c.port, "link_layer")}
}

func (c *candidate) isEFA() bool { return c.port.Transport == inventory.TransportEFA }

// isERDMA reports whether NCCL uses the port as it is, although its node type is that of an RNIC.
func (c *candidate) isERDMA() bool { return c.port.Transport == inventory.TransportERDMA }

func (c *candidate) isInfiniBand() bool {
	return !c.isEFA() && c.port.LinkLayer == inventory.LinkLayerInfiniBand
}

func (c *candidate) isRoCE() bool {
	return !c.isEFA() && !c.isERDMA() && c.port.LinkLayer == inventory.LinkLayerEthernet &&
		c.port.Transport != inventory.TransportUSNIC
}

func reasonState(dv *derivation, c *candidate) (string, []string) {
	if why := dv.unreadable(portFile(c.port, "state")); why != "" {
		return "the state could not be read: " + why, []string{portFile(c.port, "state")}
	}
	if c.port.State != inventory.PortStateActive {
		why := fmt.Sprintf("state is %d: %s, not ACTIVE", c.port.State, c.port.State)
		return why, []string{portFile(c.port, "state")}
	}
	return "", nil
}

func reasonName(_ *derivation, c *candidate) (string, []string) {
	if bad := unlistable(c.device.Name); bad != "" {
		return "the name " + printableName(c.device.Name) + " has " + bad + ", which a list of devices can't contain",
			[]string{c.device.Path}
	}
	return "", nil
}

// unlistable describes the part of a device's name that is not possible in a list of devices, or
// returns "".
func unlistable(name string) string {
	if !utf8.ValidString(name) {
		return "bytes that are not UTF-8"
	}
	for _, r := range name {
		switch {
		case strings.ContainsRune(",:^=[]*?", r):
			return fmt.Sprintf("%q", r)
		case unicode.IsSpace(r):
			return "white space"
		case !unicode.IsPrint(r):
			return "an unprintable character"
		}
	}
	return ""
}

func reasonDataDirect(dv *derivation, c *candidate) (string, []string) {
	plain, ok := strings.CutSuffix(c.device.Name, "_dma")
	same := func(d inventory.Device) bool { return d.Name == plain }
	if ok && slices.ContainsFunc(dv.snapshot.Devices, same) {
		return "Data Direct function of " + plain, []string{c.device.Path}
	}
	return "", nil
}

func reasonBondSlave(dv *derivation, c *candidate) (string, []string) {
	if c.isRoCE() && len(c.gids) == 0 && c.slave != "" {
		why := fmt.Sprintf("its addresses are on %s, a member of %s", c.slave, bondOf(dv.snapshot, c.slave))
		return why, []string{portFile(c.port, "gid_attrs/ndevs")}
	}
	return "", nil
}

func reasonNoGID(dv *derivation, c *candidate) (string, []string) {
	if !c.isRoCE() || len(c.gids) > 0 {
		return "", nil
	}
	files := []string{portFile(c.port, "gids")}
	if why := dv.unreadable(files[0]); why != "" {
		return "the GID table could not be read: " + why, files
	}
	if len(c.port.GIDs) == 0 {
		return "the GID table is empty: the network device has no address or is in another network namespace", files
	}
	if c.port.FirstGIDOnly() {
		return "only the first entry of the GID table was recorded: whether the port has an address is not known", files
	}
	where := "its network device"
	if c.port.Netdev != "" {
		where = c.port.Netdev
	}
	return "no routable GID: assign an IP address to " + where, files
}

// unreadable returns why the scan could not read a file, "" if it could.
func (dv *derivation) unreadable(name string) string {
	i := slices.IndexFunc(dv.snapshot.Problems, func(p inventory.Problem) bool { return p.Path == name })
	if i < 0 {
		return ""
	}
	return dv.snapshot.Problems[i].Error
}

func reasonRole(dv *derivation, c *candidate) (string, []string) {
	role := c.port.Role
	if len(dv.include) > 0 || role == inventory.RoleCompute || role == inventory.RoleUnknown && !dv.hasCompute() {
		return "", nil
	}
	reason := "role " + string(role)
	if role == inventory.RoleUnknown {
		reason = "role unknown, and the node has compute ports"
	}
	if c.port.RoleReason != "" {
		reason += ": " + c.port.RoleReason
	}
	return reason, nil
}

// hasCompute reports whether the node has a compute port.
func (dv *derivation) hasCompute() bool {
	for _, p := range dv.snapshot.Ports() {
		if p.Role == inventory.RoleCompute {
			return true
		}
	}
	return false
}

// checkPorts applies the rules to every port of the node.
func (dv *derivation) checkPorts() {
	for i := range dv.snapshot.Devices {
		d := &dv.snapshot.Devices[i]
		for j := range d.Ports {
			dv.candidates = append(dv.candidates, dv.checkPort(d, &d.Ports[j]))
		}
	}
}

func (dv *derivation) checkPort(d *inventory.Device, p *inventory.Port) *candidate {
	c := &candidate{device: d, port: p, names: selectorNames(d, p), plan: &PortPlan{
		Device: d.Name, Port: p.Number, Netdev: p.Netdev, Transport: p.Transport, Role: p.Role,
		Decision: DecisionSelected,
	}}
	if d.PCI != nil {
		c.plan.PCI = d.PCI.Address
	}
	if c.isRoCE() {
		c.gids, c.slave = usableGIDs(dv.snapshot, p)
	}
	for _, r := range portRules {
		if reason, files := r.reason(dv, c); reason != "" {
			c.plan.Decision, c.plan.Rule, c.plan.Reason, c.plan.Files = r.decision, r.ID, reason, files
			return c
		}
	}
	return c
}
