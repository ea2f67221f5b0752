package kserve

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/launch"
)

// The switches of the script.
const (
	runSwitch     = "KSERVE_INFER_ROCE"
	patternSwitch = "KSERVE_INFER_IB_GID_INDEX_GREP"
)

// Compat is the field Compat in the [launch.Plan] of [Derive].
const Compat = "kserve"

// Derive derives the variables that the script exports on a node. root is the node's root, env the
// environment of the script. Names are sorted by bytes, as in the C locale.
//
// If KSERVE_INFER_ROCE is not "true", the Plan has OutcomeOff and no variables. Derive returns an
// error if KSERVE_INFER_IB_GID_INDEX_GREP is not a valid pattern of grep or uses unsupported syntax
// of grep; in this case the script hides grep's error message and exports nothing.
func Derive(root fs.FS, env map[string]string) (launch.Plan, error) {
	plan := launch.Plan{
		Schema: launch.Schema, Compat: Compat, Outcome: launch.OutcomeNone,
		Ports: []launch.PortPlan{}, Variables: []launch.Variable{},
	}
	if env[runSwitch] != "true" {
		plan.Outcome = launch.OutcomeOff
		warn(&plan, ruleSwitch, fmt.Sprintf("%s is %q, not \"true\": nothing is exported", runSwitch, env[runSwitch]))
		return plan, nil
	}
	pattern := orDefault(env[patternSwitch], "RoCE v2")
	grep, err := compileGrep(pattern)
	if err != nil {
		return plan, fmt.Errorf("%s: %w", patternSwitch, err)
	}
	k := &run{
		root: root, grep: grep, pattern: pattern, env: env, plan: &plan,
		entries: map[string][]string{}, votes: map[string]int{},
	}
	k.discover()
	if len(k.kept) == 0 {
		const text = "no mlx5 device has an active port 1 with a GID type that matches %q: nothing is exported"
		warn(&plan, ruleHCAs, fmt.Sprintf(text, pattern))
		return plan, nil
	}
	plan.Outcome = launch.OutcomeRDMA
	k.exportLists()
	for _, i := range k.kept {
		k.vote(&plan.Ports[i])
	}
	k.exportIndex()
	return plan, nil
}

func warn(plan *launch.Plan, rule, text string) {
	plan.Warnings = append(plan.Warnings, launch.Warning{Rule: rule, Text: text})
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

// run is one run of the script.
type run struct {
	root    fs.FS
	grep    grepPattern
	pattern string
	env     map[string]string
	plan    *launch.Plan
	kept    []int               // kept devices, by their index in plan.Ports
	entries map[string][]string // files of GID types of the kept devices
	keys    []string            // GID indices, in the order in which each was counted first
	votes   map[string]int      // devices by GID index
}

// discover keeps the devices that the script treats as active.
func (k *run) discover() {
	names := listNames(k.root, sysfs.ClassInfiniBand)
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "mlx5_") {
			continue
		}
		dir := path.Join(sysfs.ClassInfiniBand, name)
		if info, err := fs.Stat(k.root, dir); err != nil || !info.IsDir() {
			continue
		}
		p := launch.PortPlan{Device: name, Port: 1, Rule: ruleHCAs}
		types := k.types(name)
		p.Decision, p.Reason, p.Files = k.decide(name, types)
		if p.Decision == launch.DecisionSelected {
			k.kept = append(k.kept, len(k.plan.Ports))
			k.entries[name] = types
		}
		k.plan.Ports = append(k.plan.Ports, p)
	}
}

func (k *run) decide(name string, types []string) (launch.Decision, string, []string) {
	state := path.Join(sysfs.ClassInfiniBand, name, "ports/1/state")
	files := []string{"/" + state}
	content, ok := readRegular(k.root, state)
	if !ok || !strings.Contains(content, "ACTIVE") {
		return launch.DecisionRejected, "the state of port 1 does not contain ACTIVE", files
	}
	reader := folders{root: k.root}
	defer reader.close()
	for _, t := range types {
		if content, ok := reader.read(t); ok && k.grep.match(content) {
			reason := fmt.Sprintf("port 1 is active and has a GID type that matches %q", k.pattern)
			return launch.DecisionSelected, reason, append(files, "/"+t)
		}
	}
	return launch.DecisionRejected, fmt.Sprintf("no GID type of port 1 matches %q", k.pattern), files
}

