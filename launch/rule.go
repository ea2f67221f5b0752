package launch

// RuleKind is the kind of decision that a rule makes.
type RuleKind string

// The kinds of rules.
const (
	KindPort     RuleKind = "port"     // whether a port is used
	KindSocket   RuleKind = "socket"   // the network device for bootstrap
	KindVariable RuleKind = "variable" // a variable
	KindWarning  RuleKind = "warning"  // a warning
	KindKServe   RuleKind = "kserve"   // KServe's script: see package kserve
)

// Rule is a named decision. A [Plan] refers to it by ID.
type Rule struct {
	ID   string   `json:"id"`   // stable; the value of Variable.Rule
	Kind RuleKind `json:"kind"` // kind of decision
	When string   `json:"when"` // the situation
	Then string   `json:"then"` // the action, and what is never done
	Why  string   `json:"why"`  // the reason
}

// Rules returns every rule of [Derive], in the order in which it applies them.
func Rules() []Rule {
	var out []Rule
	for _, r := range portRules {
		out = append(out, r.Rule)
	}
	out = append(out, groupRules...)
	for _, r := range socketRules {
		out = append(out, r.Rule)
	}
	for _, r := range variableRules {
		out = append(out, r.Rule)
	}
	return append(out, warningRules...)
}

// warningRules are the rules that add warnings or conflicts.
var warningRules = []Rule{
	{
		ruleUserIndex, KindWarning,
		"the environment sets a GID index that selected ports don't have, or UCX_IB_GID_INDEX on InfiniBand ports",
		"show a conflict; with --override, unset the variable",
		"an index is a position in a table, not an address: it differs between ports",
	},
	{
		ruleUserDisable, KindWarning, "the environment sets NCCL_IB_DISABLE=1 and RDMA is usable",
		"show a conflict; with --override, unset the variable", "NCCL would use TCP",
	},
	{
		ruleUserHCA, KindWarning, "the user's NCCL_IB_HCA is kept and matches other ports than the selected ones",
		"warn with the ports", "without = an entry is a prefix: mlx5_1 matches mlx5_10 too",
	},
	{
		ruleUserRival, KindWarning, "the environment sets NVSHMEM_HCA_PE_MAPPING or UCX_IB_ROCE_SUBNETS",
		"leave out NVSHMEM_HCA_LIST or UCX_IB_GID_INDEX; not with --override",
		"NVSHMEM ignores the mapping if the list is set, UCX rejects an index together with subnets",
	},
	{ruleHCALimit, KindWarning, "more than 32 ports are selected", "warn", "NCCL uses 32"},
	{
		ruleNCCLOther, KindWarning,
		"with the variables of the plan NCCL uses another GID of a port than the chosen one", "warn with the index",
		"its algorithm supports one address family, one range and one RoCE version",
	},
	{
		ruleUCXOther, KindWarning, "UCX by default uses another GID of a port than the chosen one",
		"warn with the index; set no variable", "UCX_IB_GID_INDEX would apply to all ports",
	},
	{
		ruleLinkLocal4, KindWarning, "the chosen GID is an address of 169.254.0.0/16",
		"warn that it reaches only the same link", "such addresses are not routed",
	},
	{
		ruleSoftware, KindWarning, "a selected device is software (rxe)", "warn",
		"it has neither line rate nor GPUDirect",
	},
	{
		ruleUverbs, KindWarning,
		"a selected device's /dev/infiniband/uverbsN can't be opened, or a container has no /dev/infiniband",
		"warn; the ports stay selected, because the plan may be for another container",
		"libraries can't open the device and fall back to TCP",
	},
	{
		ruleNoSocket, KindWarning, "no network device for bootstrap was found",
		"set no *_SOCKET_IFNAME; UCX_NET_DEVICES has no TCP device", "a guess could be a rail, IPoIB or docker0",
	},
	{
		ruleRailSocket, KindWarning, "the bootstrap device is one of the selected rails, or IPoIB",
		"use it, because the route uses it, and warn", "control traffic shares the rail and fails if the rail fails",
	},
	{
		ruleIncluded, KindWarning, "--include selects ports that can't be used", "warn with the reason",
		"the user expects them in the list",
	},
	{
		ruleRails, KindWarning, "some compute ports can't be used while others can",
		"warn with their names; export the others",
		"ranks with different numbers of rails are slow, or hang if they use different rails",
	},
	{
		ruleReach, KindWarning, "--peer is on a rail's network and selected ports have no route to it",
		"warn with the ports; drop none", "correct if each rail is a subnet, wrong if rails are routed",
	},
	{
		ruleNothing, KindWarning, "no port can be used", "warn, with the reason for each port; the exit code is 3",
		"with an empty result jobs would silently run over TCP",
	},
	{
		ruleIncomplete, KindWarning,
		"files that the plan depends on (of ports and GIDs, and the routes) exist but could not be read",
		"warn with their names; the exit code is 7", "with these files the plan could be different",
	},
}

const (
	ruleUserIndex   = "user-gid-index"
	ruleUserDisable = "user-ib-disable"
	ruleUserHCA     = "user-ib-hca"
	ruleUserRival   = "user-rival"
	ruleHCALimit    = "nccl-hca-limit"
	ruleNCCLOther   = "nccl-other-gid"
	ruleUCXOther    = "ucx-other-gid"
	ruleLinkLocal4  = "ipv4-link-local"
	ruleSoftware    = "software-device"
	ruleUverbs      = "uverbs-closed"
	ruleNoSocket    = "socket-unknown"
	ruleRailSocket  = "socket-on-rail"
	ruleIncluded    = "include-unusable"
	ruleRails       = "rails-missing"
	ruleReach       = "peer-reach"
	ruleNothing     = "nothing-usable"
	ruleIncomplete  = "incomplete-scan"
)
