package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// driverModules are beginnings of names of modules that driver containers replace, or that hold
// those: "is in use" can be about any other module of the node.
func driverModules() []string {
	return []string{
		"Module mlx", "Module ib_", "Module rdma", "Module iw_cm", "Module nvidia", "Module gdrdrv", "Module nvme",
		"Module rpcrdma", "Module svcrdma", "Module xprtrdma", "Module ko2iblnd",
	}
}

// driverPodSymptoms are about pods that load drivers of cards and GPUs.
func driverPodSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-678", Name: "driver-in-use", Title: "the driver pod can't replace modules that are in use",
			Explanation: "DOCA-OFED's driver container unloads the modules of the host. Storage over RDMA, " +
				"nvidia-peermem, third-party modules or the node's own network keep them.",
			Sources: []string{
				"Mellanox/doca-driver-build, entrypoint.sh",
				"Mellanox/network-operator#1639", "Mellanox/network-operator#2176",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				docaDriver.says("module-used", "is used and will FAIL driver reload").with("module", "Module "),
				docaDriver.says("peermem-used", "module is used by other modules: ").speaks("peermem-in-use"),
				docaDriver.says("storage-modules", "torage modules are loaded for current driver").
					speaks("storage-in-use"),
				docaDriver.says("third-party-modules", "third-party RDMA modules are loaded for current driver").
					speaks("third-party-in-use"),
				modprobeText.says("rmmod-in-use", "rmmod: ERROR: Module ", "is in use by").
					any(driverModules()...).with("module", "Module "),
				modprobeText.says("modprobe-in-use", "modprobe: FATAL: Module ", "is in use").
					any(driverModules()...).with("module", "Module "),
				driverScript.says("nvidia-in-use", "Could not unload NVIDIA driver kernel modules, driver is in use").
					speaks("gpu-driver-in-use"),
			},
			Causes: []Cause{
				{
					Slug: "storage-in-use", Title: "NFS, NVMe, iSER or Lustre over RDMA uses the modules",
					Weight: Common,
					Clues: []Clue{
						{Weight: Strong, Contains: "nvme"},
						{Weight: Strong, Contains: "rpcrdma"},
						{
							Weight:   Strong,
							Contains: "ib_isert",
						},
						{Weight: Strong, Contains: "ib_iser"},
					},
					Decide: "lsmod | grep -E 'nvme_rdma|rpcrdma|ib_isert|ko2iblnd'",
					Remedy: "UNLOAD_STORAGE_MODULES=true in ofedDriver.env, after the mounts are gone",
				},
				{
					Slug: "peermem-in-use", Title: "nvidia-peermem holds the modules", Weight: Usual,
					Clues:  []Clue{{Weight: Strong, Contains: "peermem"}},
					Decide: "lsmod | grep peermem",
					Remedy: "end the jobs with GPU Direct RDMA; drain the node before the upgrade",
				},
				{
					Slug:  "third-party-in-use",
					Title: "another RDMA driver (EFA, irdma, bnxt_re, BeeGFS) depends on ib_core", Weight: Usual,
					Decide: "lsmod | grep ib_core", Remedy: "THIRD_PARTY_RDMA_MODULES, or unload them",
				},
				{
					Slug:   "gpu-driver-in-use",
					Title:  "processes, gdrdrv or nvidia-peermem still use the GPU's driver",
					Weight: Usual,
					Decide: "lsmod | grep nvidia; fuser -v /dev/nvidia*",
					Remedy: "drain the node; rmmod gdrdrv nvidia_peermem first",
				},
			},
		},
		{
			ID: "RDX-679", Name: "driver-kernel-headers",
			Title: "the driver pod finds no headers for the node's kernel",
			Explanation: "Driver containers that compile need the headers of exactly the running kernel from the " +
				"distribution's repository.",
			Sources:  []string{"NVIDIA/gpu-driver-container, nvidia-driver", "Mellanox/doca-driver-build, entrypoint"},
			Standing: evidence.Origin,
			Lines: []Line{
				packageManager.says("apt-headers", "Unable to locate package linux-headers-"),
				packageManager.says("apt-modules", "Unable to locate package linux-modules-"),
				packageManager.says("dnf-match", "Unable to find a match: kernel-"),
				packageManager.says("dnf-argument", "No match for argument: kernel-"),
				driverScript.says("kernel-version", "Could not resolve Linux kernel version"),
				driverScript.says("kernel-string", "Could not locate Linux kernel version string"),
				driverScript.says("rhel-version", "Unable to resolve RHEL version from kernel version").
					speaks("entitlement"),
				docaDriver.says("kernel-devel", "failed to install kernel development packages"),
				docaDriver.says("prerequisites", "failed to install prerequisites: ").as(evidence.Failed),
			},
			Causes: []Cause{
				{
					Slug:  "kernel-headers",
					Title: "the repository no longer (or not yet) has headers of the running kernel", Weight: Common,
					Decide: "uname -r on the node; apt-cache madison or dnf list --showduplicates kernel-devel",
					Remedy: "a kernel whose packages are there; a repository mirror by repoConfig; a precompiled " +
						"driver image",
				},
				{
					Slug: "entitlement", Title: "RHEL without subscription in the container", Weight: Usual,
					Clues:  []Clue{{Weight: Hint, Line: "dnf-match"}, {Weight: Hint, Line: "dnf-argument"}},
					Decide: "dnf repolist in the pod", Remedy: "the entitlement, or the driver toolkit of OpenShift",
				},
				{
					Slug: "no-repository", Title: "the node or its proxy can't reach the repository", Weight: Usual,
					Decide: "curl the repository in the pod", Remedy: "HTTP_PROXY in the driver's env; a mirror",
				},
			},
		},
		{
			ID: "RDX-680", Name: "driver-build", Title: "the driver pod could not build or start the driver",
			Explanation: "The lines above say which step failed.",
			Sources:     []string{"Mellanox/doca-driver-build, entrypoint.sh", "Mellanox/network-operator#888"},
			Standing:    evidence.Vague,
			Lines: []Line{
				docaDriver.says("openibd-command", "restart\" failed with exit code", "openibd").as(evidence.Failed).
					speaks("driver-restart"),
				docaDriver.says("command-failed", `" failed with exit code: `, `] Command "`),
				docaDriver.says("openibd", "failed to restart openibd service").as(evidence.Failed).
					speaks("driver-restart"),
				docaDriver.says("dtk-timeout", "waiting DTK compilation").
					as(evidence.Failed).
					speaks("driver-toolkit"),
				docaDriver.says("dtk-timeout-shell", "Timeout (", "DTK compilation").as(evidence.Failed).
					speaks("driver-toolkit"),
				docaDriver.says("driver-ready", "/run/mellanox/drivers/.driver-ready", "No such file or directory").
					speaks("driver-slow"),
				docaDriver.says("build-deb", "Failed to build ", " DEB").as(evidence.Failed).speaks("driver-kernel"),
				docaDriver.says("build-source", "failed to build driver from source: ").as(evidence.Failed).
					speaks("driver-kernel"),
				docaDriver.says("version-env", "Mandatory container driver ver. ENV variable not set").
					as(evidence.Origin).
					speaks("policy-mismatch"),
				docaDriver.says("inventory", "Drivers inventory folder unreachable").as(evidence.Origin).
					speaks("policy-mismatch"),
			},
			Causes: []Cause{
				{
					Slug:   "driver-kernel",
					Title:  "this release of the driver doesn't support the node's kernel or distribution",
					Weight: Common,
					Decide: "the log of the build in the pod (/tmp/*.log); the support matrix of the release",
					Remedy: "another version in ofedDriver.version, or another kernel",
				},
				{
					Slug:  "driver-restart",
					Title: "the modules could not be loaded or unloaded: in use, or secure boot", Weight: Usual,
					Decide: "dmesg: unknown symbol, in use, key was rejected",
					Remedy: "drain the node; blacklist the inbox modules; sign the modules",
				},
				{
					Slug:   "driver-slow",
					Title:  "the driver is still being compiled, or failed to, when the probe looks",
					Weight: Rare, Decide: "kubectl logs of the driver pod: is it still building?",
					Remedy:  "a precompiled image; a longer startupProbe only if it builds",
					Sources: []string{"Mellanox/network-operator#318"},
				},
				{
					Slug:   "driver-toolkit",
					Title:  "the driver toolkit container of OpenShift didn't build: no image for this release",
					Weight: Rare,
					Decide: "oc get istag -n openshift | grep driver-toolkit; its container's log",
					Remedy: "NFD's labels of the OS version; the toolkit's image",
				},
				{
					Slug:  "policy-mismatch",
					Title: "NicClusterPolicy lacks a value, or names a folder that isn't there", Weight: Rare,
					Decide: "kubectl get nicclusterpolicy -o yaml", Remedy: "ofedDriver.version and env",
				},
			},
		},
		{
			ID:    "RDX-681",
			Name:  "driver-waits-for-mofed",
			Title: "the GPU driver waits for the network driver",
			Explanation: "With GPU Direct RDMA the GPU operator waits until a driver pod of the network operator is " +
				"ready, or for the host's driver.",
			Sources: []string{
				"NVIDIA/gpu-operator, cmd/nvidia-validator/main.go",
				"NVIDIA/gpu-driver-container, nvidia-driver",
			},
			Standing: evidence.Waiting,
			Lines: []Line{
				driverScript.says("mofed-not-ready", "MOFED drivers are not ready"),
				driverScript.says("mofed-waiting", "Waiting for MOFED to be installed"),
				networkOperator.says("mofed-init", "waiting for OFED drivers to be loaded").speaks("mofed-not-ready"),
				gpuOperator.says("mofed-validation", "error validating MOFED driver installation"),
			},
			Causes: []Cause{
				{
					Slug:   "mofed-host",
					Title:  "the driver is on the host, and useHostMofed isn't set",
					Weight: Common,
					Decide: "ofed_info -s on the host; driver.rdma.useHostMofed in the ClusterPolicy",
					Remedy: "driver.rdma.useHostMofed=true",
				},
				{
					Slug: "mofed-not-ready", Title: "the network operator's driver pod isn't ready, or there is none",
					Weight: Common,
					Decide: "kubectl get pods -n nvidia-network-operator | grep -E 'mofed|doca'",
					Remedy: "what its log says; ofedDriver in the NicClusterPolicy",
				},
			},
		},
		{
			ID: "RDX-682", Name: "peermem-container", Title: "the container that loads nvidia-peermem failed",
			Explanation: "The container nvidia-peermem-ctr of the driver pod loads nvidia-peermem, which was " +
				"compiled against the ib_core that was there at that time.",
			Sources: []string{
				"NVIDIA/gpu-driver-container, nvidia-driver", "NVIDIA/gpu-operator#2868", "NVIDIA/gpu-operator#2844",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				driverScript.says("peermem-load", "failed to load nvidia-peermem module"),
				driverScript.says("peermem-script", "nvidia-driver: line ", "unbound variable").speaks("driver-image"),
				driverScript.says("peermem-probe", "nvidia-peermem module is not loaded"),
				gpuOperator.says("peermem-validator", "nvidia-peermem driver is not ready").as(evidence.Waiting),
				gpuOperator.says("gdrcopy-validator", "gdrcopy driver is not ready").as(evidence.Waiting),
			},
			Causes: []Cause{
				{
					Slug:   "peermem-build",
					Title:  "the module was built against another ib_core: the network driver changed since",
					Weight: Common,
					Decide: "dmesg | grep -i 'disagrees about version of symbol ib_register_peer_memory_client'",
					Remedy: "restart the driver pod after the network driver's; driver.rdma.useHostMofed=true if " +
						"that is on the host",
				},
				{
					Slug: "driver-image", Title: "the script of the driver's image has a defect for this system",
					Weight: Rare,
					Decide: "the line of the script that the message names", Remedy: "a newer driver image",
					Sources: []string{"NVIDIA/gpu-operator#609"},
				},
				{
					Slug: "mofed-missing", Title: "the inbox ib_core has no peer memory interface", Weight: Usual,
					Decide: "grep ib_register_peer_memory_client /proc/kallsyms",
					Remedy: "DMA-BUF with the open kernel modules (driver.rdma.enabled=false), or DOCA-OFED",
				},
				{
					Slug: "mofed-not-ready", Title: "the network driver isn't loaded yet", Weight: Usual,
					Decide: "kubectl get pods | grep -E 'mofed|doca'; lsmod | grep mlx5_core",
					Remedy: "wait for it, or repair it",
				},
			},
		},
		{
			ID: "RDX-699", Name: "fabric-manager-pod", Title: "the fabric manager of a driver pod didn't start",
			Explanation: "On machines with NVSwitch the GPUs are usable only after the fabric manager, of exactly " +
				"the driver's release, has set up the switches.",
			Sources: []string{
				"NVIDIA/gpu-operator#1595", "NVIDIA/gpu-operator#356",
				"NVIDIA/gpu-driver-container#908",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				driverScript.says("fm-option", "Unknown option: /usr/share/nvidia/nvswitch/fabricmanager.cfg").
					speaks("driver-image"),
				driverScript.says("fm-service", "Job for nvidia-fabricmanager.service failed"),
				driverScript.says("fm-nothing", "NV_WARN_NOTHING_TO_DO").speaks("no-nvswitch"),
			},
			Causes: []Cause{
				{
					Slug: "fabric-manager", Title: "the fabric manager is of another release than the driver",
					Weight: Common,
					Decide: "nv-fabricmanager --version; cat /proc/driver/nvidia/version",
					Remedy: "the package of the driver's release",
				},
				{
					Slug:  "driver-image",
					Title: "the script of the driver's image doesn't fit this generation of NVSwitch", Weight: Usual,
					Decide: "the log of the driver pod", Remedy: "a newer driver image",
				},
				{
					Slug: "no-nvswitch", Title: "the machine has no NVSwitch: it needs no fabric manager",
					Weight: Usual,
					Decide: "lspci | grep -i nvswitch; nvidia-smi topo -m", Remedy: "disable the service",
				},
			},
		},
	}
}
