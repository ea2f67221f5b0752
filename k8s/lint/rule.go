package lint

import "slices"

// Rule is something that can be wrong with manifests.
type Rule struct {
	// ID is kebab-case, unique and stable.
	ID string `json:"id"`
	// Title is what is wrong when the rule finds something.
	Title string `json:"title"`
	// Severity is the worst that a finding of the rule has.
	Severity Severity `json:"severity"`
	// Kinds are the kinds of objects that the rule judges; none: any text.
	Kinds []string `json:"kinds,omitempty"`
	// Nodes reports whether the rule needs to know nodes; without any it says nothing.
	Nodes bool `json:"nodes,omitempty"`
	// Explanation tells what the API server, the operator or the CNI plugins make of it.
	Explanation string `json:"explanation"`
	// Remedy tells in general what to do.
	Remedy string `json:"remedy"`
	// Wrong and Right are pieces of the manifests in testdata/ID.
	Wrong string `json:"wrong"`
	Right string `json:"right"`
	// Reports are the threads of users who were hit by it.
	Reports []string `json:"reports,omitempty"`
	// Sources are where the semantics were read.
	Sources []string `json:"sources"`

	check func(*pass)
}

//go:generate go run ./gendocs -o ../../docs/k8s-lint.md

// Rules returns all rules: of texts and fields, of policies, of networks and their addresses,
// of pods.
func Rules() []Rule {
	return []Rule{
		yamlSyntax(),
		duplicateKey(),
		duplicateObject(),
		inputLimit(),
		ignoreComment(),
		objectKind(),
		objectName(),
		unknownField(),
		missingField(),
		fieldType(),
		fieldValue(),

		resourceName(),
		linkTypeMissing(),
		selectorEmpty(),
		vfDeviceID(),
		pciAddress(),
		pfRange(),
		numVFs(),
		deviceType(),
		policyCombination(),
		policyNamespace(),
		policyOverlap(),
		nfdLabel(),
		selectorNode(),
		selectorCard(),
		resourceRails(),
		priorityOrder(),
		externalManaged(),
		linkTypeChange(),
		firmwareVFs(),
		sriovDisabled(),
		cardInvisible(),
		pfAltname(),
		vfGUID(),
		guidPool(),
		nodeSync(),
		supportedNICs(),
		topologyHint(),
		daemonSelector(),
		poolOverlap(),
		poolSelector(),
		operatorConfig(),
		operatorSettings(),

		ipamJSON(),
		ipamMask(),
		ipamRangeRule(),
		ipamGateway(),
		ipamOverlap(),
		ipamCapacity(),
		ipamEmpty(),
		ipamFields(),
		whereaboutsStale(),
		rdmaMode(),
		rdmaIsolation(),
		networkResource(),
		networkNamespace(),
		networkKind(),
		networkCapabilities(),
		linkState(),
		ibPlugins(),
		ibKubernetes(),
		nadStructure(),

		podNetwork(),
		podResource(),
		podPrefix(),
		podSelector(),
		podInitResource(),
		podIPCLock(),
		podMemory(),
		podVolume(),
		podHost(),
		podGUID(),
		podAddress(),
	}
}

// FindRule returns a rule by its ID.
func FindRule(id string) (Rule, bool) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return rules[i], true
}

// Where semantics were read; Rule.Sources names them. The commits are those of the repositories'
// main branches that were read.
const (
	srcOperator     = "k8snetworkplumbingwg/sriov-network-operator 249e2001 (2026-08-06)"
	srcCRD          = srcOperator + ": config/crd/bases"
	srcWebhook      = srcOperator + ": pkg/webhook"
	srcSelector     = srcOperator + ": api/v1/helper.go"
	srcMellanox     = srcOperator + ": pkg/plugins/mellanox, pkg/vendors/mellanox"
	srcDaemon       = srcOperator + ": pkg/host/internal/sriov/sriov.go"
	srcDaemonSet    = srcOperator + ": controllers/helper.go, controllers/sriovnetworknodepolicy_controller.go"
	srcDevicePlugin = srcOperator + ": controllers/sriovnetworknodepolicy_controller.go"
	srcPools        = srcOperator + ": controllers/drain_controller_helper.go, controllers/helper.go"
	srcScope        = srcOperator + ": main.go"
	srcGates        = srcOperator + ": pkg/featuregate, pkg/consts"
	srcGUIDs        = srcOperator + ": pkg/host/internal/infiniband, doc/ib-vf-guid-static-configuration.md"
	srcNICs         = srcOperator + ": deployment/sriov-network-operator-chart/templates/configmap.yaml"
	srcRender       = srcOperator + ": api/v1/helper.go, bindata/manifests/cni-config/sriov"
	srcNVIDIA       = "Mellanox/network-operator b06827e (2026-08-19): example/sriov-network/infiniband"
	srcAPIServer    = "Kubernetes v1.36, validation of custom resources by structural schemas"
	srcWhereabouts  = "k8snetworkplumbingwg/whereabouts 3a262bd0 (2026-06-02): pkg/config, pkg/types, " +
		"pkg/allocate, pkg/iphelpers"
	srcIPPool    = "k8snetworkplumbingwg/whereabouts 3a262bd0 (2026-06-02): doc/crds, pkg/storage/kubernetes"
	srcHostLocal = "CNI plugin host-local, reference"
	srcIBCNI     = "k8snetworkplumbingwg/ib-sriov-cni 543060d (2026-06-24): cmd/ib-sriov-cni, pkg/types, pkg/sriov"
	srcRDMACNI   = "k8snetworkplumbingwg/rdma-cni 449bfbc (2026-08-06): README.md; pull request 21"
	srcMultus    = "k8snetworkplumbingwg/multus-cni 95a09323 (2026-08-20): pkg/k8sclient, pkg/kubeletclient"
	srcPlugin    = "k8snetworkplumbingwg/sriov-network-device-plugin 40b6f507 (2026-06-25): " +
		"pkg/netdevice, pkg/devices"
	srcSharedPlugin = "Mellanox/k8s-rdma-shared-dev-plugin 410b0f3 (2026-04-07): pkg/resources"
	srcIBKubernetes = "Mellanox/ib-kubernetes 528f63f (2026-07-01): README.md, pkg/daemon, pkg/utils, pkg/ib-utils"
	srcNFD          = "kubernetes-sigs/node-feature-discovery 76e6cc8c (2026-07-30): source/network, " +
		"source/pci, source/custom"
	srcKernelRDMA  = "Linux, drivers/infiniband/core (rdma_dev_access_netns)"
	srcKernelIPoIB = "Linux, drivers/infiniband/ulp/ipoib (ipoib_change_mtu)"
	srcKubernetes  = "Kubernetes v1.36, API reference"
	srcYAML        = "YAML 1.2 specification"
)
