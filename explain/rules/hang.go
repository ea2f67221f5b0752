package rules

import (
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/facts"
)

// hangRules are about jobs that stand still without an error of the transport, and about values in
// the output of commands.
func hangRules() []Rule {
	return []Rule{
		{
			ID:    "RDX-157",
			Name:  "hang",
			Title: "the job stood still without an error",
			Explanation: "No rank reports an error, and nothing moves. Operation counts of NCCL's RAS service " +
				"tell a rank that never came from a kernel that never ends; some releases of NCCL hang by themselves.",
			Sources: []string{"NVIDIA/nccl#2353", "NVIDIA/nccl#2389", "NVIDIA/nccl#1957", "vllm-project/vllm#48720"},
			Find:    findHang,
		},
		{
			ID:    "RDX-182",
			Name:  "rnr-timer",
			Title: "the RNR timer has the longest value",
			Explanation: "min_rnr_timer 0 means 655 ms, not none: each request that finds no receive buffer waits " +
				"that long.",
			Sources: []string{"ibv_modify_qp(3)", "ydb-platform/nbs#5790"},
			Find: settingOf(
				"min_rnr_timer",
				"the RNR timer is 0, which means 655 ms",
				func(c *candidates, e *evidence.Event) {
					c.add("rnr-timer", "each request that finds no receive buffer waits 655 ms", common).
						supports(strong, e.Text, e.Place).
						todo("a capture: RNR NAKs with timer 0", "min_rnr_timer 12 (0.64 ms), or more receive buffers").
						from("ydb-platform/nbs#5790")
				},
			),
		},
		{
			ID: "RDX-174", Name: "echoes-only", Title: "these logs only show consequences",
			Explanation: "Closed connections, aborted communicators and the error classes of NCCL follow from " +
				"something else. It is in the log of another rank, or was not logged.",
			Sources: []string{"NVIDIA/nccl, src/misc/socket.cc", "pytorch/pytorch, NCCLUtils.hpp"},
			Find:    findEchoes,
		},
		{
			ID: "RDX-172", Name: "port-down", Title: "a port is down",
			Explanation: "The port that was chosen isn't active.",
			Sources:     []string{"linux-rdma/perftest"},
			Find: settingOf("port state", "a port is down", func(c *candidates, e *evidence.Event) {
				c.add("port-down", "the port isn't active", common).supports(strong, e.Text, e.Place).
					todo("rdmactl detect; rdmactl doctor --only port-active",
						"cable, switch port, subnet manager, or another port")
			}),
		},
		{
			ID:    "RDX-173",
			Name:  "switch-port",
			Title: "pods on different nodes don't reach each other",
			Explanation: "On one node it works, so network and addresses are right; between nodes the switch " +
				"doesn't forward.",
			Sources: []string{"k8snetworkplumbingwg/sriov-network-device-plugin#422"},
			Find:    findSwitchPort,
		},
	}
}

// settingOf returns the search for a value in the output of a command, if nothing failed that
// explains more.
func settingOf(name, what string, causes func(c *candidates, e *evidence.Event)) func(*facts.Facts) []Finding {
	return func(f *facts.Facts) []Finding {
		e := firstOf(f, evidence.Setting, "name", name)
		if e == nil {
			return nil
		}
		c := &candidates{}
		causes(c, e)
		return []Finding{{What: what, Events: []*evidence.Event{e}, Causes: c.causes()}}
	}
}

func findSwitchPort(f *facts.Facts) []Finding {
	e := firstOf(f, evidence.Setting, "name", "ping")
	if e == nil || len(completions(f, "12")) > 0 {
		return nil
	}
	c := &candidates{}
	port := c.add("switch-port-mode", "mode or VLAN of the switch port", common)
	if access := firstOf(f, evidence.Setting, "name", "switch port"); access != nil {
		port.supports(strong, access.Text, access.Place)
	}
	port.todo("ping between pods of one node, and the configuration of the switch port",
		"trunk with the VLAN of the network").
		from("k8snetworkplumbingwg/sriov-network-device-plugin#422")
	c.add("rails-not-connected", "the networks of the two interfaces are not connected", usual).
		todo("ip route get", "connect them")
	return []Finding{
		{What: "an address on the network is not reachable", Events: []*evidence.Event{e}, Causes: c.causes()},
	}
}

