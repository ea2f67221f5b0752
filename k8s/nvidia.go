package k8s

// API versions of NVIDIA's programs, the values of apiVersion.
const (
	NVIPAMVersion = "nv-ipam.nvidia.com/v1alpha1" // nv-ipam, which assigns addresses
	NVIDIAVersion = "mellanox.com/v1alpha1"       // NVIDIA network operator
)

// Kinds of NVIDIA's programs. Other programs have a kind IPPool, too: see [NVIDIASchema].
const (
	KindIPPool            = "IPPool"            // NVIPAMVersion
	KindCIDRPool          = "CIDRPool"          // NVIPAMVersion
	KindMacvlanNetwork    = "MacvlanNetwork"    // NVIDIAVersion
	KindHostDeviceNetwork = "HostDeviceNetwork" // NVIDIAVersion
	KindIPoIBNetwork      = "IPoIBNetwork"      // NVIDIAVersion
)

// IPPoolSpec is the specification of a pool of nv-ipam that gives each node a block of addresses of
// one subnet (nvidia-k8s-ipam, api/v1alpha1/ippool_type.go).
type IPPoolSpec struct {
	Subnet            string         `json:"subnet"`                      // 192.168.0.0/16
	PerNodeBlockSize  int            `json:"perNodeBlockSize"`            // addresses of each node
	Exclusions        []AddressRange `json:"exclusions,omitempty"`        // addresses that pods don't get
	PerNodeExclusions []IndexRange   `json:"perNodeExclusions,omitempty"` // the same in each block
	Gateway           string         `json:"gateway,omitempty"`           // an address of the subnet
	NodeSelector      map[string]any `json:"nodeSelector,omitempty"`      // a NodeSelector; nil for all nodes
	DefaultGateway    bool           `json:"defaultGateway,omitempty"`    // pods get a default route
	Routes            []NVIPAMRoute  `json:"routes,omitempty"`            // through the gateway
}

// CIDRPoolSpec is the specification of a pool of nv-ipam that gives each node a subnet of its own
// (nvidia-k8s-ipam, api/v1alpha1/cidrpool_type.go).
type CIDRPoolSpec struct {
	CIDR                 string         `json:"cidr"`                        // contains the subnets of all nodes
	GatewayIndex         *int           `json:"gatewayIndex,omitempty"`      // in a node's subnet; nil for none
	PerNodeNetworkPrefix int            `json:"perNodeNetworkPrefix"`        // prefix length of a node's subnet
	Exclusions           []AddressRange `json:"exclusions,omitempty"`        // addresses that pods don't get
	PerNodeExclusions    []IndexRange   `json:"perNodeExclusions,omitempty"` // the same in each subnet
	StaticAllocations    []NodePrefix   `json:"staticAllocations,omitempty"` // subnets of certain nodes
	NodeSelector         map[string]any `json:"nodeSelector,omitempty"`      // a NodeSelector; nil for all nodes
	DefaultGateway       bool           `json:"defaultGateway,omitempty"`    // pods get a default route
	Routes               []NVIPAMRoute  `json:"routes,omitempty"`            // through the gateway
}

// AddressRange is a range of addresses. Both ends belong to it.
type AddressRange struct {
	StartIP string `json:"startIP"` // the first
	EndIP   string `json:"endIP"`   // the last
}

// IndexRange is a range of positions in a node's addresses, from 0. Both ends belong to it.
type IndexRange struct {
	StartIndex int `json:"startIndex"` // the first
	EndIndex   int `json:"endIndex"`   // the last
}

// NodePrefix is the subnet of one node.
type NodePrefix struct {
	NodeName string `json:"nodeName,omitempty"` // "" for a subnet that no node gets
	Gateway  string `json:"gateway,omitempty"`  // an address of the subnet
	Prefix   string `json:"prefix"`             // of the length perNodeNetworkPrefix
}

// NVIPAMRoute is a route of a pool, through its gateway.
type NVIPAMRoute struct {
	Dst string `json:"dst"` // ADDRESS/LENGTH
}

