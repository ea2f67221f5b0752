package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// published is the folder of the published schemas.
var published = filepath.Join("..", "..", "..", "docs", "schema")

func TestSchemasAreUpToDate(t *testing.T) {
	pages, err := schemaPages(filepath.Dir(published))
	if err != nil {
		t.Fatalf("schemaPages = %v", err)
	}
	files, err := filepath.Glob(filepath.Join(published, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(pages) {
		t.Errorf("%s has %d files, want %d; run go generate ./internal/cli", published, len(files), len(pages))
	}
	for file, want := range pages {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read the schema: %v; run go generate ./internal/cli", err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is not what the types say; run go generate ./internal/cli (-want +got):\n%s", file, diff)
		}
	}
}

// validator checks documents against the published schemas.
type validator struct {
	schemas map[string]*jsonschema.Resolved
	mu      sync.Mutex
	seen    map[string]int // documents by the name of their schema
}

// newValidator reads the published schemas in a stricter form: an unknown field or value is an
// error here, although readers of documents must accept it.
func newValidator(t *testing.T) *validator {
	t.Helper()
	v := &validator{schemas: map[string]*jsonschema.Resolved{}, seen: map[string]int{}}
	for name := range commands.Schemas() {
		data, err := os.ReadFile(filepath.Join(published, schemaFile(name)))
		if err != nil {
			t.Fatal(err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatalf("schema of %s: %v", name, err)
		}
		for _, def := range s.Defs {
			if def.Properties != nil {
				def.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
			}
			def.Enum = def.Examples
		}
		if v.schemas[name], err = s.Resolve(nil); err != nil {
			t.Fatalf("schema of %s: %v", name, err)
		}
	}
	return v
}

// check validates a document against the schema that it names, and also a node within it.
func (v *validator) check(document map[string]any) error {
	name, ok := document["schema"].(string)
	if !ok {
		return errors.New("no field schema")
	}
	if v.schemas[name] == nil {
		return errors.New("no schema " + name)
	}
	v.mu.Lock()
	v.seen[name]++
	v.mu.Unlock()
	err := v.schemas[name].Validate(document)
	if node, ok := document["node"].(map[string]any); ok {
		err = errors.Join(err, v.check(node))
	}
	return err
}

// documents runs a command on a tree and returns its documents.
func documents(t *testing.T, tree string, args ...string) []map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{
		"HOME=" + t.TempDir(), "KSERVE_INFER_ROCE=true", "NCCL_IB_HCA=mlx5_1,nosuch",
		"RDMAKIT_PCI_IDS=" + filepath.Join("..", "commands", "testdata", "pci.ids"),
	}
	if tree != "" {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		args = slices.Insert(slices.Clone(args), end, "--from",
			filepath.Join("..", "..", "testkit", "testtrees", tree+".tree"))
	}
	code := app.Run(t.Context(), args)
	var out []map[string]any
	for dec := json.NewDecoder(&stdout); ; {
		var document map[string]any
		switch err := dec.Decode(&document); {
		case err == nil:
			out = append(out, document)
			continue
		case !errors.Is(err, io.EOF):
			t.Fatalf("rdmactl %s: %v", strings.Join(args, " "), err)
		}
		if len(out) == 0 {
			t.Fatalf("rdmactl %s: no document, exit code %d: %s", strings.Join(args, " "), code, &stderr)
		}
		return out
	}
}

// commandsOf returns the commands that print documents about a tree.
func commandsOf(t *testing.T, tree string) [][]string {
	t.Helper()
	node, err := testtrees.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	all := [][]string{
		{"detect", "-o", "json"},
		{"status", "-o", "json"},
		{"status", "--watch", "--count", "2", "--interval", "100ms", "-o", "json"},
		{"doctor", "-o", "json"},
		{"env", "--for", "all", "--tcp-fallback", "-o", "json"},
		{"env", "--compat", "kserve", "-o", "json"},
		{"env", "lint", "-o", "json"},
		{"exec", "--dry-run", "--allow-none", "--allow-partial", "-o", "json", "--", "sh", "-c", "true"},
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: node.FS()}) // damaged trees have devices too
	for _, d := range snap.Devices {
		all = append(all, []string{"show", d.Name, "-o", "json"})
	}
	return all
}

