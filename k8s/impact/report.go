package impact

// Schema is the version of the JSON form of a [Report]. A field may be added within a version; one
// that is removed or changes its meaning makes a new one.
const Schema = "rdmakit.k8simpact/v1"

// Action is what happens to a node, or because of a card or a setting.
type Action string

// The actions, from the mildest to the worst.
const (
	ActionNothing Action = "nothing"
	// ActionDisrupt changes VFs under running pods, because draining is disabled.
	ActionDisrupt Action = "disrupt"
	// ActionDrain evicts the pods that ask for SR-IOV resources, and cordons the node until it
	// is done.
	ActionDrain Action = "drain"
	// ActionReboot evicts all pods but those of DaemonSets, and reboots the node.
	ActionReboot Action = "reboot"
)

// rank orders actions by what they cost.
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

// Report is the outcome of a run. It is plain data.
type Report struct {
	Schema string   `json:"schema"` // name and version of this form
	Files  []string `json:"files"`  // what is applied
	Counts Counts   `json:"counts"` // of Nodes
	// Nodes stand by name.
	Nodes []Node `json:"nodes"`
	// Pools are those that nodes belong to, by name; the last has the nodes of no pool.
	Pools []Pool `json:"pools"`
	// Rounds is the number of rounds that the slowest pool needs at least, 0 where nothing drains.
	Rounds int `json:"rounds"`
	// Removed names policies of the cluster that are gone afterwards.
	Removed []string `json:"removed,omitempty"`
	// Ignored names policies that the operator doesn't read, with the reason.
	Ignored []string `json:"ignored,omitempty"`
	// Unused names policies that are applied and select no card of a node that is known.
	Unused []string `json:"unused,omitempty"`
	// NoNode names those of Unused whose nodeSelector takes no node that is known.
	NoNode []string `json:"noNode,omitempty"`
	// Assumptions are what the forecast takes for granted because no file tells it.
	Assumptions []string `json:"assumptions,omitempty"`
}

// Counts are numbers of nodes, but for Ignored.
type Counts struct {
	Nothing int `json:"nothing"` // nodes where nothing happens
	Disrupt int `json:"disrupt"` // nodes whose VFs change under running pods
	Drain   int `json:"drain"`   // nodes that drain
	Reboot  int `json:"reboot"`  // nodes that reboot
	// Open counts nodes for which it may come to worse.
	Open int `json:"open"`
	// Failing counts nodes on which the operator will refuse what is wanted.
	Failing int `json:"failing"`
	// Blocked counts nodes that have to drain and never will under their pool.
	Blocked int `json:"blocked"`
	// Ignored counts policies of the manifests that the operator doesn't read, because they aren't
	// in its namespace.
	Ignored int `json:"ignored"`
}

// Node is the forecast for a node.
type Node struct {
	Name   string `json:"name"`   // as the cluster has it
	Action Action `json:"action"` // what the change leads to, as far as is known
	// Worst is what it may come to, depending on what isn't known; otherwise the same as Action.
	Worst Action `json:"worst"`
	// Pool is the SriovNetworkPoolConfig of the node, "" for none.
	Pool string `json:"pool,omitempty"`
	// Round counts from 1; 0 where nothing drains, or where the pool lets no node drain.
	Round int `json:"round,omitempty"`
	// Reasons are those that concern the whole node.
	Reasons []Reason `json:"reasons,omitempty"`
	// Cards are those that have a policy, before or afterwards, or VFs.
	Cards []Card `json:"cards,omitempty"`
	// Failures say what the operator will refuse.
	Failures []string `json:"failures,omitempty"`
	// Unknown says what can't be known, and why.
	Unknown []string `json:"unknown,omitempty"`
	// Notes are worth knowing and change nothing.
	Notes []string `json:"notes,omitempty"`
}

// Card is the forecast for a PF.
type Card struct {
	Address  string `json:"address"`            // 0000:3b:00.0
	Netdev   string `json:"netdev,omitempty"`   // network device, "" for none
	Vendor   string `json:"vendor,omitempty"`   // PCI ID, four hexadecimal digits
	DeviceID string `json:"deviceID,omitempty"` // PCI ID, four hexadecimal digits
	Action   Action `json:"action"`             // what the card alone would lead to
	Now      Now    `json:"now"`                // what it has today
	// Wanted is what the policies want together, nil where none selects the PF.
	Wanted *Wanted `json:"wanted,omitempty"`
	// Policies are those that select the PF, in the order in which the operator applies them: the
	// last one decides.
	Policies []Applied `json:"policies,omitempty"`
	Reasons  []Reason  `json:"reasons,omitempty"`
}

// Now is what a PF has today.
type Now struct {
	VFs int `json:"vfs"` // sriov_numvfs of sysfs
	// TotalVFs is sriov_totalvfs of sysfs.
	TotalVFs int `json:"totalVFs"`
	// FirmwareVFs is what the firmware's settings give, nil where no output of mstconfig tells.
	FirmwareVFs *int   `json:"firmwareVFs,omitempty"`
	MTU         int    `json:"mtu,omitempty"`
	LinkType    string `json:"linkType,omitempty"`
	ESwitchMode string `json:"eSwitchMode,omitempty"`
}

