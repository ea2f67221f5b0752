// Package k8s contains the types of the Kubernetes objects for SR-IOV networks, with the fields
// that rdmakit reads and writes.
//
//	policy := k8s.SriovNetworkNodePolicy{
//		TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindPolicy},
//		Metadata: k8s.ObjectMeta{Name: "rail0", Namespace: "sriov-network-operator"},
//		Spec:     k8s.PolicySpec{ResourceName: "rail0", NumVfs: new(8)},
//	}
//
// The types of the SR-IOV operator are complete: they have all fields of its CRDs, and [Schema]
// returns the types, limits and allowed values of the fields. The types of pods, nodes and
// workloads have only the fields that matter to SR-IOV networks. Fields are pointers where absent
// differs from zero. Field names and the JSON form are those of the API, so that a value marshals
// to an object that the API server accepts.
//
// Package k8s/manifest reads objects from files and keeps their places, k8s/source reads the state
// of a cluster from files, and k8s/lint checks manifests against it. None of them contacts a
// cluster.
//
// All types are plain data and may be read concurrently.
package k8s

// API versions, the values of apiVersion.
const (
	SriovVersion = "sriovnetwork.openshift.io/v1" // SR-IOV network operator
	// Network plumbing group: NetworkAttachmentDefinition.
	NADVersion  = "k8s.cni.cncf.io/v1"
	CoreVersion = "v1"                  // Kubernetes' own
	NFDVersion  = "nfd.openshift.io/v1" // NFD operator
)

// Kinds, the values of kind.
const (
	KindPolicy         = "SriovNetworkNodePolicy"      // SriovVersion
	KindNetwork        = "SriovNetwork"                // SriovVersion
	KindIBNetwork      = "SriovIBNetwork"              // SriovVersion
	KindPoolConfig     = "SriovNetworkPoolConfig"      // SriovVersion
	KindOperatorConfig = "SriovOperatorConfig"         // SriovVersion
	KindNodeState      = "SriovNetworkNodeState"       // SriovVersion
	KindNAD            = "NetworkAttachmentDefinition" // NADVersion
	KindPod            = "Pod"                         // CoreVersion
	KindNode           = "Node"                        // CoreVersion
	KindConfigMap      = "ConfigMap"                   // CoreVersion
	KindNamespace      = "Namespace"                   // CoreVersion
	KindNFD            = "NodeFeatureDiscovery"        // NFDVersion
)

// Annotations that multus, the SR-IOV operator and its device plugin read.
const (
	// Of a pod: its networks besides the default network.
	AnnotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// Of a NetworkAttachmentDefinition: the resource of its VFs.
	AnnotationResourceName = "k8s.v1.cni.cncf.io/resourceName"
	// Of a pod: another default network.
	AnnotationDefaultNetwork = "v1.multus-cni.io/default-network"
	// Of a SriovNetworkNodeState: the daemon's request, Idle, Drain_Required or Reboot_Required.
	AnnotationDrainWanted = "sriovnetwork.openshift.io/desired-state"
	// Of a SriovNetworkNodeState: the state of the drain, Idle, Draining or DrainComplete.
	AnnotationDrainState = "sriovnetwork.openshift.io/current-state"
	// Of a SriovNetworkNodeState: "true" if another program than the operator drains the node.
	AnnotationExternalDrainer = "sriovnetwork.openshift.io/use-external-drainer"
)

// TypeMeta is the type of an object.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"` // group and version: SriovVersion
	Kind       string `json:"kind"`       // KindPolicy
}

// ObjectMeta identifies an object.
type ObjectMeta struct {
	Name string `json:"name,omitempty"` // unique in kind and namespace
	// Prefix of a name that the API server completes.
	GenerateName string `json:"generateName,omitempty"`
	// "" for the default namespace, or if the kind has none
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`      // for selectors
	Annotations map[string]string `json:"annotations,omitempty"` // for other programs
}

// LabelSelector selects objects that match all of its conditions (metav1.LabelSelector).
type LabelSelector struct {
	// Labels with the values that they must have.
	MatchLabels      map[string]string     `json:"matchLabels,omitempty"`
	MatchExpressions []SelectorRequirement `json:"matchExpressions,omitempty"` // further conditions
}

// SelectorRequirement is a condition on one label. Operator is In, NotIn, Exists or DoesNotExist.
type SelectorRequirement struct {
	Key      string   `json:"key"`              // of the label
	Operator string   `json:"operator"`         // In, NotIn, Exists or DoesNotExist
	Values   []string `json:"values,omitempty"` // of In and NotIn
}