func TestDocumentsFollowSchemas(t *testing.T) {
	v := newValidator(t)
	t.Run("trees", func(t *testing.T) {
		for _, tree := range testtrees.Names() {
			t.Run(tree, func(t *testing.T) {
				t.Parallel()
				for _, args := range commandsOf(t, tree) {
					for _, document := range documents(t, tree, args...) {
						if err := v.check(document); err != nil {
							t.Errorf("rdmactl %s: %v", strings.Join(args, " "), err)
						}
					}
				}
			})
		}
	})
	examples, fabrics := filepath.Join("..", "..", "..", "examples",
		"kubernetes"), filepath.Join("..", "..", "testkit", "testtrees", "58_two_ib_fabrics.tree")
	others := [][]string{
		{"config", "show", "-o", "json"},
		{"demo", "node", "-o", "json"},
		{"cluster", "verify", "--local", "2", "--stages", "reach", "--journal", "none", "-o", "json"},
		{"cluster", "verify", "--workers", "64", "--rails", "8", "--budget", "1m", "--plan", "-o", "json"},
		{"demo", "--nodes", "4", "--rails", "1", "--html", "none", "-o", "json"},
		{"applet", "list", "-o", "json"},
		{"applet", "install", t.TempDir(), "-o", "json"},
		{
			"doctor", "--from", fabrics,
			"--from", filepath.Join("..", "..", "testkit", "testtrees", "consensus", "gpu-00.tree"), "-o", "json",
		},
		{"env", "consensus", filepath.Join("..", "..", "testkit", "testtrees", "consensus"), "-o", "json"},
		{"k8s", "lint", filepath.Join("..", "..", "..", "k8s", "lint", "testdata", "reports"), "-o", "json"},
		{"explain", fabrics, filepath.Join("..", "..", "..", "connect", "testdata", "faults"), "--flows", "-o", "json"},
		{"explain", "--code", "status=12 vendor=129 driver=mlx5", "-o", "json"},
		{"k8s", "plan", fabrics, "-o", "json"},
		{"k8s", "plan", fabrics, "--isolation", "--max-unavailable", "1", "-o", "json"},
		{"k8s", "plan", fabrics, "--diff", filepath.Join(examples, "sriov"), "-o", "json"},
		{"k8s", "plan", fabrics, "--rail", "4,5", "--diff", filepath.Join(examples, "sriov"), "-o", "json"},
		{
			"k8s", "impact", filepath.Join(examples, "eight-vfs.yaml"), "--nodes",
			filepath.Join(examples, "cluster.yaml"), "-o", "json",
		},
		{"k8s", "impact", filepath.Join(examples, "sriov"), "--nodes", fabrics, "-o", "json"},
	}
	for _, args := range [][]string{
		{"roce@127.0.12.3", "--allow-tcp"},
		{"roce@127.0.12.3", "-x", "7"},
		{"-d", "roce@127.0.12.3", "-p", "1", "127.0.0.1"},
	} {
		others = append(others, slices.Concat([]string{"connect"}, args, []string{"-n", "20", "-w", "1", "-o", "json"}))
	}
	for _, args := range others {
		for _, document := range documents(t, "", args...) {
			if err := v.check(document); err != nil {
				t.Errorf("rdmactl %s: %v", strings.Join(args, " "), err)
			}
		}
	}
	saved := func(name string) string { return filepath.Join("..", "commands", "testdata", "fabric", name+".json") }
	for _, name := range []string{"sound", "faults"} {
		for _, args := range [][]string{
			{"sm"},
			{"switches"},
			{"hosts"},
			{"links"},
			{"links", "--down"},
			{"topology"},
			{"trace", "host0", "host9"},
			{"errors", "--all"},
		} {
			args = slices.Concat([]string{"fabric"}, args, []string{"--from", saved(name), "-o", "json"})
			for _, document := range documents(t, "", args...) {
				if err := v.check(document); err != nil {
					t.Errorf("rdmactl %s: %v", strings.Join(args, " "), err)
				}
			}
		}
	}
	for _, document := range documents(t, "", "fabric", "errors", "--from", saved("faults"), "--since", saved("sound"),
		"-o", "json") {
		if err := v.check(document); err != nil {
			t.Errorf("rdmactl fabric errors --since: %v", err)
		}
	}
	for _, document := range pings(t) {
		if err := v.check(document); err != nil {
			t.Errorf("rdmactl fabric ping: %v", err)
		}
	}
	for _, document := range adminRecords(t) {
		if err := v.check(document); err != nil {
			t.Errorf("rdmactl fabric sa: %v", err)
		}
	}
	for _, document := range registers(t) {
		if err := v.check(document); err != nil {
			t.Errorf("rdmactl fabric, registers: %v", err)
		}
	}
	for _, document := range rdmaPings(t) {
		if err := v.check(document); err != nil {
			t.Errorf("rdmactl ping: %v", err)
		}
	}
	for _, test := range []string{"write-bw", "read-lat"} {
		for _, document := range measurement(t, test) {
			if err := v.check(document); err != nil {
				t.Errorf("rdmactl bench %s: %v", test, err)
			}
		}
	}
	for name := range v.schemas {
		if v.seen[name] == 0 {
			t.Errorf("no command printed %s: there is nothing to hold its schema to", name)
		}
	}
}

