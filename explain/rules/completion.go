package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// completionRules are about completions with other errors than a timeout.
func completionRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-102",
			Name:  "local-protection",
			Title: "the card can't reach this node's own memory: local protection error",
			Explanation: "The card of this node was refused access to the memory of the request. If the memory " +
				"is a GPU's, something between card and GPU redirects or blocks their direct traffic; else " +
				"memory was freed under the card.",
			Sources: []string{"NVIDIA/nccl#304", "NVIDIA/nccl#928", "rdma-core, providers/mlx5/mlx5dv.h"},
			Find:    findLocalProtection,
		},
		{
			ID:    "RDX-103",
			Name:  "remote-invalid-request",
			Title: "the two ends disagree about a request",
			Explanation: "The peer refused a request as invalid, or this node's card refused what a peer sent. " +
				"The most common cause is a path MTU that differs between the ends.",
			Sources: []string{"NVIDIA/nccl#1524", "kvcache-ai/Mooncake#3868", "ROCm/rocm-systems#11174"},
			Find:    findInvalidRequest,
		},
		{
			ID:    "RDX-104",
			Name:  "remote-access",
			Title: "the peer refused access to its memory",
			Explanation: "The request named memory that the peer's card doesn't know, no longer knows, or " +
				"doesn't allow it to access.",
			Sources: []string{"chimera-nas/libevpl#89"},
			Find:    findRemoteAccess,
		},
		{
			ID:    "RDX-105",
			Name:  "receiver-not-ready",
			Title: "the peer had no receive buffer: RNR retry counter exceeded",
			Explanation: "The peer's card is there and answers, but its program posts no receive buffers: it " +
				"hangs, is too slow, or has a shorter queue than this node expects.",
			Sources: []string{"ibv_poll_cq(3)", "ydb-platform/nbs#5790"},
			Find:    findNotReady,
		},
		{
			ID:    "RDX-106",
			Name:  "flushed",
			Title: "requests were flushed: the connection had failed before",
			Explanation: "Status 5 (flushed) is never a cause: the queue pair was in the error state already. " +
				"The first other error of that queue pair, or of its peer, is the cause.",
			Sources: []string{"ibv_modify_qp(3)"},
			Find:    findFlushed,
		},
		{
			ID: "RDX-107", Name: "local-length", Title: "a message was longer than its receive buffer",
			Explanation: "The receive buffer was too small, or the ends disagree about path MTU or sizes.",
			Sources:     []string{"kvcache-ai/Mooncake#3868"},
			Find:        findLength,
		},
		{
			ID: "RDX-108", Name: "local-operation",
			Title: "the card could not execute a request: local QP operation error",
			Explanation: "The card found the request itself wrong: an operation that it doesn't have, or lengths and " +
				"keys that don't fit.",
			Sources: []string{"ibv_poll_cq(3)"},
			Find:    findOperation,
		},
	}
}

