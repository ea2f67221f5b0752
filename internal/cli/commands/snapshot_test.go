package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/node"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// ran is the output and exit code of a run.
type ran struct {
	stdout, stderr string
	code           int
}

// recording is the field of doctor's report that names its file, in JSON and YAML.
var recording = regexp.MustCompile(`(?m)^ +"recording": \{\n( +"[^\n]*\n)+ +\},\n|^recording:\n( +[^\n]*\n)+`)

// runPlain runs a command in an environment of this test's own, at one time. Its output doesn't
// name the recording that it is of.
func runPlain(t *testing.T, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir(), "KSERVE_INFER_ROCE=true"}
	if args[0] != "detect" && args[0] != "snapshot" { // their names of cards are those of a bundle
		app.Environ = append(app.Environ, "RDMAKIT_PCI_IDS="+filepath.Join("testdata", "pci.ids"))
	}
	now := time.Date(2027, 1, 31, 12, 0, 0, 0, time.UTC)
	app.Now = func() time.Time { return now }
	code := app.Run(t.Context(), args)
	return ran{recording.ReplaceAllString(stdout.String(), ""), stderr.String(), code}
}

// readOnly are the commands whose output must be the same for a node and for its bundle.
func readOnly(snap *inventory.Snapshot) [][]string {
	list := [][]string{
		{"detect"},
		{"detect", "-o", "wide"},
		{"detect", "-o", "json"},
		{"status"},
		{"status", "-o", "json"},
		{"doctor", "-o", "wide"},
		{"doctor", "-o", "json"},
		{"doctor", "--strict", "-o", "yaml"},
		{"env"},
		{"env", "--explain"},
		{"env", "-o", "json", "--for", "all"},
		{"env", "--peer", "10.1.2.3", "-o", "json"},
		{"env", "--compat", "kserve"},
		{"env", "--compat", "kserve", "-o", "json"},
		{"env", "--format", "dotenv"},
	}
	for _, d := range snap.Devices {
		list = append(list, []string{"show", d.Name, "-o", "json"})
	}
	return list
}

// snapshotOf records a test tree and returns the tree's file and the bundle's.
func snapshotOf(t *testing.T, name string, flags ...string) (tree, file string) {
	t.Helper()
	tree = filepath.Join("..", "..", "testkit", "testtrees", name+".tree")
	file = filepath.Join(t.TempDir(), "node.tar.gz")
	r := runPlain(t, append([]string{"snapshot", "-o", file, "--from", tree}, flags...)...)
	if r.stdout != "" || r.code != cli.ExitOK && r.code != cli.ExitPartial {
		t.Fatalf("snapshot = %+v", r)
	}
	return tree, file
}

// TestBundlesReplay records every test node and compares the output of commands on the node and on
// its bundle.
func TestBundlesReplay(t *testing.T) {
	for _, name := range testtrees.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loaded, err := testtrees.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: loaded.FS()})
			tree, file := snapshotOf(t, name)
			for _, args := range readOnly(&snap) {
				want, got := runPlain(t, append(args, "--from", tree)...), runPlain(t, append(args, "--from", file)...)
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(ran{})); diff != "" {
					t.Errorf("%v differs (-tree +bundle):\n%s", args, diff)
				}
			}
			checkManifest(t, file, name == "45_partial_errors")
		})
	}
}

// checkManifest compares the manifest with the bundle, and the findings with the output of
// commands.
func checkManifest(t *testing.T, file string, partial bool) {
	t.Helper()
	b, err := bundle.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	m := b.Manifest
	if m == nil || !m.Steady || m.Origin != bundle.OriginBundle || m.Redacted ||
		len(m.Findings) != len(node.Findings()) {
		t.Fatalf("manifest = %+v", m)
	}
	if partial != (len(m.Unreadable) > 0) {
		t.Errorf("unreadable = %v, want some: %t", m.Unreadable, partial)
	}
	for _, f := range m.Findings {
		data, err := b.Tree.FS().Open(f.File)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(data); err != nil {
			t.Fatal(err)
		}
		got := runPlain(t, append(strings.Fields(f.Command), "--from", file)...)
		if got.stdout != text.String() || got.code != f.Exit || got.stderr != f.Notes {
			t.Errorf("%s differs from %s, or exit code %d from %d", f.Command, f.File, got.code, f.Exit)
		}
	}
}

// TestRedactedBundlesTellTheSame compares the output of commands on a redacted bundle with their
// output on the node, redacted with the same key.
func TestRedactedBundlesTellTheSame(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	secret := []byte("a secret of more than sixteen bytes")
	if err := bundle.WriteFile(key, secret, false); err != nil {
		t.Fatal(err)
	}
	for _, name := range testtrees.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree, file := snapshotOf(t, name, "--redact-key", key)
			loaded, err := testtrees.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			redactor, err := bundle.NewRedactor(secret)
			if err != nil {
				t.Fatal(err)
			}
			redactor.Learn(loaded)
			for _, args := range [][]string{
				{"detect", "-o", "json"}, {"doctor", "-o", "json"}, {"env", "-o", "json"}, {"status", "-o", "json"},
			} {
				original, redacted := runPlain(t, append(args, "--from", tree)...), runPlain(t,
					append(args, "--from", file)...)
				if original.code != redacted.code {
					t.Errorf("%v = %d redacted, want %d", args, redacted.code, original.code)
				}
				if diff := cmp.Diff(redactor.Text(original.stdout), redacted.stdout); diff != "" {
					t.Errorf("%v differs (-redacted output +output of redacted):\n%s", args, diff)
				}
				var a, b any
				if json.Unmarshal([]byte(original.stdout), &a) != nil ||
					json.Unmarshal([]byte(redacted.stdout), &b) != nil || shape(a) != shape(b) {
					t.Errorf("%v has another structure", args)
				}
			}
		})
	}
}

// shape is the structure of a document without its texts.
func shape(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var keys []string
		for k, e := range v {
			keys = append(keys, k+":"+shape(e))
		}
		slices.Sort(keys)
		return "{" + strings.Join(keys, ",") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, shape(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case string:
		return "text"
	}
	return fmt.Sprint(v)
}
