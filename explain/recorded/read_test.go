package recorded_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/input"
	"github.com/rdmakit/rdmakit/explain/recorded"
	"github.com/rdmakit/rdmakit/explain/rules"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// taken is when the bundles of these tests were recorded.
var taken = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// packed returns the bundle of a test node, as rdmactl snapshot writes it; change changes the node
// before.
func packed(t *testing.T, name string, change func(*nodetree.Tree)) []byte {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(tree)
	}
	n, err := sources.FromFS(tree.FS(), nil, name)
	if err != nil {
		t.Fatal(err)
	}
	n.Sources.Now = func() time.Time { return taken }
	b, err := bundle.Record(t.Context(), bundle.Options{
		Sources: n.Sources, Origin: bundle.OriginMachine, Patterns: []string{"/proc/uptime"},
		Facts: func(context.Context, *inventory.Snapshot) *facts.Facts { return n.Facts() },
	})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := b.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// explained writes files, names with contents, and explains them.
func explained(t *testing.T, files map[string][]byte) explain.Document {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err := explain.Explain(t.Context(), input.All([]string{dir}, nil),
		explain.Options{Recordings: recorded.Read})
	if err != nil {
		t.Fatal(err)
	}
	return report.Document()
}

// Lines of NCCL: node; node, local and remote GID; node, error, index, local and remote GID.
const (
	devices    = "%[1]s:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
	completion = "%[1]s:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> with error 12, " +
		"opcode 0, len 0, vendor err 129 (Send) localGid %[2]s remoteGid %[3]s\n"
	modify = "%[1]s:1:2 [0] net_ib.cc:1615 NCCL WARN Call to ibv_modify_qp failed with %[2]s, on dev mlx5_0:1, curr " +
		"state INIT, next state RTR, local GID index %[3]d, local GID %[4]s, remote GID %[5]s\n"
)

