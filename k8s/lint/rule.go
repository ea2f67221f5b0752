package lint

import "slices"

// Rule describes one kind of mistake in manifests, and finds it.
type Rule struct {
	// ID is kebab-case, unique and stable.
	ID string `json:"id"`
	// Group is the ID of the group that the rule belongs to, if any. It stands for all of its rules
	// wherever the ID of a rule is expected.
	Group string `json:"group,omitempty"`
	// Title names the mistake.
	Title string `json:"title"`
	// Severity is the highest severity of the rule's findings.
	Severity Severity `json:"severity"`
	// Kinds are the kinds of objects that the rule checks. A rule without kinds checks the text of
	// any file.
	Kinds []string `json:"kinds,omitempty"`
	// Nodes reports whether the rule needs nodes. Without nodes it is skipped.
	Nodes bool `json:"nodes,omitempty"`
	// Explanation describes how the API server, the operator or the CNI plugins handle the mistake.
	Explanation string `json:"explanation"`
	// Remedy is the general way to fix it.
	Remedy string `json:"remedy"`
	// Wrong and Right are excerpts of the manifests in testdata/ID.
	Wrong string `json:"wrong"`
	Right string `json:"right"`
	// Reports are issues in which users reported the mistake.
	Reports []string `json:"reports,omitempty"`
	// Sources are the programs and documents that define the behaviour.
	Sources []string `json:"sources"`

	// check finds the mistakes. In a group the first rule has the check of all.
	check func(*pass)
}

// group returns rules that have one check. They inherit what they don't have from the first, except
// texts.
func group(id string, rules ...Rule) []Rule {
	for i := range rules {
		r := &rules[i]
		r.Group = id
		if i > 0 {
			r.Kinds, r.Nodes, r.Sources = rules[0].Kinds, rules[0].Nodes, rules[0].Sources
		}
	}
	return rules
}

//go:generate go run ./gendocs -o ../../docs/k8s-lint.md

// Rules returns all rules: those for YAML text and fields, for policies, for networks and their
// addresses, and for pods.
func Rules() []Rule {
	return slices.Concat([]Rule{
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
	}, mtuRules(), guidPool(), []Rule{
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
	}, ipamGateway(), []Rule{
		ipamOverlap(),
		ipamCapacity(),
	}, ipamEmpty(), []Rule{
		ipamFields(),
		whereaboutsStale(),
		rdmaMode(),
		rdmaIsolation(),
		networkResource(),
		networkNamespace(),
		networkKind(),
		networkRDMA(),
		networkCapabilities(),
		linkState(),
		ibPlugins(),
		ibKubernetes(),
	}, nadStructure(), nvObject(), nvIPAM(), podNetwork(), podResource(), []Rule{
		podPrefix(),
		podSelector(),
		podInitResource(),
		podIPCLock(),
		podMemory(),
		podCapacity(),
		podHugepages(),
		podVolume(),
		podVolumeName(),
		podHost(),
		podGUID(),
		podAddress(),
	})
}

// FindRules returns the rule with an ID, or the rules of the group with that ID.
func FindRules(id string) []Rule {
	return slices.DeleteFunc(Rules(), func(r Rule) bool { return !r.in([]string{id}) })
}

// IDs returns the IDs of all rules and groups.
func IDs() []string {
	var out []string
	for _, r := range Rules() {
		for _, id := range []string{r.Group, r.ID} {
			if id != "" && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}

// in reports whether IDs of rules and groups include the rule.
func (r *Rule) in(ids []string) bool {
	return slices.Contains(ids, r.ID) || r.Group != "" && slices.Contains(ids, r.Group)
}

// Sources of the rules, for Rule.Sources. Each commit is the one on the repository's main branch
// that was read.
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
