package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Source files of rdma-core.
const (
	vbInit     = "rdma-core, libibverbs/init.c"
	vbDrivers  = "rdma-core, libibverbs/dynamic_driver.c"
	vbCM       = "rdma-core, librdmacm/cma.c"
	vbExamples = "rdma-core, librdmacm/examples"
	vbPing     = "rdma-core, libibverbs/examples/rc_pingpong.c"
)

// otherPrograms are in lines of SPDK, which names the function that prints, UCX and libfabric.
var otherPrograms = []string{"nvme_rdma_", "nvmf_rdma_", " UCX ", "libfabric:"} //nolint:gochecknoglobals // a constant

func verbsSymptoms() []Symptom {
	return slices.Concat(verbsLibraries(), verbsCM(), verbsPrograms(), spdkSymptoms(), dpdkSymptoms(), vmaSymptoms())
}

func verbsLibraries() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-520", Name: "verbs-no-provider", Title: "libibverbs has no provider for a device of the kernel",
			Explanation: "The kernel has the device, and the user space has no library for it: programs then see " +
				"no device. Since release 17 of rdma-core this is only printed with IBV_SHOW_WARNINGS=1.",
			Sources: []string{vbInit, "SoftRoCE/rxe-dev#65", "SoftRoCE/rxe-dev#49"}, Standing: evidence.Failed,
			Lines: []Line{
				says(
					Verbs,
					"no-userspace-driver",
					vbInit,
					"no userspace device-specific driver found for ",
				).with("path", "found for "),
			},
			Causes: []Cause{
				maybe(Common+Strong, "missing-library", "the provider (librxe, libmlx5, …) isn't installed, or "+
					"its .driver file isn't in the directory that this libibverbs reads",
					"ls /etc/libibverbs.d; ldconfig -p | grep rdmav; ibv_devices",
					"install the providers of the same rdma-core as libibverbs; after an own build move "+
						"PREFIX/etc/libibverbs.d to /etc/libibverbs.d and run ldconfig"),
				maybe(Rare, "version-mismatch", "provider and libibverbs are of different releases",
					"the packages' versions",
					"all packages of one rdma-core or OFED",
					onSeen("verbs/driver-private", "a provider wants another libibverbs")),
			},
		},
		{
			ID: "RDX-521", Name: "verbs-load-driver", Title: "libibverbs names providers that aren't installed",
			Explanation: "libibverbs tries each provider of its configuration. A missing one matters only if it " +
				"is that of the card in use: all others are left-overs of another package.",
			Sources: []string{vbDrivers, "linux-rdma/perftest#262"}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Verbs, "load-driver", vbDrivers, "Warning: couldn't load driver '").not("IBVERBS_PRIVATE_",
					"undefined symbol").
					with("library", "load driver "),
				says(Verbs, "config-directory", vbDrivers, "Warning: couldn't open config directory '"),
			},
		},
		{
			ID: "RDX-522", Name: "verbs-library-versions",
			Title: "libraries of different releases of rdma-core are mixed",
			Explanation: "Provider, libibverbs, librdmacm and the program must be of one release, or of an older " +
				"program.",
			Sources: []string{vbDrivers, vbInit}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "driver-private", vbDrivers, "Warning: couldn't load driver '", "IBVERBS_PRIVATE_"),
				says(Verbs, "driver-undefined", vbDrivers, "Warning: couldn't load driver '", "undefined symbol"),
				says(Verbs, "kernel-abi-driver", vbInit, " does not support the kernel ABI of "),
				says(Verbs, "kernel-abi", vbInit, "Fatal: kernel ABI version ", "match library version"),
				says(Verbs, "symbol-ibverbs", "ld.so(8)", "version `IBVERBS_", "not found"),
				says(Verbs, "symbol-mlx5", "ld.so(8)", "version `MLX5_", "not found"),
				says(Verbs, "symbol-efa", "ld.so(8)", "version `EFA_", "not found"),
				says(Verbs, "symbol-rdmacm", "ld.so(8)", "version `RDMACM_", "not found"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "version-mismatch", "the user-space libraries don't fit each other or the "+
					"kernel: packages of a distribution and of OFED are mixed, or an image is older than the "+
					"program", "dpkg -l or rpm -qa | grep -E 'verbs|rdma|mlx'; ldd of the program",
					"all RDMA packages of one source and release; update rdma-core in the image"),
			},
		},
		{
			ID: "RDX-523", Name: "verbs-no-library", Title: "a library of rdma-core is missing",
			Explanation: "The program or plugin is linked with it.",
			Sources:     []string{"ld.so(8)"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "no-libibverbs", "ld.so(8)", "libibverbs.so", "cannot open shared object file").
					decides("missing-library"),
				says(Verbs, "no-librdmacm", "ld.so(8)", "librdmacm.so", "cannot open shared object file").
					decides("missing-library"),
				says(Verbs, "no-libmlx5", "ld.so(8)", "libmlx5.so", "cannot open shared object file").
					decides("missing-library"),
				says(Verbs, "no-libibumad", "ld.so(8)", "libibumad.so", "cannot open shared object file").
					decides("missing-library"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "missing-library",
					"the package of rdma-core isn't installed where the program runs",
					"ldd of the program; ldconfig -p | grep -E 'verbs|rdmacm|mlx5'",
					"install libibverbs1, librdmacm1 and ibverbs-providers (rdma-core, libibverbs, librdmacm) in "+
						"the image"),
			},
		},
		{
			ID: "RDX-524", Name: "verbs-modules", Title: "the kernel's modules for RDMA in user space aren't loaded",
			Explanation: "Without ib_uverbs and rdma_ucm there are no device files, whatever the card.",
			Sources:     []string{vbInit, vbCM, "ovis-hpc/ldms#127"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Verbs, "uverbs-abi", vbInit, "couldn't read uverbs ABI version"),
				says(Verbs, "device-list", "rdma-core, libibverbs/examples",
					"Failed to get IB devices list").speaks("module-missing"),
				says(Verbs, "rdmacm-abi", vbCM, "librdmacm: ", "couldn't read ABI version"),
				says(Verbs, "rdmacm-open", vbCM, "librdmacm: ", "unable to open /dev/infiniband/rdma_cm"),
				says(Verbs, "rdmacm-devices", vbCM, "librdmacm: ", "no RDMA devices found").as(evidence.Failed),
				says(Verbs, "cma-device-list", vbCM, "CMA: unable to get RDMA device list").as(evidence.Failed),
				says(Verbs, "cma-open-device", vbCM, "CMA: unable to open RDMA device").as(evidence.Failed),
				says(Verbs, "cma-open", vbCM, "CMA: unable to open /dev/infiniband/rdma_cm"),
				says(Verbs, "mlx4-list", "DPDK, drivers/net/mlx4/mlx4.c",
					"cannot list devices, is ib_uverbs loaded?"),
			},
			Causes: []Cause{
				maybe(Common+Usual, "module-missing", "ib_uverbs or rdma_ucm isn't loaded",
					"lsmod | grep -E 'ib_uverbs|rdma_ucm'; ls /dev/infiniband",
					"modprobe ib_uverbs rdma_ucm; /etc/rdma/modules, or openibd",
					onText(Hint, "ABI version", "the kernel's interface isn't there")),
				maybe(Usual, "no-device-node", "the container has no /dev/infiniband",
					"ls -l /dev/infiniband in the container",
					"the device nodes: a device plugin's resource, --device=/dev/infiniband"),
				maybe(Usual, "missing-library", "no provider for the card: libibverbs sees no device", "ibv_devices",
					"install the providers", onLine(Strong, "rdmacm-devices", "librdmacm found no device"),
					onLine(Strong, "cma-device-list", "librdmacm found no device")),
			},
		},
		{
			ID: "RDX-525", Name: "verbs-memlock-warning", Title: "the limit of locked memory is small",
			Explanation: "Registered memory and queues are locked. What fails then says 'cannot allocate memory'.",
			Sources:     []string{vbInit, "axboe/fio, engines/rdma.c", "Mellanox/libvma, src/vma/main.cpp"},
			Standing:    evidence.Vague,
			Lines: []Line{
				says(Verbs, "memlock-warning", vbInit, "Warning: RLIMIT_MEMLOCK is "),
				says(Verbs, "fio-memlock", "axboe/fio, engines/rdma.c", "fio: you may try enlarge MEMLOCK by root").
					as(evidence.Origin).speaks("memlock"),
				says(Verbs, "vma-memlock", "Mellanox/libvma, src/vma/main.cpp",
					"Your current max locked memory is: "),
				says(Verbs, "ceph-memlock", "ceph/ceph, src/msg/async/rdma/Infiniband.cc",
					"For RDMA to work properly user memlock"),
			},
			Causes: []Cause{
				maybe(Common+Strong, "memlock", "the limit of locked memory (memlock) of the process is too low",
					"ulimit -l where the program runs; rdmactl doctor --only memlock",
					"LimitMEMLOCK=infinity in the service that starts it, or memlock unlimited in "+
						"/etc/security/limits.d"),
			},
		},
		{
			ID: "RDX-526", Name: "verbs-fork", Title: "protection of registered memory against fork failed",
			Explanation: "ibv_fork_init must come before any registration, and huge pages need " +
				"RDMAV_HUGEPAGES_SAFE. With kernels that copy pinned pages at fork (5.12 and later) it isn't needed.",
			Sources: []string{vbInit, "ibv_fork_init(3)"}, Standing: evidence.Vague,
			Lines: []Line{
				says(Verbs, "fork-requested", vbInit, "fork()-safety requested but init failed"),
				says(Verbs, "fork-ceph", "ceph/ceph, src/msg/async/rdma/Infiniband.cc", "failed to call ibv_for",
					"On RDMA must be called before fork").
					as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Common, "fork-support", "fork support came too late, or its table can't be built",
					"the order of the calls; RDMAV_FORK_SAFE in the environment",
					"set it before anything registers memory, or unset it: kernel 5.12 and rdma-core 35 don't need it"),
			},
		},
	}
}

