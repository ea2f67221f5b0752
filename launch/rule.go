package launch

// RuleKind tells what a rule decides on.
type RuleKind string

// The kinds of rules.
const (
	KindPort     RuleKind = "port"     // whether a port is used
	KindSocket   RuleKind = "socket"   // the network device for bootstrap
	KindVariable RuleKind = "variable" // a variable
	KindWarning  RuleKind = "warning"  // something to tell
	KindKServe   RuleKind = "kserve"   // KServe's script: see package kserve
)

// Rule is a named decision. A [Plan] refers to it by ID.
type Rule struct {
	ID   string   `json:"id"`   // stable, as Variable.Rule has it
	Kind RuleKind `json:"kind"` // what it decides on
	When string   `json:"when"` // the situation
	Then string   `json:"then"` // what is done, and what is never done
	Why  string   `json:"why"`  // the reason behind it
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

// The rules about what a person should know.
var warningRules = []Rule{
	{
		ruleUserIndex, KindWarning,
		"the environment sets a GID index that selected ports don't have, or UCX_IB_GID_INDEX beside InfiniBand ports",
		"show a conflict; with --override, unset the variable",
		"an index is a place in a table, not an address: it differs between ports",
	},
	{
		ruleUserDisable, KindWarning, "the environment sets NCCL_IB_DISABLE=1 and RDMA is usable",
		"show a conflict; with --override, unset the variable", "NCCL would use TCP",
	},
	{
		ruleUserHCA, KindWarning, "the user's NCCL_IB_HCA is kept and stands for other ports than the selected ones",
		"say which", "without = an entry is a beginning: mlx5_1 is mlx5_10 too",
	},
	{
		ruleUserRival, KindWarning, "the environment sets NVSHMEM_HCA_PE_MAPPING or UCX_IB_ROCE_SUBNETS",
		"leave out NVSHMEM_HCA_LIST or UCX_IB_GID_INDEX; not with --override",
		"NVSHMEM ignores the mapping beside a list, UCX refuses an index beside subnets",
	},
	{ruleHCALimit, KindWarning, "more than 32 ports are selected", "say so", "NCCL uses 32"},
	{
		ruleNCCLOther, KindWarning,
		"NCCL would take another GID of a port than the chosen one, with the variables of the plan", "say which",
		"its algorithm knows one family, one range and one version",
	},
	{
		ruleUCXOther, KindWarning, "UCX by itself would take another GID of a port than the chosen one",
		"say which; no variable", "UCX_IB_GID_INDEX would apply to all ports",
	},
	{
		ruleLinkLocal4, KindWarning, "the chosen GID is an address of 169.254.0.0/16",
		"say that it reaches the same link only", "such addresses are not routed",
	},
	{
		ruleSoftware, KindWarning, "a selected device is software (rxe)", "say so",
		"it carries no line rate and no GPUDirect",
	},
	{
		ruleUverbs, KindWarning,
		"a selected device's /dev/infiniband/uverbsN can't be opened, or a container has no /dev/infiniband",
		"say so; the ports stay selected, for the plan may be for another container",
		"libraries can't open the device and fall back to TCP",
	},
	{
		ruleNoSocket, KindWarning, "no network device for bootstrap was found",
		"no *_SOCKET_IFNAME; UCX_NET_DEVICES has no TCP device", "a guess could be a rail, or IPoIB, or docker0",
	},
	{
		ruleRailSocket, KindWarning, "the bootstrap device is one of the selected rails, or IPoIB",
		"use it, for the route says so, and tell", "control traffic then shares the rail, and stops with it",
	},
	{
		ruleIncluded, KindWarning, "--include names ports that can't be used", "say why",
		"the user expects them in the list",
	},
	{
		ruleRails, KindWarning, "some compute ports can't be used while others can", "name them; the rest is exported",
		"ranks with different numbers of rails are slow, or hang where they disagree",
	},
	{
		ruleReach, KindWarning, "--peer is on a rail's network and selected ports have no way there",
		"say which; no port is dropped", "with a subnet a rail this is right, with routed rails it is not",
	},
	{
		ruleNothing, KindWarning, "no port can be used", "say so, and why for each port; the exit code is 3",
		"an empty answer would let jobs run over TCP unnoticed",
	},
	{
		ruleIncomplete, KindWarning,
		"files that decide (of ports and GIDs, and the routes) were there and could not be read",
		"name them; the exit code is 7", "the plan could be another one",
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