// MacvlanNetworkSpec is the specification of a network of macvlan interfaces (network-operator,
// api/v1alpha1/macvlannetwork_types.go).
type MacvlanNetworkSpec struct {
	NetworkNamespace string `json:"networkNamespace,omitempty"` // of the NetworkAttachmentDefinition
	Master           string `json:"master,omitempty"`           // network device of the node
	Mode             string `json:"mode,omitempty"`             // bridge, private, vepa or passthru
	MTU              int    `json:"mtu,omitempty"`              // 0 for that of the master
	IPAM             string `json:"ipam,omitempty"`             // a JSON object as a string
	MetaPlugins      string `json:"metaPlugins,omitempty"`      // JSON objects as a string
}

// HostDeviceNetworkSpec is the specification of a network of whole devices
// (api/v1alpha1/hostdevicenetwork_types.go).
type HostDeviceNetworkSpec struct {
	NetworkNamespace string `json:"networkNamespace,omitempty"` // of the NetworkAttachmentDefinition
	ResourceName     string `json:"resourceName,omitempty"`     // nvidia.com/ is added if it is absent
	IPAM             string `json:"ipam,omitempty"`             // a JSON object as a string
	MetaPlugins      string `json:"metaPlugins,omitempty"`      // JSON objects as a string
}

// IPoIBNetworkSpec is the specification of a network of IPoIB interfaces
// (api/v1alpha1/ipoibnetwork_types.go).
type IPoIBNetworkSpec struct {
	NetworkNamespace string `json:"networkNamespace,omitempty"` // of the NetworkAttachmentDefinition
	Master           string `json:"master,omitempty"`           // network device of the node
	IPAM             string `json:"ipam,omitempty"`             // a JSON object as a string
}

// NVIDIASchema returns the schema of spec for a kind of nv-ipam or of NVIDIA's network operator,
// nil for other kinds.
func NVIDIASchema(apiVersion, kind string) *Field {
	var fields []Field
	switch {
	case apiVersion == NVIPAMVersion && kind == KindIPPool:
		fields = append(nvPoolFields(), required(str("subnet")),
			required(Field{Name: "perNodeBlockSize", Type: TypeInt}), str("gateway"))
	case apiVersion == NVIPAMVersion && kind == KindCIDRPool:
		fields = append(nvPoolFields(), required(str("cidr")),
			required(Field{Name: "perNodeNetworkPrefix", Type: TypeInt}), Field{Name: "gatewayIndex", Type: TypeInt},
			Field{Name: "staticAllocations", Type: TypeList, Items: &Field{Type: TypeObject, Fields: []Field{
				str("nodeName"), str("gateway"), required(str("prefix")),
			}}})
	case apiVersion == NVIDIAVersion && kind == KindMacvlanNetwork:
		fields = append(nvNetworkFields(), str("master"), str("mode", "bridge", "private", "vepa", "passthru"),
			integer("mtu", 0), str("metaPlugins"))
	case apiVersion == NVIDIAVersion && kind == KindHostDeviceNetwork:
		fields = append(nvNetworkFields(), str("resourceName"), str("metaPlugins"))
	case apiVersion == NVIDIAVersion && kind == KindIPoIBNetwork:
		fields = append(nvNetworkFields(), str("master"))
	default:
		return nil
	}
	return &Field{Name: "spec", Type: TypeObject, Fields: fields}
}

// NVIDIAKinds returns the kinds that have a [NVIDIASchema].
func NVIDIAKinds() []string {
	return []string{KindIPPool, KindCIDRPool, KindMacvlanNetwork, KindHostDeviceNetwork, KindIPoIBNetwork}
}

func nvNetworkFields() []Field { return []Field{str("networkNamespace"), str("ipam")} }

// nvPoolFields returns the fields that both kinds of pools have.
func nvPoolFields() []Field {
	entries := func(name string, fields ...Field) Field {
		return Field{Name: name, Type: TypeList, Items: &Field{Type: TypeObject, Fields: fields}}
	}
	return []Field{
		entries("exclusions", required(str("startIP")), required(str("endIP"))),
		entries("perNodeExclusions", required(integer("startIndex", 0)), required(integer("endIndex", 0))),
		anything("nodeSelector"), boolean("defaultGateway"), entries("routes", required(str("dst"))),
	}
}