// The node 56_mtu_1500 is gpu-00, whose mlx5_0 has the table
//
//	0 fe80::ba3f:d2ff:fea5:1000 RoCE v1    2 10.100.0.10 RoCE v1
//	1 fe80::ba3f:d2ff:fea5:1000 RoCE v2    3 10.100.0.10 RoCE v2
//
// on 10.100.0.10/16, and 50_roce_v1_only has RoCE v1 only, with the same addresses. What decides is
// written from that and from the definition of RoCE v1: it has no IP header (IBTA, annex A16), so
// routers don't forward it, and ends with different versions don't understand each other (A17).
func TestTablesDecide(t *testing.T) {
	for _, c := range []struct {
		name, tree, log string
		rename          string // of the recorded host
		rule, cause     string
		confidence      rules.Confidence
		text            string // part of the evidence
	}{
		{
			name: "v1 to another subnet", tree: "56_mtu_1500",
			log: fmt.Sprintf(devices+modify, "gpu-00", "110 Connection timed out", 2, "::ffff:10.100.0.10",
				"::ffff:10.200.0.2"),
			rule: "RDX-110", cause: "gid-index", confidence: rules.Proven,
			text: "GID index 2 (10.100.0.10) of mlx5_0 on gpu-00 is one of RoCE v1 in the recorded table; index 3 has",
		},
		{
			name: "v1 within the subnet can work", tree: "56_mtu_1500",
			log: fmt.Sprintf(devices+modify, "gpu-00", "22 Invalid argument", 2, "::ffff:10.100.0.10",
				"::ffff:10.100.0.2"),
			rule: "RDX-110", cause: "gid-index", confidence: rules.Likely, text: "one of RoCE v1",
		},
		{
			name: "only v1 has the address", tree: "50_roce_v1_only",
			log: "gpu-00:1:2 [0] NCCL INFO NET/IB : Using [0]mlx4_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n" +
				fmt.Sprintf(completion, "gpu-00", "::ffff:10.100.0.10", "::ffff:10.200.0.2"),
			rule: "RDX-101", cause: "gid-index", confidence: rules.Proven, text: "RoCE v1 isn't routed",
		},
		{
			name: "host name with domain", tree: "50_roce_v1_only", rename: "gpu-00.example.com",
			log:  fmt.Sprintf(completion, "gpu-00", "::ffff:10.100.0.10", "::ffff:10.200.0.2"),
			rule: "RDX-101", cause: "gid-index", confidence: rules.Proven, text: "RoCE v1 isn't routed",
		},
		{
			name: "joined by GID", tree: "50_roce_v1_only", rename: "metal-7",
			log:  fmt.Sprintf(completion, "pod-a", "::ffff:10.100.0.10", "::ffff:10.200.0.2"),
			rule: "RDX-101", cause: "gid-index", confidence: rules.Proven, text: "of mlx4_0 on pod-a is one of RoCE v1",
		},
		{
			name: "index 7 is empty", tree: "56_mtu_1500",
			log: fmt.Sprintf(devices+modify, "gpu-00", "61 No data available", 7, "::ffff:10.100.0.10",
				"::ffff:10.100.0.2"),
			rule: "RDX-110", cause: "gid-moved", confidence: rules.Likely,
			text: "index 7, which the connection uses, is empty; index 3 has a routable one of RoCE v2, 10.100.0.10",
		},
		{
			name: "another GID at the index", tree: "56_mtu_1500",
			log: fmt.Sprintf(devices+modify, "gpu-00", "22 Invalid argument", 3, "::ffff:10.77.0.1",
				"::ffff:10.77.0.2"),
			rule: "RDX-110", cause: "gid-moved", confidence: rules.Likely,
			text: "used 10.77.0.1 at index 3 of mlx5_0 on gpu-00, where the recorded table has 10.100.0.10",
		},
	} {
		change := func(tree *nodetree.Tree) {
			if c.rename != "" {
				if err := tree.Set("proc/sys/kernel/hostname", c.rename+"\n"); err != nil {
					t.Fatal(err)
				}
			}
		}
		d := explained(t, map[string][]byte{"job.log": []byte(c.log), "node.tar.gz": packed(t, c.tree, change)})
		f := d.Findings[0]
		i := slices.IndexFunc(f.Causes, func(x explain.CauseDocument) bool { return x.Cause == c.cause })
		if f.Rule != c.rule || i < 0 {
			t.Errorf("%s: %s without cause %s: %+v", c.name, f.Rule, c.cause, f.Causes)
			continue
		}
		cause := f.Causes[i]
		if cause.Confidence != c.confidence || !strings.Contains(evidenceText(&cause), c.text) ||
			i != 0 {
			t.Errorf("%s: cause %d is %s %s by\n%swant %s first, by %q", c.name, i+1, cause.Confidence, cause.Cause,
				evidenceText(&cause), c.confidence, c.text)
		}
	}
}

// A table that has the used GID as one of RoCE v2 speaks against the GID.
func TestTableConfirms(t *testing.T) {
	log := fmt.Sprintf(devices+modify, "gpu-00", "110 Connection timed out", 3, "::ffff:10.100.0.10",
		"::ffff:10.100.0.2")
	d := explained(t, map[string][]byte{"job.log": []byte(log), "node.tar.gz": packed(t, "56_mtu_1500", nil)})
	for _, c := range d.Findings[0].Causes {
		if c.Cause == "gid-index" && (c.Confidence != rules.Possible || len(c.Against) == 0) {
			t.Errorf("gid-index is %s, against it %v", c.Confidence, c.Against)
		}
	}
}

// Two recorded ends with different versions prove that they don't understand each other.
func TestVersionsDiffer(t *testing.T) {
	peer := func(tree *nodetree.Tree) {
		for name, value := range map[string]string{
			"proc/sys/kernel/hostname": "gpu-01\n", "live.json": "{}\n",
		} {
			if err := tree.Set(name, value); err != nil {
				t.Fatal(err)
			}
		}
		if err := tree.Set(
			"sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0/infiniband/mlx5_0/ports/1/gids/3",
			"0000:0000:0000:0000:0000:ffff:0a64:0014\n"); err != nil {
			t.Fatal(err)
		}
	}
	log := "gpu-00:1:2 [0] NCCL INFO NET/IB : Using [0]mlx4_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n" +
		fmt.Sprintf(completion, "gpu-00", "::ffff:10.100.0.10", "::ffff:10.100.0.20")
	d := explained(t, map[string][]byte{
		"job.log": []byte(log), "a.tar.gz": packed(t, "50_roce_v1_only", nil),
		"b.tar.gz": packed(t, "56_mtu_1500", peer),
	})
	c := d.Findings[0].Causes[0]
	if c.Cause != "roce-version-differs" || c.Confidence != rules.Proven {
		t.Errorf("first cause %s %s by\n%s", c.Confidence, c.Cause, evidenceText(&c))
	}
	if len(d.Facts.Silent) > 0 {
		t.Errorf("silent: %v, want none: gpu-01 has no log", d.Facts.Silent)
	}
}

