package symptoms

import "github.com/rdmakit/rdmakit/explain/evidence"

func perftestUsage() []Symptom {
	return []Symptom{
		{
			ID: "RDX-844", Name: "perftest-command", Title: "options of perftest that change what its messages mean",
			Explanation: "With --mr_per_qp and --use_hugepages each queue pair has a segment of shared memory of " +
				"its own.",
			Sources: []string{ptHost, "linux-rdma/perftest#395"}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Perftest, "option-mr-per-qp", ptHost, "--mr_per_qp", "--use_hugepages"),
			},
		},
		{
			ID: "RDX-845", Name: "perftest-arguments", Title: "perftest doesn't take these options together, or here",
			Explanation: "perftest checks its options before it opens anything, and again against the port.",
			Sources:     []string{ptParams, ptComm, ptResources}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "usage-transport", ptParams, "UC connection not possible in READ/ATOMIC verbs"),
				says(Perftest, "usage-connection", ptParams, "Invalid Connection type. Please choose from"),
				says(Perftest, "usage-srd", ptComm, "SRD connection not possible in "),
				says(Perftest, "usage-srd-size", ptComm, "Max message size in SRD cannot be greater than"),
				says(Perftest, "usage-srd-rdma", ptComm, "Max RDMA request size in SRD cannot be greater than"),
				says(Perftest, "usage-cm-uc", ptParams, "UC is not supported in librdmacm"),
				says(Perftest, "usage-infinitely", ptParams, "run_infinitely ", " support"),
				says(Perftest, "usage-events", ptParams, "Events feature not available on "),
				says(Perftest, "usage-list", ptParams, "must be a multiple of ").any("post list", "CQ moderation"),
				says(Perftest, "usage-moderation", ptParams, "CQ moderation can't be grater than"),
				says(Perftest, "usage-raw", ptParams, "Raw Ethernet tests do not support"),
				says(Perftest, "usage-side", ptParams, "Invalid Command line. you must choose test side"),
				says(Perftest, "usage-mac", ptParams, "Invalid Command line. you must enter ", " mac"),
				says(Perftest, "usage-atomic-size", ptParams, "Message size cannot be changed for Atomic tests"),
				says(Perftest, "usage-flag", ptParams, "Invalid Command or flag."),
				says(Perftest, "usage-inline", ptParams, "Inline feature not available on READ/Atomic verbs"),
				says(Perftest, "usage-numa", ptParams, "NUMA node ", " does not exist (available"),
				says(Perftest, "usage-cpu", ptParams, "out of range. System has ", " cores"),
				says(Perftest, "usage-mismatch", ptParams, " mismatch: local=", "remote=").speaks("version-mismatch"),
				says(Perftest, "usage-dm", "linux-rdma/perftest, src/dm_memory.c", "Requested DM size ",
					"exceeds device max"),
			},
			Causes: []Cause{
				maybe(Common, "setting-invalid", "the options don't fit each other, the test or the port",
					"the line; --help of the same test", "options that fit"),
				maybe(Rare, "version-mismatch", "the two sides have different options or releases",
					"the two command lines and ib_write_bw --version", "the same on both"),
			},
		},
		{
			ID: "RDX-846", Name: "perftest-feature", Title: "the device doesn't have the feature that perftest " +
				"asked for",
			Explanation: "On-demand paging, device memory, rate limits and the like depend on device, firmware and " +
				"transport.",
			Sources: []string{ptResources, ptParams}, Standing: evidence.Origin,
			Lines: []Line{
				says(Perftest, "feature-odp", ptResources, "not supported for ", "ODP ", " transport"),
				says(Perftest, "feature-odp-available", ptResources, "ODP is not available on "),
				says(Perftest, "feature-odp-query", ptResources, "Couldn't query device for On-Demand Paging"),
				says(Perftest, "feature-rate", ptResources, "The QP failed to accept HW rate limit"),
				says(Perftest, "feature-rate-value", ptParams, "The input value for hw rate limit is not supported"),
				says(Perftest, "feature-signature", ptResources,
					"T10DIF signature offload is not supported by the device"),
				says(Perftest, "feature-direct", ptResources, "No data direct support"),
				says(Perftest, "feature-xrc", ptResources, "Error opening XRC domain"),
				says(Perftest, "feature-td", ptResources, "Couldn't allocate TD"),
				says(Perftest, "feature-dm", "linux-rdma/perftest, src/dm_memory.c",
					"Failed to allocate device memory of"),
				says(Perftest, "feature-steering", "linux-rdma/perftest, src/raw_ethernet_send_bw.c",
					"Couldn't attach ", " rule QP").speaks("not-privileged"),
				says(Perftest, "feature-attach", ptResources, "Couldn't attach QP").not("MultiCast", "rule").
					speaks("not-privileged"),
			},
			Causes: []Cause{
				maybe(Common, "driver-refuses", "the device, its driver or this transport doesn't have the feature",
					"ibv_devinfo -v", "without the option, or another device, driver or transport"),
				maybe(Rare, "not-privileged", "flow steering and raw packets need CAP_NET_RAW", "id; dmesg", "as root"),
			},
		},
		{
			ID: "RDX-847", Name: "perftest-multiple-memory", Title: "perftest could not attach or reserve its memory",
			Explanation: "Memory of huge pages comes from System V shared memory; mmap'ed memory from a file.",
			Sources:     []string{ptHost, "linux-rdma/perftest, src/mmap_memory.c"}, Standing: evidence.Failed,
			Lines: []Line{
				says(Perftest, "memory-attach", ptHost, "Failed to attach shared memory region").speaks("shm-limit"),
				says(Perftest, "memory-open", "linux-rdma/perftest, src/mmap_memory.c", "Unable to mmap '"),
				says(Perftest, "memory-host", ptHost, "[HOST_MEMORY] Failed to allocate "),
			},
			Causes: []Cause{
				maybe(Usual, "host-memory", "the node has no memory of that kind left",
					"free -m; grep Huge /proc/meminfo",
					"smaller sizes, fewer queue pairs; more huge pages", onErrno(Strong, "errno 12", "12")),
				maybe(Rare, "shm-limit", "limits of System V shared memory", "ipcs -lm",
					"larger kernel.shmmax, shmmni"),
				maybe(Rare, "wrong-device", "the file or device of --mmap doesn't exist or can't be mapped",
					"ls -l of it", "its path and offset", onErrno(Strong, "no such file, or no permission", "2", "13",
						"22")),
			},
		},
	}
}

// fabtestsUsage are commands of libfabric's tests, whose messages don't name the provider.
func fabtestsUsage() []Symptom {
	return []Symptom{
		{
			ID: "RDX-848", Name: "fabtests-command", Title: "a test of libfabric was asked for the provider verbs",
			Explanation: "The option decides what a later message can mean.",
			Sources:     []string{"ofiwg/libfabric, fabtests", "ofiwg/fabtests#802"}, Standing: evidence.Harmless,
			Lines: []Line{
				says(Libfabric, "command-verbs", "ofiwg/libfabric, fabtests", "-p verbs", "fi_"),
			},
		},
	}
}
