package launch

import (
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/internal/text/english"
	"github.com/rdmakit/rdmakit/inventory"
)

// effect describes the choice of ports: "jobs use 8 of 9 active ports; NCCL alone would use 9,
// among them mlx5_8:1 (storage)".
func (dv *derivation) effect() string {
	active, chosen, rails := 0, 0, 0
	for _, c := range dv.candidates {
		if c.chosen() {
			chosen++
		}
		if c.port.Role == inventory.RoleCompute {
			rails++
		}
		if c.port.State == inventory.PortStateActive &&
			(c.chosen() || dv.snapshot.OthersReason(c.device, c.port) == "") {
			active++
		}
	}
	text := fmt.Sprintf("jobs use %d of %s", chosen, english.Count(active, "active port"))
	switch {
	case chosen == 0 && rails > 0:
		text = fmt.Sprintf("jobs can use none of %s, so no list of devices is set",
			english.Count(rails, "compute port"))
	case chosen == 0:
		text = fmt.Sprintf("no port is for jobs, so no list of devices is set; %s", are(active))
	}
	if !dv.wants(LibraryNCCL) {
		return text
	}
	const shown = 3
	alone := 0
	var extra []string
	for _, c := range dv.candidates {
		if auto := c.plan.NCCLAuto; auto == nil || !auto.Used || !openable(dv, c) {
			continue
		}
		alone++
		if !c.chosen() {
			extra = append(extra, fmt.Sprintf("%s (%s)", c.plan.Name(), roleText(c.port.Role)))
		}
	}
	switch {
	case alone == 0:
		return text + "; NCCL alone would use none"
	case len(extra) == 0:
		return text + fmt.Sprintf("; NCCL alone would use %s", sameOr(alone, chosen)) + dv.effectOfFamily()
	}
	word := "among them"
	if len(extra) == alone {
		word = "namely"
	}
	text += fmt.Sprintf("; NCCL alone would use %d, %s %s",
		min(alone, ncclMaxDevices), word, english.List(extra, shown))
	if chosen == 0 {
		text += " (env --tcp-fallback turns RDMA off for it)"
	}
	return text + dv.effectOfFamily()
}

// effectOfFamily is about ports whose only addresses are IPv6, which NCCL doesn't look for.
func (dv *derivation) effectOfFamily() string {
	if !slices.ContainsFunc(dv.plan.Variables, func(v Variable) bool {
		return v.Name == "NCCL_IB_ADDR_FAMILY" && v.Value == "AF_INET6"
	}) {
		return ""
	}
	return ", with link-local GIDs, over which connections time out"
}

// chosen reports whether jobs use the port, after all rules.
func (c *candidate) chosen() bool { return c.plan.Decision == DecisionSelected }

// openable reports whether programs can open the device, as far as it is known.
func openable(dv *derivation, c *candidate) bool {
	why, _ := reasonNoVerbs(dv, c)
	return why == ""
}

func are(n int) string {
	if n == 1 {
		return "1 port is active"
	}
	return fmt.Sprintf("%d ports are active", n)
}

func sameOr(alone, chosen int) string {
	if alone == chosen {
		return "the same"
	}
	return fmt.Sprint(alone)
}

func roleText(r inventory.Role) string {
	if r == inventory.RoleUnknown {
		return "no role"
	}
	return string(r)
}
