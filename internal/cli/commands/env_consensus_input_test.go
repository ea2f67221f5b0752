package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// consensusInputs writes the nodes of the example cluster in every form that the command reads.
func consensusInputs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for n := range consensusAbout() {
		tree := consensusNode(t, n)
		name := filepath.Join(dir, fmt.Sprintf("n%d", n))
		write := func(suffix string, data []byte) {
			if err := os.WriteFile(name+suffix, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(".tree", tree.Text())
		var packed bytes.Buffer
		if err := tree.WriteTarGz(&packed, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		write(".tar.gz", packed.Bytes())
		var detect bytes.Buffer
		app := cli.NewApp(All())
		app.Stdout, app.Environ, app.IsTerminal = &detect, []string{"HOME=" + dir}, func(any) bool { return false }
		if code := app.Run(t.Context(),
			[]string{"detect", "-q", "-o", "json", "--from", name + ".tree"}); code != cli.ExitOK {
			t.Fatalf("detect = %d", code)
		}
		write(".json", detect.Bytes())
	}
	return dir
}

// report runs env consensus -o json and decodes the report, without the sources, which depend on
// the format.
func report(t *testing.T, stdin string, args ...string) consensus.Report {
	t.Helper()
	stdout, stderr, _ := runConsensus(t, stdin, append([]string{"-o", "json"}, args...)...)
	var r consensus.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("env consensus %q: %v: %s", args, err, stderr)
	}
	for i := range r.Nodes {
		r.Nodes[i].Source = ""
	}
	return r
}

// TestConsensusInputs checks that the same nodes give the same report in every input format.
func TestConsensusInputs(t *testing.T) {
	dir := consensusInputs(t)
	files := func(suffix string) []string {
		var out []string
		for n := range consensusAbout() {
			out = append(out, filepath.Join(dir, fmt.Sprintf("n%d%s", n, suffix)))
		}
		return out
	}
	read := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var stream, list []string
	for _, f := range files(".json") {
		stream = append(stream, read(f))
	}
	list = append(list, "["+strings.Join(stream, ",")+"]")
	root := filepath.Join(dir, "root") // of one node: a tree has thousands of files
	if err := consensusNode(t, 3).WriteDir(root); err != nil {
		t.Fatal(err)
	}
	want := report(t, "", files(".json")...)
	if len(want.Nodes) != len(consensusAbout()) || want.Verdict != consensus.VerdictDiffer {
		t.Fatalf("verdict %s on %d nodes", want.Verdict, len(want.Nodes))
	}
	tests := []struct {
		name, stdin string
		args        []string
	}{
		{"trees", "", files(".tree")},
		{"bundles", "", files(".tar.gz")},
		{"root", "", append(files(".json")[:3], root)},
		{"stream", strings.Join(stream, "\n"), []string{"-"}},
		{"array", list[0], []string{"-"}},
		{"mixed", stream[2], []string{files(".tree")[1], "-", root, files(".tar.gz")[0]}},
		{"tree on standard input", read(files(".tree")[0]), append(files(".json")[1:], "-")},
		{"bundle on standard input", read(files(".tar.gz")[0]), append(files(".json")[1:], "-")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(want, report(t, tt.stdin, tt.args...)); diff != "" {
				t.Errorf("the report differs from that of JSON files, -want +got:\n%s", diff)
			}
		})
	}
}

// TestConsensusBadInputs checks that each invalid input is named, and the rest is compared.
func TestConsensusBadInputs(t *testing.T) {
	dir := consensusInputs(t)
	good := []string{filepath.Join(dir, "n0.json"), filepath.Join(dir, "n1.tar.gz")}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plan := file("plan.json", `{"schema":"rdmakit.launch/v1"}`)
	empty, text := file("empty.json", ""), file("README", "hello\n")
	cut := file("cut.tar.gz", "\x1f\x8b\x08")
	absent := filepath.Join(dir, "absent.json")
	folder := filepath.Dir(file("folder/a.txt", "hello"))
	if err := os.Mkdir(filepath.Join(dir, "void"), 0o750); err != nil {
		t.Fatal(err)
	}
	void := filepath.Join(dir, "void")
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout []string
		stderr []string
	}{
		{"all kinds", append([]string{plan, empty, text, cut, absent, folder, void},
			good...), cli.ExitPartial, []string{
			plan + ": a launch plan (rdmakit.launch/v1) has no rates",
			empty + ": empty", text + ": ", cut + ": ", absent + ": no such file",
			filepath.Join(folder, "a.txt") + ": ", void + ": the directory has no files", "verdict   the nodes agree",
		}, nil},
		{
			"json names them on standard error too", append([]string{"-o", "json", plan}, good...), cli.ExitPartial,
			[]string{`"source": "` + plan},
			[]string{"warning: " + plan + ": a launch plan"},
		},
		{
			"a difference is worse",
			[]string{plan, good[0], filepath.Join(dir, "n2.json")},
			cli.ExitFault,
			[]string{"BREAKS  hca-set"},
			nil,
		},
		{"one node left", []string{plan, good[0]}, cli.ExitUsage, nil, []string{
			"only one input is a node", "warning: " + plan,
		}},
		{"none left", []string{plan, absent}, cli.ExitUsage, nil, []string{
			"no input is a node (2 inputs could not be read", "warning: " + absent,
		}},
		{"one node", good[:1], cli.ExitUsage, nil, []string{
			"only one input is a node: give at least two\nhint: rdmactl env --explain",
		}},
		{
			"standard input twice", append([]string{"-", "-"}, good...), cli.ExitPartial,
			[]string{"stdin: empty", "stdin: - given twice"},
			nil,
		},
		{"no argument", nil, cli.ExitUsage, nil, []string{"missing argument NODE"}},
		{"wrong library", append([]string{"--for", "mpi"}, good...), cli.ExitUsage, nil, []string{"--for: "}},
		{
			"broken selector", append([]string{"--include", "mlx5_["}, good...), cli.ExitUsage, nil,
			[]string{"unclosed ["},
		},
		{"selector of nothing", append([]string{"--exclude", "mlx9"}, good...), cli.ExitUsage, nil, []string{
			"--exclude mlx9 matches no port of any node",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := runConsensus(t, "", tt.args...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d: %s%s", code, tt.code, stdout, stderr)
			}
			for _, want := range tt.stdout {
				if !strings.Contains(stdout, want) {
					t.Errorf("standard output is missing %q:\n%s", want, stdout)
				}
			}
			for _, want := range tt.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("standard error is missing %q:\n%s", want, stderr)
				}
			}
			if tt.code == cli.ExitUsage && stdout != "" {
				t.Errorf("a wrong use prints %q", stdout)
			}
		})
	}
}
