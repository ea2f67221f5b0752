package k8s

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"net"
	"strconv"
	"strings"
)

// NetworkAttachmentDefinition is a CNI configuration that pods name in an annotation.
type NetworkAttachmentDefinition struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // pods name it by namespace and name
	Spec     NADSpec    `json:"spec"`     // what multus hands to the CNI plugin
}

// NADSpec is the specification of a [NetworkAttachmentDefinition].
type NADSpec struct {
	Config string `json:"config,omitempty"` // a JSON object as a string
}

// Pod is a pod, as far as its networks are concerned.
type Pod struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // its annotations name networks
	Spec     PodSpec    `json:"spec"`     // what runs, and where
}

// PodTemplate is what workloads make pods of.
type PodTemplate struct {
	Metadata ObjectMeta `json:"metadata"` // labels and annotations of the pods
	Spec     PodSpec    `json:"spec"`     // as Pod has it
}

// PodSpec is the specification of a pod.
type PodSpec struct {
	Containers []Container `json:"containers"` // that run side by side
	// That run before, one by one.
	InitContainers []Container `json:"initContainers,omitempty"`
	// The pod has the node's network, and all its RDMA devices.
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// A node that it is bound to, past the scheduler.
	NodeName string `json:"nodeName,omitempty"`
	// Labels that the node must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Defaults for the containers.
	SecurityContext PodSecurityContext `json:"securityContext,omitzero"`
	// That containers may mount.
	Volumes []Volume `json:"volumes,omitempty"`
}

// PodSecurityContext holds what all containers of a pod run as.
type PodSecurityContext struct {
	RunAsUser    *int  `json:"runAsUser,omitempty"`    // user ID; nil: the image's
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"` // true: user 0 is refused
}

// Container is a container of a pod.
type Container struct {
	Name string `json:"name"` // unique in the pod
	// Reference as the runtime takes it.
	Image string `json:"image,omitempty"`
	// In place of the image's entrypoint.
	Command []string `json:"command,omitempty"`
	// In place of the image's arguments.
	Args            []string        `json:"args,omitempty"`
	Resources       Resources       `json:"resources,omitzero"`       // VFs among them
	SecurityContext SecurityContext `json:"securityContext,omitzero"` // overrides the pod's
	// What it sees of the pod's volumes.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
}

// Resources are what a container asks for: quantities by resource name.
type Resources struct {
	Requests map[string]Quantity `json:"requests,omitempty"` // what the scheduler reckons with
	// Of device plugins' resources the same as Requests.
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// SecurityContext is what a container runs as.
type SecurityContext struct {
	// True: all capabilities and all devices of the node.
	Privileged *bool `json:"privileged,omitempty"`
	RunAsUser  *int  `json:"runAsUser,omitempty"` // user ID; nil: the pod's
	// True: user 0 is refused; nil: the pod's.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`
	// IPC_LOCK lets RDMA programs lock memory
	Capabilities Capabilities `json:"capabilities,omitzero"`
}

// Capabilities are capabilities of Linux without CAP_ in front.
type Capabilities struct {
	Add  []string `json:"add,omitempty"`  // to what the runtime gives
	Drop []string `json:"drop,omitempty"` // from it; "ALL" is all of them
}

// VolumeMount is where a container sees a volume.
type VolumeMount struct {
	Name      string `json:"name"`      // of the volume
	MountPath string `json:"mountPath"` // absolute, in the container
}

// Volume is a volume of a pod; of its sources those that RDMA programs meet.
type Volume struct {
	Name     string    `json:"name"`               // unique in the pod
	HostPath *HostPath `json:"hostPath,omitempty"` // of the node; nil: another source
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"` // made for the pod; nil: another source
}

// HostPath is a folder or file of the node.
type HostPath struct {
	Path string `json:"path"` // absolute, on the node
}

// EmptyDir is a folder that lives as long as the pod.
type EmptyDir struct {
	Medium string `json:"medium,omitempty"` // Memory: a tmpfs that counts as the pod's memory
	// At most so much; "": no limit but the medium's.
	SizeLimit Quantity `json:"sizeLimit,omitempty"`
}

// Node is a node of the cluster.
type Node struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // labels that selectors match
	Spec     struct {
		Unschedulable bool   `json:"unschedulable,omitempty"` // cordoned: no new pods
		PodCIDR       string `json:"podCIDR,omitempty"`       // range of its pods' addresses
		// One of each family; the first is PodCIDR.
		PodCIDRs []string `json:"podCIDRs,omitempty"`
	} `json:"spec"` // what the cluster decided
	Status struct {
		Addresses []NodeAddress `json:"addresses,omitempty"` // of the host
		// What pods may ask for, by resource name.
		Allocatable map[string]Quantity `json:"allocatable,omitempty"`
		// What the machine has, by resource name.
		Capacity map[string]Quantity `json:"capacity,omitempty"`
	} `json:"status"` // what the kubelet reports
}

