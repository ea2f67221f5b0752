package impact

// Schema is the name and version of the JSON form of a [Report]. A version may gain fields.
// Removing a field or changing its meaning makes a new version.
const Schema = "rdmakit.k8simpact/v1"

// Action is an effect on a node, or the effect that a card or a setting requires.
type Action string

// The actions, from the least to the most disruptive.
const (
	ActionNothing Action = "nothing"
	// ActionDisrupt changes VFs under running pods, because draining is disabled.
	ActionDisrupt Action = "disrupt"
	// ActionDrain cordons the node during the change and evicts the pods that request SR-IOV
	// resources.
	ActionDrain Action = "drain"
	// ActionReboot evicts all pods but those of DaemonSets, and reboots the node.
	ActionReboot Action = "reboot"
)

// rank orders actions from the least to the most disruptive.
func (a Action) rank() int {
	switch a {
	case ActionDisrupt:
		return 1
	case ActionDrain:
		return 2
	case ActionReboot:
		return 3
	default:
		return 0
	}
}

// worse returns the worse of two actions.
func worse(a, b Action) Action {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Report is the result of a run. It is plain data.
type Report struct {
	Schema string   `json:"schema"` // name and version of this form
	Files  []string `json:"files"`  // the manifests that are applied
	Counts Counts   `json:"counts"` // of Nodes
	// Nodes are sorted by name.
	Nodes []Node `json:"nodes"`
	// Pools are the pools of the nodes, sorted by name. The last one has the nodes without a pool.
	Pools []Pool `json:"pools"`
	// Rounds is the minimum number of rounds of the slowest pool, 0 if no node drains.
	Rounds int `json:"rounds"`
	// Removed names the policies of the cluster that are deleted.
	Removed []string `json:"removed,omitempty"`
	// Ignored names policies that the operator doesn't read, with the reason.
	Ignored []string `json:"ignored,omitempty"`
	// Unused names the applied policies that select no known card.
	Unused []string `json:"unused,omitempty"`
	// NoNode names the policies of Unused whose nodeSelector selects no known node.
	NoNode []string `json:"noNode,omitempty"`
	// Assumptions are assumptions about facts that no file contains.
	Assumptions []string `json:"assumptions,omitempty"`
}

// Counts are numbers of nodes, except Ignored.
type Counts struct {
	Nothing int `json:"nothing"` // nodes without an action
	Disrupt int `json:"disrupt"` // nodes whose VFs change under running pods
	Drain   int `json:"drain"`   // nodes that drain
	Reboot  int `json:"reboot"`  // nodes that reboot
	// Open counts nodes whose action may be worse because of unknown facts.
	Open int `json:"open"`
	// Failing counts nodes on which the operator will fail.
	Failing int `json:"failing"`
	// Blocked counts nodes that need a drain which their pool never allows.
	Blocked int `json:"blocked"`
	// Ignored counts policies of the manifests that the operator ignores because they are outside
	// of its namespace.
	Ignored int `json:"ignored"`
}

// Node is the prediction for a node.
type Node struct {
	Name   string `json:"name"`   // as in the cluster
	Action Action `json:"action"` // the action by all known facts
	// Worst is the worst possible action, depending on unknown facts. Without any it equals Action.
	Worst Action `json:"worst"`
	// Pool is the SriovNetworkPoolConfig of the node, "" for none.
	Pool string `json:"pool,omitempty"`
	// Round is the round of the node, from 1. It is 0 if the node doesn't drain, or if the pool
	// allows no drain.
	Round int `json:"round,omitempty"`
	// Reasons are the reasons that affect the whole node.
	Reasons []Reason `json:"reasons,omitempty"`
	// Cards are the PFs that have VFs, or a policy now or afterwards.
	Cards []Card `json:"cards,omitempty"`
	// Failures describe why the operator will fail.
	Failures []string `json:"failures,omitempty"`
	// Unknown describes the effects that are unknown, and why.
	Unknown []string `json:"unknown,omitempty"`
	// Notes are for information; they have no effect.
	Notes []string `json:"notes,omitempty"`
}

// Card is the prediction for a PF.
type Card struct {
	Address  string `json:"address"`            // 0000:3b:00.0
	Netdev   string `json:"netdev,omitempty"`   // network device, "" for none
	Vendor   string `json:"vendor,omitempty"`   // PCI ID, four hexadecimal digits
	DeviceID string `json:"deviceID,omitempty"` // PCI ID, four hexadecimal digits
	Action   Action `json:"action"`             // the action that this card requires
	Now      Now    `json:"now"`                // the present settings
	// Wanted are the settings of all policies together, nil if no policy selects the PF.
	Wanted *Wanted `json:"wanted,omitempty"`
	// Policies are the policies that select the PF, in the order in which the operator applies
	// them. The last one overrides the others.
	Policies []Applied `json:"policies,omitempty"`
	Reasons  []Reason  `json:"reasons,omitempty"`
}

// Now are the present settings of a PF.
type Now struct {
	VFs int `json:"vfs"` // sriov_numvfs of sysfs
	// TotalVFs is sriov_totalvfs of sysfs.
	TotalVFs int `json:"totalVFs"`
	// FirmwareVFs is the number of VFs in the firmware, nil without output of mstconfig.
	FirmwareVFs *int   `json:"firmwareVFs,omitempty"`
	MTU         int    `json:"mtu,omitempty"`
	LinkType    string `json:"linkType,omitempty"`
	ESwitchMode string `json:"eSwitchMode,omitempty"`
}

// Wanted are the settings of a PF that result from all of its policies.
type Wanted struct {
	VFs int `json:"vfs"`           // number of VFs
	MTU int `json:"mtu,omitempty"` // in bytes, 0 if no policy has one
	// VFsFrom and MTUFrom name the policy that the number comes from. It may differ from the policy
	// that the other settings come from.
	VFsFrom           string  `json:"vfsFrom"`
	MTUFrom           string  `json:"mtuFrom,omitempty"`
	LinkType          string  `json:"linkType,omitempty"`
	ESwitchMode       string  `json:"eSwitchMode,omitempty"`
	ExternallyManaged bool    `json:"externallyManaged,omitempty"`
	Groups            []Group `json:"groups"`
}

// Group is a range of VFs with one resource.
type Group struct {
	Resource   string `json:"resource"`             // resource name, without the operator's prefix
	Policy     string `json:"policy"`               // policy with the resource
	First      int    `json:"first"`                // first VF, from 0
	Last       int    `json:"last"`                 // last VF, inclusive
	DeviceType string `json:"deviceType,omitempty"` // netdevice or vfio-pci
	MTU        int    `json:"mtu,omitempty"`        // in bytes, 0 if the policy has none
	RDMA       bool   `json:"rdma,omitempty"`       // pods also get the RDMA device
	VdpaType   string `json:"vdpaType,omitempty"`   // virtio or vhost, "" for none
}

// Applied is a policy that selects a PF.
type Applied struct {
	Policy string `json:"policy"` // name of the policy
	// Priority is the priority that the operator reads, nil for a policy that occurs only in a
	// SriovNetworkNodeState.
	Priority *int `json:"priority,omitempty"`
	// Effect is decides, shares or overridden.
	Effect string `json:"effect"`
}

// Effects of a policy on a PF.
const (
	EffectDecides    = "decides"    // the last policy: its settings apply to the PF
	EffectShares     = "shares"     // it keeps some VFs beside those of the last policy
	EffectOverridden = "overridden" // it has no effect on the PF
)

// Reason is a reason for an action that will happen or may happen.
type Reason struct {
	ID     ReasonID `json:"id"`     // stable
	Action Action   `json:"action"` // the action that it requires
	Text   string   `json:"text"`   // for the user
	// Open reports whether the reason depends on unknown facts, which Text names.
	Open bool `json:"open,omitempty"`
	// Held describes why the action doesn't happen with this change, "" if it does.
	Held string `json:"held,omitempty"`
	// Avoid are changes that lead to a less disruptive action, the least disruptive first.
	Avoid []Avoid `json:"avoid,omitempty"`
}

// Avoid is a change to the manifests, or to the node beforehand.
type Avoid struct {
	Change string `json:"change"` // what to write instead, or what to do first
	// Leaves is the action that is still required with the change, by the card, or by the node if
	// the reason affects the whole node.
	Leaves Action `json:"leaves"`
	// Also are the other nodes with the changed policies, which the change affects although they
	// don't need it.
	Also []string `json:"also,omitempty"`
	// policies are the changed policies.
	policies []string
}

// ReasonID identifies a kind of reason.
type ReasonID string

// The reasons. Those about firmware apply to NVIDIA cards.
const (
	ReasonFirmwareVFs   ReasonID = "firmware-vfs"       // NUM_OF_VFS has to change
	ReasonFirmwareSRIOV ReasonID = "firmware-sriov"     // SRIOV_EN has to change
	ReasonLinkType      ReasonID = "link-type"          // LINK_TYPE_P1 or P2 has to change
	ReasonVFCount       ReasonID = "vf-count"           // the number of VFs of a PF with VFs changes
	ReasonFirstVFs      ReasonID = "first-vfs"          // a PF without VFs gets VFs
	ReasonMTU           ReasonID = "mtu"                // the MTU of a PF increases
	ReasonESwitch       ReasonID = "eswitch-mode"       // legacy or switchdev
	ReasonAdminState    ReasonID = "admin-state"        // the PF is down
	ReasonVFDriver      ReasonID = "vf-driver"          // VFs have the wrong driver
	ReasonVFMTU         ReasonID = "vf-mtu"             // VFs have the wrong MTU
	ReasonVFGUID        ReasonID = "vf-guid"            // VFs have no GUID yet
	ReasonVDPA          ReasonID = "vdpa-type"          // VFs have the wrong vDPA type
	ReasonExternal      ReasonID = "externally-managed" // externally managed VFs are reconfigured with each change
	ReasonRemoved       ReasonID = "policy-removed"     // a PF that the operator configured has no policy any more
	ReasonRDMAMode      ReasonID = "rdma-mode"          // shared or exclusive
	ReasonKernelArgs    ReasonID = "kernel-arguments"   // for vfio-pci
	ReasonOVSService    ReasonID = "ovs-service"        // hardware offload of Open vSwitch, for switchdev
	ReasonPending       ReasonID = "drain-pending"      // the daemon has already requested a drain
	ReasonSystemd       ReasonID = "systemd-mode"       // each change reboots
)

// Pool is a SriovNetworkPoolConfig with its nodes.
type Pool struct {
	Name string `json:"name"` // "" for the nodes without a pool
	// Nodes is the number of known nodes of the pool. The operator's percentages refer to all nodes
	// that the pool selects.
	Nodes int `json:"nodes"`
	// MaxUnavailable is the value in the manifest, "" if the manifest has none.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// AtOnce is the number of nodes that may drain at a time: -1 for all, 0 for none.
	AtOnce int `json:"atOnce"`
	// Error describes why the operator drains no node of the pool.
	Error string `json:"error,omitempty"`
	// Batches are the nodes that drain or reboot in each round. The operator has no fixed order;
	// this is a possible one.
	Batches [][]string `json:"batches,omitempty"`
	// WorstRounds is the number of rounds if all unknown facts lead to the worst action.
	WorstRounds int `json:"worstRounds"`
	// Draining names the nodes that are already draining, which count towards AtOnce.
	Draining []string `json:"draining,omitempty"`
}
