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
	Spec     NADSpec    `json:"spec"`     // the configuration of the CNI plugin
}

// NADSpec is the specification of a [NetworkAttachmentDefinition].
type NADSpec struct {
	Config string `json:"config,omitempty"` // a JSON object as a string
}

// Pod is a pod, with the fields that matter to its networks.
type Pod struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // its annotations name networks
	Spec     PodSpec    `json:"spec"`     // containers and node selection
}

// PodTemplate is the template of a workload's pods.
type PodTemplate struct {
	Metadata ObjectMeta `json:"metadata"` // labels and annotations of the pods
	Spec     PodSpec    `json:"spec"`     // as in Pod
}

// PodSpec is the specification of a pod.
type PodSpec struct {
	Containers []Container `json:"containers"` // run at the same time
	// Run before Containers, one after the other.
	InitContainers []Container `json:"initContainers,omitempty"`
	// The pod uses the node's network, with all its RDMA devices.
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// The node of the pod, without the scheduler.
	NodeName string `json:"nodeName,omitempty"`
	// Labels that the node must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Defaults for the containers.
	SecurityContext PodSecurityContext `json:"securityContext,omitzero"`
	// Volumes that containers may mount.
	Volumes []Volume `json:"volumes,omitempty"`
}

// PodSecurityContext contains defaults for the security contexts of a pod's containers.
type PodSecurityContext struct {
	RunAsUser    *int  `json:"runAsUser,omitempty"`    // user ID; nil for the image's
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"` // true: user 0 is rejected
}

// Container is a container of a pod.
type Container struct {
	Name string `json:"name"` // unique in the pod
	// Reference of the image, in the runtime's form.
	Image string `json:"image,omitempty"`
	// Replaces the image's entrypoint.
	Command []string `json:"command,omitempty"`
	// Replaces the image's arguments.
	Args            []string        `json:"args,omitempty"`
	Resources       Resources       `json:"resources,omitzero"`       // including VFs
	SecurityContext SecurityContext `json:"securityContext,omitzero"` // overrides the pod's
	// Mounts of the pod's volumes.
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
}

// Resources are the resources that a container requests: quantities by resource name.
type Resources struct {
	Requests map[string]Quantity `json:"requests,omitempty"` // for the scheduler
	// Equal to Requests for resources of device plugins.
	Limits map[string]Quantity `json:"limits,omitempty"`
}

// SecurityContext contains the user and the privileges of a container.
type SecurityContext struct {
	// True: all capabilities and all devices of the node.
	Privileged *bool `json:"privileged,omitempty"`
	RunAsUser  *int  `json:"runAsUser,omitempty"` // user ID; nil for the pod's
	// True: user 0 is rejected; nil for the pod's.
	RunAsNonRoot *bool `json:"runAsNonRoot,omitempty"`
	// IPC_LOCK allows RDMA programs to lock memory
	Capabilities Capabilities `json:"capabilities,omitzero"`
}

// Capabilities are Linux capabilities without the prefix CAP_.
type Capabilities struct {
	Add  []string `json:"add,omitempty"`  // added to the runtime's default
	Drop []string `json:"drop,omitempty"` // removed from it; "ALL" for all of them
}

// VolumeMount is a mount of a volume in a container.
type VolumeMount struct {
	Name      string `json:"name"`      // of the volume
	MountPath string `json:"mountPath"` // absolute, in the container
}

// Volume is a volume of a pod, with the sources that matter to RDMA programs.
type Volume struct {
	Name     string    `json:"name"`               // unique in the pod
	HostPath *HostPath `json:"hostPath,omitempty"` // of the node; nil for another source
	EmptyDir *EmptyDir `json:"emptyDir,omitempty"` // created for the pod; nil for another source
}

// HostPath is a folder or file of the node.
type HostPath struct {
	Path string `json:"path"` // absolute, on the node
}

// EmptyDir is a folder that lives as long as the pod.
type EmptyDir struct {
	Medium string `json:"medium,omitempty"` // Memory: a tmpfs, which counts towards the memory limit
	// Maximum size; "" for the size of the medium.
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
	} `json:"spec"` // set by the cluster
	Status struct {
		Addresses []NodeAddress `json:"addresses,omitempty"` // of the host
		// Quantities that pods may request, by resource name.
		Allocatable map[string]Quantity `json:"allocatable,omitempty"`
		// Quantities of the machine, by resource name.
		Capacity map[string]Quantity `json:"capacity,omitempty"`
	} `json:"status"` // reported by the kubelet
}

// NodeAddress is an address or a name of a node.
type NodeAddress struct {
	Type    string `json:"type"`    // InternalIP, ExternalIP, Hostname and others
	Address string `json:"address"` // an IP address, or a name
}

// ConfigMap contains settings.
type ConfigMap struct {
	TypeMeta
	Metadata ObjectMeta        `json:"metadata"`       // other objects refer to it by name
	Data     map[string]string `json:"data,omitempty"` // strings by key
}

// Namespace is a namespace.
type Namespace struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // the name; a Namespace has no namespace
}

// NodeFeatureDiscovery configures the NFD operator, which labels nodes.
type NodeFeatureDiscovery struct {
	TypeMeta
	Metadata ObjectMeta `json:"metadata"` // its name
	// The operator's settings, passed on unchanged.
	Spec map[string]any `json:"spec,omitempty"`
}

// Quantity is a quantity in the API's form: "2", "500m", "64Gi".
type Quantity string

// quantityFactors returns the suffixes of quantities, the longer first.
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

// Value returns the quantity as a number, false if it is invalid.
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

// Count returns the quantity rounded down to an integer, 0 if it is invalid or too large.
func (q Quantity) Count() int {
	v, ok := q.Value()
	if !ok || v > 1<<30 {
		return 0
	}
	return int(v)
}

// IntOrString is a number or a string such as "25%".
type IntOrString string

// MarshalJSON encodes a number as a JSON number, and other values as a string.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	if _, err := strconv.Atoi(string(v)); err == nil {
		return []byte(v), nil
	}
	return json.Marshal(string(v))
}

// UnmarshalJSON decodes a JSON number or string.
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

// ValueOf returns *p, or the zero value if p is nil. It is for fields in which absent means the
// same as zero.
func ValueOf[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// FormatGUID returns a GUID in the form of the operator's GUID file: "02:a1:7c:00:11:e0:00:00".
func FormatGUID(guid uint64) string {
	return net.HardwareAddr(binary.BigEndian.AppendUint64(nil, guid)).String()
}
