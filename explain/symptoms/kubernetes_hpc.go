package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// clusterContainerSymptoms are about containers of batch systems, and the remaining lines of pods.
func clusterContainerSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-694", Name: "launcher-ssh", Title: "the launcher of an MPI job can't log in to a worker",
			Explanation: "mpirun starts its daemons by ssh. In Kubernetes workers must run sshd and have the job's " +
				"key before the launcher begins.",
			Sources:  []string{"openssh/openssh-portable, sshconnect.c", "Azure/aks-rdma-infiniband#30"},
			Standing: evidence.Failed,
			Lines: []Line{
				sshClient.says("ssh-key", "Permission denied (publickey").not("git@"),
				sshClient.says("ssh-host-key", "Host key verification failed."),
				sshClient.says("ssh-kex", "kex_exchange_identification: ").not("sshd", "error: "),
				sshClient.says("ssh-refused", "ssh: connect to host ", "Connection refused").speaks("sshd-missing"),
				sshClient.says("ssh-timeout", "ssh: connect to host ", "Connection timed out").speaks("firewall"),
				source{Kubernetes, "bash"}.says("sshd-none", "sshd: No such file or directory").as(evidence.Origin).
					speaks("sshd-missing"),
				sshClient.says("ssh-key-mode", "WARNING: UNPROTECTED PRIVATE KEY FILE!").speaks("ssh-keys"),
				sshClient.says("ssh-key-open", "are too open.", "ermissions 0").speaks("ssh-keys"),
				sshClient.says("ssh-key-load", "Load key \"", "id_").any("error in libcrypto", "invalid format",
					"ermission denied").speaks("ssh-keys"),
				sshClient.says("ssh-password", "Permission denied, please try again.").speaks("ssh-keys"),
				sshServer.says("sshd-modes", "Authentication refused: bad ownership or modes for").
					as(evidence.Origin).decides("ssh-keys"),
				sshServer.says("sshd-no-keys", "sshd: no hostkeys available").as(evidence.Origin).
					decides("sshd-missing"),
				sshServer.says("sshd-folder", "Missing privilege separation directory: /run/sshd").
					as(evidence.Origin).decides("sshd-missing"),
				sshServer.says("sshd-folder-var", "Missing privilege separation directory: /var/run/sshd").
					as(evidence.Origin).decides("sshd-missing"),
				sshServer.says("sshd-user", "Privilege separation user sshd does not exist").as(evidence.Origin).
					decides("sshd-missing"),
				sshServer.says("sshd-chroot", "chroot(\"", "sshd\"): Operation not permitted").as(evidence.Origin).
					speaks("not-privileged"),
				sshServer.says("sshd-command", "sshd: command not found").as(evidence.Origin).
					decides("sshd-missing"),
				sshClient.says("ssh-command", "ssh: command not found").as(evidence.Origin).decides("ssh-client"),
				kubectlExec.says("kubexec-container", "unable to upgrade connection: container not found").
					speaks("workers-not-ready"),
				kubectlExec.says("kubexec-forbidden", "cannot create resource \"pods/exec\"").as(evidence.Origin).
					speaks("not-privileged"),
			},
			Causes: []Cause{
				{
					Slug:   "ssh-keys",
					Title:  "the key of the job isn't accepted: missing, wrong user, or wrong permissions",
					Weight: Common,
					Clues:  []Clue{{Weight: Hint, Line: "ssh-key"}, {Weight: Hint, Line: "ssh-host-key"}},
					Decide: "ssh -v WORKER in the launcher",
					Remedy: "sshAuthMountPath of the MPIJob for the image's user; StrictHostKeyChecking no; " +
						"StrictModes no in " +
						"sshd_config, or chmod 700 for the home folder and .ssh, 600 for keys",
				},
				{
					Slug:   "sshd-missing",
					Title:  "sshd isn't running in the worker, or on another port",
					Weight: Usual,
					Decide: "the worker's log; ss -ltn in it",
					Remedy: "sshd in the image and its command; the port in ssh_config",
				},
				{
					Slug: "workers-not-ready", Title: "the workers aren't ready yet", Weight: Usual,
					Decide: "kubectl get pods when the launcher started",
					Remedy: "launcherCreationPolicy: WaitForWorkersReady",
				},
				{
					Slug: "firewall", Title: "the port is blocked between the nodes", Weight: Rare,
					Decide: "nc -vz WORKER 22", Remedy: "the firewall, network policy or security group",
				},
				{
					Slug: "ssh-client", Title: "the image has no ssh, or mpirun doesn't find it", Weight: Rare,
					Decide: "which ssh in the launcher's image", Remedy: "the package openssh-client in the image",
				},
				{
					Slug:   "not-privileged",
					Title:  "sshd lacks SYS_CHROOT, or the launcher's service account may not use pods/exec",
					Weight: Rare,
					Decide: "securityContext of the workers; kubectl auth can-i create pods/exec --as " +
						"system:serviceaccount:NAMESPACE:ACCOUNT",
					Remedy: "capability SYS_CHROOT and runAsUser 0, or sshd with UsePAM no as a user on a high " +
						"port; a Role with pods/exec",
					Sources: []string{"kubeflow/mpi-operator#642"},
				},
			},
		},
		{
			ID: "RDX-695", Name: "enroot", Title: "a container of Enroot or Pyxis doesn't start",
			Explanation: "Pyxis prints Enroot's own log after its error: the line of Enroot counts.",
			Sources: []string{
				"NVIDIA/enroot, conf/hooks", "NVIDIA/pyxis#101", "NVIDIA/pyxis#42", "NVIDIA/enroot#118",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				enrootHooks.says("enroot-no-cli", "Command not found: nvidia-container-cli").as(evidence.Origin).
					speaks("no-toolkit"),
				enrootHooks.says("enroot-uvm", "Kernel module nvidia_uvm is not loaded").as(evidence.Vague).
					speaks("driver-not-loaded"),
				enrootHooks.says("enroot-capability", "Unknown NVIDIA driver capability: ").as(evidence.Origin).
					speaks("setting-invalid"),
				enrootHooks.says("mellanox-id", "Unknown MELLANOX device id: ").as(evidence.Origin).
					speaks("setting-invalid"),
				enrootText.says("mount-infiniband", "enroot-mount: failed to mount: ", "infiniband").
					as(evidence.Origin).
					speaks("enroot-old"),
				enrootText.says("enroot-namespace", "enroot-nsenter: failed to create user namespace").
					as(evidence.Origin).
					speaks("user-namespaces"),
				enrootText.says("enroot-aufs", "failed to create user namespace", "enroot-").as(evidence.Origin).
					speaks("user-namespaces"),
				enrootText.says("enroot-mount", "enroot-mount: failed to mount: "),
				enrootText.says("enroot-url", "returned error code: ", "URL ", "[ERROR]").speaks("image"),
				enrootText.says("enroot-squashfs", "Failed to mount: ", ".sqsh").speaks("image"),
				pyxisText.says("pyxis-import", "pyxis: failed to import docker image").as(evidence.Vague).
					speaks("image"),
				pyxisText.says("pyxis-mount-source", "--container-mounts: source path does not exist").
					as(evidence.Origin).
					speaks("setting-invalid"),
				pyxisText.says("pyxis-seccomp", "pyxis: seccomp filter failed").as(evidence.Origin).
					speaks("kernel-config"),
				pyxisText.says("pyxis-other-task", "pyxis: container was not started successfully by another task").
					as(evidence.Echo),
				pyxisText.says("pyxis-start", "pyxis: container start failed with error code").as(evidence.Vague),
				pyxisText.says("pyxis-could-not", "pyxis: couldn't start container").as(evidence.Echo),
			},
			Causes: []Cause{
				{
					Slug: "kernel-config", Title: "the node's kernel doesn't take the seccomp filter", Weight: Rare,
					Decide:  "uname -r; grep SECCOMP of its config; enroot's requirements check",
					Remedy:  "the distribution's newer kernel on that node (image), or a newer pyxis",
					Sources: []string{"NVIDIA/pyxis#6", "NVIDIA/pyxis#17", "NVIDIA/pyxis#42"},
				},
				{
					Slug: "no-toolkit", Title: "libnvidia-container isn't installed on the node", Weight: Rare,
					Decide: "which nvidia-container-cli on the node", Remedy: "the package libnvidia-container-tools",
				},
				{
					Slug:   "not-privileged",
					Title:  "the container's user may not read the folder that is mounted: owner, mode, or root on NFS",
					Weight: Rare,
					Clues:  []Clue{{Weight: Strong, Line: "enroot-mount", Contains: "Permission denied"}},
					Decide: "ls -ld of the folder and its parents as that user on the node; root_squash of the export",
					Remedy: "run as a user that may read it; modes of the parents; no root_squash",
				},
				{
					Slug: "driver-not-loaded", Title: "the GPU's modules aren't loaded on the node", Weight: Rare,
					Decide: "nvidia-smi on the node", Remedy: "modprobe nvidia_uvm; nvidia-persistenced",
				},
				{
					Slug: "setting-invalid", Title: "an option or variable names what the node doesn't have",
					Weight: Usual,
					Decide: "MELLANOX_VISIBLE_DEVICES, NVIDIA_DRIVER_CAPABILITIES, --container-mounts",
					Remedy: "values of this node; all",
				},
				{
					Slug:   "enroot-old",
					Title:  "the hook for RDMA doesn't fit the node: an old Enroot with a new kernel, or no rdma_cm",
					Weight: Usual,
					Decide: "enroot version; ls /dev/infiniband /sys/class/infiniband_cm",
					Remedy: "Enroot 3.3 or later; modprobe rdma_ucm; or MELLANOX_VISIBLE_DEVICES=void",
				},
				{
					Slug: "user-namespaces", Title: "user namespaces are off on the node", Weight: Usual,
					Decide: "sysctl user.max_user_namespaces kernel.apparmor_restrict_unprivileged_userns",
					Remedy: "enable them",
				},
				{
					Slug: "image", Title: "the image can't be fetched or read", Weight: Usual,
					Decide: "enroot import by hand; ~/.config/enroot/.credentials; free space of ENROOT_CACHE_PATH",
					Remedy: "credentials, name or space",
				},
			},
		},
		{
			ID: "RDX-696", Name: "apptainer", Title: "Apptainer starts a container without GPUs or namespaces",
			Explanation: "--nv binds the driver's libraries of the host; user namespaces are needed without setuid.",
			Sources:     []string{"apptainer/apptainer, internal/pkg/runtime"}, Standing: evidence.Failed,
			Lines: []Line{
				apptainerText.says("no-nv-files", "Could not find any nv files on this host").
					speaks("driver-not-loaded"),
				apptainerText.says("no-rocm-files", "Could not find any rocm files on this host").
					speaks("driver-not-loaded"),
				apptainerText.says("no-user-namespace", "Failed to create user namespace: ").as(evidence.Origin).
					speaks("user-namespaces"),
				apptainerText.says("setuid-missing", "starter-suid doesn't have setuid bit set").as(evidence.Origin).
					speaks("user-namespaces"),
			},
			Causes: []Cause{
				{
					Slug: "driver-not-loaded", Title: "the node has no GPU driver, or its libraries aren't found",
					Weight: Usual,
					Decide: "nvidia-smi on the node; ldconfig -p | grep libcuda",
					Remedy: "a GPU node; the driver; nvliblist.conf",
				},
				{
					Slug: "user-namespaces", Title: "user namespaces are off, and Apptainer isn't installed setuid",
					Weight: Usual,
					Decide: "sysctl user.max_user_namespaces",
					Remedy: "user.max_user_namespaces=15000, or apptainer-suid",
				},
			},
		},
		{
			ID:    "RDX-655",
			Name:  "tcpxo-daemon",
			Title: "the daemon of GPUDirect-TCPXO sees fewer GPUs than CUDA",
			Explanation: "On a3-megagpu-8g each GPU has a network card at a fixed PCI address, and there is no " +
				"spare slot.",
			Sources: []string{
				"GoogleCloudPlatform/container-engine-accelerators#580", "NVIDIA/aicr#420", "NVIDIA/aicr#1662",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				tcpxoDaemon.says("tcpxo-gpus", "Number of GPUs detected in the PCI tree",
					"not equal to the actual number of GPUs"),
			},
			Causes: []Cause{
				{
					Slug:   "nic-slot-taken",
					Title:  "an additional network of the node pool (gVNIC) has the slot of a GPU's card",
					Weight: Common,
					Decide: "the networks of the node pool: one for control and eight for GPUs",
					Remedy: "a node pool without the gVNIC network",
				},
				{
					Slug: "sysfs-hidden", Title: "the container doesn't see all of the host's /sys", Weight: Usual,
					Decide: "ls /sys/bus/pci/devices in the daemon against the host",
					Remedy: "mount /sys as /hostsysfs, or hostNetwork: true",
				},
			},
		},
		{
			ID: "RDX-698", Name: "pod-sandbox", Title: "the kubelet could not set up the pod's network",
			Explanation: "The end of the message is that of the network plugin, which isn't known here.",
			Sources: []string{"kubernetes/kubernetes, " +
				"pkg/kubelet/kuberuntime", "k8snetworkplumbingwg/multus-cni, pkg/multus"},
			Standing: evidence.Vague, Last: true,
			Lines: []Line{
				multusCNI.says("adding-container", "error adding container to network ").not("GUID is not valid"),
				multusCNI.says("delegate-add", "error in invoke Delegate add - ").not("GUID is not valid"),
				kubelet.says("sandbox", "FailedCreatePodSandBox").not("GUID is not valid"),
				kubelet.says("sandbox-long", "Failed to create pod sandbox: ").not("GUID is not valid"),
				multusCNI.says("shim", "CmdAdd (shim): ").not("GUID is not valid"),
			},
			Causes: []Cause{
				{
					Slug: "elsewhere", Title: "a network plugin refused: its own log says why", Weight: Usual,
					Decide: "journalctl -u kubelet -u containerd on the node; the log of Multus",
					Remedy: "what they say",
				},
				{
					Slug: "policy-mismatch", Title: "the network's definition doesn't fit the node", Weight: Usual,
					Decide: "rdmactl k8s lint --nodes", Remedy: "the definition",
				},
			},
		},
	}
}
