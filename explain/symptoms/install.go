package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

// Sources of messages of installations.
const (
	inOFED = "MLNX_OFED and DOCA, mlnxofedinstall and openibd"
	inDKMS = "dell/dkms, dkms.in"
	inDPKG = "dpkg and apt"
)

// installSymptoms are about installations of drivers (MLNX_OFED, DOCA) and their start.
func installSymptoms() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-824", Name: "ofed-build", Title: "the driver's modules were not built or installed for this " +
				"kernel",
			Explanation: "The installer's own lines only say where the log is: the first error of the compiler " +
				"there decides. A release of MLNX_OFED or DOCA knows the kernels of its time and of the " +
				"distributions that it names.",
			Sources: []string{
				inOFED, inDKMS, "microsoft/azure-linux-kernel#28", "uclasystem/hermit#8", "microsoft/pai#2470",
			},
			Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "ofed-failed", inOFED, "Failed to install MLNX_OFED_LINUX").as(evidence.Failed),
				says(Kernel, "ofed-install-doca", inOFED, "Failed to install DOCA").as(evidence.Failed),
				says(
					Kernel,
					"ofed-build",
					inOFED,
					"Failed to build MLNX_OFED_LINUX for ",
				).with("kernel", "LINUX for ").
					speaks("driver-kernel"),
				says(
					Kernel,
					"ofed-build-package",
					inOFED,
					"Failed to build mlnx-",
				).not(" DEB").
					speaks("driver-kernel"),
				says(Kernel, "ofed-executing", inOFED, `ERROR: Failed executing "`, "MLNX_OFED").as(evidence.Failed).
					speaks("driver-kernel"),
				says(Kernel, "ofed-package", inOFED, "mlnx-ofed-kernel-", " installation failed!").
					speaks("driver-kernel"),
				says(Kernel, "ofed-intended", inOFED, "The current MLNX_OFED_LINUX is intended for ").
					decides("driver-kernel"),
				says(Kernel, "ofed-system", inOFED, "Current operation system is not supported!").
					decides("driver-kernel"),
				says(Kernel, "ofed-kernel", inOFED, "kernel is installed, but do not have drivers available").
					decides("driver-kernel"),
				says(
					Kernel,
					"ofed-required",
					inOFED,
					"required packages",
					" are missing",
				).any("MLNX", "DOCA", "OFED").
					speaks("package-broken"),
				says(Kernel, "dkms-status", inDKMS, "Bad return status for module build on kernel").
					speaks("driver-kernel"),
				says(Kernel, "dkms-headers", inDKMS, "Your kernel headers for kernel ", "cannot be found").
					decides("kernel-headers"),
				says(
					Kernel,
					"dkms-source",
					inDKMS,
					"Missing the source directory or the symbolic link pointing to it",
					" is broken!",
				).speaks("package-broken"),
				says(Kernel, "dkms-exclusive", inDKMS, "includes a BUILD_EXCLUSIVE directive").
					any("mlnx", "iser", "isert", "srp", "knem", "xpmem", "kernel-mft").
					decides("driver-kernel"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"driver-kernel",
					"this release of the driver doesn't support the running kernel or distribution: the kernel was "+
						"updated, or isn't one of the distribution, or has these drivers built in",
					"uname -r; the release notes: supported kernels; grep MLX5_CORE= /boot/config-$(uname -r) (m, "+
						"not y)",
					"a release for this kernel with --add-kernel-support, or the kernel's own drivers with rdma-core",
				),
				maybe(Rare, "kernel-headers", "the headers of the running kernel aren't installed, or the compiler "+
					"isn't",
					"ls /lib/modules/$(uname -r)/build",
					"linux-headers-$(uname -r), or kernel-devel-$(uname -r); the kernel's compiler"),
				maybe(Rare, "package-broken", "packages that it needs are missing or half installed",
					"the installer's log; dpkg --audit", "install them; dpkg --configure -a; remove the old driver "+
						"first"),
			},
		},
		{
			ID: "RDX-825", Name: "ofed-packages", Title: "packages of the RDMA stack can't be installed together",
			Explanation: "dpkg -i doesn't fetch what a package needs, and packages of OFED, DOCA and of the " +
				"distribution replace each other only in one release.",
			Sources: []string{inDPKG, "Mellanox/doca-driver-build#65"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Kernel, "dpkg-mlnx", inDPKG, "error processing package mlnx-"),
				says(Kernel, "dpkg-kernel-mft", inDPKG, "error processing package kernel-mft"),
				says(Kernel, "dpkg-peer", inDPKG, "error processing package nvidia-peer-memory"),
				says(Kernel, "dpkg-doca", inDPKG, "error processing package doca-"),
				says(Kernel, "dpkg-archive-mft", inDPKG, "error processing archive ", "kernel-mft"),
				says(Kernel, "dpkg-verbs", inDPKG, "error processing ", "libibverbs"),
				says(Kernel, "dpkg-rdma-core", inDPKG, "error processing ", "rdma-core"),
				says(Kernel, "dpkg-configured", inDPKG, "Package mlnx-", "is not configured yet").as(evidence.Echo),
				says(Kernel, "dpkg-depends", inDPKG, "depends on mlnx-", "however").as(evidence.Echo),
				says(Kernel, "apt-unmet-mlnx", inDPKG, "Depends: mlnx-").any("not going to be installed",
					"not installable", "is to be installed").speaks("package-broken"),
				says(Kernel, "apt-unmet-verbs", inDPKG, "Depends: libibverbs", "is to be installed").
					speaks("package-broken"),
				says(
					Kernel,
					"dnf-conflict",
					"dnf",
					"conflicts with file from package ",
				).any("libibverbs", "rdma-core",
					"mlnx", "librdmacm", "infiniband-diags", "perftest").
					speaks("version-mismatch"),
			},
			Causes: []Cause{
				maybe(Usual, "package-broken",
					"a package that they need isn't installed: the first 'depends on' names it (often "+
						"linux-modules-extra or headers of the kernel)",
					"dpkg --audit; apt-get -f install, without changing anything: -s",
					"apt-get install of the missing package, or the installer instead of dpkg -i"),
				maybe(Usual, "driver-kernel", "the modules' build failed in the package's script",
					"/var/lib/dkms/*/*/build/make.log", "a release for this kernel",
					onText(Hint, "dkms (--configure", "the package's own script failed, which builds modules"),
					onSeen("linux/dkms-status", "a build failed")),
				maybe(Rare, "version-mismatch", "packages of OFED or DOCA and of the distribution are mixed",
					"dpkg -l or rpm -qa | grep -E 'verbs|rdma|mlnx'", "all of one source: remove the others first"),
			},
		},
		{
			ID: "RDX-826", Name: "openibd", Title: "openibd could not load or unload the driver's modules",
			Explanation: "openibd takes only modules that belong to its OFED. After an update of the kernel there " +
				"are none for it.",
			Sources: []string{
				inOFED, "BarrinXu/FaaSMem#1", "Mellanox/doca-driver-build#52", "Azure/azhpc-images#119",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(
					Kernel,
					"openibd-missing",
					inOFED,
					" does not exist, skipping...",
					"Module ",
				).speaks("module-missing"),
				says(Kernel, "openibd-foreign", inOFED, "which is not a part of MLNX", " belong to ").
					speaks("module-build"),
				says(Kernel, "openibd-foreign-doca", inOFED, "does not belong to MLNX").speaks("module-build"),
				says(Kernel, "openibd-load", inOFED, "Failed loading kernel module "),
				says(Kernel, "openibd-driver", inOFED, "Loading HCA driver and Access Layer:").any("FAILED").
					as(evidence.Vague),
				says(Kernel, "openibd-hca", inOFED, "HCA driver:", "FAILED").as(evidence.Vague),
				says(Kernel, "openibd-unload", inOFED, "Unloading ib_", "FAILED").speaks("driver-restart"),
			},
			Causes: []Cause{
				maybe(
					Usual,
					"module-missing",
					"OFED has no modules for the running kernel",
					"uname -r; find /lib/modules/$(uname -r) -name 'mlx5_core.ko*'",
					"build OFED for this kernel (--add-kernel-support or DKMS), or boot the kernel that it was built "+
						"for",
				),
				maybe(Usual, "module-build",
					"the modules are those of the kernel or of another OFED, not the ones that openibd wants",
					"modinfo mlx5_core ib_core: filename, version; dmesg: Unknown symbol, disagrees about version",
					"install OFED's modules again (depmod -a; weak-modules), or /etc/init.d/openibd force-restart"),
				maybe(Rare, "driver-restart", "modules are in use, so the old ones stay", "lsmod | grep ib_core",
					"stop what uses them, or reboot"),
			},
		},
	}
}
