package k8s

// SriovNetworkNodePolicy defines for the SR-IOV operator which cards get VFs, their number, and the
// resource name with which pods request them (sriov-network-operator,
// api/v1/sriovnetworknodepolicy_types.go).
type SriovNetworkNodePolicy struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // name and namespace
	Spec     PolicySpec `json:"spec"`     // the cards and their VFs
}

// PolicySpec is the specification of a policy.
type PolicySpec struct {
	// ResourceName has no prefix: the operator adds its own.
	ResourceName string `json:"resourceName"`
	// NodeSelector is a map of labels, all of which a node must have.
	NodeSelector map[string]string `json:"nodeSelector"`
	// Priority is 0 to 99; the lower number wins. See EffectivePriority for nil.
	Priority *int `json:"priority,omitempty"`
	MTU      *int `json:"mtu,omitempty"`
	NumVfs   *int `json:"numVfs"`
	// NicSelector selects PFs, which must match all fields that are set.
	NicSelector NicSelector `json:"nicSelector"`
	DeviceType  string      `json:"deviceType,omitempty"` // netdevice or vfio-pci
	IsRdma      *bool       `json:"isRdma,omitempty"`
	// LinkType is eth, ETH, ib or IB. If set, it also changes the firmware of mlx5 cards.
	LinkType          string  `json:"linkType,omitempty"`
	ESwitchMode       string  `json:"eSwitchMode,omitempty"` // legacy or switchdev
	VdpaType          string  `json:"vdpaType,omitempty"`    // virtio or vhost
	NeedVhostNet      *bool   `json:"needVhostNet,omitempty"`
	ExcludeTopology   *bool   `json:"excludeTopology,omitempty"`
	ExternallyManaged *bool   `json:"externallyManaged,omitempty"`
	Bridge            *Bridge `json:"bridge,omitempty"`
}

// Values of an absent priority.
const (
	// UnwrittenPriority is the value that the operator reads if the priority is absent: the
	// highest, so the policy wins (the field is an int with omitempty;
	// api/v1/sriovnetworknodepolicy_types.go).
	UnwrittenPriority = 0
	// WebhookPriority is the value that the operator's mutating webhook sets if the priority is
	// absent: the lowest, so the policy loses (pkg/webhook/mutate.go). The webhook is off by
	// default.
	WebhookPriority = 99
)

// EffectivePriority returns the priority that the operator reads from a policy. webhook reports
// whether its webhook was on when the policy was applied.
func (s PolicySpec) EffectivePriority(webhook bool) int {
	switch {
	case s.Priority != nil:
		return *s.Priority
	case webhook:
		return WebhookPriority
	}
	return UnwrittenPriority
}

// Bridge is a bridge on the PF.
type Bridge struct {
	OVS map[string]any `json:"ovs,omitempty"` // settings of Open vSwitch, passed on unchanged
}

// NicSelector selects PFs. A PF must match all fields that are set, and one entry of each list.
// Strings are compared exactly, so PCI addresses must be complete and in lower case.
type NicSelector struct {
	Vendor      string   `json:"vendor,omitempty"`      // four hexadecimal digits: 15b3
	DeviceID    string   `json:"deviceID,omitempty"`    // of the PF: 1021
	RootDevices []string `json:"rootDevices,omitempty"` // PCI addresses: 0000:3c:00.0
	// PfNames are names or alternative names of network devices, optionally followed by # and a
	// range of VFs.
	PfNames   []string `json:"pfNames,omitempty"`
	NetFilter string   `json:"netFilter,omitempty"`
}

// Empty reports whether no field is set.
func (s NicSelector) Empty() bool {
	return s.Vendor == "" && s.DeviceID == "" && len(s.RootDevices) == 0 && len(s.PfNames) == 0 && s.NetFilter == ""
}

// SriovNetwork is an Ethernet network, from which the operator creates a
// [NetworkAttachmentDefinition].
type SriovNetwork struct {
	TypeMeta
	Metadata ObjectMeta  `json:"metadata"` // the NetworkAttachmentDefinition gets the same name
	Spec     NetworkSpec `json:"spec"`     // content of the NetworkAttachmentDefinition
}

// SriovIBNetwork is an InfiniBand network, from which the operator creates a
// [NetworkAttachmentDefinition].
type SriovIBNetwork struct {
	TypeMeta
	Metadata ObjectMeta    `json:"metadata"` // the NetworkAttachmentDefinition gets the same name
	Spec     IBNetworkSpec `json:"spec"`     // content of the NetworkAttachmentDefinition
}

// IBNetworkSpec is the specification of a [SriovIBNetwork].
type IBNetworkSpec struct {
	ResourceName string `json:"resourceName"` // resource name of a policy, without prefix
	// NetworkNamespace is the namespace of the NetworkAttachmentDefinition, "" for the object's
	// own.
	NetworkNamespace string `json:"networkNamespace,omitempty"`
	IPAM             string `json:"ipam,omitempty"`         // a JSON object as a string
	LinkState        string `json:"linkState,omitempty"`    // auto, enable or disable
	Capabilities     string `json:"capabilities,omitempty"` // a JSON object as a string: {"infinibandGUID": true}
	MetaPlugins      string `json:"metaPlugins,omitempty"`  // JSON objects as a string: {"type": "rdma"}
}

