package rules

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// callRule is about calls of libibverbs that no other rule is about.
func callRule() Rule {
	return Rule{
		ID: "RDX-604", Name: "verbs-call", Title: "a call of libibverbs failed",
		Explanation: "The error number says more than the call: permission, a device file that isn't there, a limit, " +
			"or an attribute that the device doesn't have.",
		Sources: []string{"ibv_open_device(3)", "ibv_post_send(3)", "ibv_create_flow(3)"},
		Find:    findCall,
	}
}

// createCalls make objects that take memory and numbers of the card.
func createCalls() []string {
	return []string{
		"ibv_create_cq", "ibv_create_qp", "ibv_create_qp_ex", "ibv_create_cq_ex", "ibv_alloc_pd", "ibv_create_srq",
		"mlx5dv_create_qp",
	}
}

func findCall(f *facts.Facts) []Finding {
	known := slices.Concat(registerCalls(), createCalls(), []string{"ibv_modify_qp", "ibv_create_ah"})
	var list []*facts.Failure
	for _, x := range of(f, evidence.VerbsError) {
		if !slices.Contains(known, x.Event.Fields["call"]) {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	call, errno := x.Event.Fields["call"], x.Event.Fields["errno"]
	callCauses(c, x, call)
	refusedCauses(c, x, errno)
	c.add("file-limit", "the process has no more file descriptors", rare).
		supportsIf(errno == "24" || errno == "23", decisive, "errno "+errno, x.Event.Place).
		todo("ulimit -n; ls /proc/PID/fd | wc -l", "a higher limit: LimitNOFILE, ulimit -n")
	return []Finding{{
		What: fmt.Sprintf("%s: %s failed%s", where(x), call, errnoText(errno)), Failure: x, Events: events(list),
		Causes: c.causes(),
	}}
}

// callCauses are those that a call has by itself.
func callCauses(c *candidates, x *facts.Failure, call string) {
	errno := x.Event.Fields["errno"]
	switch call {
	case "ibv_open_device", "ibv_query_device", "ibv_query_port", "ibv_import_device":
		c.add("no-device-node",
			"the container has no /dev/infiniband/uverbs* of that device, or the user no right to it",
			common).
			supportsIf(errno == "2" || errno == "19" || errno == "13", strong, "errno "+errno, x.Event.Place).
			todo("ls -l /dev/infiniband; rdmactl detect", "the device in the container, or its permissions")
		c.add("missing-library", "the provider doesn't fit the driver", rare).
			todo("ibv_devinfo with the same libraries", "one rdma-core for all")
	case "ibv_get_device_list":
		c.add("module-missing", "ib_uverbs or the card's driver isn't loaded", common).
			supportsIf(errno == "38" || errno == "2", strong, "errno "+errno, x.Event.Place).
			todo("lsmod | grep ib_uverbs; rdma link", "modprobe ib_uverbs and the driver")
		c.add("missing-library", "no provider of libibverbs is installed", usual).
			todo("ibv_devices; ls /etc/libibverbs.d", "ibverbs-providers, rdma-core")
	case "ibv_fork_init":
		c.add("fork-support", "it was called after memory was registered, or huge pages aren't announced", common).
			todo("the order of the calls; RDMAV_HUGEPAGES_SAFE", "RDMAV_FORK_SAFE=1 before the program starts, or none")
	case "ibv_post_send", "ibv_post_recv", "ibv_post_srq_recv":
		c.add("device-limit", "the queue is full, or a request has more entries or inline data than the queue",
			common).
			supportsIf(errno == "12" || errno == "22", hint, "errno "+errno, x.Event.Place).
			todo("the depth against the requests that are outstanding; max_inline_data",
				"a deeper queue, or polling first")
		c.add("program-fault", "the queue pair isn't in a state that takes requests, or the request is wrong", usual).
			todo("the state of the queue pair: rdma resource show qp", "the program")
	}
}

// refusedCauses are those of an error number.
func refusedCauses(c *candidates, x *facts.Failure, errno string) {
	c.add("not-privileged", "the process isn't allowed to: CAP_NET_RAW, CAP_NET_ADMIN or the device's permission",
		rare).
		supportsIf(errno == "1" || errno == "13", decisive, "errno "+errno, x.Event.Place).
		todo("capsh --print; ls -l /dev/infiniband", "the capability, or the device in the container")
	c.add("driver-refuses", "the device or its driver doesn't have this", rare).
		supportsIf(slices.Contains([]string{"95", "93", "38"}, errno), decisive, "errno "+errno, x.Event.Place).
		supportsIf(errno == "22", hint, "errno 22", x.Event.Place).
		todo("ibv_devinfo -v", "another device, driver or option")
}
