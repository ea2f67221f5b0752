package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

var (
	criText      = source{Kubernetes, "kubernetes/kubernetes, pkg/kubelet/images; containerd/containerd, core/remotes"}
	podAdmission = source{Kubernetes, "kubernetes/kubernetes, pod security admission; OpenShift, security " +
		"context constraints"}
	defaultCNI    = source{Kubernetes, "Calico, Flannel, Cilium and Antrea: their CNI plugins"}
	draKubelet    = source{Kubernetes, "kubernetes/kubernetes, pkg/kubelet/cm/dra"}
	sshServer     = source{Kubernetes, "openssh/openssh-portable, auth2-pubkey.c and sshd.c"}
	kubectlExec   = source{Kubernetes, "kubeflow/mpi-operator, kubexec.sh; kubectl exec"}
	criVersionAPI = source{Kubernetes, "kubernetes/kubernetes, podresources API"}
)

// podEventSymptoms are about events of pods: networks, images, devices and permissions.
func podEventSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-890", Name: "network-configuration", Title: "Multus can't read the configuration of a network",
			Explanation: "A NetworkAttachmentDefinition without config means a file of that name in a folder of the " +
				"node; the annotation and the JSON of networks must have the right form.",
			Sources: []string{
				"k8snetworkplumbingwg/network-attachment-definition-client, pkg/utils",
				"k8snetworkplumbingwg/multus-cni, pkg/k8sclient",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				multusCNI.says("no-networks", "GetCNIConfigFromFile: No networks found in "),
				multusCNI.says("config-from-file", "err in GetCNIConfigFromFile: "),
				multusCNI.says("delegate-json", "error unmarshalling delegate config"),
				multusCNI.says("spec-config", "failed to unmarshal Spec.Config"),
				multusCNI.says("annotation", "parsePodNetworkAnnotation: failed to"),
				multusCNI.says("annotation-object", "parsePodNetworkObjectName: ").not("Debug"),
				multusCNI.says("delegate-type", "delegate must have the 'type'"),
				multusCNI.says("interface-exists", "validateIfName: interface name ", "already exists").
					speaks("setting-invalid"),
			},
			Causes: []Cause{
				{
					Slug:   "nad-missing",
					Title:  "the definition has no config, and no file on the node has that network's name",
					Weight: Common,
					Clues: []Clue{
						onText(Hint, "No networks found in", ""),
						onLine(-Strong, "annotation", "the annotation is wrong, not the definition"),
						onLine(-Strong, "delegate-json", "there is a configuration"),
					},
					Decide: "kubectl get net-attach-def NAME -o yaml: spec.config; the folder of the line in " +
						"Multus' pod",
					Remedy: "the configuration in spec.config; or the file in the folder that the line names",
				},
				{
					Slug: "setting-invalid", Title: "the JSON of the network, or the pod's annotation, is wrong",
					Weight: Usual,
					Decide: "rdmactl k8s lint; jq . of spec.config and of the annotation",
					Remedy: "valid JSON with name and type; unique interface names",
				},
				{
					Slug:   "library-defect",
					Title:  "the thick Multus looks in another folder (chroot, confDir) than the one with the file",
					Weight: Rare,
					Clues:  []Clue{onText(Hint, "/host/etc/cni", "the folder is that of Multus' own pod")},
					Decide: "confDir and chrootDir in the ConfigMap multus-daemon-config; Multus' release",
					Remedy: "a newer Multus; the configuration in spec.config",
				},
			},
		},
		{
			ID: "RDX-891", Name: "pod-resources", Title: "Multus can't ask the kubelet for the pod's devices",
			Explanation: "Multus gets the PCI address of a pod's device from the kubelet's pod-resources socket.",
			Sources:     []string{"k8snetworkplumbingwg/multus-cni, pkg/kubeletclient"}, Standing: evidence.Origin,
			Lines: []Line{
				criVersionAPI.says("resources-version", "unknown service v1.PodResourcesLister").
					decides("version-mismatch"),
				criVersionAPI.says("resources-version-alpha", "unknown service v1alpha1.PodResourcesLister").
					decides("version-mismatch"),
				multusCNI.says("resource-client", "failed to get a ResourceClient instance"),
				multusCNI.says("resource-list", "getPodResources: failed to list pod resources"),
				multusCNI.says("resource-map", "failed to get resourceMap from "),
				multusCNI.says("kubelet-client", "getKubeletClient: error getting"),
			},
			Causes: []Cause{
				{
					Slug: "pod-resources-socket", Title: "the kubelet's pod-resources socket isn't reachable for " +
						"Multus",
					Weight: Common,
					Decide: "ls /var/lib/kubelet/pod-resources/kubelet.sock on the node, and in Multus' pod",
					Remedy: "hostPath /var/lib/kubelet/pod-resources (the folder of k0s, microk8s, RKE2) in the " +
						"DaemonSet",
				},
				{
					Slug: "version-mismatch", Title: "this Multus needs a newer kubelet, or the reverse", Weight: Usual,
					Decide: "kubelet --version; the release of Multus",
					Remedy: "Kubernetes 1.20 or later for the API v1; an older Multus before",
				},
				{
					Slug: "device-limit", Title: "the kubelet's answer is too large: many devices per node",
					Weight: Rare,
					Clues:  []Clue{onText(Decisive, "received message larger than max", "the answer is too large")},
					Decide: "the number of devices times pods on the node",
					Remedy: "a newer Multus; a smaller rdmaHcaMax",
				},
			},
		},
		{
			ID: "RDX-892", Name: "cni-crash", Title: "a network plugin ended without an answer",
			Explanation: "The kubelet or Multus starts the plugin's binary, which prints its result. This one was " +
				"killed, crashed, or isn't for this system.",
			Sources: []string{"containernetworking/cni, pkg/invoke/raw_exec.go"}, Standing: evidence.Failed,
			Lines: []Line{
				cniLibrary.says("plugin-killed", "netplugin failed with no error message: "),
				cniLibrary.says("plugin-json", "netplugin failed but error parsing its diagnostic message"),
				cniLibrary.says("plugin-failed", "netplugin failed: "),
			},
			Causes: []Cause{
				{
					Slug: "host-memory", Title: "the plugin was killed: the memory limit of Multus' pod is too small",
					Weight: Usual,
					Clues:  []Clue{onText(Decisive, "signal: killed", "the kernel killed the plugin")},
					Decide: "dmesg | grep -i oom on the node; limits of the DaemonSet kube-multus-ds (50Mi by default)",
					Remedy: "a larger memory limit for Multus",
				},
				{
					Slug: "library-defect", Title: "the plugin crashed: a defect, or a configuration that it " +
						"doesn't expect",
					Weight: Common,
					Clues: []Clue{
						onText(Strong, "panic", "the plugin says panic"),
						onText(Strong, "segmentation fault", "the plugin crashed"),
						onText(Strong, "unexpected end of JSON", "the plugin printed nothing"),
					},
					Decide: "the plugin's release; run it by hand with CNI_COMMAND=VERSION; keys of the " +
						"configuration that an old release doesn't know (if0, l2enable) or misses (deviceID)",
					Remedy: "a newer plugin, and a configuration for that release",
				},
				{
					Slug: "cni-binary", Title: "the binary isn't for this processor, or its libraries are missing",
					Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "exec format error", "the binary isn't for this processor"),
						onText(Strong, "GLIBC", "the binary needs a newer C library"),
						onText(Strong, "exit status 127", "the binary's loader or libraries are missing"),
					},
					Decide: "file and ldd of the binary in /opt/cni/bin", Remedy: "a static build for this processor",
				},
			},
		},
		{
			ID: "RDX-893", Name: "default-network", Title: "the cluster's default network isn't ready for the pod",
			Explanation: "The pod's first interface is that of Calico, Flannel, Cilium or another one: nothing of " +
				"RDMA is involved yet.",
			Sources: []string{"projectcalico/calico, cni-plugin", "flannel-io/cni-plugin", "cilium/cilium, plugins"},
			Lines: []Line{
				defaultCNI.says("calico-nodename", "stat /var/lib/calico/nodename: no such file or directory"),
				defaultCNI.says("calico-unauthorized", "error getting ClusterInformation: connection is unauthorized"),
				defaultCNI.says("calico-information", "error getting ClusterInformation: ").
					not("connection is unauthorized"),
				defaultCNI.says("flannel-subnet", "open /run/flannel/subnet.env: no such file or directory"),
				defaultCNI.says("cilium-socket", "/var/run/cilium/cilium.sock: connect: "),
				defaultCNI.says("cilium-api", "unable to connect to Cilium daemon"),
				defaultCNI.says("cni-uninitialized", "cni plugin not initialized").as(evidence.Vague),
				defaultCNI.says("cni-config", "cni config uninitialized").as(evidence.Vague),
			},
			Standing: evidence.Origin,
			Causes: []Cause{
				{
					Slug: "cni-not-ready", Title: "the daemon of the default network isn't running on this node",
					Weight: Common,
					Decide: "its pods on that node (calico-node, kube-flannel, cilium): kubectl logs",
					Remedy: "what their logs say; the folders of the thick Multus (/var/lib/calico, /run/flannel) " +
						"as hostPath",
				},
				{
					Slug: "cni-token", Title: "the token of the default network's plugin has expired", Weight: Rare,
					Clues:  []Clue{onText(Decisive, "nauthorized", "the API server doesn't accept the token")},
					Decide: "the date of /etc/cni/net.d/calico-kubeconfig", Remedy: "restart calico-node",
				},
			},
		},
		{
			ID: "RDX-894", Name: "image-pull", Title: "the image of a pod can't be fetched",
			Explanation: "Driver images are named by release, kernel and distribution: a combination that nobody " +
				"built isn't there.",
			Sources: []string{"kubernetes/kubernetes, pkg/kubelet/images"}, Standing: evidence.Failed,
			Lines: []Line{
				criText.says("pull-failed", "Failed to pull image ").not("no space left on device").
					as(evidence.Origin).with("image", "Failed to pull image "),
				criText.says("manifest-unknown", "manifest unknown").as(evidence.Origin).speaks("image-missing"),
				criText.says("no-platform", "no match for platform in manifest").as(evidence.Origin).
					speaks("image-arch"),
				criText.says("pull-error", "ErrImagePull").as(evidence.Vague),
				criText.says("pull-backoff", "ImagePullBackOff").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug: "image-missing", Title: "there is no such image: release, kernel and system in its tag",
					Weight: Common,
					Clues: []Clue{
						onText(Strong, "not found", "the registry doesn't have it"),
						onText(Strong, "manifest unknown", "the registry doesn't have it"),
					},
					Decide: "skopeo list-tags docker://IMAGE; the tag in the line against the catalog (NGC)",
					Remedy: "driver.version (or ofedDriver.version) that is there for this distribution; its " +
						"labels by NFD; " +
						"usePrecompiled=false",
				},
				{
					Slug: "image", Title: "the registry wants credentials", Weight: Usual,
					Clues: []Clue{
						onText(Strong, "nauthorized", "the registry refuses"),
						onText(Strong, "denied", "the registry refuses"),
						onText(Strong, "403 Forbidden", "the registry refuses"),
					},
					Decide: "imagePullSecrets of the pod, in its namespace", Remedy: "the secret of that registry",
				},
				{
					Slug: "no-repository", Title: "the registry isn't reachable, or limits the number of pulls",
					Weight: Usual,
					Clues: []Clue{
						onText(Strong, "i/o timeout", "the registry doesn't answer"),
						onText(Strong, "no such host", "the name of the registry isn't known"),
						onText(Strong, "toomanyrequests", "the registry limits pulls"),
						onText(Strong, "deadline exceeded", "the registry doesn't answer in time"),
					},
					Decide: "crictl pull IMAGE on the node; its proxy",
					Remedy: "HTTP_PROXY of the runtime, or a mirror",
				},
				{
					Slug: "image-arch", Title: "the image isn't built for this processor", Weight: Rare,
					Clues:  []Clue{onText(Decisive, "no match for platform", "no image for this processor")},
					Decide: "uname -m; docker manifest inspect", Remedy: "an image for it; a nodeSelector",
				},
			},
		},
		{
			ID: "RDX-895", Name: "pod-security", Title: "the cluster's policy refuses what the pod asks for",
			Explanation: "RDMA needs IPC_LOCK, driver and plugin pods need privileges and folders of the host.",
			Sources:     []string{"kubernetes/pod-security-admission", "OpenShift, security context constraints"},
			Standing:    evidence.Origin,
			Lines: []Line{
				podAdmission.says("pod-security-level", `violates PodSecurity "`).not("would violate").
					decides("not-privileged"),
				podAdmission.says("scc", "unable to validate against any security context constraint").
					decides("not-privileged"),
				podAdmission.says("privileged-refused", "Privileged containers are not allowed").
					decides("not-privileged"),
			},
			Causes: []Cause{
				{
					Slug:   "not-privileged",
					Title:  "namespace or service account don't allow the capability, the privilege or the folder",
					Weight: Common,
					Decide: "kubectl get ns NAMESPACE --show-labels: pod-security.kubernetes.io; oc adm " +
						"policy who-can use scc",
					Remedy: "kubectl label ns NAMESPACE pod-security.kubernetes.io/enforce=privileged; oc adm policy " +
						"add-scc-to-user privileged -z ACCOUNT",
				},
			},
		},
		{
			ID: "RDX-896", Name: "dra", Title: "the kubelet can't prepare the pod's resource claims",
			Explanation: "A DRA driver registers with the kubelet of each node, and prepares the devices of claims.",
			Sources: []string{
				"kubernetes/kubernetes, pkg/kubelet/cm/dra", "kubernetes/kubernetes#124962",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				draKubelet.says("dra-unregistered", "DRA driver ", " is not registered").speaks("plugin-away"),
				draKubelet.says("dra-handler", "no handler registered for plugin type: DRAPlugin").
					as(evidence.Origin).speaks("dra-off"),
				draKubelet.says("dra-claim-fetch", "failed to fetch ResourceClaim ").speaks("version-mismatch"),
				draKubelet.says("dra-no-resource", "ResourceClaim", "the server could not find the requested resource").
					as(evidence.Origin).speaks("version-mismatch"),
				draKubelet.says("dra-kind", "no matches for kind \"ResourceClaim").as(evidence.Origin).
					speaks("dra-off"),
				draKubelet.says("dra-kind-class", "no matches for kind \"DeviceClass").as(evidence.Origin).
					speaks("dra-off"),
				draKubelet.says("dra-prepare", "NodePrepareResources failed").as(evidence.Vague),
				draKubelet.says("dra-prepare-dynamic", "prepare dynamic resources: ").as(evidence.Vague),
				draKubelet.says("dra-event", "FailedPrepareDynamicResources").as(evidence.Vague),
				draKubelet.says("dra-claim-state", "unable to get information for ResourceClaim ").as(evidence.Echo),
			},
			Causes: []Cause{
				{
					Slug: "plugin-away", Title: "the DRA driver's plugin isn't running on the node, or can't register",
					Weight: Common,
					Decide: "kubectl get pods -o wide: its kubelet-plugin on that node, and its log; ls " +
						"/var/lib/kubelet/plugins_registry",
					Remedy: "what its log says; kubeletRegistrarDirectoryPath for another kubelet folder; restart it",
				},
				{
					Slug:   "version-mismatch",
					Title:  "driver and cluster use different versions of the API resource.k8s.io",
					Weight: Usual,
					Decide: "kubectl api-resources --api-group=resource.k8s.io; the driver's release",
					Remedy: "a driver for this release of Kubernetes; the same release of kubelet and API server",
				},
				{
					Slug: "dra-off", Title: "DynamicResourceAllocation is off in API server, scheduler or kubelet",
					Weight: Usual,
					Decide: "feature gates of all three; kubectl get deviceclass",
					Remedy: "the feature gate everywhere, and runtime-config resource.k8s.io; Kubernetes 1.34 has " +
						"it on",
				},
				{
					Slug: "imex", Title: "the IMEX domain of the claim isn't ready", Weight: Rare,
					Clues:  []Clue{onText(Strong, "ComputeDomain", "the claim belongs to a ComputeDomain")},
					Decide: "kubectl get computedomain -o yaml", Remedy: "what its daemons' logs say",
				},
			},
		},
		{
			ID: "RDX-906", Name: "cri-service", Title: "the container runtime doesn't offer the CRI service",
			Explanation: "The kubelet, kubeadm and crictl speak CRI v1 (before 1.26 also v1alpha2) with the " +
				"runtime's socket.",
			Sources:  []string{"kubernetes/kubernetes#111591"},
			Standing: evidence.Origin,
			Lines: []Line{
				kubeadm.says("cri-v1alpha2", "unknown service runtime.v1alpha2.").any("RuntimeService", "ImageService"),
				kubeadm.says("cri-v1", "unknown service runtime.v1.").any("RuntimeService", "ImageService"),
				kubeadm.says("cri-socket", "container runtime is not running").not("unknown service runtime.").
					as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "cri-off",
					Title:  "containerd's CRI plugin is off, or didn't start",
					Weight: Common,
					Decide: "disabled_plugins in /etc/containerd/config.toml; ctr plugins ls | grep cri; its journal",
					Remedy: `no "cri" in disabled_plugins (or containerd config default), and a restart`,
				},
				{
					Slug: "version-mismatch", Title: "kubelet or crictl and the runtime have no CRI version in common",
					Weight: Usual,
					Decide: "containerd --version: v1 needs 1.6, and 2.0 has no v1alpha2; kubelet --version",
					Remedy: "a newer containerd, kubelet and crictl",
				},
				{
					Slug: "setting-invalid", Title: "another runtime's socket is named, or it isn't running",
					Weight: Rare,
					Clues: []Clue{
						onText(Strong, "dockershim.sock", ""), onText(Hint, "cri-dockerd", ""),
						onText(Hint, "no such file or directory", ""), onText(Hint, "connection refused", ""),
					},
					Decide: "systemctl status containerd crio docker; --container-runtime-endpoint; /etc/crictl.yaml",
					Remedy: "the socket of the runtime that runs",
				},
			},
		},
		{
			ID: "RDX-908", Name: "cni-config", Title: "the configuration of a pod's network isn't valid",
			Explanation: "The config of a NetworkAttachmentDefinition, or a file of /etc/cni/net.d, must be JSON " +
				"with name and type, or a list of plugins.",
			Sources: []string{
				"containernetworking/cni, libcni/conf.go", "redhat-nfvpe/kube-ansible#232",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				cniLibrary.says("config-name", "missing network name").speaks("setting-invalid"),
				cniLibrary.says("config-type", "error parsing configuration: missing 'type'").speaks("setting-invalid"),
				cniLibrary.says("config-list", "error parsing configuration list: ").speaks("setting-invalid"),
				cniLibrary.says("config-plugin", "failed to parse plugin config ").speaks("setting-invalid"),
				cniLibrary.says("config-folder", "no net configurations found in ").speaks("cni-not-ready"),
				cniLibrary.says("config-network", "no net configuration with name ").speaks("setting-invalid"),
			},
			Causes: []Cause{
				{
					Slug:   "setting-invalid",
					Title:  "a key of the network's definition is missing or wrong",
					Weight: Usual,
					Decide: "kubectl get net-attach-def -o yaml: spec.config; /etc/cni/net.d on the node",
					Remedy: "name, type and cniVersion in it, or plugins for a list; JSON without a trailing comma",
				},
				{
					Slug: "cni-not-ready", Title: "the cluster's default network isn't installed on this node yet",
					Weight: Rare,
					Decide: "ls /etc/cni/net.d; the network's pods on that node", Remedy: "what their logs say",
				},
			},
		},
	}
}
