package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// runtimeSymptoms are about container runtimes and NVIDIA's container toolkit.
func runtimeSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID:          "RDX-688",
			Name:        "nvidia-container-driver",
			Title:       "the container toolkit can't use the NVIDIA driver",
			Explanation: "nvidia-container-cli asks the driver of the host before the container starts.",
			Sources: []string{
				"NVIDIA/libnvidia-container, src/nvc.c",
				"NVIDIA/nvidia-container-toolkit#394", "NVIDIA/k8s-device-plugin#1431",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				nvidiaCLI.says("nvml-mismatch", "initialization error: nvml error: driver/library version mismatch").
					decides("driver-mismatch"),
				nvidiaCLI.says("nvml-not-loaded", "initialization error: nvml error: driver not loaded").
					decides("driver-not-loaded"),
				nvidiaCLI.says("nvml-permissions", "initialization error: nvml error: insufficient permissions").
					speaks("not-privileged"),
				nvidiaCLI.says("nvml-unknown", "initialization error: nvml error: unknown error"),
				nvidiaCLI.says("load-library", "initialization error: load library failed: libnvidia-ml.so").
					speaks("driver-not-loaded"),
				nvidiaCLI.says("cuda-error", "nvidia-container-cli: initialization error: cuda error"),
				nvidiaCLI.says("requirement", "requirement error: unsatisfied condition: cuda").
					decides("driver-too-old"),
			},
			Causes: []Cause{
				{
					Slug:  "driver-mismatch",
					Title: "the driver was updated, and the old kernel module is still loaded", Weight: Usual,
					Decide: "cat /proc/driver/nvidia/version against the package's version",
					Remedy: "a reboot, or reload the modules",
				},
				{
					Slug: "driver-not-loaded", Title: "the driver isn't installed, or its modules aren't loaded",
					Weight: Usual,
					Decide: "nvidia-smi on the host; lsmod | grep nvidia; dmesg",
					Remedy: "install it; modprobe nvidia; sign it with secure boot",
				},
				{
					Slug: "driver-too-old", Title: "the image needs a newer driver", Weight: Rare,
					Decide: "nvidia-smi: CUDA Version, against NVIDIA_REQUIRE_CUDA of the image",
					Remedy: "a newer driver, or an older image",
				},
				{
					Slug: "not-privileged", Title: "the runtime may not open the GPU's device files", Weight: Rare,
					Decide: "ls -l /dev/nvidia*", Remedy: "no-cgroups = true for rootless runtimes; the permissions",
				},
				{
					Slug: "gpu-hardware", Title: "a GPU has failed or fallen off the bus", Weight: Rare,
					Decide: "nvidia-smi; dmesg | grep -i xid", Remedy: "reset or replace it",
				},
			},
		},
		{
			ID: "RDX-689", Name: "nvidia-container-setup", Title: "the container toolkit can't set up the container",
			Explanation: "GPU names, control groups and libraries of the image must fit.",
			Sources:     []string{"NVIDIA/libnvidia-container, src", "NVIDIA/nvidia-container-toolkit, cmd"},
			Standing:    evidence.Origin,
			Lines: []Line{
				nvidiaCLI.says("unknown-device", "nvidia-container-cli: device error: ").speaks("gpu-missing"),
				nvidiaCLI.says("bpf-program", "bpf_prog_query(BPF_CGROUP_DEVICE) failed").speaks("cgroup-version"),
				nvidiaCLI.says("cgroup-devices", "container error: cgroup subsystem devices not found").
					speaks("cgroup-version"),
				nvidiaCLI.says("cgroup-path", "nvidia-container-cli: mount error: open failed: /sys/fs/cgroup").
					not("ermission denied").speaks("cgroup-version"),
				nvidiaCLI.says("cgroup-apply", "failed to add device rules: ").not("BPF_CGROUP_DEVICE").
					speaks("cgroup-version"),
				nvidiaCLI.says("file-exists", "nvidia-container-cli: mount error: file creation failed", "file exists").
					speaks("driver-in-image"),
				nvidiaCLI.says("ldcache", "nvidia-container-cli: ldcache error: ").not("open failed: /sbin/ldconfig"),
				nvidiaToolkit.says("hook-mode", "invoking the NVIDIA Container Runtime Hook directly").
					speaks("runtime-mode"),
				dockerDaemon.says("no-driver", `could not select device driver "`, "with capabilities: [[gpu]]").
					speaks("no-toolkit"),
				dockerDaemon.says("no-runtime", "nknown or invalid runtime name: nvidia").speaks("no-toolkit"),
				kubelet.says("no-runtime-handler", `no runtime for "nvidia" is configured`).speaks("no-toolkit"),
				dockerDaemon.says("runtime-missing", "nvidia-container-runtime", "executable file not found").
					speaks("no-toolkit"),
			},
			Causes: []Cause{
				{
					Slug:   "no-toolkit",
					Title:  "the NVIDIA container toolkit isn't installed, or not configured for this runtime",
					Weight: Usual,
					Decide: "nvidia-ctk --version; docker info | grep -i runtime; containerd config dump | grep nvidia",
					Remedy: "nvidia-ctk runtime configure --runtime=docker|containerd|crio, and restart the runtime",
				},
				{
					Slug: "gpu-missing", Title: "NVIDIA_VISIBLE_DEVICES names a GPU that this node doesn't have",
					Weight: Usual,
					Decide: "nvidia-smi -L", Remedy: "an index or UUID of this node",
				},
				{
					Slug:   "cgroup-version",
					Title:  "control groups and the toolkit's release don't fit",
					Weight: Usual,
					Decide: "stat -fc %T /sys/fs/cgroup",
					Remedy: "a newer toolkit for cgroup v2; no-cgroups = true for rootless runtimes",
				},
				{
					Slug:   "driver-in-image",
					Title:  "the image contains libraries of the driver",
					Weight: Usual,
					Decide: "find / -name 'libnvidia-ml.so*' in the image",
					Remedy: "an image without driver packages",
				},
				{
					Slug: "runtime-mode", Title: "--gpus is used, and the toolkit is in CDI mode", Weight: Rare,
					Decide: "nvidia-container-runtime's config.toml: mode",
					Remedy: "--runtime=nvidia or --device nvidia.com/gpu=all",
				},
			},
		},
		{
			ID: "RDX-690", Name: "cdi", Title: "a CDI device has no specification on the node",
			Explanation: "Runtimes find devices such as nvidia.com/gpu=0 or rdma/... in files of /etc/cdi and " +
				"/var/run/cdi.",
			Sources: []string{"cncf-tags/container-device-interface, pkg/cdi/cache.go"}, Standing: evidence.Origin,
			Lines: []Line{
				cdiLibrary.says("unresolvable", "unresolvable CDI devices "),
				cdiLibrary.says("inject", "CDI device injection failed"),
			},
			Causes: []Cause{
				{
					Slug: "cdi-spec", Title: "the specification is missing, stale or of other names", Weight: Common,
					Decide: "nvidia-ctk cdi list; ls /etc/cdi /var/run/cdi",
					Remedy: "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, again after each " +
						"change of driver or GPUs; restart the device plugin",
				},
				{
					Slug: "cdi-off", Title: "CDI is off in the runtime, or its folders differ", Weight: Rare,
					Decide: "containerd config dump | grep cdi", Remedy: "enable_cdi = true",
				},
			},
		},
		{
			ID: "RDX-691", Name: "runtime-limits", Title: "the runtime may not raise a limit for the container",
			Explanation: "A container without privileges can't have a higher limit than the runtime itself.",
			Sources: []string{
				"opencontainers/runc, libcontainer/rlimits_linux.go",
				"containers/crun, src/libcrun",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				runcText.says("rlimit", "error setting rlimit type 8").decides("memlock"),
				runcText.says("rlimit-crun", "setrlimit `RLIMIT_MEMLOCK`").decides("memlock"),
				runcText.says("rlimit-files", "error setting rlimit type 7").decides("file-limit"),
				runcText.says("rlimit-ebpf", "setrlimit (RLIM_MEMLOCK)").speaks("not-privileged"),
			},
			Causes: []Cause{
				{
					Slug: "memlock", Title: "the limit of locked memory of the runtime or the user is too small",
					Weight: Usual,
					Decide: "ulimit -l of the user; systemctl show docker -p LimitMEMLOCK",
					Remedy: "LimitMEMLOCK=infinity for the runtime's service; memlock unlimited in limits.conf for " +
						"rootless containers",
				},
				{
					Slug:   "file-limit",
					Title:  "the limit of open files of the runtime or the user is smaller than the one asked for",
					Weight: Rare, Decide: "ulimit -Hn of the user",
					Remedy: "nofile in limits.conf, or a smaller --ulimit nofile",
				},
				{
					Slug:  "not-privileged",
					Title: "crun sets up device rules by eBPF, which a rootless runtime may not", Weight: Rare,
					Decide:  "podman info: rootless, cgroup version",
					Remedy:  "no device rules, or a runtime with privileges",
					Sources: []string{"containers/crun#255", "containers/crun#1388"},
				},
			},
		},
		{
			ID:    "RDX-692",
			Name:  "gpu-lost-in-container",
			Title: "a container has no access to its GPUs, or has lost them",
			Explanation: "systemd rewrites the device rules of a container's control group when it reloads, and GPUs " +
				"that the hook added get lost. With no-cgroups the hook never adds them.",
			Sources:  []string{"NVIDIA/nvidia-docker#1671", "NVIDIA/nvidia-container-toolkit#48"},
			Standing: evidence.Origin,
			Lines: []Line{
				nvidiaToolkit.says("nvml-unknown-error", "Failed to initialize NVML: Unknown Error"),
			},
			Causes: []Cause{
				{
					Slug:  "cgroup-reload",
					Title: "a daemon-reload of systemd, or the CPU manager, took the GPU's rules away", Weight: Common,
					Decide: "the time of the last daemon-reload; nvidia-smi on the host works",
					Remedy: "CDI, or --device for each /dev/nvidia*; nvidia-ctk system create-dev-char-symlinks",
				},
				{
					Slug:    "setting-invalid",
					Title:   "no-cgroups = true is in config.toml, and the runtime isn't rootless",
					Weight:  Usual,
					Decide:  "does it fail from the start? grep no-cgroups /etc/nvidia-container-runtime/config.toml",
					Remedy:  "no-cgroups = false, and restart the runtime; --privileged for a try",
					Sources: []string{"NVIDIA/nvidia-container-toolkit#381"},
				},
				{
					Slug: "driver-mismatch", Title: "the driver was changed while the container ran", Weight: Rare,
					Decide: "nvidia-smi on the host", Remedy: "restart the container",
				},
			},
		},
		{
			ID: "RDX-907", Name: "nvidia-smi", Title: "nvidia-smi can't use the driver",
			Explanation: "It needs the driver's library, the loaded modules and the device files; in a container " +
				"the runtime puts them there.",
			Sources:  []string{"NVIDIA/nvidia-container-toolkit#210", "NVML API, nvmlErrorString"},
			Standing: evidence.Failed,
			Lines: []Line{
				nvidiaSMI.says("smi-permissions", "Failed to initialize NVML: Insufficient Permissions").
					as(evidence.Origin).speaks("not-privileged"),
				nvidiaSMI.says("smi-not-loaded", "Failed to initialize NVML: Driver Not Loaded").
					speaks("driver-not-loaded"),
				nvidiaSMI.says("smi-blocked", "Failed to initialize NVML: GPU access blocked by the operating system").
					speaks("driver-mismatch"),
				nvidiaSMI.says("smi-driver",
					"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver").
					speaks("driver-not-loaded"),
				nvidiaSMI.says("smi-library", "NVIDIA-SMI couldn't find libnvidia-ml.so").speaks("no-toolkit"),
			},
			Causes: []Cause{
				{
					Slug: "driver-not-loaded", Title: "the driver isn't installed, or its modules aren't loaded",
					Weight: Usual,
					Decide: "lsmod | grep nvidia; dkms status; dmesg | grep -i nvrm; mokutil --sb-state",
					Remedy: "the kernel's headers and the driver again; modprobe nvidia; sign it with secure boot",
				},
				{
					Slug: "no-toolkit", Title: "the container doesn't run with the NVIDIA runtime", Weight: Usual,
					Decide: "docker info | grep -i runtime; NVIDIA_DRIVER_CAPABILITIES has utility",
					Remedy: "--gpus all, or runtimeClassName: nvidia; NVIDIA_DRIVER_CAPABILITIES=compute,utility",
				},
				{
					Slug: "not-privileged", Title: "the process may not open the GPU's device files", Weight: Rare,
					Decide: "ls -l /dev/nvidia*; id; ausearch -m avc -ts recent",
					Remedy: "the group of the files (rootless podman: --group-add keep-groups); " +
						"NVreg_DeviceFileMode; --security-opt label=disable",
					Sources: []string{"NVIDIA/nvidia-container-toolkit#210"},
				},
				{
					Slug: "driver-mismatch", Title: "the driver's library and the host's driver don't fit",
					Weight: Rare,
					Decide: "the driver of the host (of Windows for WSL) against the library's version",
					Remedy: "no driver packages inside WSL or the image; a reboot",
				},
			},
		},
		{
			ID: "RDX-693", Name: "gpu-plugin-empty", Title: "the GPU device plugin finds no GPU",
			Explanation: "The plugin must run with the NVIDIA runtime to see the driver's libraries.",
			Sources:     []string{"NVIDIA/k8s-device-plugin, internal/rm"}, Standing: evidence.Failed,
			Lines: []Line{
				gpuPlugin.says("gpu-none", "No devices found. Waiting indefinitely."),
				gpuPlugin.says("gpu-not-a-node",
					"If this is not a GPU node, you should set up a toleration or nodeSelector"),
				gpuPlugin.says("gpu-nvml", "NVML not detected: "),
			},
			Causes: []Cause{
				{
					Slug: "no-toolkit", Title: "the plugin doesn't run with the NVIDIA runtime", Weight: Common,
					Decide: "runtimeClassName of the plugin; the default runtime of containerd",
					Remedy: "nvidia as default runtime, or runtimeClassName: nvidia",
				},
				{
					Slug: "driver-not-loaded", Title: "the driver isn't loaded on this node", Weight: Usual,
					Decide: "nvidia-smi on the node", Remedy: "the driver, or the GPU operator's driver pod",
				},
				{
					Slug: "gpu-missing", Title: "the node has no GPU", Weight: Rare, Decide: "lspci | grep -i nvidia",
					Remedy: "a nodeSelector for the plugin",
				},
			},
		},
	}
}