// A recording of memory limits, and of a port that is down, speaks for the causes of the failures
// of that node; the expectations are those of doctor's checks in their own tests.
func TestChecksCorroborate(t *testing.T) {
	memory := "gpu-00:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
	for _, c := range []struct{ tree, log, cause, by string }{
		{"57_memlock_small", memory, "memlock", "rdmactl doctor says so too: a process can lock only 64 KiB of memory"},
		{
			"54_link_local_only", fmt.Sprintf(completion, "gpu-00", "fe80::ba3f:d2ff:fea5:1000", "fe80::1"),
			"gid-index",
			"rdmactl doctor says so too: mlx5_0:1: 2 GIDs, all link-local",
		},
		{
			"20_states", "h:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_3:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n" +
				fmt.Sprintf(completion, "h", "::ffff:10.0.3.11", "::ffff:10.0.3.12"), "port-down",
			"it was DOWN when h was recorded",
		},
	} {
		d := explained(t, map[string][]byte{"job.log": []byte(c.log), "node.tar.gz": packed(t, c.tree, nil)})
		first := d.Findings[0].Causes[0]
		if first.Cause != c.cause || first.Confidence == rules.Possible || !strings.Contains(evidenceText(&first),
			c.by) {
			t.Errorf("%s: first cause %s %s by\n%swant %s by %q", c.tree, first.Confidence, first.Cause,
				evidenceText(&first), c.cause, c.by)
		}
	}
}

// What a check found on a node that has nothing to do with the failure says nothing about it.
func TestChecksOfOthers(t *testing.T) {
	rename := func(tree *nodetree.Tree) {
		if err := tree.Set("proc/sys/kernel/hostname", "other\n"); err != nil {
			t.Fatal(err)
		}
	}
	v1 := fmt.Sprintf(completion, "pod-a", "::ffff:10.150.0.10", "::ffff:10.200.0.2")
	d := explained(t, map[string][]byte{"job.log": []byte(v1), "node.tar.gz": packed(t, "50_roce_v1_only", rename)})
	for _, c := range d.Findings[0].Causes {
		if strings.Contains(evidenceText(&c), "recorded") || c.Confidence == rules.Proven {
			t.Errorf("%s %s by\n%s", c.Confidence, c.Cause, evidenceText(&c))
		}
	}
	log := "gpu-00:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
	d = explained(t, map[string][]byte{"job.log": []byte(log), "node.tar.gz": packed(t, "57_memlock_small", rename)})
	for _, c := range d.Findings[0].Causes {
		if strings.Contains(evidenceText(&c), "doctor") {
			t.Errorf("%s by\n%s", c.Cause, evidenceText(&c))
		}
	}
	if d.Findings[len(d.Findings)-1].Rule != "RDX-202" {
		t.Errorf("findings %+v, want the failed check as one", d.Findings)
	}
}