// NetworkSpec is the specification of a [SriovNetwork].
type NetworkSpec struct {
	IBNetworkSpec
	// Tag of the VF, at most 4094; 0 or nil for none.
	VLAN      *int   `json:"vlan,omitempty"`
	VLANQoS   *int   `json:"vlanQoS,omitempty"`   // priority of the tag, 0 to 7
	VLANProto string `json:"vlanProto,omitempty"` // 802.1q or 802.1ad, in either case
	SpoofChk  string `json:"spoofChk,omitempty"`  // "on" or "off"
	Trust     string `json:"trust,omitempty"`     // "on" or "off"
	MaxTxRate *int   `json:"maxTxRate,omitempty"` // in Mb/s; 0 for no limit
	MinTxRate *int   `json:"minTxRate,omitempty"` // in Mb/s; 0 for no guarantee
	// Of the CNI plugin: panic, error, warning, info, debug.
	LogLevel    string `json:"logLevel,omitempty"`
	LogFilePath string `json:"logFile,omitempty"` // of the CNI plugin, on the node
}

// SriovNetworkPoolConfig sets the number of nodes of a group that may drain at a time, and their
// RDMA namespace mode.
type SriovNetworkPoolConfig struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // name and namespace
	Spec     PoolSpec   `json:"spec"`     // the nodes and their settings
}

// PoolSpec is the specification of a pool.
type PoolSpec struct {
	// NodeSelector is a LabelSelector, unlike that of a policy.
	NodeSelector *LabelSelector `json:"nodeSelector,omitempty"`
	// MaxUnavailable is a number of nodes or a percentage ("25%"), which is rounded down. nil means
	// that all nodes of the pool drain at once. Only nodes without a pool drain one at a time
	// (sriov-network-operator, api/v1/helper.go, MaxUnavailable returns -1 for nil, which means no
	// limit in controllers/drain_controller_helper.go, tryDrainNode; controllers/helper.go,
	// defaultPoolConfig).
	MaxUnavailable     *IntOrString   `json:"maxUnavailable,omitempty"`
	RdmaMode           string         `json:"rdmaMode,omitempty"` // shared or exclusive
	OvsHardwareOffload map[string]any `json:"ovsHardwareOffloadConfig,omitempty"`
}

// SriovOperatorConfig configures the operator, which reads only the one named "default".
type SriovOperatorConfig struct {
	TypeMeta
	Metadata ObjectMeta         `json:"metadata"` // name and namespace
	Spec     OperatorConfigSpec `json:"spec"`     // the settings
}

// OperatorConfigSpec is the specification of a [SriovOperatorConfig].
type OperatorConfigSpec struct {
	// Labels of the nodes on which the daemon runs.
	ConfigDaemonNodeSelector map[string]string `json:"configDaemonNodeSelector,omitempty"`
	ConfigDaemonEnvVars      map[string]string `json:"configDaemonEnvVars,omitempty"` // not in v1.6.0
	// A webhook adds VFs to pods' resources according to their networks.
	EnableInjector *bool `json:"enableInjector,omitempty"`
	// Webhooks check and complete the operator's objects.
	EnableOperatorWebhook *bool `json:"enableOperatorWebhook,omitempty"`
	// Hardware offload of Open vSwitch.
	EnableOvsOffload *bool `json:"enableOvsOffload,omitempty"`
	LogLevel         *int  `json:"logLevel,omitempty"` // 0 to 2
	// Change nodes without draining them.
	DisableDrain      *bool  `json:"disableDrain,omitempty"`
	ConfigurationMode string `json:"configurationMode,omitempty"` // daemon or systemd
	// The device plugin uses the container device interface.
	UseCDI *bool `json:"useCDI,omitempty"`
	// Plugins of the daemon to disable.
	DisablePlugins []string `json:"disablePlugins,omitempty"`
	// By name.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// SriovNetworkNodeState contains the desired settings of a node, and the state that the operator's
// daemon found there.
type SriovNetworkNodeState struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // the name is the node's
	// Spec is nil if the object has none. An empty Spec means no desired settings.
	Spec   *NodeStateSpec  `json:"spec,omitempty"`
	Status NodeStateStatus `json:"status,omitzero"`
}

// NodeStateSpec contains the desired settings of a node, the result of all policies.
type NodeStateSpec struct {
	Interfaces []InterfaceSpec `json:"interfaces,omitempty"` // PFs to configure
	System     NodeStateSystem `json:"system,omitzero"`      // settings of the whole node
}

