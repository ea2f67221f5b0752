package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// enrootSymptoms are about folders, space and images of Enroot and Pyxis, and of other runtimes.
func enrootSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-886", Name: "container-folder", Title: "a container tool may not make its folder",
			Explanation: "Enroot and Pyxis run as the user. Without a login session there is no /run/user/UID, and " +
				"/run belongs to root: their folders must be made before the job, or be elsewhere.",
			Sources: []string{"NVIDIA/enroot, enroot.in", "NVIDIA/pyxis, pyxis_slurmstepd.c"},
			Lines: []Line{
				enrootText.says("enroot-mkdir", "mkdir: cannot create directory").
					any("enroot", "/run/user/", "/run/pyxis"),
				pyxisText.says("pyxis-mkdir", "pyxis: couldn't mkdir "),
				pyxisText.says("pyxis-slurmd-mkdir", "pyxis: slurmd: couldn't mkdir "),
				pyxisText.says("pyxis-chown", "pyxis: couldn't chown "),
				enrootText.says("enroot-chdir", "[ERROR] Could not change directory: "),
			},
			Standing: evidence.Origin,
			Causes: []Cause{
				{
					Slug: "folder-not-writable", Title: "the folder isn't there, or belongs to another user",
					Weight: Common,
					Decide: "grep _PATH /etc/enroot/enroot.conf; ls -ld of these folders on the node, as the user",
					Remedy: "ENROOT_RUNTIME_PATH and the others in folders that the prolog makes for the user " +
						"(/tmp/enroot/user-$(id -u)); runtime_path of Pyxis in plugstack.conf",
				},
				{
					Slug:   "setting-invalid",
					Title:  "enroot.conf isn't read, or its variables are empty in this context (epilog, container)",
					Weight: Rare,
					Decide: "enroot's configuration folder (/etc/enroot or PREFIX/etc/enroot); " +
						"container_scope of Pyxis",
					Remedy: "the configuration where this build reads it; container_scope=global without such an " +
						"epilog",
				},
			},
		},
		{
			ID:    "RDX-887",
			Name:  "container-space",
			Title: "no space is left for a container's image",
			Explanation: "Images of tens of gigabytes are unpacked into folders that often are in memory (tmpfs) or " +
				"on a small disk.",
			Sources:  []string{"NVIDIA/pyxis#41", "NVIDIA/enroot, src", "containerd/containerd"},
			Standing: evidence.Origin,
			Lines: []Line{
				enrootText.says("squashfs-space", "Write failed because No space left on device").
					decides("disk-full"),
				enrootText.says("squashfs-write", "FATAL ERROR:Failed to write to output filesystem").
					speaks("disk-full"),
				enrootText.says("squashfs-write-new", "FATAL ERROR: Failed to write to output filesystem").
					speaks("disk-full"),
				enrootText.says("enroot-space", "[ERROR] Not enough space left in ").decides("disk-full"),
				enrootText.says("tar-space", "Cannot write: No space left on device").decides("disk-full"),
				enrootText.says("unsquash-space", "write_file: failed to create file", "No space left on device").
					decides("disk-full"),
				containerd.says("layer-space", "failed to register layer: ", "no space left on device").
					decides("disk-full"),
				containerd.says("extract-space", "failed to extract layer ", "no space left on device").
					decides("disk-full"),
				containerd.says("pull-space", "Failed to pull image ", "no space left on device").
					decides("disk-full"),
				kubelet.says("evicted-storage", "The node was low on resource: ephemeral-storage").
					decides("disk-full"),
				kubelet.says("pod-storage", "ephemeral local storage usage exceeds the total limit").
					decides("disk-full"),
				enrootText.says("hook-space", "sed: couldn't close ", "No space left on device").decides("disk-full"),
			},
			Causes: []Cause{
				{
					Slug: "disk-full", Title: "the file system of that folder is full, small or in memory",
					Weight: Common,
					Decide: "df -h and quota of the folder in the line: ENROOT_TEMP_PATH, ENROOT_CACHE_PATH, " +
						"ENROOT_DATA_PATH, /run/pyxis, /var/lib/containerd, /var/lib/docker",
					Remedy: "runtime_path of Pyxis, or the paths of enroot.conf, on a large local disk; " +
						"crictl rmi --prune",
				},
			},
		},
		{
			ID:    "RDX-888",
			Name:  "container-program",
			Title: "a container's program can't be executed",
			Explanation: "The container is there, but its shell or program isn't found, isn't for this processor, or " +
				"lies on a file system without permission to execute.",
			Sources: []string{
				"NVIDIA/enroot, bin/enroot-switchroot.c", "NVIDIA/enroot#63", "opencontainers/runc, libcontainer",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				enrootText.says("switchroot", "enroot-switchroot: failed to execute: "),
				runcText.says("exec-format", "exec format error").
					any("exec user process", "exec /", "standard_init", "starting container process"),
				runcText.says("executable", "OCI runtime create failed", "executable file not found in $PATH").
					not("nvidia-container-runtime").speaks("image"),
				runcText.says("executable-run", "unable to start container process: exec: ",
					"executable file not found in $PATH").not("nvidia-container-runtime").speaks("image"),
			},
			Causes: []Cause{
				{
					Slug: "noexec", Title: "the file system of the containers is mounted noexec, or not " +
						"readable by the user",
					Weight: Usual,
					Clues:  []Clue{onText(Strong, "Permission denied", "the kernel may not execute the file")},
					Decide: "findmnt -no OPTIONS -T of ENROOT_DATA_PATH (or the runtime's folder); namei -l of it",
					Remedy: "mount -o remount,exec, or another folder",
				},
				{
					Slug:   "image",
					Title:  "the image has no such program, or wasn't unpacked completely",
					Weight: Usual,
					Clues:  []Clue{onText(Hint, "No such file or directory", "")},
					Decide: "ls of the program in the image; --no-container-entrypoint",
					Remedy: "the right command; import the image again",
				},
				{
					Slug: "image-arch", Title: "the image is for another processor (x86_64, aarch64)", Weight: Rare,
					Clues:  []Clue{onText(Decisive, "xec format error", "the file isn't for this processor")},
					Decide: "uname -m; enroot or docker inspect: Architecture",
					Remedy: "enroot import -a ARCH; docker --platform",
				},
			},
		},
		{
			ID: "RDX-889", Name: "container-import", Title: "Enroot or Pyxis can't make the container from its image",
			Explanation: "The registry, the image's layers and the local file system must work together.",
			Sources:     []string{"NVIDIA/enroot, src/docker.sh", "NVIDIA/pyxis, pyxis_slurmstepd.c"},
			Standing:    evidence.Failed,
			Lines: []Line{
				enrootText.says("whiteout", "ovlfs whiteout: ").as(evidence.Origin).speaks("file-system"),
				enrootText.says("overlay-mount", "failed to mount overlay: ").as(evidence.Origin).
					speaks("file-system"),
				enrootText.says("aufs-missing", "enroot-aufs2ovlfs: command not found").as(evidence.Origin).
					speaks("enroot-incomplete"),
				enrootText.says("squashovl-missing", "enroot-mksquashovlfs: command not found").as(evidence.Origin).
					speaks("enroot-incomplete"),
				enrootText.says("no-command", "[ERROR] Command not found: ").not("nvidia-container-cli").
					as(evidence.Origin).speaks("enroot-incomplete"),
				enrootText.says("ambient", "kernel lacks support for ambient capabilities").as(evidence.Origin).
					speaks("user-namespaces"),
				enrootText.says("digest", "[ERROR] Could not retrieve digest from "),
				enrootText.says("json", "[ERROR] Could not process JSON input"),
				enrootText.says("realm", "[ERROR] Could not parse authentication realm from "),
				enrootText.says("manifest", "[ERROR] Could not parse digest information from "),
				enrootText.says("auth-method", "[ERROR] Unsupported authentication method "),
				enrootText.says("checksum", "[ERROR] Checksum validation failed"),
				enrootText.says("reference", "[ERROR] Invalid image reference: ").as(evidence.Origin).
					speaks("setting-invalid"),
				enrootText.says("image-format", "[ERROR] Invalid image format: ").as(evidence.Origin).
					speaks("setting-invalid"),
				enrootText.says("lock", "[ERROR] Could not acquire rootfs lock"),
				pyxisText.says("no-container", "pyxis: error: a container with name ", "does not exist").
					as(evidence.Origin).speaks("setting-invalid"),
				pyxisText.says("mount-format", "pyxis: --container-mounts: invalid format").as(evidence.Origin).
					speaks("setting-invalid"),
				pyxisText.says("pyxis-option", "pyxis: unknown configuration option: ").as(evidence.Origin).
					speaks("setting-invalid"),
				pyxisText.says("create-filesystem", "pyxis: failed to create container filesystem").
					as(evidence.Vague),
				pyxisText.says("exited-early", "pyxis: container exited too soon").as(evidence.Vague),
				enrootHooks.says("hook-code", "/hooks.d/", "exited with return code ").as(evidence.Vague).
					speaks("enroot-hook"),
			},
			Causes: []Cause{
				{
					Slug: "image", Title: "the registry doesn't give the image: its name, credentials, or a proxy",
					Weight: Common,
					Decide: "enroot import by hand on the node; ~/.config/enroot/.credentials (machine, " +
						"login, password)",
					Remedy: "docker://USER@REGISTRY#NAME:TAG; credentials for that registry",
				},
				{
					Slug:   "file-system",
					Title:  "the folder's file system (NFS, overlay, tmpfs) has no whiteouts or extended attributes",
					Weight: Usual,
					Decide: "findmnt -no FSTYPE -T of ENROOT_TEMP_PATH and ENROOT_DATA_PATH (/tmp by default)",
					Remedy: "a local ext4 or xfs for ENROOT_TEMP_PATH, ENROOT_DATA_PATH and TMPDIR",
				},
				{
					Slug: "enroot-incomplete", Title: "Enroot or a program that it needs isn't completely installed",
					Weight: Usual,
					Decide: "which enroot-aufs2ovlfs jq parallel mksquashfs unsquashfs zstd on the node, as the user",
					Remedy: "the packages enroot and enroot+caps, and what is missing",
				},
				{
					Slug: "setting-invalid", Title: "an argument of the container is wrong", Weight: Usual,
					Decide: "--container-image, --container-name, --container-mounts",
					Remedy: "'#' between registry and name; the path of a .sqsh file with '/'; a name without pyxis_",
				},
				{
					Slug: "user-namespaces", Title: "kernel or settings don't allow user namespaces", Weight: Rare,
					Decide: "enroot-check --verify", Remedy: "what it says; --container-remap-root",
				},
				{
					Slug:   "enroot-hook",
					Title:  "a hook in /etc/enroot/hooks.d failed: its own lines are above",
					Weight: Rare,
					Decide: "run the hook with ENROOT_LOGIN_SHELL=y; the slurmd PATH (scontrol, nvidia-container-cli)",
					Remedy: "the program that it misses, or remove the hook",
				},
			},
		},
	}
}
