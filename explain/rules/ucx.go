package rules

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// rdmaTransports are the beginnings of names of UCX's transports over RDMA.
var rdmaTransports = [...]string{"rc", "dc", "ud", "ib", "srd", "gga"}

// offered is which kinds of transports a line "no … transport to …" lists.
type offered struct {
	tcp, loopback, rdma, known bool
	incapable                  bool // a transport reaches, but can't do what is needed
}

func offeredBy(transports string) offered {
	o := offered{}
	for part := range strings.SplitSeq(transports, ",") {
		name, why, ok := strings.Cut(strings.TrimSpace(part), " - ")
		transport, device, ok2 := strings.Cut(name, "/")
		if !ok || !ok2 {
			continue
		}
		o.known = true
		o.tcp = o.tcp || transport == "tcp"
		o.loopback = o.loopback || transport == "tcp" && device == "lo"
		for _, prefix := range rdmaTransports {
			o.rdma = o.rdma || strings.HasPrefix(transport, prefix)
		}
		o.incapable = o.incapable || strings.HasPrefix(why, "no ") && !strings.HasPrefix(why, "not ") &&
			transport != "self" && transport != "cuda_copy" && transport != "cuda_ipc"
	}
	return o
}

func findUnreachable(f *facts.Facts) []Finding {
	list := of(f, evidence.UCXUnreachable)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	for _, y := range list { // the line that lists transports says most
		if offeredBy(y.Event.Fields["transports"]).known {
			x = y
			break
		}
	}
	o := offeredBy(x.Event.Fields["transports"])
	c := &candidates{}
	version := c.add("roce-version-differs", "the ends use different RoCE versions or GIDs", usual)
	version.opposesIf(o.known && !o.rdma, strong, "no transport over RDMA is in use", x.Event.Place).
		supportsIf(o.rdma && !o.incapable, hint, "a transport over RDMA is listed as unreachable", x.Event.Place).
		todo("show_gids on both nodes", "UCX_IB_GID_INDEX=auto, or the same kind of GID").
		from("openucx/ucx#4619")
	choice := c.add("interface-choice",
		"UCX uses an interface that doesn't lead to the peer, or takes it for one: lo, or one of another subnet", rare)
	choice.supportsIf(o.tcp && !o.rdma, usual+hint, "only TCP is in use, and its interface is refused", x.Event.Place).
		supportsIf(o.loopback, strong, "lo is among the devices for another node", x.Event.Place).
		todo("ip -br address on both nodes: is the interface in the line in the same subnet?",
			"UCX_NET_DEVICES with the interface of the network between the nodes; UCX from 1.12 on, which neither "+
				"pairs lo with other nodes nor compares subnets").
		from("openucx/ucx#3513", "openucx/ucx#6695", "openucx/ucx#7599")
	narrow := c.add("environment-differs", "UCX_TLS or UCX_NET_DEVICES is too narrow, on one side or both", usual)
	narrow.supportsIf(o.incapable, strong, "a transport is there, but can't do what the program needs",
		x.Event.Place).
		todo("env | grep UCX_ and ucx_info -c on both nodes",
			"unset UCX_TLS, or the same settings with a network transport (rc or tcp) and self, sm, cuda_copy")
	missing := c.add("missing-library", "UCX of one side has no InfiniBand modules, or its container no device", rare)
	missing.supportsIf(o.known && !o.rdma, hint, "no transport over RDMA is in use", x.Event.Place).
		todo("ucx_info -d on both sides; rdmactl detect", "UCX's package for InfiniBand and /dev/infiniband")
	return []Finding{{
		What: where(x) + ": UCX finds no transport to the " +
			"peer", Failure: list[0], Events: events(list), Causes: c.causes(),
	}}
}

// findNIXL reports errors of NIXL, whose cause is in the lines of the backend, if they are there.
func findNIXL(f *facts.Facts) []Finding {
	list := of(f, evidence.NIXLError)
	if len(list) == 0 {
		return nil
	}
	x := list[0]
	c := &candidates{}
	register, create := symptom(f, "nixl-register"), symptom(f, "nixl-plugin")
	cuda := firstOf(f, evidence.Symptom, "line", "transport-cuda-unavailable")
	remote := strings.HasPrefix(x.Event.Fields["error"], "NIXL_ERR_REMOTE")
	c.add("missing-library", "UCX of this image has no RDMA transports, or the plugin lacks a library", usual).
		supportsIf(create != nil, hint, textOf(create), placeOf(create)...).
		opposesIf(remote, strong, "the error is about the other end", x.Event.Place).
		todo("ucx_info -d in the container; ldd libplugin_UCX.so", "UCX built with rdma-core").
		from("PrimeIntellect-ai/prime-rl#2761")
	c.add("no-cuda-support", "UCX runs without its CUDA modules, so GPU memory can't be registered", usual).
		supportsIf(cuda != nil, decisive, textOf(cuda), placeOf(cuda)...).
		supportsIf(register != nil, hint, textOf(register), placeOf(register)...).
		opposesIf(remote, strong, "the error is about the other end", x.Event.Place).
		todo("ucx_info -d | grep cuda in the container; grep libuc /proc/PID/maps",
			"a UCX built --with-cuda, first in LD_LIBRARY_PATH").
		from("ai-dynamo/nixl#1628", "LMCache/LMCache#605")
	c.add("dead-peer", "the other end has gone", usual).
		supportsIf(remote, strong, "the error is about the other end", x.Event.Place).
		todo("the peer's log", "what ended it")
	c.add("library-conflict", "another UCX is loaded than the one that NIXL was built with", rare).
		todo("grep libuc /proc/PID/maps", "one copy of UCX").from("ai-dynamo/nixl#1561")
	c.add("peermem-missing", "the card can't reach GPU memory", rare).
		todo("lsmod | grep peermem; rdmactl doctor --only gpudirect", "modprobe nvidia-peermem, or DMA-BUF")
	return []Finding{{
		What: where(x) + ": NIXL's backend failed", Failure: x, Events: events(list), Causes: c.causes(),
	}}
}
