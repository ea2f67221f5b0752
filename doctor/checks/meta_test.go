package checks_test

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// nodeCase is a test tree and what is changed in it, if anything.
type nodeCase struct {
	tree   string
	change change
}

// metaRow names a node on which a check passes and one on which it finds
// something of its severity, at the object named.
type metaRow struct {
	id           string
	passes, find nodeCase
	object       string
}

// metaTable has a row for every check.
var metaTable = []metaRow{
	{"card-driver", nodeCase{"58_two_ib_fabrics", nil}, nodeCase{"42_unbound", nil}, "0000:7b:00.0"},
	{"uverbs", nodeCase{"02_rocev2_8hca", whole}, nodeCase{"44_container_no_dev", nil}, "mlx5_1"},
	{"port-active", nodeCase{"58_two_ib_fabrics", nil}, nodeCase{"20_states", nil}, "mlx5_3:1"},
	{"gid-routable", nodeCase{"02_rocev2_8hca", nil}, nodeCase{"54_link_local_only", nil}, "mlx5_0:1"},
	{"memlock", nodeCase{"02_rocev2_8hca", whole}, nodeCase{"57_memlock_small", nil}, "node"},
	{"rail-rate", nodeCase{"01_ib_8hca", nil}, nodeCase{"56_mtu_1500", nil}, "mlx5_3:1"},
	{
		"pcie-link",
		nodeCase{"01_ib_8hca", nil},
		nodeCase{"01_ib_8hca", set("sys/bus/pci/devices/0000:18:00.0/current_link_width", "4")},
		"mlx5_0:1",
	},
	{"mtu", nodeCase{"02_rocev2_8hca", nil}, nodeCase{"56_mtu_1500", nil}, "mlx5_2:1"},
	{"firmware", nodeCase{"02_rocev2_8hca", nil}, nodeCase{"55_mixed_fw", nil}, "mlx5_2"},
	{
		"role",
		nodeCase{"02_rocev2_8hca", nil},
		nodeCase{"01_ib_8hca", port("mlx5_5", "link_layer", "Ethernet")},
		"mlx5_5:1",
	},
	{
		"dpu-mode",
		nodeCase{"02_rocev2_8hca", all(blueField, switchOf("legacy"))},
		nodeCase{"02_rocev2_8hca", all(blueField, switchOf(facts.SwitchForeign))},
		"mlx5_0",
	},
	{"receive-ring", nodeCase{"51_rxe_siw", ring(2048)}, nodeCase{"51_rxe_siw", ring(1024)}, "rxe0:1"},
	{
		"receive-buffer",
		nodeCase{"06_none", socketBuffers("699051", "699051", "")},
		nodeCase{"06_none", all(set(noneMTU, "9000"), socketBuffers("212992", "212992", ""))},
		"node",
	},
	{
		"link-downed",
		nodeCase{"02_rocev2_8hca", nil},
		nodeCase{"53_counters_saturated", readings(portReadings("mlx5_0:1", two{"counters", "link_downed", 2, 3}))},
		"mlx5_0:1",
	},
}

func TestEveryCheckIsSound(t *testing.T) {
	var ids []string
	for _, c := range checks.All() {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		if slices.Contains(ids, c.ID) {
			t.Errorf("check %s: the ID is taken", c.ID)
		}
		ids = append(ids, c.ID)
		if len(c.Reads) == 0 && len(c.Facts) == 0 && len(c.Uses) == 0 {
			t.Errorf("check %s: names no file that it reads", c.ID)
		}
		for _, pattern := range c.Reads {
			if _, err := path.Match(pattern, "/"); err != nil || !path.IsAbs(pattern) {
				t.Errorf("check %s: reads %q, want an absolute pattern: %v", c.ID, pattern, err)
			}
		}
		if !slices.ContainsFunc(metaTable, func(r metaRow) bool { return r.id == c.ID }) &&
			!slices.ContainsFunc(numberCases(), func(n numberCase) bool { return n.id == c.ID }) {
			t.Errorf("check %s: neither metaTable nor numberCases show where it passes and finds something", c.ID)
		}
	}
	for _, row := range metaTable {
		if !slices.Contains(ids, row.id) {
			t.Errorf("metaTable names the check %s, which is not in the list", row.id)
		}
	}
}

func TestEveryCheckPassesAndFinds(t *testing.T) {
	for _, row := range metaTable {
		t.Run(row.id, func(t *testing.T) {
			if r := diagnose(t,
				load(t, row.passes.tree, row.passes.change), row.id); r.Verdict != doctor.OutcomePass {
				t.Errorf("on %s: verdict %s, want pass: %+v", row.passes.tree, r.Verdict, r.Findings)
			}
			r := diagnose(t, load(t, row.find.tree, row.find.change), row.id)
			want := check(t, row.id).Severity
			i := slices.IndexFunc(r.Findings,
				func(f doctor.Finding) bool { return f.Object == row.object && f.Outcome == want })
			if i < 0 {
				t.Fatalf("on %s: %v, want %s %s", row.find.tree, brief(r), want, row.object)
			}
			if f := r.Findings[i]; len(f.Evidence) == 0 || len(f.Remedy) == 0 {
				t.Errorf("on %s: %s has evidence %v and remedy %v, want both",
					row.find.tree, f.Object, f.Evidence, f.Remedy)
			}
		})
	}
}

func check(t *testing.T, id string) doctor.Check {
	t.Helper()
	all := checks.All()
	i := slices.IndexFunc(all, func(c doctor.Check) bool { return c.ID == id })
	if i < 0 {
		t.Fatalf("no check %s", id)
	}
	return all[i]
}

// What was not seen is not well.
func TestNoCheckPassesOnNothing(t *testing.T) {
	empty := map[string]inventory.Snapshot{
		"zero snapshot": {},
		"empty tree":    scan(t, nodetree.New()),
		"device only":   {Devices: []inventory.Device{{Name: "mlx5_0", Path: "/sys/class/infiniband/mlx5_0"}}},
		"port only": {Devices: []inventory.Device{{
			Name: "mlx5_0", Path: "/sys/class/infiniband/mlx5_0",
			Ports: []inventory.Port{{Number: 1, Path: "/sys/class/infiniband/mlx5_0/ports/1"}},
		}}},
	}
	for name, snap := range empty {
		for _, c := range checks.All() {
			if r := runCheck(t, c.ID, snap); slices.Contains(brief(r), "pass node") || r.Verdict == doctor.OutcomePass {
				t.Errorf("%s: check %s passes", name, c.ID)
			}
		}
	}
}

// links are read as links, whatever they lead to.
var links = []string{"/sys/bus/pci/devices/*/driver", "/sys/class/infiniband/*"}

// A file that a check reads and that is unreadable must affect its verdict.
func TestNoCheckPassesOverUnreadableFiles(t *testing.T) {
	for _, row := range metaTable {
		for _, pattern := range check(t, row.id).Reads {
			if slices.Contains(links, pattern) {
				continue
			}
			for _, errno := range []syscall.Errno{syscall.EIO, syscall.EACCES} {
				tree := load(t, row.passes.tree, row.passes.change)
				n := 0
				for _, file := range matches(t, tree, pattern) {
					n++
					fail(file, errno)(t, tree)
				}
				r := diagnose(t, tree, row.id)
				if n > 0 && r.Verdict != doctor.OutcomeUnknown && r.Verdict != doctor.OutcomeFail &&
					!slices.Contains(outcomesOf(r), doctor.OutcomePrivilege) {
					t.Errorf("%s with %d files %s that answer %v: verdict %s, want unknown or needs privilege: %v",
						row.id, n, pattern, errno, r.Verdict, brief(r))
				}
			}
		}
	}
}

// Nor may a check pass where such files don't exist. Some files only add to what
// another one tells.
func TestNoCheckPassesOverMissingFiles(t *testing.T) {
	optional := []string{
		"/phys_state", "/proc/self/status", "/proc/net/route", "/proc/cpuinfo", "/id/sys_vendor", "/id/product_name",
		"/sys/hypervisor/type", "/operstate", "/carrier", "/flags", "/phys_port_name",
		"/ipv4/tcp_rmem", // of siw only
	}
	for _, row := range metaTable {
		for _, pattern := range check(t, row.id).Reads {
			if slices.ContainsFunc(optional, func(o string) bool { return strings.HasSuffix(pattern, o) }) {
				continue
			}
			tree := load(t, row.passes.tree, row.passes.change)
			found := matches(t, tree, pattern)
			for _, file := range found {
				remove(file)(t, tree)
			}
			if r := diagnose(t, tree, row.id); len(found) == 0 || r.Verdict == doctor.OutcomePass {
				t.Errorf("%s without its %d files %s: verdict %s: %v", row.id, len(found), pattern, r.Verdict, brief(r))
			}
		}
	}
}

// matches returns the files and folders of a tree that fit a pattern of Check.Reads.
func matches(t *testing.T, tree *nodetree.Tree, pattern string) []string {
	t.Helper()
	found, err := fs.Glob(tree.FS(), strings.TrimPrefix(pattern, "/"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// On every tree every finding is complete, no worse than the check's severity,
// and its evidence is what the tree holds.
func TestFindingsOnEveryTree(t *testing.T) {
	for _, name := range testtrees.Names() {
		for label, changes := range map[string][]change{
			"": nil, " whole": {whole}, " in a pod": {whole, pod}, " in docker": {docker},
		} {
			t.Run(name+label, func(t *testing.T) {
				tree := load(t, name, changes...)
				for _, f := range diagnose(t, tree).Findings {
					checkFinding(t, check(t, f.CheckID), f)
					for _, e := range f.Evidence {
						checkEvidence(t, tree, f, e)
					}
				}
			})
		}
	}
}

func checkFinding(t *testing.T, c doctor.Check, f doctor.Finding) {
	t.Helper()
	faulty := f.Outcome == doctor.OutcomeFail || f.Outcome == doctor.OutcomeWarn || f.Outcome == doctor.OutcomeInfo
	switch {
	case f.Summary == "" || f.Object == "" || f.CheckID != c.ID:
		t.Errorf("%s: incomplete finding %+v", c.ID, f)
	case strings.Contains(f.Summary, "panicked"), strings.Contains(f.Summary, "no finding"),
		strings.Contains(f.Summary, "%!"):
		t.Errorf("%s: %s", c.ID, f.Summary)
	case faulty && f.Outcome.Compare(c.Severity) > 0:
		t.Errorf("%s at %s is %s, though the check's severity is %s", c.ID, f.Object, f.Outcome, c.Severity)
	case faulty && (f.Explanation == "" || len(f.Evidence) == 0):
		t.Errorf("%s at %s: no explanation or no evidence: %+v", c.ID, f.Object, f)
	case f.Outcome.Compare(doctor.OutcomeInfo) > 0 && faulty && len(f.Remedy) == 0:
		t.Errorf("%s at %s: no remedy", c.ID, f.Object)
	}
	for _, line := range f.Remedy {
		if strings.ContainsAny(line, "\n\r") {
			t.Errorf("%s at %s: remedy line %q is not one line", c.ID, f.Object, line)
		}
	}
}

// checkEvidence compares a quotation with the tree.
func checkEvidence(t *testing.T, tree *nodetree.Tree, f doctor.Finding, e doctor.Evidence) {
	t.Helper()
	name, key, keyed := strings.TrimPrefix(e.Path, "/"), "", false
	data, err := fs.ReadFile(tree.FS(), name)
	if errors.Is(err, fs.ErrNotExist) { // a line of a file: path, colon, key
		var base string
		if base, key, keyed = strings.Cut(path.Base(name), ":"); keyed {
			name = path.Join(path.Dir(name), base)
			data, err = fs.ReadFile(tree.FS(), name)
		}
	}
	content := strings.TrimSpace(string(data))
	switch {
	case !strings.HasPrefix(e.Path, "/"): // an answer of the kernel, not a file
	case strings.HasSuffix(name, "/*") || name == "sys/class/infiniband_verbs":
	case strings.HasPrefix(name, "sys/module/"): // loaded modules may be in proc/modules only
	case f.Outcome == doctor.OutcomeUnknown: // quotes the error
	case e.Value == "does not exist":
		if _, err := fs.Stat(tree.FS(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: evidence %s, but it is there (%v)", f.CheckID, e, err)
		}
	case err != nil:
		t.Errorf("%s: evidence %s, but reading it: %v", f.CheckID, e, err)
	case strings.HasPrefix(name, "dev/"):
	case keyed:
		if !strings.Contains(content, strings.TrimSpace(key)) {
			t.Errorf("%s: evidence %s, but the file has no %q", f.CheckID, e, key)
		}
	case strings.HasPrefix(name, "proc/net/"):
		if dev := strings.Fields(e.Value); !strings.Contains(content, dev[slices.Index(dev, "dev")+1]) {
			t.Errorf("%s: evidence %s, but the table is %q", f.CheckID, e, content)
		}
	case content != e.Value:
		t.Errorf("%s: evidence %s, but the file holds %q", f.CheckID, e, content)
	}
}