// The kernel's log goes through the forms of the kernel. What is from another time than the job's
// failures isn't their origin.
func TestKernelLog(t *testing.T) {
	const health = "mlx5_core 0000:13:00.0: mlx5_health_check_fatal_sensors:380: device's health compromised - " +
		"reached miss count"
	bundleOf := func(since time.Duration) []byte {
		return packed(t, "56_mtu_1500", func(tree *nodetree.Tree) {
			log := fmt.Sprintf(`{"kernelLog": {"value": [{"since": %d, "level": 3, "text": %q}]}}`, since, health)
			for name, text := range map[string]string{bundle.FactsFile: log, "proc/uptime": "7200.00 14000.00\n"} {
				if err := tree.Set(name, text); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	job := "2026-03-04T11:30:00Z gpu-00:1:2 [0] net_ib.cc:1 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<4> " +
		"with error 12, opcode 0, len 0, vendor err 129 (Send)\n"
	for _, c := range []struct {
		name  string
		since time.Duration
		log   string
		rule  string
	}{
		{"at the same time", 85 * time.Minute, job, "RDX-160"},
		{"an hour and more before", time.Minute, job, "RDX-101"},
		{"alone", time.Minute, "", "RDX-160"},
	} {
		data := bundleOf(c.since)
		d := explained(t, map[string][]byte{"job.log": []byte(c.log), "node.tar.gz": data})
		f := d.Findings[0]
		if f.Rule != c.rule {
			t.Errorf("%s: first %s: %s, want %s", c.name, f.Rule, f.What, c.rule)
		}
		i := slices.IndexFunc(d.Findings, func(f explain.FindingDocument) bool { return f.Rule == "RDX-160" })
		if i < 0 || !strings.HasSuffix(d.Findings[i].Lines[0].Place.String(), "node.tar.gz:kernel log:1") {
			t.Errorf("%s: no finding about line 1 of the kernel's log in %+v", c.name, d.Findings)
		}
	}
}

// Bundles are found in folders, archives and as text; a plain tar archive is one too.
func TestForms(t *testing.T) {
	data := packed(t, "57_memlock_small", nil)
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../internal/testkit/testtrees/57_memlock_small.tree")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"n.tar.gz": data, "n.tar": plain, "n.tree": text, "n.gz": zipped(t, text),
	} {
		d := explained(t, map[string][]byte{name: data})
		if len(d.Inputs) != 1 || d.Inputs[0].Recording == nil {
			t.Errorf("%s: inputs %+v, want one recording", name, d.Inputs)
			continue
		}
		r := d.Inputs[0].Recording
		if r.Node != "gpu-00" || r.Failed != 1 || d.Verdict != explain.VerdictFault || d.Findings[0].Rule != "RDX-202" {
			t.Errorf("%s: %s, recording %+v", name, d.Verdict, r)
		}
	}
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A damaged bundle is named. What was read before the damage counts, but what it lacks is no fault.
func TestDamaged(t *testing.T) {
	data := packed(t, "54_link_local_only", nil)
	log := fmt.Sprintf(completion, "gpu-00", "fe80::ba3f:d2ff:fea5:1000", "fe80::1")
	found := false
	for _, part := range []int{60, 75, 90, 99} {
		d := explained(t, map[string][]byte{
			"a.log": []byte(log), "node.tar.gz": data[:len(data)*part/100],
		})
		in := d.Inputs[1]
		if !strings.Contains(in.Error, "truncated or damaged") || !strings.Contains(in.Error, "node.tar.gz") {
			t.Errorf("%d %%: error %q", part, in.Error)
		}
		for _, f := range d.Findings {
			if f.Rule == "RDX-202" {
				t.Errorf("%d %%: %s", part, f.What)
			}
		}
		for _, n := range d.Facts.Nodes {
			found = found || n.Recorded != nil && n.Recorded.Partial && len(n.Recorded.Ports) > 0
		}
	}
	if !found {
		t.Error("no part of the bundle has ports")
	}
	changed := bytes.Clone(data)
	changed[len(changed)/2] ^= 0xff
	d := explained(t, map[string][]byte{"node.tar.gz": changed})
	if d.Inputs[0].Error == "" {
		t.Errorf("changed: %+v, want an error", d.Inputs[0])
	}
}

// Every test node is read, alone and twice beside each other, without an error.
func TestAllTrees(t *testing.T) {
	for _, name := range testtrees.Names() {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		d := explained(t, map[string][]byte{"a": tree.Text(), "b": tree.Text()})
		for _, in := range d.Inputs {
			if in.Error != "" || in.Recording == nil {
				t.Errorf("%s: %+v", name, in)
			}
		}
	}
}

// A reader that fails is named.
func TestReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader("[sys/class/infiniband]\n"), failing{})
	if _, err := recorded.Read(t.Context(), "n.tree", in); err == nil || !strings.Contains(err.Error(), "n.tree") {
		t.Errorf("Read = %v, want an error that names n.tree", err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }
