package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

const (
	luMount = "lustre-release, lustre/utils/mount_lustre.c"
	luLctl  = "lustre-release, lnet/utils/portals.c"
)

// storageTools is about tools that start storage over RDMA: what they say, not the kernel.
func storageTools() []Symptom {
	return []Symptom{
		{
			ID: "RDX-861", Name: "lustre-tools", Title: "a tool of Lustre could not start LNet or mount the file " +
				"system",
			Explanation: "The tools name the error number of the kernel. The first lines of LNetError and " +
				"LustreError in dmesg say what failed.",
			Sources: []string{
				luMount, luLctl, "Seagate/cortx-motr#9", "whamcloud/Online-Help#35", "Seagate/cortx-motr#17",
			},
			Standing: evidence.Vague,
			Lines: []Line{
				says(Kernel, "lctl-configure", luLctl, "LNET configure error "),
				says(Kernel, "lctl-nids", luLctl, "IOC_LIBCFS_GET_NI error "),
				says(Kernel, "lnet-load", "lustre-release, lnet/lnet/api-ni.c", "Can't load LND o2ib").
					speaks("module-missing", "module-build"),
				says(Kernel, "lustre-modules", luMount, "Are the lustre modules loaded?").speaks("module-missing"),
				says(Kernel, "lustre-mount", luMount, "mount.lustre: mount ", " failed: "),
				says(Kernel, "lustre-mgs", luMount, "Is the MGS running?").speaks("nobody-listens"),
			},
			Causes: []Cause{
				maybe(Usual, "module-missing", "Lustre's modules aren't loaded, or are for another kernel than the "+
					"running one: it wasn't restarted after the installation",
					"modprobe -v lustre; dmesg; find /lib/modules/$(uname -r) -name 'lustre.ko*'",
					"restart into the kernel of the modules, or build the client for this kernel and OFED",
					onErrno(Strong, "no such device or file system", "19")),
				maybe(Usual, "interface-choice", "LNet has no network: lnet.conf or options lnet networks= names an "+
					"interface that isn't here or has no address",
					"lnetctl net show; /etc/modprobe.d/lnet.conf, /etc/lnet.conf; ip -br address",
					"the interface of this node, then lustre_rmmod and modprobe lnet",
					onErrno(Strong, "the network is down", "100")),
				maybe(Usual, "nobody-listens", "the servers don't answer: the NID is wrong, or the MGS isn't running",
					"lctl ping NID", "the right NID; start the servers",
					onErrno(Strong, "no answer from the servers", "5", "108", "110", "113")),
				maybe(Rare, "module-build", "ko2iblnd was built for another RDMA stack",
					"dmesg: disagrees about version of symbol", "build the client against the installed OFED",
					onErrno(Hint, "errno 22", "22"), onSeen("linux/format-cm", "symbols don't fit")),
			},
		},
		{
			ID: "RDX-862", Name: "huge-pool", Title: "a program's memory pool found no huge pages",
			Explanation: "tgtd (iSER) and Accelio take ordinary memory instead: slower, and more regions.",
			Sources:     []string{"fujita/tgt, usr/iscsi/iser.c", "sahlberg/libiscsi#376"}, Standing: evidence.Vague,
			Lines: []Line{
				says(Verbs, "tgt-pool", "fujita/tgt, usr/iscsi/iser.c", "shmget rdma pool sz:", "failed"),
			},
			Causes: []Cause{
				maybe(Usual, "no-hugepages", "too few huge pages of 2 MiB are reserved for the pool",
					"grep Huge /proc/meminfo; the size in the line",
					"vm.nr_hugepages for that size, or a smaller pool "+
						"(tgtd --iser pool_sz_mb=)"),
			},
		},
	}
}
