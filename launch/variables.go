package launch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// variableRule sets variables. All rules that apply contribute; Derive drops the variables of
// libraries that were not requested.
type variableRule struct {
	Rule
	// derive adds variables with dv.set; it is called after the ports and the socket are chosen.
	derive func(dv *derivation, r *variableRule)
}

var variableRules = []variableRule{
	{Rule{
		"nccl-ib-hca-exact", KindVariable, "ports are selected", `NCCL_IB_HCA="=device:port,…"`,
		"= makes NCCL compare whole names; without it mlx5_1 would also match mlx5_10",
	}, deriveNCCLList},
	{Rule{
		"nvshmem-hca-list", KindVariable, "ports are selected",
		"NVSHMEM_HCA_LIST=device:port,…; NVSHMEM_ENABLE_NIC_PE_MAPPING is not changed",
		"NVSHMEM compares whole names, and maps by distance to the GPU by default",
	}, deriveNVSHMEMList},
	{Rule{
		"nvshmem-hca-prefix", KindVariable, "a selected device has no mlx5 in its name",
		"NVSHMEM_HCA_PREFIX = the longest text that all names contain",
		"NVSHMEM 3.4.5 uses only devices with this text in their names, mlx5 by default",
	}, deriveNVSHMEMPrefix},
	{Rule{
		"ucx-net-devices", KindVariable, "ports are selected",
		"UCX_NET_DEVICES = the ports, then the bootstrap device; UCX_TLS is not changed",
		"the list applies to TCP devices too: without one UCX has no tcp transport and can't wire up",
	}, deriveUCXList},
	{Rule{
		"roce-differing-indices", KindVariable, "the selected RoCE ports have their GIDs at different indices",
		"NCCL_ and NVSHMEM_IB_ADDR_FAMILY and _ADDR_RANGE with one network that covers all ports; never a GID index",
		"an index is one number for all ports; family and range select the entry on each port",
	}, deriveDiffering},
	{Rule{
		"roce-ipv6-only", KindVariable, "the selected RoCE ports have IPv6 in common but not IPv4",
		"NCCL_ and NVSHMEM_IB_ADDR_FAMILY=AF_INET6", "by default they use index 0, a link-local RoCE v1 GID",
	}, deriveIPv6},
	{Rule{
		"roce-v1-only", KindVariable, "the selected RoCE ports have only RoCE v1 GIDs",
		"NCCL_ and NVSHMEM_IB_ROCE_VERSION_NUM=1, and a warning: v1 stays within one layer-2 network",
		"by default they search for v2",
	}, deriveV1},
	{Rule{
		"gid-pin", KindVariable, "--pin-gid, and all selected ports are RoCE with their GIDs at one index",
		"NCCL_IB_GID_INDEX, NVSHMEM_IB_GID_INDEX, UCX_IB_GID_INDEX, MC_GID_INDEX; an error in any other " +
			"case, and never on InfiniBand",
		"for versions that can't select a GID; UCX would apply the number to InfiniBand too",
	}, derivePin},
	{Rule{
		"socket-ifname", KindVariable, "a bootstrap device was found",
		`NCCL_SOCKET_IFNAME="=name", GLOO_SOCKET_IFNAME=name`,
		"NCCL matches prefixes and prefers IPoIB; Gloo accepts names but no patterns",
	}, deriveSocket},
	{Rule{
		"mooncake-filters", KindVariable, "ports are selected", "MC_MS_FILTERS = the devices",
		"Mooncake would use every device of the node",
	}, deriveMooncake},
	{Rule{
		"mooncake-ib-port", KindVariable, "all selected ports have the same number, other than 1",
		"MC_IB_PORT = the number; a warning if they differ",
		"Mooncake opens one port number on all devices, 1 by default",
	}, deriveMooncakePort},
	{Rule{
		"sglang-ib-device", KindVariable, "ports are selected", "argument --disaggregation-ib-device = the devices",
		"SGLang has no variable for it",
	}, deriveSGLang},
	{Rule{
		"efa-libfabric", KindVariable, "only EFA devices can be used",
		"NVSHMEM_REMOTE_TRANSPORT=libfabric, NVSHMEM_LIBFABRIC_PROVIDER=efa, and a warning to have the aws-ofi-nccl " +
			"plugin; never NCCL_IB_* or UCX_NET_DEVICES",
		"the libraries use EFA through libfabric; NCCL's verbs transport skips it",
	}, deriveEFA},
	{Rule{
		"tcp-fallback", KindVariable, "--tcp-fallback, and no port can be used",
		"NCCL_IB_DISABLE=1; UCX_TLS is not changed; the exit code stays 3",
		"only the user can decide that TCP is enough",
	}, deriveFallback},
}