// rdmaPings returns the output of rdmactl ping as server and as client, with --watch, and of a
// failure.
func rdmaPings(t *testing.T) []map[string]any {
	t.Helper()
	server := make(chan []map[string]any, 1)
	go func() {
		server <- documents(t, "", "ping", "--listen", "127.0.12.8", "-c", "1", "--timeout", "20s", "-o", "json")
	}()
	client := []string{"ping", "-d", "roce@127.0.12.9", "127.0.12.8", "-c", "3", "-i", "1ms", "-o", "json", "--watch"}
	var out []map[string]any
	for range 50 {
		failed := documents(t, "", "ping", "-d", "roce@127.0.12.9", "-p", "9", "--lost-after", "200ms", "127.0.12.8",
			"-o", "json")
		failure, _ := failed[0]["failure"].(map[string]any)
		if out = failed; failure["code"] == "nobody-listens" { // the server's device is open
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return slices.Concat(out, documents(t, "", client...), <-server)
}

// measurement returns the output of both ends of a test.
func measurement(t *testing.T, test string) []map[string]any {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // a listener has one
	_ = l.Close()
	common := []string{"bench", test, "-n", "100", "-p", port, "--timeout", "60s", "-o", "json"}
	run := func(args ...string) (map[string]any, int, string) {
		var stdout, stderr bytes.Buffer
		app := cli.NewApp(commands.All())
		app.Stdin, app.Stdout, app.Stderr, app.Environ = strings.NewReader(""), &stdout, &stderr,
			[]string{"HOME=" + t.TempDir()}
		app.IsTerminal = func(any) bool { return false }
		code := app.Run(t.Context(), slices.Concat(common, args))
		var document map[string]any
		_ = json.Unmarshal(stdout.Bytes(), &document) // nil tells
		return document, code, stderr.String()
	}
	server := make(chan map[string]any, 1)
	go func() {
		document, _, _ := run("-d", "roce@127.0.12.1")
		server <- document
	}()
	for {
		document, code, text := run("-d", "roce@127.0.12.2", "127.0.0.1")
		if code == cli.ExitUnreachable && t.Context().Err() == nil { // the server doesn't listen yet
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if code != 0 {
			t.Fatalf("rdmactl bench %s: exit code %d: %s", test, code, text)
		}
		return []map[string]any{document, <-server}
	}
}

// TestSchemasRefuse checks that the schemas reject the errors that the test above looks for.
func TestSchemasRefuse(t *testing.T) {
	v := newValidator(t)
	at := func(v any, path ...any) map[string]any {
		for _, step := range path {
			switch step := step.(type) {
			case string:
				v = v.(map[string]any)[step] //nolint:errcheck // a panic fails the test too
			case int:
				v = v.([]any)[step] //nolint:errcheck // a panic fails the test too
			}
		}
		return v.(map[string]any) //nolint:errcheck // a panic fails the test too
	}
	tests := []struct {
		name   string
		damage func(document map[string]any)
	}{
		{"another version", func(d map[string]any) { d["schema"] = "rdmakit.detect/v2" }},
		{"the wrong document within", func(d map[string]any) { at(d, "node")["schema"] = "rdmakit.detect/v1" }},
		{"a required field missing", func(d map[string]any) { delete(d, "obstacles") }},
		{"a required field missing below", func(d map[string]any) {
			delete(at(d, "node", "devices", 0, "ports", 0), "state")
		}},
		{"null for a list", func(d map[string]any) { d["obstacles"] = nil }},
		{"a number for a word", func(d map[string]any) { at(d, "node", "devices", 0, "ports", 0)["state"] = 4.0 }},
		{"an unknown word", func(d map[string]any) { at(d, "node", "devices", 0, "ports", 0)["state"] = "UP" }},
		{"a fraction for a whole number", func(d map[string]any) {
			at(d, "node", "devices", 0, "ports", 0)["number"] = 1.5
		}},
		{"an unknown field", func(d map[string]any) { at(d, "node", "host")["colour"] = "red" }},
	}
	if err := v.check(documents(t, "02_rocev2_8hca", "detect", "-o", "json")[0]); err != nil {
		t.Fatalf("the undamaged document: %v", err)
	}
	for _, tt := range tests {
		document := documents(t, "02_rocev2_8hca", "detect", "-o", "json")[0]
		tt.damage(document)
		if v.check(document) == nil {
			t.Errorf("%s: the schemas accept it", tt.name)
		}
	}
}

func TestAbsent(t *testing.T) {
	for in, want := range map[string]string{
		"nil on a bare host":                        "absent on a bare host",
		`"rxe" or "siw" for software, "" otherwise`: `"rxe" or "siw" for software, absent otherwise`,
		`a port; "" and 0 without one`:              "a port; absent without one",
		"lanes: 1, 2; 0 when not told":              "lanes: 1, 2; absent when not told",
		"counted from 0 in their order":             "counted from 0 in their order",
	} {
		if got := absent(in); got != want {
			t.Errorf("absent(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestUnlinked(t *testing.T) {
	for in, want := range map[string]string{
		"as [Device.Open] of\n[verbs.Device] says, [Limits].": "as Device.Open of\nverbs.Device says, Limits.",
		"[*Limits], then [Limits]":                            "Limits, then Limits",
		"usage: [-d DEVICE] [FILE], policy[0], [text]":        "usage: [-d DEVICE] [FILE], policy[0], [text]",
	} {
		if got := unlinked(in); got != want {
			t.Errorf("unlinked(%q) = %q, want %q", in, got, want)
		}
	}
}
