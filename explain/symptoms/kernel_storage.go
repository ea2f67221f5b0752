package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func kernelOthers() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-552", Name: "srp-login", Title: "SRP could not log in to its target",
			Explanation: "The initiator asks the subnet manager for a path, then the target for a login.",
			Sources:     []string{knSRP + "/srp/ib_srp.c", knSRP + "/srpt/ib_srpt.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(
					Kernel,
					"srp-path",
					knSRP+"/srp/ib_srp.c",
					"Got failed path rec status ",
				).speaks("subnet-manager"),
				says(Kernel, "srp-rej", knSRP+"/srp/ib_srp.c", "SRP_LOGIN_REJ: ").speaks("target-refuses"),
				says(Kernel, "srp-rej-reason", knSRP+"/srp/ib_srp.c", "REJ reason 0x"),
				says(Kernel, "srp-connect", knSRP+"/srp/ib_srp.c", "ib_srp: ", "Connection ", " failed"),
				says(Kernel, "srpt-rejected", knSRP+"/srpt/ib_srpt.c", "ejected SRP_LOGIN_REQ",
					"ib_srpt").speaks("target-refuses"),
				says(Kernel, "srp-status", knSRP+"/srp/ib_srp.c", "ib_srp: failed ",
					" status ").as(evidence.Failed).speaks("dead-peer"),
			},
			Causes: []Cause{
				maybe(Usual, "subnet-manager", "the subnet manager knows no path to the target's GID",
					"rdmactl fabric sa paths LID; ibsrpdm -c", "the target's port active, the right dgid and pkey"),
				maybe(Usual, "target-refuses",
					"the target has no such ioc_guid, or no access list for this initiator",
					"targetcli: acls; dmesg of the target",
					"an ACL for the initiator's port ID, or generate_node_acls=1"),
				maybe(Rare, "dead-peer", "the target is gone", "its state", "what it says"),
			},
		},
		{
			ID: "RDX-553", Name: "iser", Title: "iSER could not connect or lost its connection",
			Explanation: "iSCSI over RDMA: the target must listen with iser enabled on its RDMA address.",
			Sources:     []string{knSRP + "/iser", knSRP + "/isert"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "iser-rejected", knSRP+"/iser/iser_verbs.c", "Connection rejected: ", "iser_"),
				says(Kernel, "isert-listen", knSRP+"/isert/ib_isert.c", "rdma_bind_addr() failed", "isert: "),
				says(Kernel, "iscsi-iser", "open-iscsi", "transport iser", "initiator reported error"),
			},
			Causes: []Cause{
				maybe(Usual, "nobody-listens", "the target doesn't listen with iSER on that address",
					"targetcli: enable_iser on the portal",
					"enable_iser boolean=true on the portal of the RDMA address"),
				maybe(Usual, "overlay-address", "the address isn't on an RDMA interface",
					"rdma link; ip -br address", "the RDMA address"),
				maybe(Rare, "module-missing", "ib_iser or ib_isert isn't loaded", "lsmod | grep ib_iser",
					"modprobe it"),
			},
		},
		{
			ID: "RDX-554", Name: "smb-direct", Title: "SMB Direct could not use RDMA",
			Explanation: "cifs with the option rdma, or ksmbd: both need an RDMA device at the address of the " +
				"mount, with fast registration.",
			Sources:  []string{"Linux, fs/smb/client/smbdirect.c", "Linux, fs/smb/server/transport_rdma.c"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "smbd-address", "Linux, fs/smb/client/smbdirect.c", "rdma_resolve_addr() ", "CIFS: "),
				says(Kernel, "smbd-route", "Linux, fs/smb/client/smbdirect.c", "rdma_resolve_route() ", "CIFS: "),
				says(Kernel, "smbd-connect", "Linux, fs/smb/client/smbdirect.c", "rdma_connect() ", "CIFS: "),
				says(Kernel, "smbd-frwr", "Linux, fs/smb/client/smbdirect.c", "Fast Registration Work Requests ",
					"is not supported").decides("driver-refuses"),
				says(Kernel, "ksmbd-rdma", "Linux, fs/smb/server/transport_rdma.c", "Can't create QP", "ksmbd: "),
			},
			Causes: []Cause{
				maybe(Usual, "overlay-address", "the server's address isn't reached over an RDMA interface",
					"ip route get ADDRESS; rdma link", "the RDMA address in the mount", onErrno(Strong,
						"errno 19: no device", "19")),
				maybe(Usual, "nobody-listens",
					"the server offers no SMB Direct on that address (port 445, iWARP 5445)",
					"Get-SmbServerNetworkInterface, or ksmbd's interfaces",
					"RDMA enabled on the server's interface"),
				maybe(Rare, "driver-refuses", "the device has no fast registration", "ibv_devinfo -v",
					"another device"),
			},
		},
		{
			ID: "RDX-555", Name: "gpfs-verbs", Title: "GPFS (Storage Scale) could not use RDMA",
			Explanation: "verbsRdma takes the ports of verbsPorts; without them it goes on over TCP.",
			Sources:     []string{"IBM Storage Scale, mmfs.log"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "gpfs-not-started", "mmfs.log", "VERBS RDMA not started"),
				says(Kernel, "gpfs-library", "mmfs.log", "VERBS RDMA library ",
					"not found").speaks("missing-library"),
				says(Kernel, "gpfs-port", "mmfs.log", "VERBS RDMA ", "verbsPorts").speaks("port-down"),
				says(Kernel, "gpfs-open", "mmfs.log", "VERBS RDMA open error").speaks("port-down"),
				says(Kernel, "gpfs-rdma-error", "mmfs.log", "VERBS RDMA rdma ", " error ").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "port-down", "a port of verbsPorts isn't active, or doesn't exist on this node",
					"mmlsconfig verbsPorts; ibv_devinfo",
					"the right names and ports"),
				maybe(Usual, "missing-library", "libibverbs isn't installed", "ldconfig -p | grep ibverbs",
					"rdma-core"),
				maybe(Rare, "memlock", "the limit of locked memory is too low", "ulimit -l of mmfsd", "unlimited"),
			},
		},
		{
			ID: "RDX-556", Name: "beegfs-rdma", Title: "BeeGFS could not use RDMA",
			Explanation: "Client and servers fall back to TCP, or the client's module wasn't built for the RDMA " +
				"stack in use.",
			Sources:  []string{"ThinkParQ/beegfs", "ThinkParQ/beegfs#84", "ThinkParQ/beegfs#100"},
			Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "beegfs-ofed", "ThinkParQ/beegfs",
					"You probably should not specify OFED_INCLUDE_PATH").decides("module-build"),
				says(Kernel, "beegfs-fallback", "ThinkParQ/beegfs", "Connected: ",
					"TCP; fallback route").as(evidence.Vague),
				says(Kernel, "beegfs-ibv-params", "ThinkParQ/beegfs", "IBVSocket_", "failed").as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Usual, "module-build",
					"the client's module is built against another RDMA stack than the one loaded (in-box or OFED)",
					"dmesg: disagrees about version of symbol; "+
						"/etc/beegfs/beegfs-client-autobuild.conf",
					"OFED_INCLUDE_PATH of the OFED in use, or none, then /etc/init.d/beegfs-client rebuild"),
				maybe(Usual, "missing-library", "the servers lack libbeegfs-ib, or connUseRDMA is off",
					"beegfs-net; packages", "install libbeegfs-ib on all servers"),
				maybe(Rare, "device-limit", "connRDMABufNum or connRDMABufSize ask for too much",
					"the numbers against ibv_devinfo -v", "smaller ones"),
			},
		},
	}
}