// NodeAddress is an address or a name of a node.
type NodeAddress struct {
	Type    string `json:"type"`    // InternalIP, ExternalIP, Hostname and others
	Address string `json:"address"` // an IP address, or a name
}

// ConfigMap holds settings.
type ConfigMap struct {
	TypeMeta
	Metadata ObjectMeta        `json:"metadata"`       // its name, by which others refer to it
	Data     map[string]string `json:"data,omitempty"` // texts by key
}

// Namespace is a namespace.
type Namespace struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // the name, without namespace of its own
}

// NodeFeatureDiscovery asks the NFD operator to label nodes.
type NodeFeatureDiscovery struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // its name
	// The operator's settings, passed on as they are.
	Spec map[string]any `json:"spec,omitempty"`
}

// Quantity is an amount as the API writes it: "2", "500m", "64Gi".
type Quantity string

// quantityFactors are the suffixes of quantities, the longer first.
func quantityFactors() []struct {
	suffix string
	factor float64
} {
	return []struct {
		suffix string
		factor float64
	}{
		{"Ki", 1 << 10},
		{"Mi", 1 << 20},
		{"Gi", 1 << 30},
		{"Ti", 1 << 40},
		{"Pi", 1 << 50},
		{"Ei", 1 << 60},
		{"n", 1e-9},
		{"u", 1e-6},
		{"m", 1e-3},
		{"k", 1e3},
		{"M", 1e6},
		{"G", 1e9},
		{"T", 1e12},
		{"P", 1e15},
		{"E", 1e18},
	}
}

// Value returns the amount; false for what is no quantity.
func (q Quantity) Value() (float64, bool) {
	text, factor := string(q), 1.0
	for _, f := range quantityFactors() {
		if head, ok := strings.CutSuffix(text, f.suffix); ok {
			text, factor = head, f.factor
			break
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 {
		return 0, false
	}
	return v * factor, true
}

// Count returns the amount of whole things; 0 for what is no such amount.
func (q Quantity) Count() int {
	v, ok := q.Value()
	if !ok || v > 1<<30 {
		return 0
	}
	return int(v)
}

// IntOrString is a number or a text, as "25%".
type IntOrString string

// MarshalJSON writes a number as such.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	if _, err := strconv.Atoi(string(v)); err == nil {
		return []byte(v), nil
	}
	return json.Marshal(string(v))
}

// UnmarshalJSON takes both.
func (v *IntOrString) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*v = IntOrString(text)
		return nil
	}
	var number int
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*v = IntOrString(strconv.Itoa(number))
	return nil
}

// ValueOf returns what a pointer of these types points to, and the zero value for one that is nil:
// for fields where absent means the same as zero.
func ValueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// FormatGUID writes a GUID as the operator's file of GUIDs has it: "02:a1:7c:00:11:e0:00:00".
func FormatGUID(guid uint64) string {
	return net.HardwareAddr(binary.BigEndian.AppendUint64(nil, guid)).String()
}