// set adds a derived variable of the rule.
func (dv *derivation) set(r *variableRule, l Library, name, value, reason string, files []string) {
	source := SourceDerived
	if r.ID == "gid-pin" || r.ID == "tcp-fallback" {
		source = SourcePolicy
	}
	dv.derived = append(dv.derived, Variable{
		Name: name, Value: value, Library: l, Source: source, Rule: r.ID, Reason: reason, Files: files,
	})
}

// portList joins "device:port" of the selected ports.
func (dv *derivation) portList() []string {
	var out []string
	for _, c := range dv.selected {
		out = append(out, c.plan.Name())
	}
	return out
}

// deviceList returns the selected devices, each once.
func (dv *derivation) deviceList() []string {
	var out []string
	for _, c := range dv.selected {
		if !slices.Contains(out, c.device.Name) {
			out = append(out, c.device.Name)
		}
	}
	return out
}

func (dv *derivation) stateFiles() []string {
	var out []string
	for _, c := range dv.selected {
		out = append(out, portFile(c.port, "state"))
	}
	return out
}

// roce returns the selected RoCE ports.
func (dv *derivation) roce() []*candidate {
	var out []*candidate
	for _, c := range dv.selected {
		if c.isRoCE() {
			out = append(out, c)
		}
	}
	return out
}

func (dv *derivation) chosenGIDFiles() []string {
	var out []string
	for _, c := range dv.roce() {
		out = append(out, gidFiles(c.port, c.plan.GID.Index)...)
	}
	return out
}

func countPorts(n int) string {
	if n == 1 {
		return "1 selected port"
	}
	return fmt.Sprintf("%d selected ports", n)
}

func deriveNCCLList(dv *derivation, r *variableRule) {
	if list := dv.portList(); len(list) > 0 {
		dv.set(r, LibraryNCCL, "NCCL_IB_HCA", "="+strings.Join(list, ","), countPorts(len(list)), dv.stateFiles())
	}
}

func deriveNVSHMEMList(dv *derivation, r *variableRule) {
	if list := dv.portList(); len(list) > 0 {
		dv.set(r, LibraryNVSHMEM, "NVSHMEM_HCA_LIST", strings.Join(list, ","), countPorts(len(list)), dv.stateFiles())
	}
}

func deriveNVSHMEMPrefix(dv *derivation, r *variableRule) {
	names := dv.deviceList()
	isMLX5 := func(name string) bool { return strings.Contains(name, "mlx5") }
	if len(names) == 0 || !slices.ContainsFunc(names, func(n string) bool { return !isMLX5(n) }) {
		return
	}
	shared := sharedText(names)
	if shared == "" {
		dv.plan.warn(r.ID,
			"the selected devices' names have no text in common: NVSHMEM uses only those with mlx5 in their names")
		return
	}
	dv.set(r, LibraryNVSHMEM, "NVSHMEM_HCA_PREFIX", shared, "the device names don't contain mlx5", nil)
}

// sharedText returns the longest text that all names contain, the first if there are several.
func sharedText(names []string) string {
	first := names[0]
	for n := len(first); n > 0; n-- {
		for i := 0; i+n <= len(first); i++ {
			part := first[i : i+n]
			if !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(name, part) }) {
				return part
			}
		}
	}
	return ""
}

