package symptoms

import "slices"

// Sources of lines of Kubernetes, of its network plugins and operators, and of container runtimes.
var (
	sriovCNI        = source{Kubernetes, "k8snetworkplumbingwg/sriov-cni, pkg"}
	ibSRIOVCNI      = source{Kubernetes, "k8snetworkplumbingwg/ib-sriov-cni"}
	ibKubernetes    = source{Kubernetes, "Mellanox/ib-kubernetes, pkg"}
	rdmaCNI         = source{Kubernetes, "k8snetworkplumbingwg/rdma-cni, cmd/rdma/main.go"}
	multusCNI       = source{Kubernetes, "k8snetworkplumbingwg/multus-cni, pkg"}
	cniLibrary      = source{Kubernetes, "containernetworking/cni, pkg"}
	cniPlugins      = source{Kubernetes, "containernetworking/plugins, plugins"}
	ipoibCNI        = source{Kubernetes, "Mellanox/ipoib-cni, cmd"}
	whereabouts     = source{Kubernetes, "k8snetworkplumbingwg/whereabouts, pkg"}
	nvIPAM          = source{Kubernetes, "Mellanox/nvidia-k8s-ipam, pkg"}
	sriovPlugin     = source{Kubernetes, "k8snetworkplumbingwg/sriov-network-device-plugin"}
	sharedPlugin    = source{Kubernetes, "Mellanox/k8s-rdma-shared-dev-plugin, pkg/resources"}
	oldRDMAPlugin   = source{Kubernetes, "hustcat/k8s-rdma-device-plugin, main.go"}
	efaPlugin       = source{Kubernetes, "aws-efa-k8s-device-plugin"}
	gpuPlugin       = source{Kubernetes, "NVIDIA/k8s-device-plugin, internal"}
	sriovOperator   = source{Kubernetes, "k8snetworkplumbingwg/sriov-network-operator, pkg"}
	sriovWebhook    = source{Kubernetes, "k8snetworkplumbingwg/sriov-network-operator, pkg/webhook/validate.go"}
	mstTools        = source{Kubernetes, "Mellanox/mstflint, mlxconfig"}
	nicOperator     = source{Kubernetes, "Mellanox/nic-configuration-operator, pkg"}
	networkOperator = source{Kubernetes, "Mellanox/network-operator, manifests"}
	docaDriver      = source{Kubernetes, "Mellanox/doca-driver-build, entrypoint.sh"}
	driverScript    = source{Kubernetes, "NVIDIA/gpu-driver-container, nvidia-driver"}
	gpuOperator     = source{Kubernetes, "NVIDIA/gpu-operator, cmd/nvidia-validator/main.go"}
	draDriver       = source{Kubernetes, "NVIDIA/k8s-dra-driver-gpu, cmd"}
	imexDaemon      = source{Kubernetes, "NVIDIA IMEX"}
	tcpxoDaemon     = source{Kubernetes, "GPUDirect-TCPXO, fastrak_gpumem_manager.cc"}
	kubelet         = source{Kubernetes, "kubernetes/kubernetes, pkg/kubelet"}
	scheduler       = source{Kubernetes, "kubernetes/kubernetes, pkg/scheduler"}
	containerd      = source{Kubernetes, "containerd/containerd, internal/cri"}
	dockerDaemon    = source{Kubernetes, "moby/moby, daemon"}
	runcText        = source{Kubernetes, "opencontainers/runc, libcontainer; containers/crun, src/libcrun"}
	dockerSRIOV     = source{Kubernetes, "Mellanox/docker-sriov-plugin, driver"}
	nvidiaCLI       = source{Kubernetes, "NVIDIA/libnvidia-container, src"}
	nvidiaToolkit   = source{Kubernetes, "NVIDIA/nvidia-container-toolkit, cmd"}
	nvidiaSMI       = source{Kubernetes, "NVIDIA, nvidia-smi"}
	kubeadm         = source{Kubernetes, "kubernetes/kubernetes, cmd/kubeadm; kubernetes-sigs/cri-tools"}
	cdiLibrary      = source{Kubernetes, "cncf-tags/container-device-interface, pkg/cdi/cache.go"}
	enrootHooks     = source{Kubernetes, "NVIDIA/enroot, conf/hooks"}
	enrootText      = source{Kubernetes, "NVIDIA/enroot, src and bin"}
	pyxisText       = source{Kubernetes, "NVIDIA/pyxis, pyxis_slurmstepd.c"}
	apptainerText   = source{Kubernetes, "apptainer/apptainer, internal/pkg"}
	sshClient       = source{Kubernetes, "openssh/openssh-portable, ssh.c and sshconnect.c"}
	packageManager  = source{Kubernetes, "apt, dnf and zypper"}
	modprobeText    = source{Kubernetes, "kmod, tools"}
)

func kubernetesSymptoms() []Symptom {
	return slices.Concat(
		virtualFunctionSymptoms(), podNetworkSymptoms(), devicePluginSymptoms(), sriovOperatorSymptoms(),
		driverPodSymptoms(), podSymptoms(), runtimeSymptoms(), clusterContainerSymptoms(),
		enrootSymptoms(), podEventSymptoms(), gpuPodSymptoms(),
	)
}