// Wanted is the setting of a PF that policies make together.
type Wanted struct {
	VFs int `json:"vfs"`           // how many
	MTU int `json:"mtu,omitempty"` // in bytes, 0 where no policy names one
	// VFsFrom and MTUFrom name the policy whose figure counts, which need not be the one that
	// decides the rest.
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
	Policy     string `json:"policy"`               // the policy that asks for it
	First      int    `json:"first"`                // first VF, from 0
	Last       int    `json:"last"`                 // last VF, itself included
	DeviceType string `json:"deviceType,omitempty"` // netdevice or vfio-pci
	MTU        int    `json:"mtu,omitempty"`        // in bytes, 0 where the policy names none
	RDMA       bool   `json:"rdma,omitempty"`       // pods get the RDMA device too
	VdpaType   string `json:"vdpaType,omitempty"`   // virtio or vhost, "" for none
}

// Applied is a policy at work on a PF.
type Applied struct {
	Policy string `json:"policy"` // name of the policy
	// Priority is what the operator reads, nil for a policy that only a state names.
	Priority *int `json:"priority,omitempty"`
	// Effect is decides, shares (its VFs stay its own), or overridden.
	Effect string `json:"effect"`
}

// Effects of a policy on a PF.
const (
	EffectDecides    = "decides"    // the last one: its settings count for the PF
	EffectShares     = "shares"     // keeps VFs of its own beside those of the last one
	EffectOverridden = "overridden" // nothing is left of it
)

// Reason is why something happens, or may.
type Reason struct {
	ID     ReasonID `json:"id"`     // stable
	Action Action   `json:"action"` // what it leads to
	Text   string   `json:"text"`   // for a person
	// Open reports whether it depends on what isn't known; Text says on what.
	Open bool `json:"open,omitempty"`
	// Held says why it doesn't happen with this change, "" where it does.
	Held string `json:"held,omitempty"`
	// Avoid are changes that make it milder, the mildest first.
	Avoid []Avoid `json:"avoid,omitempty"`
}

// Avoid is a change to the manifests, or to the node beforehand.
type Avoid struct {
	Change string `json:"change"` // what to write instead, or what to do first
	// Leaves is what the card, or for reasons of the node the node, still needs with it.
	Leaves Action `json:"leaves"`
	// Also are the other nodes that the policies of the change apply to and that have no need of
	// it: it changes them as well.
	Also []string `json:"also,omitempty"`
	// policies are those that the change is made to.
	policies []string
}

// ReasonID tells reasons apart.
type ReasonID string

// The reasons. Those of the firmware are of NVIDIA's cards.
const (
	ReasonFirmwareVFs   ReasonID = "firmware-vfs"       // NUM_OF_VFS has to change
	ReasonFirmwareSRIOV ReasonID = "firmware-sriov"     // SRIOV_EN has to change
	ReasonLinkType      ReasonID = "link-type"          // LINK_TYPE_P1 or P2 has to change
	ReasonVFCount       ReasonID = "vf-count"           // a PF with VFs gets another number of them
	ReasonFirstVFs      ReasonID = "first-vfs"          // a PF without VFs gets some
	ReasonMTU           ReasonID = "mtu"                // the MTU of a PF rises
	ReasonESwitch       ReasonID = "eswitch-mode"       // legacy or switchdev
	ReasonAdminState    ReasonID = "admin-state"        // the PF is down
	ReasonVFDriver      ReasonID = "vf-driver"          // VFs have another driver
	ReasonVFMTU         ReasonID = "vf-mtu"             // VFs have another MTU
	ReasonVFGUID        ReasonID = "vf-guid"            // VFs have no GUID yet
	ReasonVDPA          ReasonID = "vdpa-type"          // VFs have another vDPA type
	ReasonExternal      ReasonID = "externally-managed" // VFs of others are configured anew with each change
	ReasonRemoved       ReasonID = "policy-removed"     // no policy is left for a PF that the operator configured
	ReasonRDMAMode      ReasonID = "rdma-mode"          // shared or exclusive
	ReasonKernelArgs    ReasonID = "kernel-arguments"   // for vfio-pci
	ReasonOVSService    ReasonID = "ovs-service"        // hardware offload of Open vSwitch, for switchdev
	ReasonPending       ReasonID = "drain-pending"      // the daemon has asked for a drain already
	ReasonSystemd       ReasonID = "systemd-mode"       // each change reboots
)

// Pool is a SriovNetworkPoolConfig with its nodes.
type Pool struct {
	Name string `json:"name"` // "" for the nodes of no pool
	// Nodes counts the nodes of the pool that are known; percentages are of all that its
	// selector takes.
	Nodes int `json:"nodes"`
	// MaxUnavailable is what stands in the manifest, "" for nothing.
	MaxUnavailable string `json:"maxUnavailable,omitempty"`
	// AtOnce is how many may drain at a time: -1 all, 0 none.
	AtOnce int `json:"atOnce"`
	// Error says why the operator drains no node of the pool.
	Error string `json:"error,omitempty"`
	// Batches are the nodes that drain or reboot, in rounds. The operator has no order: this is one
	// that it may take.
	Batches [][]string `json:"batches,omitempty"`
	// WorstRounds is the number of rounds if all that is open comes to the worst.
	WorstRounds int `json:"worstRounds"`
	// Draining names nodes that drain already and count.
	Draining []string `json:"draining,omitempty"`
}