func verbsCM() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-527", Name: "rdma-cm-devices", Title: "librdmacm found no RDMA device",
			Explanation: "The first call of librdmacm lists the devices: no address or peer is concerned yet. The " +
				"kernel may have a device that no provider of the user space knows, or that this container may " +
				"not open.",
			Sources: []string{
				"linux-rdma/rdma-core#368", "linux-rdma/rdma-core#1060", "axboe/fio#159",
				"zrlio/urdma#23",
			},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "event-channel", "rdma_create_event_channel(3)", "rdma_create_event_channel",
					"fail").not(otherPrograms...),
				says(Verbs, "event-channel-errno", "rdma_create_event_channel(3)",
					"rdma_create_event_channel: ").not(otherPrograms...),
				says(Verbs, "no-devices", vbExamples, "No RDMA devices were detected"),
				says(Verbs, "getaddrinfo", "rdma_getaddrinfo(3)", "rdma_getaddrinfo: ").not(otherPrograms...),
				says(Verbs, "ldms-listen", "ovis-hpc/ldms", "listening on the 'rdma' transport",
					"Error ").speaks("module-missing"),
				says(Verbs, "fio-engine", "axboe/fio, ioengines.c",
					"io engine init failed. Perhaps try reducing io depth").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "missing-library", "no provider of libibverbs for the card (libmlx5, libmlx4, "+
					"librxe …): the user space of RDMA is incomplete",
					"ibv_devices; IBV_SHOW_WARNINGS=1 ibv_devinfo",
					"install the providers (ibverbs-providers, rdma-core) that fit the driver",
					onSeen("verbs/no-userspace-driver", "libibverbs names a device without provider"),
					onErrno(Hint, "errno 19: no device", "19")),
				maybe(Usual, "module-missing", "the card's driver or rdma_ucm isn't loaded",
					"rdma link; ls /dev/infiniband/rdma_cm",
					"modprobe rdma_ucm and the driver (mlx5_ib, irdma, rdma_rxe with rdma link add)",
					onErrno(Strong, "errno 2: the device file isn't there", "2")),
				maybe(Usual, "no-device-node",
					"the container lacks /dev/infiniband/rdma_cm or one of the uverbs devices",
					"ls -l /dev/infiniband in the container against /sys/class/infiniband",
					"all devices of /dev/infiniband; rdma-core 37 or later tolerates those that are missing"),
				maybe(Rare, "not-privileged", "the user may not open /dev/infiniband/rdma_cm",
					"ls -l /dev/infiniband/rdma_cm", "its mode 0666 (udev rule of rdma-core)", onErrno(Strong,
						"permission denied", "13", "1")),
				maybe(Rare, "interface-choice", "the address can't be resolved", "getent hosts NAME",
					"the address of the RDMA interface",
					onText(Hint, "rdma_getaddrinfo", "the name or address was looked up")),
			},
		},
		{
			ID: "RDX-528", Name: "rdma-cm-address", Title: "rdma_cm could not use an address",
			Explanation: "rdma_cm takes the device from the IP address. errno 19: the interface of that address " +
				"has no RDMA device in this namespace; 99: no interface has the address; 98: the port is taken.",
			Sources:  []string{"rdma_bind_addr(3)", "rdma_resolve_addr(3)", "Mellanox/libvma#109"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "bind-addr", "rdma_bind_addr(3)", "rdma_bind_addr", "fail").not(otherPrograms...),
				says(Verbs, "bind-addr-errno", "rdma_bind_addr(3)", "rdma_bind_addr: ").not(otherPrograms...),
				says(Verbs, "resolve-addr", "rdma_resolve_addr(3)", "rdma_resolve_addr",
					"fail").not(otherPrograms...),
				says(Verbs, "resolve-addr-errno", "rdma_resolve_addr(3)",
					"rdma_resolve_addr: ").not(otherPrograms...),
				says(Verbs, "listen-errno", "rdma_listen(3)", "rdma_listen: ").not(otherPrograms...),
				says(Verbs, "listen-failed", "rdma_listen(3)", "rdma_listen", "fail").not(otherPrograms...),
				says(Verbs, "create-ep", "rdma_create_ep(3)", "rdma_create_ep: ").not(otherPrograms...),
				says(Verbs, "resolve-route", "rdma_resolve_route(3)", "rdma_resolve_route",
					"fail").not(otherPrograms...),
				says(Verbs, "resolve-route-errno", "rdma_resolve_route(3)",
					"rdma_resolve_route: ").not(otherPrograms...),
				says(Verbs, "cm-removal", vbExamples, "cma detected device removal"),
				says(Verbs, "rsocket-connect", "rsocket(7)", "rconnect failed"),
			},
			Causes: []Cause{
				maybe(Common, "overlay-address", "the address belongs to an interface without RDMA device: "+
					"another network, a bridge, or the overlay of the pod",
					"ip -br address; rdma link: the interface of the address",
					"the IP address of the RDMA interface, on both sides",
					onErrno(Strong, "errno 19: no RDMA device for that interface", "19"),
					onErrno(Hint, "errno 2", "2")),
				maybe(Usual, "interface-choice", "no interface of this node has the address", "ip -br address",
					"the address of this node's RDMA interface; bring the interface up",
					onErrno(Strong, "errno 99: no interface has the address", "99")),
				maybe(Rare, "port-in-use", "another program listens on the port",
					"ss -tlnp; rdma resource show cm_id",
					"another port, or end the other program", onErrno(Decisive, "errno 98: the port is taken", "98")),
				maybe(Usual, "rails-not-connected", "no route or neighbour from that interface to the peer",
					"ip route get PEER; ping -I INTERFACE PEER", "route and address of the RDMA network",
					onErrno(Strong, "no route, or no neighbour", "101", "110", "113")),
				maybe(Rare, "subnet-manager", "the subnet manager gave no path", "rdmactl fabric sm",
					"a working subnet manager",
					onText(Hint, "rdma_resolve_route", "the route was not found")),
				maybe(Rare, "not-privileged", "the user may not use rdma_cm or a port below 1024",
					"ls -l /dev/infiniband",
					"the permissions", onErrno(Strong, "permission denied", "13", "1")),
				maybe(Rare, "bad-nic", "the device was removed or reset", "dmesg", "what dmesg says",
					onLine(Decisive, "cm-removal", "the device went away")),
			},
		},
		{
			ID: "RDX-529", Name: "rdma-cm-connect", Title: "rdma_cm could not make a connection",
			Explanation: "The peer rejected it, doesn't answer, or the queue pair could not be made.",
			Sources:     []string{"rdma_connect(3)", "rdma_accept(3)"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Verbs, "connect-errno", "rdma_connect(3)", "rdma_connect: ").not(otherPrograms...),
				says(Verbs, "connect-failed", "rdma_connect(3)", "rdma_connect", "fail").not("event",
					"nvme_rdma_", "nvmf_rdma_"),
				says(Verbs, "accept-errno", "rdma_accept(3)", "rdma_accept: ").not(otherPrograms...),
				says(Verbs, "fio-event", "axboe/fio, engines/rdma.c", "fio: event is RDMA_CM_EVENT_",
					" instead of ").with("event", "event is "),
				says(Verbs, "wait-connected", vbExamples, "wait for CONNECTED state ").as(evidence.Echo),
				says(Verbs, "connect-error", vbExamples, "connect error -1").not("RDMA connect", ": ", "(", ",").
					as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common, "nobody-listens",
					"nobody listens on that address and port with rdma_cm, or the server has gone",
					"the server's process and address; rdma resource show cm_id",
					"start it on the RDMA interface's address",
					onErrno(Strong, "refused or reset", "111", "104"),
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_REJECTED"},
						Text: "the peer rejected it",
					}),
				maybe(Usual, "udp-blocked",
					"the peer doesn't answer: UDP 4791 is dropped, or the ports aren't connected",
					"rdmactl doctor --probe PEER; ping -I INTERFACE PEER", "the path between the ports",
					onErrno(Strong, "timed out", "110"),
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_UNREACHABLE"},
						Text: "no answer",
					}),
				maybe(Rare, "overlay-address", "the address has no RDMA device", "rdma link",
					"the RDMA interface's address",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"RDMA_CM_EVENT_ADDR_ERROR"},
						Text: "the address was not resolved",
					}),
				maybe(Rare, "gid-index", "the ends' GIDs don't fit: one uses RoCE v1, the other v2",
					"cat /sys/kernel/config/rdma_cm/*/ports/1/default_roce_mode",
					"RoCE v2 on both sides (cma_roce_mode)",
					onErrno(Hint, "errno 22", "22")),
			},
		},
	}
}
