package lint

import (
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// checks returns the checks by the ID of their rule or group.
func checks() map[string]func(*pass) {
	return map[string]func(*pass){
		"yaml-syntax":          checkYAMLSyntax,
		"duplicate-key":        problemsOf(manifest.ProblemDuplicate),
		"duplicate-object":     checkDuplicateObject,
		"input-limit":          problemsOf(manifest.ProblemLimit),
		"ignore-comment":       checkIgnoreComment,
		"object-kind":          checkObjectKind,
		"object-name":          each(objects, checkObjectName),
		"unknown-field":        checkUnknownField,
		"missing-field":        each(objects, checkMissingField),
		"field-type":           all(each(objects, checkFieldType), each(pods, checkTexts)),
		"field-value":          all(each(objects, checkFieldValue), each(pools, checkMaxUnavailable)),
		"resource-name":        checkResourceNames,
		"linktype-missing":     each(policies, checkLinkTypeMissing),
		"selector-empty":       each(policies, checkSelectorEmpty),
		"vf-device-id":         each(policies, checkDeviceID),
		"pci-address":          each(policies, checkPCIAddress),
		"pf-range":             each(policies, checkPFRange),
		"num-vfs":              each(policies, checkNumVFs),
		"device-type":          each(policies, checkDeviceType),
		"policy-switchdev":     each(policies, checkSwitchdev),
		"policy-vdpa":          each(policies, checkVDPA),
		"policy-ipoib-mtu":     each(policies, checkIPoIBMTU),
		"policy-netfilter":     each(policies, checkNetFilter),
		"policy-namespace":     checkPolicyNamespace,
		"policy-overlap":       checkPolicyOverlap,
		"nfd-label":            each(policies, checkNFDLabel),
		"selector-node":        each(policies, checkSelectorNode),
		"selector-card":        checkSelectorCards,
		"resource-rails":       checkResourceRails,
		"priority-order":       checkPriorityOrder,
		"external-managed":     each(policies, checkExternalManaged),
		"linktype-change":      each(policies, checkLinkTypeChange),
		"firmware-vfs":         checkFirmwareVFs,
		"sriov-disabled":       each(policies, checkSRIOVDisabled),
		"card-invisible":       each(policies, checkInvisible),
		"pf-altname":           each(policies, checkPFAltname),
		"vf-guid":              checkVFGUID,
		"mtu-large":            each(policies, checkLargeMTU),
		"mtu-rails":            checkRailMTUs,
		"guid-pool":            checkGUIDPools,
		"node-sync":            each(policies, checkSync),
		"supported-nics":       checkSupportedNICs,
		"topology-hint":        each(policies, checkTopologyHint),
		"daemon-selector":      each(configs, checkDaemonSelector),
		"pool-overlap":         checkPoolOverlap,
		"pool-selector":        each(pools, checkPoolSelector),
		"operator-config":      each(configs, checkOperatorConfig),
		"operator-settings":    each(configs, checkOperatorSettings),
		"ipam-json":            all(each(networks, checkNetworkJSON), each(nads, checkConfigJSON)),
		"ipam-mask":            each(ipams, checkIPAMMask),
		"ipam-bounds":          each(ipams, checkBounds),
		"ipam-exclude":         each(ipams, checkExclude),
		"ipam-gateway":         each(ipams, checkIPAMGateway),
		"ipam-overlap":         checkIPAMOverlap,
		"ipam-capacity":        each(ipams, checkIPAMCapacity),
		"ipam-missing":         each(networks, checkIPAMEmpty),
		"ipam-host-local":      each(ipams, checkHostLocal),
		"ipam-fields":          each(ipams, checkIPAMFields),
		"whereabouts-stale":    checkWhereaboutsStale,
		"rdma-mode":            checkRDMAMode,
		"rdma-isolation":       checkRDMAIsolation,
		"network-resource":     checkNetworkResource,
		"network-namespace":    checkNetworkNamespace,
		"network-kind":         each(networks, checkNetworkKind),
		"network-rdma":         each(networks, checkNetworkRDMA),
		"network-capabilities": each(networks, checkNetworkCapabilities),
		"link-state":           each(networks, checkLinkState),
		"ib-plugins": all(each(ipams, checkDHCP), each(networks, checkMetaPlugins),
			each(nads, checkIBChain)),
		"ib-kubernetes":         all(each(handwritten, checkPKeys), each(objects, checkIBKubernetes)),
		"nad-structure":         all(each(handwritten, checkNAD), each(networks, checkMetaPluginNames)),
		"nv-object":             each(objects, checkNVObject),
		"nv-ipam":               checkNVIPAM,
		"pod-annotation":        each(pods, checkPodAnnotation),
		"pod-network-missing":   each(pods, checkPodNetworks),
		"pod-interface":         each(pods, checkInterfaces),
		"pod-network-field":     each(pods, checkEntryFields),
		"pod-annotation-place":  all(each(pods, checkMisplaced), each(pods, checkAnnotationNames)),
		"pod-resource":          each(pods, checkPodResource),
		"pod-resource-request":  each(containers, checkRequests),
		"pod-prefix":            each(containers, checkPodPrefix),
		"pod-selector":          each(pods, checkPodSelector),
		"pod-init-resource":     each(pods, checkPodInitResource),
		"pod-ipc-lock":          each(running, checkIPCLock),
		"pod-memory":            each(running, checkMemory),
		"pod-capacity":          each(pods, checkRoom),
		"pod-hugepages":         each(containers, checkHugepages),
		"pod-volume":            each(pods, checkVolumes),
		"pod-volume-name":       each(pods, checkVolumeNames),
		"pod-host":              each(pods, checkPodHost),
		"pod-guid":              each(pods, checkPodGUIDs),
		"pod-address-form":      each(pods, checkAddressForms),
		"pod-address-duplicate": checkPodAddresses,
		"pod-default-route":     each(pods, checkDefaultRoute),
	}
}

// each returns a check of the elements of a list, one by one.
func each[T any](list func(*model) []T, check func(*pass, T)) func(*pass) {
	return func(p *pass) {
		for _, v := range list(p.model) {
			check(p, v)
		}
	}
}

// all returns a check that runs several.
func all(checks ...func(*pass)) func(*pass) {
	return func(p *pass) {
		for _, check := range checks {
			check(p)
		}
	}
}

func objects(m *model) []*manifest.Object                 { return m.objects }
func policies(m *model) []*policy                         { return m.policies }
func networks(m *model) []*network                        { return m.networks }
func pods(m *model) []*pod                                { return m.pods }
func pools(m *model) []*typed[k8s.SriovNetworkPoolConfig] { return m.pools }
func configs(m *model) []*typed[k8s.SriovOperatorConfig]  { return m.configs }
func ipams(m *model) []ipamRef                            { return m.addresses }
func nads(m *model) []*nad                                { return m.nads }
func handwritten(m *model) []*nad                         { return m.handwritten() }

// problemsOf returns a check for problems of the manifest reader.
func problemsOf(kind manifest.ProblemType) func(*pass) {
	return func(p *pass) { p.problems(kind) }
}

// running returns the containers that run while their pods do.
func running(m *model) []container {
	return containersOf(m, func(p *pod) []container { return p.running })
}

// containers returns the containers of all pods, with the init containers that end.
func containers(m *model) []container { return containersOf(m, (*pod).all) }

func containersOf(m *model, of func(*pod) []container) []container {
	var out []container
	for _, pod := range m.pods {
		out = append(out, of(pod)...)
	}
	return out
}