func deriveUCXList(dv *derivation, r *variableRule) {
	list := dv.portList()
	if len(list) == 0 {
		return
	}
	reason := countPorts(len(list))
	if s := dv.plan.Socket; s != nil {
		list = append(list, s.Netdev)
		reason += ", and " + s.Netdev + " for TCP"
	} else {
		reason += "; no TCP device is known"
	}
	dv.set(r, LibraryUCX, "UCX_NET_DEVICES", strings.Join(list, ","), reason, dv.stateFiles())
}

// differs reports whether the chosen indices differ.
func differs(list []*candidate) bool {
	return slices.ContainsFunc(list, func(c *candidate) bool { return c.plan.GID.Index != list[0].plan.GID.Index })
}

func deriveDiffering(dv *derivation, r *variableRule) {
	ports := dv.roce()
	if len(ports) == 0 || !differs(ports) {
		return
	}
	dv.plan.warn(r.ID, "the ports have their GIDs at different indices, so no index suits all: "+indexList(ports))
	var networks []netip.Prefix
	for _, c := range ports {
		networks = append(networks, prefixOf(dv.snapshot, c.plan.GID))
	}
	cover := coveringPrefix(networks)
	for _, l := range []Library{LibraryNCCL, LibraryNVSHMEM} {
		prefix := strings.ToUpper(string(l))
		if dv.profile.ipv4 { // roce-ipv6-only sets the other family
			dv.set(r, l, prefix+"_IB_ADDR_FAMILY", dv.profile.addressFamily(), "indices differ", dv.chosenGIDFiles())
		}
		if cover.Bits() > 0 {
			dv.set(r, l, prefix+"_IB_ADDR_RANGE", cover.String(), "covers the addresses of "+countPorts(len(ports)),
				dv.chosenGIDFiles())
		}
	}
}

func deriveIPv6(dv *derivation, r *variableRule) {
	if len(dv.roce()) == 0 || dv.profile.ipv4 || dv.opts.PinGID {
		return
	}
	dv.set(r, LibraryNCCL, "NCCL_IB_ADDR_FAMILY", "AF_INET6", "IPv6 addresses only", dv.chosenGIDFiles())
	dv.set(r, LibraryNVSHMEM, "NVSHMEM_IB_ADDR_FAMILY", "AF_INET6", "IPv6 addresses only", dv.chosenGIDFiles())
}

func deriveV1(dv *derivation, r *variableRule) {
	if len(dv.roce()) == 0 || dv.profile.version != 1 {
		return
	}
	dv.plan.warn(r.ID, "RoCE v1 only: peers must be in the same layer-2 network, packets can't be routed")
	if dv.opts.PinGID {
		return
	}
	dv.set(r, LibraryNCCL, "NCCL_IB_ROCE_VERSION_NUM", "1", "no RoCE v2 GID", dv.chosenGIDFiles())
	dv.set(r, LibraryNVSHMEM, "NVSHMEM_IB_ROCE_VERSION_NUM", "1", "no RoCE v2 GID", dv.chosenGIDFiles())
}

func derivePin(dv *derivation, r *variableRule) {
	ports := dv.roce()
	if !dv.opts.PinGID || len(ports) == 0 {
		return
	}
	index := fmt.Sprint(ports[0].plan.GID.Index)
	reason := fmt.Sprintf("--pin-gid, and %s at index %s on %s", dv.profile, index, countPorts(len(ports)))
	for _, v := range indexVariables {
		dv.set(r, v.library, v.name, index, reason, dv.chosenGIDFiles())
	}
}

// indexVariables are the variables for a GID index.
var indexVariables = []struct {
	library Library
	name    string
}{
	{LibraryNCCL, "NCCL_IB_GID_INDEX"},
	{LibraryNVSHMEM, "NVSHMEM_IB_GID_INDEX"},
	{LibraryUCX, "UCX_IB_GID_INDEX"},
	{LibraryMooncake, "MC_GID_INDEX"},
}