// findHang looks at jobs of which programs only say that they wait, or of which NCCL's RAS service
// says that ranks are at different operations.
func findHang(f *facts.Facts) []Finding {
	list := of(f, evidence.ProgramHang, evidence.VLLMBroadcast, evidence.TorchWatchdog)
	ras := firstOf(f, evidence.NCCLRAS, "")
	apart := ras != nil && ras.Fields["counts"] == "different" && len(f.Failures) == 0
	if len(list) == 0 && !apart || !onlyHangs(f) {
		return nil
	}
	c := &candidates{}
	hangGIN(f, c, deviceInitiated(f))
	silentHang(f, c)
	registeredHang(f, c, ras)
	limit := !apart && list[0].Event.Fields["what"] == "time limit"
	if limit {
		c.add("time-limit", "the job needed more time than its limit, and nothing stood still", usual).
			todo("its last lines: did it still make progress? sacct: Elapsed, Timelimit",
				"a longer limit (--time), or checkpoints")
	}
	if apart || list[0].Event.Kind == evidence.ProgramHang {
		c.add("gpu-hang", "a GPU kernel never ends", usual).
			todo("nvidia-smi: full utilization at nearly idle power; py-spy dump", "another release of the library")
		c.add("program-fault", "a rank never came to the operation", usual).
			supportsIf(ras != nil && ras.Fields["counts"] == "different", hint,
				"operation counts of the ranks differ", placeOf(ras)...).
			todo("ncclras; the flight recorder", "the rank that lags")
	}
	causes := c.causes()
	switch {
	case len(causes) == 0:
		return nil
	case apart:
		return []Finding{{What: "the job stood still: " + ras.Text, Events: []*evidence.Event{ras}, Causes: causes}}
	}
	x := list[0]
	if x.Event.Kind != evidence.ProgramHang && causes[0].Confidence == Possible {
		return nil // RDX-150 and RDX-152 are about it
	}
	what := "the job stood still: "
	if limit {
		what = "the job reached its time limit: "
	}
	return []Finding{
		{What: what + x.Event.Text, Failure: x, Events: events(list[:1]), Causes: causes},
	}
}

// registeredHang adds the defect of NCCL's registered buffers if all ranks wait for the same.
func registeredHang(f *facts.Facts, c *candidates, ras *evidence.Event) {
	if ras == nil || ras.Fields["counts"] != "equal" {
		return
	}
	registered := firstOf(f, evidence.Setting, "name", "registered buffers")
	c.add("defect:nccl-registered-flag", "NCCL before 2.32 can lose the flag of registered buffers", rare).
		supportsIf(registered != nil, decisive, textOf(registered), placeOf(registered)...).
		supports(hint, "all ranks wait for the same operation", ras.Place).
		supportsIf(nodesUse(f, "IB"), hint, "the network is InfiniBand or RoCE").
		todo("the same job without registered buffers, or with PXN", "NCCL 2.32").from("NVIDIA/nccl#2389")
}

// deviceInitiated returns a line that shows that GPUs start transfers by themselves: the plugin
// GDAKI, or the setting that chooses it.
func deviceInitiated(f *facts.Facts) *evidence.Event {
	if e := firstOf(f, evidence.NCCLPlugin, "name", "GIN_IB_GDAKI"); e != nil {
		return e
	}
	for e := range f.Store.Of(evidence.NCCLEnv) {
		if e.Fields["name"] == "NCCL_GIN_TYPE" && e.Fields["value"] == "3" {
			return e
		}
	}
	return nil
}

// onlyHangs reports whether nothing failed but programs that wait.
func onlyHangs(f *facts.Facts) bool {
	for _, x := range f.Failures {
		if x.Event.Kind != evidence.ProgramHang && x.Event.Kind != evidence.NCCLAsync && !isWaiting(x.Event.Kind) &&
			x.Event.Standing != evidence.Waiting {
			return false
		}
	}
	return true
}

