package symptoms

import (
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
)

// Source files of perftest.
const (
	ptResources = "linux-rdma/perftest, src/perftest_resources.c"
	ptParams    = "linux-rdma/perftest, src/perftest_parameters.c"
	ptComm      = "linux-rdma/perftest, src/perftest_communication.c"
	ptHost      = "linux-rdma/perftest, src/host_memory.c"
	ptCUDA      = "linux-rdma/perftest, src/cuda_memory.c"
)

func perftestSymptoms() []Symptom {
	return slices.Concat(perftestDevices(), perftestPeers(), perftestQueues(), perftestOthers(), perftestMemory())
}

func perftestDevices() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-500", Name: "perftest-port-state", Title: "the port that perftest uses is not active",
			Explanation: "perftest takes port 1 of the device unless -i says otherwise, and ends if it isn't active.",
			Sources:     []string{ptParams, "lsgunth/perftest#1"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "port-state", ptParams, "Port number ", " state is ").
					any("Nop", "Down", "Init", "Arm", "Active Defer", "Unknown").with("state", " state is "),
			},
			Causes: []Cause{
				maybe(Rare, "vf-guid", "the virtual function has no GUID, so the subnet manager doesn't bring it up",
					"ip link show: node_guid; ibstat", "a GUID for the function; virt_enabled in the subnet manager",
					Clue{Weight: Decisive, Seen: "k8s.vf"}),
				maybe(Common, "port-down",
					"the port is down: no cable, the interface is off, or it is the wrong port or device",
					"rdmactl detect; ibv_devinfo; ip link",
					"ip link set INTERFACE up, the cable, or another device and port (-d, -i)",
					onText(Strong, "state is Down", "the port is down")),
				maybe(Usual, "subnet-manager", "no subnet manager has brought the port up",
					"rdmactl fabric sm; ibstat: Initializing",
					"start a subnet manager on the fabric (opensm, or the switch's)",
					onText(Strong+Usual, "state is Init", "the link is up and waits for a subnet manager"),
					onText(Strong, "state is Arm", "the subnet manager has not finished")),
			},
		},
		{
			ID: "RDX-501", Name: "perftest-open-device", Title: "perftest found no device, or could not open it",
			Explanation: "The name of -d doesn't exist, libibverbs has no provider for it, or the process may not " +
				"open it.",
			Sources: []string{ptResources}, Standing: evidence.Vague,
			Lines: []Line{
				says(Perftest, "find-device", ptResources, "Unable to find the Infiniband/RoCE device"),
				says(Perftest, "context", ptResources, "Couldn't get context for the device"),
				says(Perftest, "attributes", ptResources, "Couldn't get device attribute").speaks("no-device-node"),
				says(Perftest, "link-layer", ptParams, "Couldn't set the link layer").as(evidence.Echo),
				says(Perftest, "query-port", ptParams, "Error when trying to query port"),
			},
			Causes: []Cause{
				maybe(Usual, "missing-library",
					"no provider of libibverbs for the device, or another rdma-core than the kernel's driver",
					"ibv_devices; IBV_SHOW_WARNINGS=1 ibv_devices",
					"install the provider (ibverbs-providers, libibverbs) of the same release as the driver",
					onSeen("verbs/no-userspace-driver", "libibverbs has no provider for the device"),
					onSeen("verbs/load-driver", "libibverbs can't load a provider")),
				maybe(Usual, "no-device-node", "the process has no /dev/infiniband/uverbs* or no permission for it",
					"ls -l /dev/infiniband; rdmactl detect", "the device nodes in the container, or the user's group",
					onLine(Hint, "context", "the device is listed and can't be opened")),
				maybe(Rare, "wrong-device", "-d names a device that this node doesn't have", "ibv_devices",
					"the device's name on this node"),
			},
		},
		{
			ID: "RDX-502", Name: "perftest-unsupported",
			Title: "the device or the build doesn't support what was asked for",
			Explanation: "Options of perftest need features of the device, of its driver and of the rdma-core " +
				"that it was built with.",
			Sources: []string{ptParams, ptResources}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "not-in-libibverbs", ptParams, " not detected in libibverbs"),
				says(Perftest, "post-send", ptResources, "The post send properties are not supported on"),
				says(Perftest, "efa-verb", ptResources, "verb is not supported with this EFA device"),
				says(Perftest, "odp", ptParams, "The device does not support On-Demand Paging"),
				says(Perftest, "flow-steering", ptResources, "flow steering is not supported."),
				says(Perftest, "raw-ethernet", ptParams, "test can only run on Ethernet link"),
				says(Perftest, "packet-pacing", ptResources, "Packet Pacing isn't supported."),
				says(Perftest, "no-rdma-cm", ptParams, " does not support RDMA_CM"),
				says(Perftest, "aes-xts", ptParams, "aes_xts not supported"),
				says(Perftest, "mcast-flow", ptResources,
					"please run: echo options mlx4_core log_num_mgm_entry_size=-1").
					as(evidence.Failed),
			},
			Causes: []Cause{
				maybe(Common+Strong, "driver-refuses",
					"the device, its driver or the build of perftest doesn't have this transport, verb or option",
					"ibv_devinfo -v; perftest's own release and options",
					"another transport (-c RC), verb or option; a newer driver and perftest built with it"),
			},
		},
		{
			ID: "RDX-503", Name: "perftest-remark", Title: "remarks of perftest that don't stop it",
			Explanation: "The results may be less exact; the connection is not concerned.",
			Sources:     []string{"linux-rdma/perftest, src/get_clock.c", ptParams}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Perftest, "cpu-frequency", "linux-rdma/perftest, src/get_clock.c",
					"Conflicting CPU frequency values"),
				says(Perftest, "bw-peak", ptParams, "WARNING: BW peak won't be measured in this run"),
				says(Perftest, "inline-unknown", ptParams, "Device not recognized to implement inline feature"),
				says(Perftest, "old-post-send", ptResources, "new post send flow is not supported, falling back"),
				says(Perftest, "ud-size", ptComm, "Max msg size in UD is MTU"),
				says(Perftest, "active-mtu", ptParams, "Requested mtu is higher than active mtu"),
			},
		},
		{
			ID: "RDX-504", Name: "perftest-option", Title: "an option of perftest was refused",
			Explanation: "The build doesn't have the option, or its value is out of range.",
			Sources:     []string{ptParams}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "no-gpu-option", "getopt(3)", "unrecognized option").
					any("--use_cuda", "--use_rocm", "--use_hl", "--use_neuron", "--use_mlu", "--use_opencl").
					decides("missing-library"),
				says(Perftest, "dmabuf-options", ptParams, "DMA-BUF cannot be used without ").speaks("setting-invalid"),
				says(Perftest, "bad-mtu", ptParams, "Invalid MTU - ").speaks("mtu-too-small"),
				says(Perftest, "ud-max", ptComm,
					"Max message size in UD cannot be greater than MTU").speaks("mtu-too-small"),
				says(Perftest, "parser", ptParams, "Parser function exited with Error").as(evidence.Vague),
				says(Perftest, "pkey-index", ptParams, "Specified PKey Index, ", "greater than allowed max").
					speaks("pkey"),
			},
			Causes: []Cause{
				maybe(Usual, "missing-library",
					"perftest was built without support for this GPU: packages of distributions have none",
					"ib_write_bw --help | grep use_",
					"build it: ./configure CUDA_H_PATH=/usr/local/cuda/include/cuda.h --enable-cudart, or "+
						"--enable-rocm"),
				maybe(Rare, "setting-invalid", "the options don't fit each other or this release, or are in the "+
					"wrong order: perftest reads them one by one", "the line above; --help; the order of the options",
					"options that this release has; --use_cuda=N before --use_cuda_dmabuf"),
				maybe(Rare, "mtu-too-small", "the size or MTU doesn't fit the port's MTU", "ibv_devinfo: active_mtu",
					"a value that the port has; UD carries one MTU"),
				maybe(Rare, "pkey", "the index isn't in the port's table of partition keys",
					"rdmactl doctor --only pkey; cat /sys/class/infiniband/DEVICE/ports/1/pkeys/*",
					"an index of the table"),
			},
		},
	}
}

