// Package k8s holds the Kubernetes objects that SR-IOV networks are made of, as far as rdmakit
// reads and writes them.
//
//	policy := k8s.SriovNetworkNodePolicy{
//		TypeMeta: k8s.TypeMeta{APIVersion: k8s.SriovVersion, Kind: k8s.KindPolicy},
//		Metadata: k8s.ObjectMeta{Name: "rail0", Namespace: "sriov-network-operator"},
//		Spec:     k8s.PolicySpec{ResourceName: "rail0", NumVfs: new(8)},
//	}
//
// The types of the SR-IOV operator are whole: what its CRDs admit has a field here, and [Schema]
// tells the types, limits and choices of the fields. Those of pods, nodes and workloads hold what
// SR-IOV networks depend on, and nothing else. A pointer tells absent from zero where the
// difference counts. Field names are those of the API, and the JSON form is the API's, so that a
// value marshals to an object that the API server takes.
//
// Package k8s/manifest reads objects from files and keeps their places, k8s/source tells the state
// of a cluster, and k8s/lint judges manifests against it. None of them talks to a cluster.
//
// All of it is plain data: it may be read by several goroutines, and nothing changes by itself.
package k8s

// API versions, as apiVersion has them.
const (
	SriovVersion = "sriovnetwork.openshift.io/v1" // SR-IOV network operator
	// Network plumbing group: NetworkAttachmentDefinition.
	NADVersion  = "k8s.cni.cncf.io/v1"
	CoreVersion = "v1"                  // Kubernetes' own
	NFDVersion  = "nfd.openshift.io/v1" // NFD operator
)

// Kinds, as kind has them.
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
	// Of a pod: its networks beside the default one.
	AnnotationNetworks = "k8s.v1.cni.cncf.io/networks"
	// Of a NetworkAttachmentDefinition: what it takes VFs of.
	AnnotationResourceName = "k8s.v1.cni.cncf.io/resourceName"
	// Of a pod: another default network.
	AnnotationDefaultNetwork = "v1.multus-cni.io/default-network"
	// Of a SriovNetworkNodeState: what the daemon asks for (Idle, Drain_Required, Reboot_Required),
	// whether the node drains (Idle, Draining, DrainComplete), and whether something else than the
	// operator drains it.
	AnnotationDrainWanted = "sriovnetwork.openshift.io/desired-state"
	// Idle, Draining, DrainComplete
	AnnotationDrainState = "sriovnetwork.openshift.io/current-state"
	// Something else than the operator drains.
	AnnotationExternalDrainer = "sriovnetwork.openshift.io/use-external-drainer"
)

// TypeMeta says what an object is.
type TypeMeta struct {
	APIVersion string `json:"apiVersion"` // group and version: SriovVersion
	Kind       string `json:"kind"`       // KindPolicy
}

// ObjectMeta names an object.
type ObjectMeta struct {
	Name string `json:"name,omitempty"` // unique in kind and namespace
	// Beginning of a name that the API server completes.
	GenerateName string `json:"generateName,omitempty"`
	// "" for the default one, or where the kind has none
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`      // what selectors match
	Annotations map[string]string `json:"annotations,omitempty"` // what other programs read
}

// LabelSelector chooses objects by their labels (metav1.LabelSelector): all of it has to fit.
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
