package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mergeUser merges the derived variables with the user's environment and sorts them by library.
func (dv *derivation) mergeUser() {
	slices.SortStableFunc(dv.derived, func(a, b Variable) int {
		return slices.Index(Libraries(), a.Library) - slices.Index(Libraries(), b.Library)
	})
	for _, v := range dv.derived {
		if !dv.wants(v.Library) {
			continue
		}
		user := dv.opts.Environment[v.Name]
		if user == "" && dv.omitFor(v.Name) {
			continue
		}
		if user == "" {
			dv.plan.Variables = append(dv.plan.Variables, v)
			continue
		}
		if user != v.Value {
			dv.conflict(v.Name, user, v.Value, v.Rule, v.Reason)
		}
		if user == v.Value || !dv.opts.Override {
			v.Value, v.Source, v.Reason = user, SourceUser, "set in the environment"
		}
		dv.plan.Variables = append(dv.plan.Variables, v)
	}
}

// rivals are settings of the user that a derived variable would override or break.
var rivals = []struct{ derived, user, why string }{
	{"NVSHMEM_HCA_LIST", "NVSHMEM_HCA_PE_MAPPING", "NVSHMEM would ignore the mapping"},
	{"UCX_IB_GID_INDEX", "UCX_IB_ROCE_SUBNETS", "UCX rejects both together"},
}

// omitFor reports whether a derived variable is left out because of another setting of the user,
// and adds a warning.
func (dv *derivation) omitFor(name string) bool {
	for _, r := range rivals {
		if r.derived == name && dv.opts.Environment[r.user] != "" && !dv.opts.Override {
			dv.plan.warn(ruleUserRival,
				fmt.Sprintf("%s is not set, because the environment sets %s: %s", name, r.user, r.why))
			return true
		}
	}
	return false
}

func (dv *derivation) conflict(name, user, derived, rule, reason string) {
	kept := SourceUser
	if dv.opts.Override {
		kept = SourceDerived
	}
	dv.plan.Conflicts = append(dv.plan.Conflicts,
		Conflict{Name: name, User: user, Derived: derived, Kept: kept, Rule: rule, Reason: reason})
}

// checkUser checks settings of the user that no derived variable replaces.
func (dv *derivation) checkUser() {
	if dv.plan.Outcome != OutcomeRDMA {
		return
	}
	for _, v := range indexVariables {
		value := dv.opts.Environment[v.name]
		if value == "" || !dv.wants(v.library) ||
			slices.ContainsFunc(dv.plan.Variables, func(p Variable) bool { return p.Name == v.name }) {
			continue
		}
		if why := dv.userIndexFault(v.library, value); why != "" {
			dv.refuse(v.name, value, ruleUserIndex, why)
		}
	}
	if value := dv.opts.Environment["NCCL_IB_DISABLE"]; value != "" && leadingInt(value) != 0 && dv.wants(LibraryNCCL) {
		dv.refuse("NCCL_IB_DISABLE", value, ruleUserDisable, "the node can use RDMA, but NCCL would not")
	}
	dv.checkUserHCAs()
}

// refuse adds a conflict with a variable that should not be set.
func (dv *derivation) refuse(name, user, rule, why string) {
	dv.conflict(name, user, "", rule, why)
	if dv.opts.Override {
		dv.plan.Unset = append(dv.plan.Unset, Unset{Name: name, Rule: rule, Reason: why})
	}
}

// userIndexFault returns the fault of the user's GID index on the selected ports, "" for none.
func (dv *derivation) userIndexFault(l Library, value string) string {
	index, err := strconv.Atoi(value)
	if err != nil || index < 0 {
		return "" // "auto", or -1
	}
	var bad []string
	for _, c := range dv.selected {
		switch {
		case c.isInfiniBand() && l == LibraryUCX:
			bad = append(bad, c.plan.Name()+" is InfiniBand, where UCX applies the index too")
		case c.isRoCE() && !c.hasUsable(index):
			bad = append(bad, fmt.Sprintf("%s has no routable GID at index %d (use %d)",
				c.plan.Name(), index, c.plan.GID.Index))
		}
	}
	return strings.Join(bad, "; ")
}

func (c *candidate) hasUsable(index int) bool {
	for _, list := range c.gids {
		for _, e := range list {
			if e.Index == index {
				return true
			}
		}
	}
	return false
}

// checkUserHCAs warns if the user's NCCL_IB_HCA matches other ports than the selected ones.
func (dv *derivation) checkUserHCAs() {
	i := slices.IndexFunc(dv.plan.Variables,
		func(v Variable) bool { return v.Name == "NCCL_IB_HCA" && v.Source == SourceUser })
	if i < 0 {
		return
	}
	list := ParseHCAList(dv.plan.Variables[i].Value)
	var more, less []string
	for _, c := range dv.candidates {
		used, _ := ncclUses(c.port)
		matched := used && list.Match(c.device.Name, c.port.Number)
		switch {
		case matched && c.plan.Decision != DecisionSelected:
			more = append(more, printableName(c.plan.Name())+" ("+c.plan.Reason+")")
		case !matched && c.plan.Decision == DecisionSelected:
			less = append(less, c.plan.Name())
		}
	}
	if len(more) > 0 {
		dv.plan.warn(ruleUserHCA, "NCCL_IB_HCA of the environment also matches "+strings.Join(more, ", "))
	}
	if len(less) > 0 {
		dv.plan.warn(ruleUserHCA, "NCCL_IB_HCA of the environment leaves out "+strings.Join(less, ", "))
	}
}