func perftestPeers() []Symptom { //nolint:funlen // a table
	return []Symptom{
		{
			ID: "RDX-505", Name: "perftest-handshake", Title: "the other side of perftest ended during the exchange",
			Explanation: "Both sides exchange parameters over TCP or rdma_cm. Who reports this only saw the other " +
				"one go away: its output says why. Different releases or options on the two sides end it, too.",
			Sources:  []string{ptComm, "linux-rdma/perftest#132", "linux-rdma/perftest#262"},
			Standing: evidence.Waiting,
			Lines: []Line{
				says(Perftest, "read-keys", ptComm, "ethernet_read_keys: Couldn't read remote address"),
				says(Perftest, "read-data", ptComm, "ethernet_read_data: Couldn't read reports"),
				says(Perftest, "read-socket", ptComm, "Unable to read", "socket/rd").as(evidence.Echo),
				says(Perftest, "write-socket", ptComm, "Unable to write", "socket/rd").as(evidence.Echo),
				says(Perftest, "exchange", ptComm, "Failed to exchange ", "between server and client"),
				says(Perftest, "negotiate", ptComm, "Failed to negotiate parameters").as(evidence.Echo),
				says(Perftest, "sync", ptComm, "Failed to sync between server and client").as(evidence.Echo),
				says(Perftest, "close", ptComm,
					"Failed to close connection between server and client").as(evidence.Echo),
				says(Perftest, "send-address", ptComm, "Couldn't send local address").as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common+Hint, "dead-peer", "the other side ended with an error of its own: its output names it",
					"the output of the other side; run both with the same options and -F",
					"what the other side reports"),
				maybe(Usual, "version-mismatch",
					"different releases of perftest, or different options, on the two sides",
					"ib_write_bw --version on both; compare the two command lines", "the same release and options"),
				maybe(Rare, "rails-not-connected", "the RDMA ports don't reach each other, so the peer gave up",
					"rdmactl connect between the two ports; ping -I INTERFACE PEER",
					"addresses and neighbours of the RDMA network"),
			},
		},
		{
			ID: "RDX-506", Name: "perftest-versions", Title: "the two sides run releases of perftest that don't fit",
			Explanation: "The format of the exchange has changed with releases.",
			Sources:     []string{ptComm}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "old-version", ptComm,
					"Current implementation is not compatible with versions older than").
					decides("version-mismatch"),
			},
			Causes: []Cause{
				maybe(Common, "version-mismatch", "client and server are different releases of perftest",
					"ib_write_bw --version on both nodes", "the same release on both nodes"),
			},
		},
		{
			ID: "RDX-507", Name: "perftest-gid-types", Title: "the GIDs of the two sides are of different kinds",
			Explanation: "One side took the GID of an IPv4 address, the other one of IPv6 or a link-local one.",
			Sources:     []string{"linux-rdma/perftest, src/write_bw.c"}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "gid-types", "linux-rdma/perftest, src/write_bw.c",
					"Found Incompatibility issue with GID types"),
				says(Perftest, "ip-version", "linux-rdma/perftest, src/write_bw.c",
					"Please Try to use a different IP version").
					as(evidence.Echo),
			},
			Causes: []Cause{
				maybe(Common+Strong, "gid-index", "one side uses an IPv4 GID, the other one an IPv6 GID: -x "+
					"differs, or an interface has no IPv4 address", "show_gids on both nodes",
					"-x with the index of the RoCE v2 GID of the same IP version on both sides, or an address on "+
						"both interfaces"),
			},
		},
		{
			ID: "RDX-508", Name: "perftest-rdma-cm", Title: "perftest could not connect with rdma_cm (-R)",
			Explanation: "rdma_cm finds the device by the IP address: an address of an interface without RDMA, or " +
				"a host name that resolves to one, can't work.",
			Sources: []string{ptComm, "rdma_get_cm_event(3)", "linux-rdma/perftest#132"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "cm-event", ptComm, "nexpected CM event ").not("bl blka").with("event",
					"CM event "),
				says(Perftest, "cm-event-connect", ptComm, "Unexpected CM event bl blka ").with("event", "bl blka "),
				says(Perftest, "cm-request", ptComm, "bad event waiting for connect request ").
					with("event", "connect request "),
				says(Perftest, "addr-error", ptComm, "times ADDR_ERROR").speaks("overlay-address"),
				says(Perftest, "cm-error", ptComm, "Event: RDMA_CM_EVENT_", "; error: ").with("event", "Event: "),
				says(Perftest, "cm-retries", ptComm, "Unable to connect (retries = "),
				says(Perftest, "cm-perform", ptComm, "Unable to perform rdma_").as(evidence.Vague),
				says(Perftest, "cm-function", ptComm, "Function rdma_", " failed").as(evidence.Vague),
				says(Perftest, "cm-failed", ptComm, "Failed to ", "RDMA CM").as(evidence.Vague),
			},
			Causes: []Cause{
				maybe(Usual, "overlay-address",
					"the address, or what the host name resolves to, belongs to an interface without RDMA",
					"ip -br address and rdma link on both nodes",
					"the IP address of the RDMA interface; on InfiniBand that of IPoIB",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"1", "RDMA_CM_EVENT_ADDR_ERROR"},
						Text: "event 1: the address was not resolved to a device",
					}),
				maybe(Rare, "subnet-manager", "the subnet manager gave no path",
					"rdmactl fabric sm; ibv_devinfo: sm_lid",
					"a working subnet manager; on RoCE a route to the peer",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"3", "RDMA_CM_EVENT_ROUTE_ERROR"},
						Text: "event 3: no route",
					}),
				maybe(Usual, "nobody-listens", "the server isn't running, or runs without -R",
					"the server's command line",
					"the same options on both sides: -R, the port (-p), the transport",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"8", "RDMA_CM_EVENT_REJECTED"},
						Text: "event 8: the peer rejected the connection",
					}),
				maybe(Rare, "device-limit",
					"the server could not make as many queue pairs (-q), or the completion queue that they share",
					"the server's output; again with -q 1; ibv_devinfo -v: max_cqe, max_qp",
					"fewer queue pairs, a smaller -t, or several processes",
					Clue{
						Weight: Hint, Field: "event", Is: []string{"8", "RDMA_CM_EVENT_REJECTED"},
						Text: "the peer rejected it",
					}),
				maybe(Rare, "udp-blocked",
					"the peer doesn't answer: UDP 4791 is dropped, or the ports aren't connected",
					"rdmactl doctor --probe PEER; ping -I INTERFACE PEER",
					"the path and the firewalls between the ports",
					Clue{
						Weight: Strong, Field: "event", Is: []string{"7", "RDMA_CM_EVENT_UNREACHABLE"},
						Text: "event 7: no answer",
					}),
			},
		},
		{
			ID: "RDX-509", Name: "perftest-steps", Title: "steps of perftest that fail after something else has",
			Explanation: "Each only repeats that the step before it has failed.",
			Sources:     []string{ptResources}, Standing: evidence.Echo,
			Lines: []Line{
				says(Perftest, "resources", ptResources, "Couldn't create IB resources"),
				says(Perftest, "create-mr", ptResources, "ailed to create MR").not("ibv_"),
				says(Perftest, "create-mr-old", ptResources, "failed to create mr"),
				says(Perftest, "cm-resources", ptResources, "Unable to create RDMA_CM resources"),
				says(Perftest, "allocate-context", ptResources, "Couldn't allocate context"),
				says(Perftest, "socket-setup", ptResources, "Unable to set up socket connection"),
				says(Perftest, "socket-init", ptResources, "Unable to init the socket connection"),
				says(Perftest, "socket-open", ptComm, "Unable to open file descriptor for socket connection"),
				says(Perftest, "run-iter", ptResources, "Failed to complete run_iter_"),
				says(Perftest, "infinitely", ptResources, "Error occurred while running infinitely"),
				says(Perftest, "create-qp-again", ptResources, "Failed to create QP."),
			},
			Causes: []Cause{
				maybe(Usual, "elsewhere", "a step before this one failed", "the lines above this one",
					"what the first of them says"),
			},
		},
		{
			ID: "RDX-510", Name: "perftest-listen", Title: "perftest could not listen on its TCP port",
			Explanation: "Servers listen on TCP port 18515 unless -p says otherwise, one test at a time.",
			Sources:     []string{ptComm}, Standing: evidence.Origin,
			Lines: []Line{says(Perftest, "listen", ptComm, "Couldn't listen to port ").with("port", "to port ")},
			Causes: []Cause{
				maybe(Common+Strong, "port-in-use", "another server, or one that hung before, has the port",
					"ss -ltnp | grep 18515", "end it, or another port with -p on both sides"),
			},
		},
	}
}