func nodesUse(f *facts.Facts, network string) bool { return used(f, network) }

// hangGIN are the known causes of hangs of device-initiated transfers.
func hangGIN(f *facts.Facts, c *candidates, gin *evidence.Event) {
	if gin == nil {
		return
	}
	small := false
	for e := range f.Store.Of(evidence.NCCLQP) {
		if mtu, ok := e.Fields.Int("mtu"); ok && mtu < 4096 {
			small = true
		}
	}
	c.add("defect:nccl-gin-mtu", "GDAKI sends packets of 4096 bytes, whatever the port's MTU", usual).
		supports(hint, "GPUs start transfers by themselves (GDAKI)", gin.Place).
		supportsIf(small, strong, "the port's MTU is smaller").
		todo("a capture: packets larger than the MTU; NCCL_GIN_TYPE=2", "MTU 4200 on ports and switches; a later NCCL").
		from("NVIDIA/nccl#1957")
	tc := firstOf(f, evidence.Setting, "name", "global traffic class")
	c.add("defect:nccl-gin-traffic-class", "GDAKI's queue pairs don't get the card's global traffic class", usual).
		supports(hint, "GPUs start transfers by themselves (GDAKI)", gin.Place).
		supportsIf(tc != nil, strong, textOf(tc), placeOf(tc)...).
		todo("DSCP of the packets in a capture", "NCCL_IB_TC or NCCL_GIN_IB_TC").from("NVIDIA/nccl#2383")
	c.add("rails-not-connected", "GDAKI connects across rails that are not connected", rare).
		todo("NCCL_CROSS_NIC=0", "NCCL_CROSS_NIC=0").from("NVIDIA/nccl#2203")
}

// isWaiting reports whether an event only says that a program waits, or follows from that.
func isWaiting(k evidence.Kind) bool {
	s := string(k)
	return strings.HasPrefix(s, "torch.") || strings.HasPrefix(s, "vllm.") || strings.HasPrefix(s, "ray.") ||
		strings.HasPrefix(s, "python.") || strings.HasPrefix(s, "program.") || strings.HasPrefix(s, "mpi.") ||
		strings.HasPrefix(s, "nccl.end") || strings.HasPrefix(s, "nccl.return")
}

// echoKinds are the events of [findEchoes]: the rules of the others say what they mean.
var echoKinds = []evidence.Kind{
	evidence.NCCLPeerClosed, evidence.NCCLProxy, evidence.NCCLReturn, evidence.NCCLResult, evidence.TorchNCCLError,
	evidence.TorchException, evidence.MPIError, evidence.RayError,
}

// findEchoes reports consequences if nothing else failed in these inputs.
func findEchoes(f *facts.Facts) []Finding {
	if len(f.Failures) != 1 || !slices.Contains(echoKinds, f.Failures[0].Event.Kind) {
		return nil
	}
	x := f.Failures[0]
	list := append([]*evidence.Event{x.Event}, x.Echoes...)
	c := &candidates{}
	dead := c.add("dead-peer", "another rank ended first, or its node lost the network", usual)
	for _, e := range list {
		if e.Kind == evidence.NCCLPeerClosed || e.Fields["class"] == "ncclRemoteError" {
			dead.supports(strong, e.Text, e.Place)
			break
		}
	}
	dead.todo("the logs of all ranks: the first that ends; dmesg of the node that others name", "what ended it")
	if name, places := bridges(f); name != "" {
		c.add("interface-choice", "NCCL uses interfaces that other nodes don't reach", common).
			supports(strong, "among the interfaces for TCP is "+name, places...).
			todo("ip -br address on all nodes", "NCCL_SOCKET_IFNAME with the interface of the nodes' network")
	}
	c.add("elsewhere", "the cause was not logged: NCCL prints it as a warning", common).
		todo("the same job with NCCL_DEBUG=WARN, or INFO", "the first warning")
	return []Finding{{
		What:    where(x) + " reports only consequences: " + x.Event.Text,
		Failure: x, Events: list[:1], Causes: c.causes(),
	}}
}
