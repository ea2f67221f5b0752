package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

var (
	driverInstaller = source{Kubernetes, "NVIDIA/nvidia-installer and gpu-driver-container, nvidia-driver"}
	driverManager   = source{Kubernetes, "NVIDIA/k8s-driver-manager"}
	seLinux         = source{Kubernetes, "Linux, security/selinux/avc.c"}
)

// gpuPodSymptoms are about pods of the GPU operator and its device plugin, and about devices in
// containers.
func gpuPodSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-897", Name: "gpu-plugin-nvml", Title: "a GPU plugin can't use the driver's library in its " +
				"container",
			Explanation: "The plugin's image has no driver libraries: the NVIDIA runtime must put them there.",
			Sources:     []string{"NVIDIA/k8s-device-plugin, internal/rm", "NVIDIA/k8s-device-plugin#23"},
			Standing:    evidence.Origin,
			Lines: []Line{
				gpuPlugin.says("nvml-load", "could not load NVML library"),
				gpuPlugin.says("nvml-init-library", "nvml init failed: ERROR_LIBRARY_NOT_FOUND"),
				gpuPlugin.says("nvml-init", "nvml init failed: ").not("ERROR_LIBRARY_NOT_FOUND"),
				gpuPlugin.says("nvml-library", "nitialize NVML: ERROR_LIBRARY_NOT_FOUND"),
				gpuPlugin.says("nvml-initialize", "nitialize NVML: ERROR_").not("ERROR_LIBRARY_NOT_FOUND"),
				gpuPlugin.says("nvml-strategy", "Incompatible strategy detected ").as(evidence.Failed),
				gpuPlugin.says("platform", "Incompatible platform detected").as(evidence.Failed),
				gpuPlugin.says("gpu-runtime-hint", "If this is a GPU node, did you ").as(evidence.Vague),
			},
			Causes: []Cause{
				{
					Slug:   "no-toolkit",
					Title:  "the plugin doesn't run with the NVIDIA runtime",
					Weight: Common,
					Clues: []Clue{
						onText(Strong, "could not load NVML library", "no library of the driver is in the container"),
						onText(Strong, "LIBRARY_NOT_FOUND", "no library of the driver is in the container"),
						onText(Hint, "Incompatible", "no platform with GPUs was detected"),
					},
					Decide: "containerd config dump (docker info): default runtime; runtimeClassName of the plugin",
					Remedy: "nvidia-ctk runtime configure --runtime=containerd --set-as-default and a restart; or " +
						"runtimeClassName: nvidia in the plugin's pod",
				},
				{
					Slug: "driver-not-loaded", Title: "the driver isn't installed or loaded on this node",
					Weight: Usual,
					Clues: []Clue{
						onText(Strong, "DRIVER_NOT_LOADED", "the driver isn't loaded"),
						onText(Strong, "Driver Not Loaded", "the driver isn't loaded"),
					},
					Decide: "nvidia-smi on the node", Remedy: "the driver, or the GPU operator's driver pod",
				},
				{
					Slug:   "driver-mismatch",
					Title:  "the driver was updated, and the old kernel module is still loaded",
					Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "LIB_RM_VERSION_MISMATCH", "library and module differ"),
						onText(Decisive, "version mismatch", "library and module differ"),
					},
					Decide: "cat /proc/driver/nvidia/version against nvidia-smi's", Remedy: "a reboot",
				},
				{
					Slug:   "not-privileged",
					Title:  "the plugin lacks a privilege: SYS_ADMIN, or SELinux denies it",
					Weight: Rare,
					Clues:  []Clue{onText(Strong, "NO_PERMISSION", "the device files can't be opened")},
					Decide: "securityContext of the plugin", Remedy: "privileged, or capability SYS_ADMIN",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU has failed or fallen off the bus", Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "GPU_IS_LOST", "a GPU is lost"), onText(Strong, "ERROR_UNKNOWN", ""),
					},
					Decide: "nvidia-smi; dmesg | grep -i xid", Remedy: "reset or replace it",
				},
			},
		},
		{
			ID: "RDX-898", Name: "mig-layout", Title: "a GPU plugin finds MIG devices that don't fit its strategy",
			Explanation: "With migStrategy single, all GPUs of a node have MIG devices of one kind.",
			Sources:     []string{"NVIDIA/k8s-device-plugin, internal/rm"}, Standing: evidence.Origin,
			Lines: []Line{
				gpuPlugin.says("mig-mixed",
					"all devices on the node must be configured with the same migEnabled value"),
				gpuPlugin.says("mig-types", "more than one MIG device type present on node"),
				gpuPlugin.says("mig-wrong", "at least one device with migEnabled=true was not configured correctly"),
				gpuPlugin.says("mig-single", "Invalid configuration detected for mig-strategy=single"),
				gpuPlugin.says("shared-size", "maximum request size for shared resources is 1"),
			},
			Causes: []Cause{
				{
					Slug:   "plugin-config",
					Title:  "MIG layout or sharing of the node and the plugin's strategy differ",
					Weight: Common,
					Decide: "nvidia-smi -L; nvidia.com/mig.config of the node; migStrategy, sharing of the plugin",
					Remedy: "migStrategy: mixed, or one layout for all GPUs; at most one shared GPU per container",
				},
			},
		},
		{
			ID: "RDX-899", Name: "nvidia-driver-install",
			Title:       "a kernel module, such as the NVIDIA driver's, could not be built or loaded",
			Explanation: "The installer writes the reason in its own log; the kernel's log has that of a module.",
			Sources:     []string{"NVIDIA/nvidia-installer", "NVIDIA/gpu-driver-container, nvidia-driver"},
			Standing:    evidence.Failed,
			Lines: []Line{
				driverInstaller.says("nouveau-in-use", "he Nouveau kernel driver is currently in use").
					as(evidence.Origin).decides("nouveau"),
				driverInstaller.says("installer-load", "ERROR: Unable to load the kernel module 'nvidia").
					as(evidence.Failed),
				driverInstaller.says("installer-loading", "ERROR: Unable to load the 'nvidia").as(evidence.Failed),
				driverInstaller.says("installer-build", "ERROR: An error occurred while performing the step").
					speaks("driver-kernel"),
				driverInstaller.says("installer-modules", "ERROR: Unable to build the NVIDIA kernel module").
					speaks("driver-kernel"),
				driverInstaller.says("installer-source", "ERROR: Unable to find the kernel source tree").
					as(evidence.Origin).speaks("kernel-headers"),
				driverInstaller.says("installer-running", "An NVIDIA kernel module 'nvidia",
					"appears to already be loaded").
					as(evidence.Origin).speaks("gpu-driver-in-use"),
				driverScript.says("instance-running", "An instance of the NVIDIA driver is already running, aborting").
					as(evidence.Origin).
					speaks("gpu-driver-in-use"),
				driverInstaller.says("kernel-build-folder", "/build: No such file or directory.  Stop.").
					as(evidence.Origin).speaks("kernel-headers"),
				driverInstaller.says("kernel-build-directory", "/build: No such file or directory. Stop.").
					as(evidence.Origin).speaks("kernel-headers"),
				driverInstaller.says("compiler-option", "unrecognized command-line option", "gcc").
					any("nvidia", "NVIDIA").
					speaks("compiler"),
				driverInstaller.says("compiler-option-old", "unrecognized command line option", "gcc").
					any("nvidia", "NVIDIA").
					speaks("compiler"),
				driverInstaller.says("compiler-missing", "/bin/sh: 1: gcc-", ": not found").as(evidence.Origin).
					speaks("compiler"),
				driverScript.says("compiler-version", "kernel requires gcc version: 'gcc-").as(evidence.Vague).
					speaks("compiler"),
				driverInstaller.says("gpl-only", "GPL-incompatible module nvidia", "uses GPL-only symbol").
					as(evidence.Origin).decides("driver-kernel"),
				driverInstaller.says("implicit", "/kernel/nvidia", "error: implicit declaration of function").
					as(evidence.Origin).speaks("driver-kernel"),
				driverInstaller.says("too-few", "/kernel/nvidia", "error: too few arguments to function").
					as(evidence.Origin).speaks("driver-kernel"),
				driverInstaller.says("no-member", "/kernel/nvidia", "error: ", " has no member named ").
					as(evidence.Origin).speaks("driver-kernel"),
				driverScript.says("driver-source", "Failed to find NVIDIA driver source, exiting").
					speaks("driver-image"),
				driverScript.says("elfutils", "failed to install elfutils-libel-devel").as(evidence.Origin).
					speaks("entitlement"),
				driverScript.says("rhel-repositories", "failed to reach RHEL package repositories").
					as(evidence.Origin).speaks("entitlement"),
				driverManager.says("manager-uninstall", "Failed to uninstall nvidia driver components").
					speaks("gpu-driver-in-use"),
				driverManager.says("manager-drain", "Failed to drain node of GPU pods").speaks("drain-blocked"),
				driverManager.says("manager-cordon", "Unable to cordon node").speaks("drain-blocked"),
			},
			Causes: []Cause{
				{
					Slug: "nouveau", Title: "the kernel's own driver nouveau has the GPU", Weight: Usual,
					Decide: "lsmod | grep nouveau",
					Remedy: "blacklist nouveau, options nouveau modeset=0; a new initramfs and reboot",
				},
				{
					Slug:   "driver-kernel",
					Title:  "this release of the driver doesn't compile or load with the node's kernel",
					Weight: Usual,
					Decide: "/var/log/nvidia-installer.log; dmesg; uname -r against the release notes",
					Remedy: "a newer driver, or an older kernel; the open modules for new GPUs",
				},
				{
					Slug:   "compiler",
					Title:  "the compiler isn't the one that the kernel was built with",
					Weight: Usual,
					Decide: "cat /proc/version against gcc --version in the pod",
					Remedy: "a driver image of this distribution's release with that compiler; a precompiled driver",
				},
				{
					Slug: "kernel-headers", Title: "the headers of the running kernel are missing", Weight: Usual,
					Decide: "ls -l /lib/modules/$(uname -r)/build", Remedy: "linux-headers-$(uname -r), kernel-devel",
				},
				{
					Slug: "module-signature", Title: "secure boot refuses a module without a trusted key",
					Weight: Usual,
					Clues: []Clue{
						onText(Decisive, "Key was rejected", ""), onText(Decisive, "Required key not available", ""),
					},
					Decide: "mokutil --sb-state; dmesg",
					Remedy: "sign it, or secure boot off; a signed precompiled driver",
				},
				{
					Slug: "gpu-driver-in-use", Title: "the old driver is still loaded and in use", Weight: Usual,
					Decide: "lsmod | grep nvidia; fuser -v /dev/nvidia*; systemctl status nvidia-persistenced",
					Remedy: "driver.enabled=false if the host has a driver; else end what uses it, or reboot",
				},
				{
					Slug: "drain-blocked", Title: "pods on the node can't be moved away before the driver's update",
					Weight: Rare,
					Decide: "kubectl drain NODE --dry-run=server; ENABLE_AUTO_DRAIN, DRAIN_ options of the driver " +
						"manager",
					Remedy: "the pods without controller, with local data or a disruption budget",
				},
				{
					Slug: "entitlement", Title: "the container has no subscription, or can't reach the packages",
					Weight: Rare,
					Decide: "dnf repolist in the pod; its proxy",
					Remedy: "the entitlement, or OpenShift's driver toolkit",
				},
				{
					Slug: "driver-image", Title: "the image of the driver isn't complete", Weight: Rare,
					Decide: "driver.version and usePrecompiled", Remedy: "another release",
				},
			},
		},
		{
			ID: "RDX-900", Name: "nvidia-container-files", Title: "the container toolkit can't put a file " +
				"into the container",
			Explanation: "nvidia-container-cli mounts the driver's libraries and devices into the container, and " +
				"runs ldconfig in it.",
			Sources:  []string{"NVIDIA/libnvidia-container, src", "NVIDIA/nvidia-docker#1155"},
			Standing: evidence.Origin,
			Lines: []Line{
				nvidiaCLI.says("cli-ldconfig", "ldcache error: open failed: /sbin/ldconfig").
					decides("setting-invalid"),
				nvidiaCLI.says("cli-mount", "nvidia-container-cli: mount error: ").
					not("/fs/cgroup", "cgroup subsystem", "BPF_CGROUP", "file creation failed",
						"failed to add device rules"),
				nvidiaCLI.says("cli-cgroup-write", "nvidia-container-cli: mount error: ", "/fs/cgroup",
					"ermission denied").speaks("not-privileged"),
				nvidiaCLI.says("cli-detection", "nvidia-container-cli: detection error: "),
				nvidiaCLI.says("cli-permission", "nvidia-container-cli: permission error: ").speaks("not-privileged"),
				nvidiaCLI.says("cli-driver", "nvidia-container-cli: initialization error: driver error: "),
				nvidiaCLI.says("cli-driver-rpc", "initialization error: driver rpc error"),
				nvidiaCLI.says("cli-container", "nvidia-container-cli: container error: ").
					not("cgroup subsystem devices not found"),
				nvidiaCLI.says("cli-wsl", "WSL environment detected but no adapters were found"),
			},
			Causes: []Cause{
				{
					Slug:   "driver-not-loaded",
					Title:  "driver and toolkit don't fit: modules missing, or a half update",
					Weight: Usual,
					Decide: "nvidia-smi on the host; nvidia-container-cli -k -d /dev/tty info",
					Remedy: "reinstall the driver; a reboot; restart the runtime",
				},
				{
					Slug: "setting-invalid", Title: "config.toml of the toolkit names what this host doesn't have",
					Weight: Usual,
					Decide: "ldconfig and root in /etc/nvidia-container-runtime/config.toml",
					Remedy: `ldconfig = "@/sbin/ldconfig" (ldconfig.real on Ubuntu)`,
				},
				{
					Slug:   "not-privileged",
					Title:  "a rootless runtime, LXC or SELinux doesn't allow it",
					Weight: Usual,
					Clues: []Clue{
						onText(Strong, "ermitted", ""), onText(Strong, "ermission denied", ""),
						onText(Hint, "OCI runtime error", "so says Podman"),
					},
					Decide: "no-cgroups in config.toml; ausearch -m avc",
					Remedy: "no-cgroups = true for rootless runtimes; --security-opt=label=disable",
				},
				{
					Slug: "driver-in-image", Title: "a file of the image is where a library of the driver belongs",
					Weight: Rare,
					Clues:  []Clue{onText(Strong, "file exists", ""), onText(Hint, "not a directory", "")},
					Decide: "find / -name 'libnvidia-ml.so*' -o -name 'libcuda.so*' in the image",
					Remedy: "an image without driver files",
				},
			},
		},
		{
			ID: "RDX-901", Name: "device-file", Title: "a device file that a container needs isn't on the host",
			Explanation: "Runtimes refuse to start a container with a device that isn't there: its driver isn't " +
				"loaded, or made no file.",
			Sources: []string{"moby/moby, daemon/oci_linux.go", "containers/podman"}, Standing: evidence.Origin,
			Lines: []Line{
				dockerDaemon.says("custom-device-gpu", "while adding custom device \"/dev/nvidia"),
				dockerDaemon.says("custom-device-amd", "while adding custom device \"/dev/kfd"),
				dockerDaemon.says("custom-device-dri", "while adding custom device \"/dev/dri"),
				dockerDaemon.says("custom-device-gdr", "while adding custom device \"/dev/gdrdrv").
					speaks("gdrcopy"),
				dockerDaemon.says("custom-device-vfio", "while adding custom device \"/dev/vfio"),
				containerd.says("stat-gpu", "stat /dev/nvidia", "no such file or directory"),
			},
			Causes: []Cause{
				{
					Slug: "driver-not-loaded", Title: "the driver of that device isn't loaded on the host",
					Weight: Common,
					Decide: "ls /dev/nvidia* /dev/kfd /dev/dri on the host; lsmod",
					Remedy: "load it; nvidia-modprobe -u -c=0 makes the files",
				},
				{
					Slug: "gdrcopy", Title: "the module gdrdrv of GDRCopy isn't loaded", Weight: Rare,
					Decide: "lsmod | grep gdrdrv", Remedy: "modprobe gdrdrv, or no /dev/gdrdrv in the container",
				},
				{
					Slug: "wrong-device", Title: "the host has fewer or other devices than are named", Weight: Usual,
					Decide: "nvidia-smi -L; the --device options", Remedy: "--gpus all, or the devices of this host",
				},
			},
		},
		{
			ID: "RDX-902", Name: "selinux", Title: "SELinux denies a container its device",
			Explanation: "Containers of type container_t may not use device files of other types.",
			Sources:     []string{"Linux, security/selinux/avc.c"}, Standing: evidence.Failed,
			Lines: []Line{
				seLinux.says("avc-infiniband", "avc:  denied  {", "infiniband_device_t").speaks("selinux"),
				seLinux.says("avc-uverbs", "avc:  denied  {", "uverbs").speaks("selinux"),
				seLinux.says("avc-nvidia", "avc:  denied  {", "nvidia", "container_t").speaks("selinux"),
				seLinux.says("avc-xserver", "avc:  denied  {", "xserver_misc_device_t").speaks("selinux"),
			},
			Causes: []Cause{
				{
					Slug: "selinux", Title: "SELinux doesn't allow the container to use the device", Weight: Common,
					Decide: "ausearch -m avc -ts recent; setenforce 0 for a try",
					Remedy: "setsebool -P container_use_devices 1; --security-opt label=disable; a policy module",
				},
			},
		},
		{
			ID: "RDX-903", Name: "pod-placement", Title: "no node takes the pod: taints, labels or affinity",
			Explanation: "Nodes with GPUs often have taints, which a pod must tolerate; labels come from node " +
				"feature discovery.",
			Sources: []string{"kubernetes/kubernetes, pkg/scheduler/framework/plugins"}, Standing: evidence.Origin,
			Lines: []Line{
				scheduler.says("taint-nvidia", "untolerated taint {nvidia.com/", "nodes are available"),
				scheduler.says("taint-nvidia-old", "had taint {nvidia.com/", "nodes are available"),
				scheduler.says("taint-amd", "untolerated taint {amd.com/", "nodes are available"),
				scheduler.says("taint-sku", "untolerated taint {sku: gpu", "nodes are available"),
			},
			Causes: []Cause{
				{
					Slug: "taint", Title: "the nodes have a taint that the pod doesn't tolerate", Weight: Common,
					Decide: "kubectl describe node: Taints",
					Remedy: "the toleration in the pod, or in the plugin's DaemonSet",
				},
				{
					Slug: "resource-not-offered", Title: "the other nodes don't offer the device", Weight: Rare,
					Clues:  []Clue{onText(Hint, "Insufficient", "")},
					Decide: "kubectl get nodes -o yaml: allocatable", Remedy: "the device plugin on these nodes",
				},
			},
		},
		{
			ID:    "RDX-910",
			Name:  "gpu-validator",
			Title: "the GPU operator's validator refuses a component",
			Explanation: "Its init containers check the driver, the toolkit, CUDA and the plugin in this order; the " +
				"other pods wait for them.",
			Sources: []string{
				"NVIDIA/gpu-operator, cmd/nvidia-validator/main.go", "NVIDIA/gpu-operator#671",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				gpuOperator.says("validator-driver", "error validating driver installation: "),
				gpuOperator.says("validator-toolkit", "error validating toolkit installation: ").speaks("no-toolkit"),
				gpuOperator.says("validator-cuda", "error validating cuda workload: "),
				gpuOperator.says("validator-plugin", "error validating plugin installation: ").speaks("plugin-away"),
				gpuOperator.says("validator-peermem", "error validating nvidia-peermem driver installation: ").
					speaks("peermem-missing"),
				gpuOperator.says("validator-gdrcopy", "error validating gdrcopy driver installation: ").
					speaks("gdrcopy"),
				gpuOperator.says("validator-wait", "failed to validate the driver, retrying after").
					as(evidence.Waiting),
			},
			Causes: []Cause{
				{
					Slug: "driver-not-loaded", Title: "the driver isn't ready, on the host or in its pod",
					Weight: Usual,
					Decide: "nvidia-smi on the host; the log of the driver's pod", Remedy: "what they say",
				},
				{
					Slug:   "setting-invalid",
					Title:  "the validator loads a module of the driver that this host doesn't have or can't use",
					Weight: Rare,
					Clues: []Clue{
						onText(Decisive, "symlink", "links in /dev/char could not be made"),
						onText(Hint, "failed to load module", ""),
					},
					Decide: "modprobe nvidia-uvm nvidia-modeset on the host",
					Remedy: "validator.driver.env DISABLE_DEV_CHAR_SYMLINK_CREATION=true; or the missing modules",
				},
				{
					Slug: "no-toolkit", Title: "the runtime isn't configured for the toolkit", Weight: Rare,
					Decide: "containerd config dump | grep nvidia; the log of the toolkit's pod",
					Remedy: "CONTAINERD_CONFIG and CONTAINERD_SOCKET of the toolkit (k3s, RKE2, microk8s)",
				},
				{
					Slug: "plugin-away", Title: "the device plugin offers no GPU", Weight: Rare,
					Decide: "the log of the device plugin", Remedy: "what it says",
				},
				{
					Slug: "peermem-missing", Title: "nvidia-peermem isn't loaded", Weight: Rare,
					Decide: "lsmod | grep peermem; the log of nvidia-peermem-ctr",
					Remedy: "driver.rdma.enabled, useHostMofed if OFED is on the host",
				},
				{
					Slug: "gdrcopy", Title: "the module gdrdrv of GDRCopy isn't loaded", Weight: Rare,
					Decide: "lsmod | grep gdrdrv", Remedy: "the log of nvidia-gdrcopy-ctr",
				},
			},
		},
	}
}