// types expands the script's word /sys/class/infiniband/NAME/ports/1/gid_attrs/types/*, which the
// shell splits at white space and expands as a pattern because it isn't quoted.
func (k *run) types(name string) []string {
	if strings.ContainsAny(name, " \t\n") {
		return nil // split in two words, neither of which exists
	}
	devices := []string{name}
	if strings.ContainsAny(name, `*?[\`) {
		devices = k.glob(name)
	}
	var out []string
	for _, device := range devices {
		dir := path.Join(sysfs.ClassInfiniBand, device, "ports/1/gid_attrs/types")
		for _, name := range listNames(k.root, dir) {
			if !strings.HasPrefix(name, ".") {
				out = append(out, dir+"/"+name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// glob returns the devices whose names match a shell pattern.
func (k *run) glob(pattern string) []string {
	pattern = strings.ReplaceAll(pattern, "[!", "[^")
	var out []string
	for _, name := range listNames(k.root, sysfs.ClassInfiniBand) {
		ok, err := path.Match(pattern, name)
		if ok || err != nil && name == pattern {
			out = append(out, name)
		}
	}
	return out
}

// readRegular returns the content of a file that `[ -f FILE ]` accepts, as grep reads it.
func readRegular(root fs.FS, name string) (string, bool) {
	info, err := fs.Stat(root, name)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	b, err := fs.ReadFile(root, name)
	return string(b), err == nil
}

// vote finds the first GID of a device, in the order of the shell's glob, whose type
// matches and which has "ffff:" anywhere, and counts its index.
func (k *run) vote(p *launch.PortPlan) {
	gids := openFolder(k.root, path.Join(sysfs.ClassInfiniBand, p.Device, "ports/1/gids"))
	defer gids.close()
	types := folders{root: k.root}
	defer types.close()
	for _, t := range k.entries[p.Device] {
		index := path.Base(t)
		// The script checks the type first. It is cheaper to check the GID first, because most have
		// no "ffff:".
		gid, ok := gids.read(index)
		if !ok || !strings.Contains(gid, "ffff:") {
			continue
		}
		content, ok := types.read(t)
		if !ok || !k.grep.match(content) || !gids.isFile(index) {
			continue
		}
		if k.votes[index] == 0 {
			k.keys = append(k.keys, index)
		}
		k.votes[index]++
		p.Reason += fmt.Sprintf("; the first matching GID with ffff: in it has index %s (%s)",
			index, strings.TrimSpace(gid))
		p.Files = append(p.Files, "/"+t, "/"+path.Join(sysfs.ClassInfiniBand, p.Device, "ports/1/gids", index))
		return
	}
}

// winner returns the index with the most devices. In a tie it is index 3 if it is among the best,
// else the first in the order of bash's table.
func (k *run) winner() string {
	best, most := "", 0
	for _, index := range bashKeyOrder(k.keys) {
		if k.votes[index] > most {
			best, most = index, k.votes[index]
		}
	}
	if len(k.keys) > 1 && k.votes["3"] == most {
		return "3"
	}
	return best
}

func (k *run) exportLists() {
	var names, ports []string
	for _, i := range k.kept {
		names = append(names, k.plan.Ports[i].Device)
		ports = append(ports, k.plan.Ports[i].Device+":1")
	}
	reason := fmt.Sprintf("%d active devices", len(names))
	k.export("NCCL_IB_HCA", strings.Join(names, ","), launch.LibraryNCCL, ruleHCAs, reason)
	k.export("NVSHMEM_HCA_LIST", strings.Join(ports, ","), launch.LibraryNVSHMEM, ruleHCAs, reason)
	k.export("UCX_NET_DEVICES", strings.Join(ports, ","), launch.LibraryUCX, ruleHCAs, reason)
}

func (k *run) exportIndex() {
	index, reason := k.env["NCCL_IB_GID_INDEX"], "follows NCCL_IB_GID_INDEX of the environment"
	if index == "" {
		if index = k.winner(); index == "" {
			const text = "no device has a GID of a type that matches %q with ffff: in it: no index is exported"
			warn(k.plan, ruleIndex, fmt.Sprintf(text, k.pattern))
			return
		}
		reason = fmt.Sprintf("index %s counted on %s of %d devices", index, strconv.Itoa(k.votes[index]), len(k.kept))
	}
	k.export("NCCL_IB_GID_INDEX", index, launch.LibraryNCCL, ruleIndex, reason)
	k.export("NVSHMEM_IB_GID_INDEX", index, launch.LibraryNVSHMEM, ruleIndex, reason)
	k.export("UCX_IB_GID_INDEX", index, launch.LibraryUCX, ruleIndex, reason)
}

// export adds a variable, with the user's value where that isn't empty.
func (k *run) export(name, value string, library launch.Library, rule, reason string) {
	v := launch.Variable{
		Name: name, Value: value, Library: library, Source: launch.SourceDerived, Rule: rule, Reason: reason,
	}
	for _, i := range k.kept {
		v.Files = append(v.Files, k.plan.Ports[i].Files...)
	}
	if user := k.env[name]; user != "" {
		v.Value, v.Source, v.Reason = user, launch.SourceUser, "set in the environment"
		if user != value {
			k.plan.Conflicts = append(k.plan.Conflicts, launch.Conflict{
				Name: name, User: user, Derived: value, Kept: launch.SourceUser, Rule: rule, Reason: reason,
			})
		}
	}
	k.plan.Variables = append(k.plan.Variables, v)
}