// checkPin returns an error if --pin-gid does not fit the ports.
func (dv *derivation) checkPin() error {
	if !dv.opts.PinGID || len(dv.selected) == 0 {
		return nil
	}
	ports := dv.roce()
	if len(ports) < len(dv.selected) {
		var names []string
		for _, c := range dv.selected {
			if c.isInfiniBand() {
				names = append(names, c.plan.Name())
			}
		}
		const why = " on InfiniBand: the libraries choose its entry, and UCX would apply a pinned index there too"
		return &OptionError{Option: "pin-gid", Text: strings.Join(names, ", ") + why}
	}
	if differs(ports) {
		return &OptionError{Option: "pin-gid", Text: "no index suits all ports: " + indexList(ports)}
	}
	return nil
}

func deriveSocket(dv *derivation, r *variableRule) {
	s := dv.plan.Socket
	if s == nil {
		return
	}
	dv.set(r, LibraryNCCL, "NCCL_SOCKET_IFNAME", "="+s.Netdev, s.Reason, s.Files)
	dv.set(r, LibraryGloo, "GLOO_SOCKET_IFNAME", s.Netdev, s.Reason, s.Files)
}

// deviceCount returns "1 device" or "8 devices".
func deviceCount(list []string) string {
	if len(list) == 1 {
		return "1 device"
	}
	return fmt.Sprintf("%d devices", len(list))
}

func deriveMooncake(dv *derivation, r *variableRule) {
	if list := dv.deviceList(); len(list) > 0 {
		dv.set(r, LibraryMooncake, "MC_MS_FILTERS", strings.Join(list, ","), deviceCount(list),
			dv.stateFiles())
	}
}

func deriveMooncakePort(dv *derivation, r *variableRule) {
	if len(dv.selected) == 0 || !dv.wants(LibraryMooncake) {
		return
	}
	number := dv.selected[0].port.Number
	if slices.ContainsFunc(dv.selected, func(c *candidate) bool { return c.port.Number != number }) {
		dv.plan.warn(r.ID, "Mooncake uses one port number on all devices, and the selected ports have several: "+
			strings.Join(dv.portList(), ", "))
		return
	}
	if number != 1 {
		dv.set(r, LibraryMooncake, "MC_IB_PORT", fmt.Sprint(number), "all selected ports have this number", nil)
	}
}

func deriveSGLang(dv *derivation, r *variableRule) {
	if list := dv.deviceList(); len(list) > 0 && dv.wants(LibrarySGLang) {
		dv.plan.Arguments = append(dv.plan.Arguments, Argument{
			Library: LibrarySGLang, Flag: "--disaggregation-ib-device", Value: strings.Join(list, ","), Rule: r.ID,
			Reason: deviceCount(list),
		})
	}
}

func deriveEFA(dv *derivation, r *variableRule) {
	if len(dv.efa) == 0 {
		return
	}
	var files []string
	for _, c := range dv.efa {
		files = append(files, c.device.Path)
	}
	dv.set(r, LibraryNVSHMEM, "NVSHMEM_REMOTE_TRANSPORT", "libfabric", "EFA", files)
	dv.set(r, LibraryNVSHMEM, "NVSHMEM_LIBFABRIC_PROVIDER", "efa", "EFA", files)
	if dv.wants(LibraryNCCL) {
		dv.plan.warn(r.ID,
			"NCCL uses EFA only through the aws-ofi-nccl plugin (libnccl-net.so): check that the image has "+
				"it, or NCCL runs over TCP", files...)
	}
}

func deriveFallback(dv *derivation, r *variableRule) {
	if dv.opts.TCPFallback && dv.plan.Outcome == OutcomeNone {
		dv.set(r, LibraryNCCL, "NCCL_IB_DISABLE", "1", "--tcp-fallback, and no port can be used", nil)
	}
}