// InterfaceSpec contains the desired settings of a PF.
type InterfaceSpec struct {
	Name       string `json:"name,omitempty"`   // network device of the PF
	PciAddress string `json:"pciAddress"`       // 0000:3b:00.0
	NumVfs     int    `json:"numVfs,omitempty"` // VFs to create
	// In bytes, of PF and VFs; 0 for unchanged.
	Mtu int `json:"mtu,omitempty"`
	// LinkType is eth, ETH, ib or IB; "" for unchanged.
	LinkType string `json:"linkType,omitempty"`
	// ESwitchMode is legacy or switchdev; "" for unchanged.
	ESwitchMode       string    `json:"eSwitchMode,omitempty"`
	ExternallyManaged bool      `json:"externallyManaged,omitempty"` // the operator creates no VFs
	VfGroups          []VFGroup `json:"vfGroups,omitempty"`          // one for each policy
}

// VFGroup is a range of VFs with one resource. VfRange is "0-7".
type VFGroup struct {
	ResourceName string `json:"resourceName,omitempty"` // without the operator's prefix
	DeviceType   string `json:"deviceType,omitempty"`   // netdevice or vfio-pci
	VfRange      string `json:"vfRange,omitempty"`      // first and last VF, from 0
	PolicyName   string `json:"policyName,omitempty"`   // the policy of the group
	Mtu          int    `json:"mtu,omitempty"`          // in bytes; 0 for unchanged
	IsRdma       bool   `json:"isRdma,omitempty"`       // pods also get the RDMA device
	VdpaType     string `json:"vdpaType,omitempty"`     // virtio or vhost; "" for none
}

// NodeStateStatus is the state that the daemon found.
type NodeStateStatus struct {
	Interfaces    []Interface `json:"interfaces,omitempty"`    // PFs that the daemon found
	SyncStatus    string      `json:"syncStatus,omitempty"`    // Succeeded, Failed or InProgress
	LastSyncError string      `json:"lastSyncError,omitempty"` // of a SyncStatus Failed
	// Present settings of the whole node.
	System NodeStateSystem `json:"system,omitzero"`
}

// NodeStateSystem contains settings of the whole node.
type NodeStateSystem struct {
	RdmaMode string `json:"rdmaMode,omitempty"` // shared or exclusive
}

// Interface is a PF as the daemon found it. It lists network cards of supported models with a
// driver and a network device: an InfiniBand card without ib_ipoib is absent.
type Interface struct {
	Name     string   `json:"name,omitempty"`     // network device: ens1f0np0
	AltNames []string `json:"altNames,omitempty"` // alternative names of it
	Mac      string   `json:"mac,omitempty"`      // its link-layer address
	// Of the PCI function: mlx5_core.
	Driver     string `json:"driver,omitempty"`
	PciAddress string `json:"pciAddress"` // 0000:3b:00.0
	// PCI ID, four hexadecimal digits: 15b3
	Vendor string `json:"vendor,omitempty"`
	// PCI ID, four hexadecimal digits: 1021
	DeviceID string `json:"deviceID,omitempty"`
	Mtu      int    `json:"mtu,omitempty"` // in bytes
	// NumVfs is sriov_numvfs, the number of existing VFs.
	NumVfs int `json:"numVfs,omitempty"`
	// TotalVfs is sriov_totalvfs, the maximum that the firmware allows.
	TotalVfs  int    `json:"totalvfs,omitempty"`
	LinkSpeed string `json:"linkSpeed,omitempty"` // as "400000 Mb/s"
	LinkType  string `json:"linkType,omitempty"`  // ETH or IB
	// Administrative state, up or down.
	LinkAdminState    string `json:"linkAdminState,omitempty"`
	ESwitchMode       string `json:"eSwitchMode,omitempty"`       // legacy or switchdev
	ExternallyManaged bool   `json:"externallyManaged,omitempty"` // the operator created no VFs
	// Network of the card, on virtual platforms.
	NetFilter string `json:"netFilter,omitempty"`
	VFs       []VF   `json:"Vfs,omitempty"` // with a capital V in the API
}

// VF is a virtual function of an [Interface].
type VF struct {
	VfID       int    `json:"vfID"`               // its number, from 0
	Name       string `json:"name,omitempty"`     // network device; "" while a pod has it
	Mac        string `json:"mac,omitempty"`      // its link-layer address
	Assigned   string `json:"assigned,omitempty"` // its user, if the daemon reports it
	Driver     string `json:"driver,omitempty"`   // of the PCI function
	PciAddress string `json:"pciAddress"`         // 0000:3b:00.2
	Vendor     string `json:"vendor,omitempty"`   // PCI ID, four hexadecimal digits
	DeviceID   string `json:"deviceID,omitempty"` // PCI ID, four hexadecimal digits
	Vlan       int    `json:"Vlan,omitempty"`     // tag; 0 for none
	Mtu        int    `json:"mtu,omitempty"`      // in bytes
	GUID       string `json:"guid,omitempty"`     // on InfiniBand: of the port
	VdpaType   string `json:"vdpaType,omitempty"` // virtio or vhost; "" for none
}