func kernelIPoIB() []Symptom {
	return []Symptom{
		{
			ID: "RDX-557", Name: "ipoib-multicast", Title: "IPoIB could not join its multicast group",
			Explanation: "Without the broadcast group an IPoIB interface has no carrier. -22: the manager refused " +
				"(rate, MTU, partition); -11 and -110: it doesn't answer.",
			Sources: []string{knIPoIB + "/ipoib_multicast.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "ipoib-join", knIPoIB+"/ipoib_multicast.c", "multicast join failed for ",
					"status -").with("errno", "status -"),
				says(Kernel, "ipoib-attach", knIPoIB+"/ipoib_multicast.c", "couldn't attach QP to multicast group"),
			},
			Causes: []Cause{
				maybe(Rare, "opensm-mlid-leak",
					"OpenSM has no multicast LIDs left: they leak when groups are left in part",
					"OpenSM's log: ERR 1B19, mlids are taken; saquery -g | wc -l before and after its restart",
					"a newer OpenSM",
					Clue{Weight: Decisive, Seen: "opensm.error", SeenField: "code", SeenIs: []string{"1B19"}}),
				maybe(Usual, "multicast-group", "the group's rate or MTU is more than the port has",
					"saquery -g; ibstat: Rate", "rate and mtu of the group in partitions.conf", onErrno(Strong,
						"status -22: the manager refused", "22")),
				maybe(Usual, "subnet-manager", "the subnet manager doesn't answer", "rdmactl fabric sm; sminfo",
					"start or restart it",
					onErrno(Strong, "no answer", "11", "110")),
				maybe(Rare, "pkey", "the port isn't in the partition", "cat /sys/class/infiniband/*/ports/1/pkeys/*",
					"membership in partitions.conf"),
			},
		},
		{
			ID: "RDX-558", Name: "ipoib-remark", Title: "remarks of IPoIB and mlx5 about modes and " +
				"limits: no fault",
			Explanation: "They come at the start of the driver, or at each change of mode or MTU, and stop nothing.",
			Sources:     []string{knIPoIB}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Kernel, "ipoib-connected", knIPoIB+"/ipoib_main.c",
					"enabling connected mode will cause multicast packet drops"),
				says(Kernel, "ipoib-mtu", knIPoIB+"/ipoib_main.c", "will cause multicast packet drops."),
				says(Kernel, "ipoib-noio", knIPoIB, "can't use GFP_NOIO for QPs on device"),
				says(Kernel, "mlx5-rate-limit", knMlx5, "Rate limit: ", "rates are supported", "mlx5_core"),
				says(Kernel, "mlx5-eswitch", knMlx5, "E-Switch: Total vports"),
			},
		},
		{
			ID: "RDX-559", Name: "ipoib-transmit",
			Title: "IPoIB's queue stopped, or the network stack waits for a card's queue",
			Explanation: "The card doesn't complete what was sent: its firmware hangs, or flow control of the " +
				"link has stopped it.",
			Sources: []string{knIPoIB, "Linux, net/sched/sch_generic.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Kernel, "ipoib-timeout", knIPoIB+"/ipoib_main.c", "transmit timeout: latency "),
				says(Kernel, "netdev-watchdog", "Linux, net/sched/sch_generic.c", "NETDEV WATCHDOG: ",
					"transmit queue"),
				says(Kernel, "tx-timeout", knMlx5, "TX timeout detected"),
				says(Kernel, "tx-timeout-queue", knMlx5, "TX timeout on queue"),
			},
			Causes: []Cause{
				maybe(Usual, "card-firmware", "the card's firmware or driver lost an event or hangs",
					"dmesg around; devlink health show; rdmactl doctor --only devlink-health",
					"newer firmware and driver; a reset of the card"),
				maybe(Usual, "congestion",
					"pause frames of the switch or of a slow receiver stop the port (PFC storm)",
					"ethtool -S: rx_pause, rx_prio*_pause, tx_pause_storm",
					"the receiver that pauses; the PFC watchdog of the switch"),
			},
		},
	}
}
