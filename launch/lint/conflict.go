package lint

import (
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// conflictRules returns the rules about variables that contradict each other or don't fit the node.
func conflictRules() []Rule { //nolint:funlen // a table
	return []Rule{
		{
			ID: "ib-disabled", Title: "NCCL_IB_DISABLE turns RDMA off", Severity: SeverityWarn,
			Variables: []string{"NCCL_IB_DISABLE"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_IB_DISABLE=1"}, Right: []string{"NCCL_IB_DISABLE=0"},
			Explanation: "With any number other than 0 NCCL uses TCP, on InfiniBand and on RoCE, and ignores the " +
				"other NCCL_IB_* variables. The setting is often left over from a node or a test without RDMA.",
			Remedy: "remove it", Reports: []string{"NVIDIA/nccl#451"}, Sources: []string{srcNCCL, srcLaunch},
			check: checkDisabled,
		},
		{
			ID: "nccl-net", Title: "NCCL_NET doesn't fit the node", Severity: SeverityError,
			Variables: []string{"NCCL_NET"}, On: "02_rocev2_8hca",
			Wrong: []string{"NCCL_NET=Socket"}, Right: []string{"NCCL_NET=IB"},
			Explanation: prose.Join(`
				NCCL_NET selects the only network that NCCL may use. Socket is TCP, even if the node
				has RDMA. With IB NCCL fails if it finds no InfiniBand or RoCE port, instead of
				falling back to TCP; an EFA device is neither. Other names are plugins.`),
			Remedy:  "remove it, so that NCCL uses the network that the node has",
			Sources: []string{"NCCL 2.30.7, src/plugin/net.cc"}, check: checkNCCLNet,
		},
		{
			ID: "nvshmem-rivals", Severity: SeverityWarn,
			Title:     "NVSHMEM_HCA_PE_MAPPING together with NVSHMEM_HCA_LIST",
			Variables: []string{"NVSHMEM_HCA_PE_MAPPING"}, On: "02_rocev2_8hca",
			Wrong:       []string{"NVSHMEM_HCA_LIST=mlx5_0:1", "NVSHMEM_HCA_PE_MAPPING=mlx5_1:1:2"},
			Right:       []string{"NVSHMEM_HCA_PE_MAPPING=mlx5_1:1:2"},
			Explanation: "NVSHMEM ignores the mapping if the list is set.", Remedy: "remove one of them",
			Sources: []string{srcNVSHMEM}, check: checkNVSHMEMRivals,
		},
		{
			ID: "nvshmem-prefix", Title: "NVSHMEM_HCA_PREFIX leaves out the devices", Severity: SeverityError,
			Variables: []string{"NVSHMEM_HCA_PREFIX", "NVSHMEM_HCA_LIST"}, On: "66_bnxt_counters",
			Wrong: []string{"NVSHMEM_HCA_LIST=bnxt_re0:1"},
			Right: []string{"NVSHMEM_HCA_LIST=bnxt_re0:1", "NVSHMEM_HCA_PREFIX=bnxt_re"},
			Explanation: prose.Join(`
				NVSHMEM 3.4.5 uses only devices whose names contain this text, mlx5 by default: it
				ignores devices such as rocep24s0, ibp24s0, bnxt_re0 or ionic_0, even if
				NVSHMEM_HCA_LIST names them.`),
			Remedy: "set a text that all device names contain", Reports: []string{"deepseek-ai/DeepEP#17"},
			Sources: []string{srcNVSHMEM, srcLaunch}, check: checkNVSHMEMPrefix,
		},
		{
			ID: "efa-verbs", Title: "verbs settings on a node with EFA", Severity: SeverityWarn, On: "48_efa",
			Variables: []string{"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "UCX_NET_DEVICES", "NVSHMEM_HCA_LIST"},
			Wrong:     []string{"NCCL_IB_HCA=rdmap"}, Right: []string{"FI_PROVIDER=efa"},
			Explanation: prose.Join(`
				NCCL uses EFA through the aws-ofi-nccl plugin and libfabric, NVSHMEM through
				libfabric; variables of the verbs transports have no effect there. NCCL's verbs
				transport skips EFA devices, so without the plugin NCCL runs over TCP.`),
			Remedy:  "remove it, and make sure that the image has the plugin (libnccl-net.so)",
			Sources: []string{srcNCCL, srcOFI}, check: checkEFAVerbs,
		},
		{
			ID: "efa-nvshmem", Title: "NVSHMEM without libfabric on a node with EFA", Severity: SeverityError,
			Variables: []string{"NVSHMEM_REMOTE_TRANSPORT", "NVSHMEM_LIBFABRIC_PROVIDER"}, On: "48_efa",
			Wrong: []string{"NVSHMEM_REMOTE_TRANSPORT=ibrc"},
			Right: []string{"NVSHMEM_REMOTE_TRANSPORT=libfabric", "NVSHMEM_LIBFABRIC_PROVIDER=efa"},
			Explanation: "NVSHMEM's verbs transports (ibrc, ibdevx, ibgda) need InfiniBand or RoCE. EFA needs the " +
				"libfabric transport with the provider efa; the default provider is cxi.",
			Remedy:  "set NVSHMEM_REMOTE_TRANSPORT=libfabric and NVSHMEM_LIBFABRIC_PROVIDER=efa",
			Sources: []string{srcNVSHMEM}, check: checkEFANVSHMEM,
		},
		{
			ID: "fi-provider", Title: "FI_PROVIDER doesn't fit the node", Severity: SeverityError,
			Variables: []string{"FI_PROVIDER", "NVSHMEM_LIBFABRIC_PROVIDER"}, On: "02_rocev2_8hca",
			Wrong: []string{"FI_PROVIDER=efa"}, Right: []string{"FI_PROVIDER=verbs"},
			Explanation: "libfabric uses only the provider that the variable names. efa finds no device on a node " +
				"without EFA devices, and the other providers find none on a node with EFA devices only.",
			Remedy: "remove it, or set the provider of this node's cards", Sources: []string{srcOFI},
			check: checkProvider,
		},
		{
			ID: "nixl-nccl", Title: "NIXL doesn't read NCCL's device list", Severity: SeverityNote,
			Variables: []string{"VLLM_NIXL_*", "NIXL_*", "UCX_NET_DEVICES"}, On: "02_rocev2_8hca",
			Wrong: []string{"VLLM_NIXL_SIDE_CHANNEL_PORT=5600", "NCCL_IB_HCA==mlx5_0"},
			Right: []string{"VLLM_NIXL_SIDE_CHANNEL_PORT=5600", "NCCL_IB_HCA==mlx5_0", "UCX_NET_DEVICES=mlx5_0:1,eth0"},
			Explanation: "The environment shows that NIXL is in use (vLLM's NixlConnector, LMCache). NIXL uses UCX " +
				"and reads only UCX_* variables: the device list in NCCL_IB_HCA has no effect on it.",
			Remedy:  "set UCX_NET_DEVICES too if the list is intended for both",
			Reports: []string{"LMCache/LMCache PR#1516", "openucx/ucx#11259"}, Sources: []string{srcUCX},
			check: checkNIXL,
		},
		{
			ID: "cross-nic", Title: "NCCL_CROSS_NIC=0 on a node with dual-port cards", Severity: SeverityNote,
			Variables: []string{"NCCL_CROSS_NIC"}, On: "52_xdr",
			Wrong: []string{"NCCL_CROSS_NIC=0"}, Right: []string{"NCCL_CROSS_NIC=2"},
			Explanation: "With 0 a ring uses the same rail on every node. If the two ports of a card are two " +
				"devices, NCCL may leave one of them idle. 2, the default, tries both ways.",
			Remedy:  "keep the default unless the network has no links between rails",
			Reports: []string{"NVIDIA/nccl#2097"}, Sources: []string{srcNCCLTopo}, check: checkCrossNIC,
		},
		{
			ID: "mc-mtu", Title: "MC_MTU larger than a port's MTU", Severity: SeverityNote,
			Variables: []string{"MC_MTU"}, On: "56_mtu_1500",
			Wrong: []string{"MC_MTU=4096"}, Right: []string{"MC_MTU=1024"},
			Explanation: prose.Join(`
				Mooncake uses the smaller of MC_MTU and the port's active MTU, which depends on the
				MTU of the network device: 1500 gives 1024, 4200 and more give 4096. Nodes with
				different values can't connect.`),
			Remedy: "raise the MTU of the network devices on all nodes, or set the " +
				"smaller value on all nodes", Reports: []string{"kvcache-ai/Mooncake#3868"},
			Sources: []string{srcMooncake}, check: checkMooncakeMTU,
		},
	}
}

func checkDisabled(l *linter) {
	s := l.get("NCCL_IB_DISABLE")
	if s == nil {
		return
	}
	if value, _ := leadingInteger(s.Value); value == 0 {
		return
	}
	var beside []string
	for _, name := range l.names() {
		if strings.HasPrefix(name, "NCCL_IB_") && name != s.Name && l.mentions(name) {
			beside = append(beside, name)
		}
	}
	switch {
	case l.usable():
		ports := l.usablePorts()
		f := l.report(s, SeverityWarn, "NCCL uses TCP, though %s can be used", join(portNames(ports))).evidence(
			ports[0].stateEvidence())
		if len(beside) > 0 {
			f.Summary += "; " + join(beside) + " has no effect"
		}
		f.unset(s.Name)
	case len(beside) > 0:
		l.report(s, SeverityWarn, "NCCL uses TCP, so %s has no effect", join(beside))
	}
}

func checkNCCLNet(l *linter) {
	s := l.get("NCCL_NET")
	if s == nil {
		return
	}
	switch {
	case strings.EqualFold(s.Value, "Socket") && l.usable():
		ports := l.usablePorts()
		l.report(s, SeverityWarn, "NCCL uses TCP, though %s can be used", join(portNames(ports))).evidence(
			ports[0].stateEvidence(),
		).unset(s.Name)
	case strings.EqualFold(s.Value, "IB") && l.value("NCCL_IB_DISABLE") == "1":
		l.report(s, SeverityError, "NCCL_IB_DISABLE=1 disables the network that NCCL_NET requires").unset(
			"NCCL_IB_DISABLE")
	case strings.EqualFold(s.Value, "IB") && !l.usable() && !l.nccl():
		l.report(s, SeverityError, "the node has no port that NCCL's IB network can use (%s)", l.nothing()).unset(
			s.Name)
	}
}

// nccl reports whether NCCL by default uses any port, even if connecting over it fails.
func (l *linter) nccl() bool {
	for _, p := range l.ports {
		if launch.NCCLChoice(p.dev, p.port, nil).Used {
			return true
		}
	}
	return false
}

// nothing returns the reason why no port is usable.
func (l *linter) nothing() string {
	for _, p := range l.ports {
		return p.name() + ": " + p.plan.Reason
	}
	return "no RDMA device"
}

func checkNVSHMEMRivals(l *linter) {
	if s := l.get("NVSHMEM_HCA_PE_MAPPING"); s != nil && l.mentions("NVSHMEM_HCA_LIST") {
		l.report(s, SeverityWarn, "ignored, because NVSHMEM_HCA_LIST is set").unset(s.Name)
	}
}

func checkNVSHMEMPrefix(l *linter) {
	if l.mentions("NVSHMEM_HCA_PREFIX") && l.get("NVSHMEM_HCA_PREFIX") == nil || l.onlyEFA() ||
		!l.mentionsPrefix("NVSHMEM_") {
		return
	}
	prefix := l.value("NVSHMEM_HCA_PREFIX")
	if prefix == "" {
		prefix = "mlx5"
	}
	var out []string
	ports := l.used("NVSHMEM_HCA_LIST")
	for _, p := range ports {
		if !strings.Contains(p.dev.Name, prefix) {
			out = append(out, p.name())
		}
	}
	if len(out) == 0 {
		return
	}
	s := l.firstOf("NVSHMEM_HCA_PREFIX", "NVSHMEM_HCA_LIST")
	if s == nil {
		s = &Setting{Name: "NVSHMEM_HCA_PREFIX"}
	}
	severity := SeverityWarn
	if len(out) == len(ports) {
		severity = SeverityError
	}
	f := l.report(s, severity, "NVSHMEM uses only devices with %q in their names, not %s", prefix, join(out))
	l.derive(f, "NVSHMEM_HCA_PREFIX")
}

func checkEFAVerbs(l *linter) {
	if !l.onlyEFA() {
		return
	}
	for _, name := range []string{
		"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TC", "UCX_NET_DEVICES", "UCX_IB_GID_INDEX", "NVSHMEM_HCA_LIST",
		"NVSHMEM_IB_GID_INDEX",
	} {
		if s := l.get(name); s != nil {
			l.report(s, SeverityWarn, "the node's RDMA devices are EFA, where the variable has no effect").
				evidence(Evidence{Path: l.ports[0].dev.Path, Value: string(inventory.TransportEFA)}).unset(name)
		}
	}
}

func checkEFANVSHMEM(l *linter) {
	if !l.onlyEFA() {
		return
	}
	s := l.get("NVSHMEM_REMOTE_TRANSPORT")
	provider := l.get("NVSHMEM_LIBFABRIC_PROVIDER")
	switch {
	case s != nil && !strings.EqualFold(s.Value, "libfabric") && !strings.EqualFold(s.Value, "none"):
		l.derive(l.report(s, SeverityError, "%s needs InfiniBand or RoCE, but the node has EFA", s.Value),
			"NVSHMEM_REMOTE_TRANSPORT", "NVSHMEM_LIBFABRIC_PROVIDER")
	case s != nil && strings.EqualFold(s.Value, "libfabric") && provider == nil &&
		!l.mentions("NVSHMEM_LIBFABRIC_PROVIDER"):
		l.derive(l.report(&Setting{Name: "NVSHMEM_LIBFABRIC_PROVIDER"}, SeverityError,
			"not set, so NVSHMEM uses the provider cxi instead of efa"), "NVSHMEM_LIBFABRIC_PROVIDER")
	}
}

func checkProvider(l *linter) {
	for _, name := range []string{"FI_PROVIDER", "NVSHMEM_LIBFABRIC_PROVIDER"} {
		s := l.get(name)
		if s == nil || strings.HasPrefix(s.Value, "^") {
			continue
		}
		efa := false
		for word := range strings.SplitSeq(s.Value, ",") {
			efa = efa || strings.Contains(strings.ToLower(word), "efa")
		}
		has := false
		for _, p := range l.ports {
			has = has || p.efa()
		}
		switch {
		case efa && !has:
			have := "the node has no RDMA device"
			if all := l.devices(); len(all) > 0 {
				have = "the node has no EFA device, only " + join(all)
			}
			l.report(s, SeverityError, "%s", have).unset(name)
		case !efa && l.onlyEFA() && name == "FI_PROVIDER":
			l.report(s, SeverityError, "%s finds no device: the node's RDMA devices are EFA", s.Value).set(name,
				"efa")
		}
	}
}

func checkNIXL(l *linter) {
	if !l.mentionsPrefix("VLLM_NIXL_") && !l.mentionsPrefix("NIXL_") && !l.mentionsPrefix("LMCACHE_NIXL_") ||
		l.mentions("UCX_NET_DEVICES") || l.onlyEFA() {
		return
	}
	if s := l.get("NCCL_IB_HCA"); s != nil {
		l.derive(l.report(s, SeverityNote, "NIXL is in use and doesn't read it"), "UCX_NET_DEVICES")
	}
}

// checkCrossNIC identifies a card by its system image GUID, which all its ports have.
func checkCrossNIC(l *linter) {
	s := l.get("NCCL_CROSS_NIC")
	if s == nil || s.Value != "0" {
		return
	}
	cards := map[string]portRef{}
	for _, p := range l.usablePorts() {
		if p.dev.SystemGUID == nil || *p.dev.SystemGUID == (ib.GUID{}) {
			continue
		}
		guid := p.dev.SystemGUID.String()
		if first, ok := cards[guid]; ok && first.dev != p.dev {
			l.report(s, SeverityNote, "%s and %s are on one card", first.name(), p.name()).
				evidence(Evidence{Path: p.dev.Path + "/sys_image_guid", Value: guid}).unset(s.Name)
			return
		}
		cards[guid] = p
	}
}

func checkMooncakeMTU(l *linter) {
	s := l.get("MC_MTU")
	if s == nil {
		return
	}
	want, ok := integer(s.Value)
	if !ok {
		return
	}
	var small []string
	var ev []Evidence
	for _, p := range l.used("MC_MS_FILTERS") {
		if mtu := int(p.port.ActiveMTU); p.roce() && mtu > 0 && int64(mtu) < want {
			small = append(small, fmt.Sprintf("%s has %d", p.name(), mtu))
			if n := l.snap.Netdev(p.port.Netdev); n != nil {
				ev = append(ev, Evidence{Path: n.Path + "/mtu", Value: fmt.Sprint(n.MTU)})
			}
		}
	}
	if len(small) > 0 {
		l.report(s, SeverityNote, "%s", join(small)).evidence(ev...)
	}
}