func findLocalProtection(f *facts.Facts) []Finding {
	list := completions(f, "4")
	list = append(list, with(of(f, evidence.MLX5CQE), "status", "4")...)
	list = append(list, with(of(f, evidence.KernelCQE), "status", "4")...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	gdr := firstOf(f, evidence.NCCLChannel, "gdr", "yes")
	acs := c.add("acs", "ACS or the IOMMU redirects the traffic between GPU and card", common)
	if gdr != nil {
		acs.supports(strong, "the failing network path uses GPU Direct RDMA", gdr.Place)
	}
	if e := firstOf(f, evidence.Setting, "name", "ACSCtl"); e != nil {
		acs.supports(decisive, e.Text, e.Place)
	}
	if e := firstOf(f, evidence.KernelIOMMU, ""); e != nil {
		acs.supports(decisive, "the IOMMU refused an access: "+e.Text, e.Place)
	}
	noGDR := firstOf(f, evidence.NCCLGDR, "enabled", "no")
	acs.opposesIf(gdr == nil && noGDR != nil, usual, "GPU Direct RDMA is off", placeOf(noGDR)...)
	acs.todo("rdmactl doctor --only acs; run once with NCCL_NET_GDR_LEVEL=0: if it works, it is this",
		"switch ACS off on the bridges between GPU and card, iommu=pt; in a VM, ATS for the card").
		from("NVIDIA/nccl#304", "NVIDIA/nccl#928")
	c.add("peermem-build", "the module for GPU memory (nvidia-peermem) is of another build", usual).
		supportsIf(gdr != nil, hint, "the path uses GPU Direct RDMA", placeOf(gdr)...).
		todo("lsmod | grep peermem; dmesg | grep -i peer", "reinstall the driver after OFED, or use DMA-BUF")
	_, nccl := f.Library("nccl")
	plain := gdr == nil && !nccl && softwareDevice(f) == nil && x.Event.Kind == evidence.VerbsCompletion
	c.add("memory-freed", "the program freed or unmapped registered memory, or posts a wrong address or key", rare).
		supportsIf(gdr == nil, hint, "no line shows GPU Direct RDMA").
		supportsIf(plain, strong, "the program uses verbs itself, and no line shows GPU memory", x.Event.Place).
		todo("run with host memory; a debugger on the registration",
			"keep memory registered until its requests have completed")
	kernelDefect(f, c)
	return []Finding{{
		What:    cardOf(x) + " was refused access to its own node's memory",
		Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// kernelDefect adds the regression of rxe in Linux 5.10.
func kernelDefect(f *facts.Facts, c *candidates) {
	e := softwareDevice(f)
	if e == nil || strings.HasPrefix(e.Fields["device"], "siw") {
		return
	}
	d := c.add("defect:rxe-5.10", "a regression of rxe in Linux 5.10", rare).
		supports(hint, "the device is rxe", e.Place)
	if k := firstOf(f, evidence.Setting, "name", "kernel"); k != nil {
		regression := strings.HasPrefix(k.Fields["value"], "5.10.")
		d.supportsIf(regression, strong, "the kernel is "+k.Fields["value"], k.Place).
			opposesIf(!regression, hint, "the kernel is "+k.Fields["value"], k.Place)
	}
	d.todo("uname -r", "a later kernel").from("pmem/rpma#1142")
	for _, x := range c.list {
		if x.Slug == "acs" || x.Slug == "peermem-build" {
			x.opposes(decisive, "the device is software: no card is between", e.Place)
		}
	}
}

// softwareDevice returns a line about a device that is software, nil if there is none.
func softwareDevice(f *facts.Facts) *evidence.Event {
	if e := firstOf(f, evidence.KernelOther, "driver", "rxe"); e != nil {
		return e
	}
	for e := range f.Store.Of(evidence.DevicePort) {
		if d := e.Fields["device"]; strings.HasPrefix(d, "rxe") || strings.HasPrefix(d, "siw") {
			return e
		}
	}
	return nil
}

func findInvalidRequest(f *facts.Facts) []Finding {
	list := append(completions(f, "9"), with(of(f, evidence.MLX5CQE, evidence.KernelCQE), "status", "9")...)
	access := with(of(f, evidence.NCCLAsync, evidence.VerbsAsync), "event",
		"local access violation work queue error", "invalid request local work queue error")
	if len(list)+len(access) == 0 {
		return nil
	}
	all := slices.Concat(list, access)
	x := all[0]
	c := &candidates{}
	mtu := c.add("mtu-differs", "the path MTUs of the two ends differ", common)
	if d, ok := mtuDifference(f); ok {
		mtu.supports(decisive, d.What+": "+values(d), placesIn(d)...)
		if l, ok := f.Library("nccl"); ok && d.What == "MTU" && between(d, x.Node, x.Peer) {
			if _, certain := l.Between("2.20", "2.29.99"); certain {
				mtu.proves(
					"NCCL 2.20 to 2.29 breaks with different MTUs: each receiving queue pair gets the sender's",
					l.Place()...)
			}
		}
	}
	_, rccl := f.Library("rccl")
	if l, ok := f.Library("nccl"); ok && !rccl {
		if possible, _ := l.Between("2.20", "2.29.99"); possible {
			mtu.supportsIf(!mtu.proven, hint, "this NCCL gives the receiver the sender's MTU (2.20 to 2.29)",
				l.Place()...)
			d := c.add(
				"defect:nccl-mtu-negotiation",
				"NCCL 2.20 to 2.29 doesn't agree on the smaller of two MTUs",
				usual,
			)
			d.todo("compare active_mtu of both ends", "the same MTU everywhere, or NCCL 2.30").
				from("NVIDIA/nccl#1524")
		} else {
			mtu.opposes(strong, "NCCL of this version agrees on the smaller MTU", l.Place()...)
		}
	}
	mtu.supportsIf(len(access) > 0 && len(list) > 0, hint,
		"one end reports an access violation and the other an invalid request").
		todo("ibv_devinfo | grep active_mtu on both nodes; rdmactl env consensus",
			"one MTU on all ports, or NCCL 2.30").
		from("NVIDIA/nccl#1524", "kvcache-ai/Mooncake#3868")
	rcclFlush(f, c, all)
	c.add("stale-rkey", "the request names memory, a size or an operation that the peer doesn't allow", rare).
		todo("compare library versions and environment of both nodes", "equal versions and settings")
	c.add("version-mismatch", "the two ends run different versions of the library", rare).
		supportsIf(versionsDiffer(f), strong, "versions differ between nodes").
		todo("compare the version lines", "the same version everywhere")
	return []Finding{{
		What:    fmt.Sprintf("%s and %s disagree about a request", where(x), toward(x)),
		Failure: x, Events: events(all), Causes: c.causes(),
	}}
}

// rcclFlush adds the defect of RCCL's flush, whose queue pair is connected to itself.
func rcclFlush(f *facts.Facts, c *candidates, list []*facts.Failure) {
	l, rccl := f.Library("rccl")
	var loop *facts.Failure
	devices := map[string]bool{}
	for _, x := range list {
		devices[x.Device] = true
		if g := x.Event.Fields["localGID"]; loop == nil && g != "" && g == x.Event.Fields["remoteGID"] {
			loop = x
		}
	}
	if !rccl && loop == nil {
		return
	}
	d := c.add("defect:rccl-flush", "RCCL's flush of GPU memory fails on its own loopback queue pair", usual)
	if loop != nil {
		d.supports(decisive, "local and remote GID are the same: a loopback, not the wire", loop.Event.Place)
	}
	d.supportsIf(rccl, strong, "the library is RCCL, whose releases of 2026 had this defect", l.Place()...).
		supportsIf(len(devices) > 2, hint, fmt.Sprintf("it is on %d cards at once", len(devices))).
		todo("compare local and remote GID of the lines; a later RCCL", "a later RCCL, or DMA-BUF off").
		from("ROCm/rocm-systems#11174", "ROCm/rocm-systems#9417")
}

func versionsDiffer(f *facts.Facts) bool {
	return f.VersionsDiffer() || f.Store.Has(evidence.NCCLMismatch)
}

func findRemoteAccess(f *facts.Facts) []Finding {
	list := append(completions(f, "10"), completions(f, "11")...)
	list = append(list, with(of(f, evidence.MLX5CQE, evidence.KernelCQE), "status", "10", "11")...)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	c.add("stale-rkey", "the key is of another device's registration, or the peer freed the memory", common).
		todo("which device registered the memory whose key was sent; the peer's log",
			"use the key of the device in use; keep it registered").
		from("chimera-nas/libevpl#89")
	c.add("version-mismatch", "the two ends run different versions or settings", rare).
		supportsIf(versionsDiffer(f), strong, "versions differ").
		todo("compare version lines and environment", "the same on all nodes")
	c.add("mtu-differs", "the path MTUs differ", rare).
		todo("compare active_mtu", "one MTU")
	return []Finding{
		{
			What: fmt.Sprintf(
				"%s was refused access to the memory of %s",
				where(x),
				toward(x),
			),
			Failure: x,
			Events:  events(list),
			Causes:  c.causes(),
		},
	}
}

func findNotReady(f *facts.Facts) []Finding {
	list := completions(f, "13")
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	c.add("receiver-not-ready", "the peer's program posts no receive buffers: it hangs or is too slow", common+strong).
		supports(hint, "the peer's card answered, so address and path work", x.Event.Place).
		todo("the peer's log and stack (py-spy, gdb)", "find what the peer's process waits for").
		from("ibv_poll_cq(3)")
	c.add("queue-depth", "the two ends are configured with different queue depths", rare).
		todo("compare the settings of both ends", "equal settings")
	c.add("rnr-timer", "the RNR timer or retry count is too small", rare).
		todo("min_rnr_timer and rnr_retry of the queue pairs: timer 0 is 655 ms", "rnr_retry 7, a timer that fits")
	return []Finding{
		{
			What: fmt.Sprintf(
				"%s had no receive buffer for %s",
				toward(x),
				where(x),
			),
			Failure: x,
			Events:  events(list),
			Causes:  c.causes(),
		},
	}
}

func findLength(f *facts.Facts) []Finding {
	list := completions(f, "1")
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	m := c.add("mtu-differs", "the path MTUs of the two ends differ", usual)
	if d, ok := mtuDifference(f); ok {
		m.supports(decisive, values(d))
	}
	m.supportsIf(len(completions(f, "9")) > 0, strong, "the other end reports a remote invalid request error").
		todo("compare active_mtu of both ends", "one MTU on all ports").from("kvcache-ai/Mooncake#3868")
	c.add("buffer-size", "the receiver's buffers are smaller than the messages", usual).
		todo("compare versions and sizes of both programs", "equal versions and settings")
	c.add("device-limit", "the message is larger than the device allows in one request (max_msg_sz)", rare).
		todo("ibv_devinfo -v: max_msg_sz, against the size", "split the message").from("pytorch/gloo#474")
	return []Finding{{
		What: "a message didn't fit at " + where(x), Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// findOperation is about requests that the local card refused to execute.
func findOperation(f *facts.Facts) []Finding {
	list := completions(f, "2")
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	c.add("driver-refuses", "the card can't execute the request: an operation or flag that it doesn't have", usual).
		todo("the operation of the failed request; the same program with another card",
			"a program that doesn't use the operation, another driver or firmware")
	c.add("program-fault", "the request is wrong: a length, address or key outside of its region", usual).
		todo("the program's scatter list and inline size", "the program")
	m := c.add("mtu-differs", "the path MTUs of the two ends differ", rare)
	if d, ok := mtuDifference(f); ok {
		m.supports(decisive, values(d))
	}
	m.supportsIf(len(completions(f, "9")) > 0, strong, "the other end reports a remote invalid request error").
		todo("compare active_mtu of both ends", "one MTU on all ports")
	return []Finding{{
		What:    "the card of " + where(x) + " could not execute a request: local QP operation error",
		Failure: x, Events: events(list), Causes: c.causes(),
	}}
}

// findFlushed reports flushed requests if nothing else failed in these inputs.
func findFlushed(f *facts.Facts) []Finding {
	if len(f.Failures) == 0 || f.Failures[0].Event.Fields["status"] != "5" {
		return nil
	}
	x := f.Failures[0]
	c := &candidates{}
	c.add("elsewhere", "the cause is in a log that is not here: the peer's, or earlier in this one", common).
		supports(strong,
			"status 5 only follows from another error, and no other error is in these logs", x.Event.Place).
		todo("rdmactl explain with the logs of all ranks: the first status other than 5", "")
	return []Finding{{
		What:    fmt.Sprintf("requests of %s were flushed after something else had failed", where(x)),
		Failure: x, Events: []*evidence.Event{x.Event}, Causes: c.causes(),
	}}
}
