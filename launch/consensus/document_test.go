package consensus

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
)

// readAll reads documents: host names, and errors.
func readAll(text string) (hosts, errs []string) {
	for snap, err := range Documents(strings.NewReader(text)) {
		if err != nil {
			errs = append(errs, err.Error())
		} else {
			hosts = append(hosts, snap.Host.Name)
		}
	}
	return hosts, errs
}

func TestDocuments(t *testing.T) {
	const a, b = `{"schema":"rdmakit.inventory/v1","host":{"name":"a"}}`,
		`{"schema":"rdmakit.detect/v1","node":{"schema":"rdmakit.inventory/v1","host":{"name":"b"}}}`
	port := func(p string) string {
		return `{"schema":"rdmakit.inventory/v1","devices":[{"name":"mlx5_0","ports":[` + p + `]}]}`
	}
	tests := []struct {
		name, text string
		hosts      string
		err        string // the beginning of the only error
	}{
		{"one", a, "a", ""},
		{"stream", a + "\n" + b + a, "a b a", ""},
		{"array", "\ufeff [" + a + ",\n" + b + "]", "a b", ""},
		{"unknown field", `{"schema":"rdmakit.inventory/v1","later":[1],"host":{"name":"a"}}`, "a", ""},
		{"no lists", `{"schema":"rdmakit.inventory/v1","devices":null}`, "", ""},
		{
			"a bad one between good ones", a + `{"schema":"x"}` + b, "a b",
			`schema "x" does not describe a node: give the output of "rdmactl detect -o json"`,
		},
		{
			"launch plan", `{"schema":"rdmakit.launch/v1","ports":[]}`, "",
			"a launch plan (rdmakit.launch/v1) has no rates and no GID tables: give the output",
		},
		{
			"later version", `{"schema":"rdmakit.inventory/v2"}`, "",
			`schema "rdmakit.inventory/v2" is not supported, only v1`,
		},
		{
			"detect without node", `{"schema":"rdmakit.detect/v1"}`, "",
			"a document with schema rdmakit.detect/v1 but without the field node",
		},
		{
			"detect of a later inventory", `{"schema":"rdmakit.detect/v1","node":{"schema":"rdmakit.inventory/v9"}}`,
			"", `the field node has schema "rdmakit.inventory/v9"`,
		},
		{"no schema", `{"a":1}`, "", "no field schema"},
		{"schema is a number", `{"schema":7}`, "", "no field schema"},
		{"text", `"hello"`, "", "no field schema"},
		{"null", `null`, "", "no field schema"},
		{"empty", " \n", "", "read json: empty"},
		{"empty array", "[]", "", ""},
		{"cut", a[:30], "", "read json: unexpected end of a document"},
		{"cut array", "[" + a, "a", "read json: unexpected end of a document"},
		{"broken", `{"schema"}`, "", "read json: byte 10: "},
		{"rubbish behind", a + "}", "a", "read json: byte "},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "", "read json: nested too deep"},
		{
			"many", `{"schema":"rdmakit.inventory/v1","devices":[` + strings.Repeat("{},", 200000) + "{}]}", "",
			"read json: more than 131072 list entries",
		},
		{
			"zeros", `{"schema":"rdmakit.inventory/v1","devices":[` + strings.Repeat("0,", 200000) + "0]}", "",
			"read json: more than 131072 list entries",
		},
		{"devices are a text", `{"schema":"rdmakit.inventory/v1","devices":"x"}`, "", "read json: cannot unmarshal"},
		{"huge index", port(`{"number":1,"gids":[{"index":99999999999999999999}]}`), "", "read json: cannot unmarshal"},
		{
			"negative index", port(`{"number":1,"gids":[{"index":-1}]}`), "",
			`device "mlx5_0", port 1: a GID index of -1`,
		},
		{"port 0", port(`{"number":0}`), "", `device "mlx5_0", port 0: ports are numbered from 1 to 255`},
		{
			"rate", port(`{"number":1,"rate":{"gbPerSecond":1e300}}`), "",
			`device "mlx5_0", port 1: a rate of 1e+300 Gb/s`,
		},
		{"number without bounds", port(`{"number":1,"rate":{"gbPerSecond":1e999}}`), "", "read json: cannot unmarshal"},
		{"MTU", port(`{"number":1,"activeMTU":9000}`), "", `device "mlx5_0", port 1: an active MTU of 9000`},
		{"many ports", port(strings.Repeat(`{"number":1},`, 5000) + `{"number":1}`), "", "more than 4096 ports"},
		{"many network devices", `{"schema":"rdmakit.inventory/v1","netdevs":[` + strings.Repeat("{},",
			9000) + "{}]}", "", "9001 network devices"},
		{
			"no name", `{"schema":"rdmakit.inventory/v1","devices":[{"ports":[{"number":1}]}]}`, "",
			"a device without a name",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hosts, errs := readAll(tt.text)
			if got := strings.TrimSpace(strings.Join(hosts, " ")); got != tt.hosts {
				t.Errorf("hosts %q, want %q", got, tt.hosts)
			}
			if tt.err == "" && len(errs) > 0 ||
				tt.err != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0], tt.err)) {
				t.Errorf("errors %q, want %q", errs, tt.err)
			}
		})
	}
}

// TestDocumentTooLarge: a document without an end is refused before memory is full.
func TestDocumentTooLarge(t *testing.T) {
	for _, err := range Documents(&endless{}) {
		if !errors.Is(err, ErrDocument) || !strings.Contains(err.Error(), "larger than 32 MiB") {
			t.Errorf("Documents(endless) = %v", err)
		}
	}
}

// endless is a text that never closes.
type endless struct{ begun bool }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	if !e.begun {
		e.begun = true
		return copy(b, `{"schema":"`), nil
	}
	return len(b), nil
}

// TestRoundTrip: what is written as JSON gives the same node as the snapshot itself.
func TestRoundTrip(t *testing.T) {
	snaps := cluster(t, 2, roceSpec, nil)
	var text strings.Builder
	for _, s := range snaps {
		if err := json.NewEncoder(&text).Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	var read []inventory.Snapshot
	for s, err := range Documents(strings.NewReader(text.String())) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, s)
	}
	want, got := Compare(digest(t, Options{}, snaps...), Options{}), Compare(digest(t, Options{}, read...), Options{})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after JSON, -want +got:\n%s", diff)
	}
}

// FuzzDocuments: whatever comes in, Documents answers nodes that can be compared, or errors.
func FuzzDocuments(f *testing.F) {
	for _, name := range []string{"04_iwarp", "07_sriov_vf_pod", "48_efa", "58_two_ib_fabrics"} {
		snap := treeSnapshot(f, name)
		snap.Devices, snap.GPUs, snap.Cards = snap.Devices[:1], nil, nil // small seeds mutate fast
		snap.Netdevs = slices.DeleteFunc(snap.Netdevs,
			func(n inventory.Netdev) bool { return n.RDMADevice != snap.Devices[0].Name })
		data, err := json.Marshal(snap)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`[{"schema":"rdmakit.inventory/v1"},{"schema":"rdmakit.detect/v1","node":{}}]`))
	f.Add([]byte(`{"schema":"rdmakit.inventory/v1","devices":[{"name":"a","ports":` +
		`[{"number":1,"state":"ACTIVE","linkLayer":"Ethernet","gids":[{"index":` +
		`0,"gid":"::ffff:1.2.3.4","type":"RoCE v2"}]}]}]}`))
	reference := digest(f, Options{}, emulate(f, roceSpec(0)))[0]
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes := []*Node{reference}
		for snap, err := range Documents(strings.NewReader(string(data))) {
			if err != nil {
				continue
			}
			n, err := NewNode("fuzz", snap, Options{})
			if err != nil {
				t.Fatalf("NewNode: %v", err)
			}
			nodes = append(nodes, n)
		}
		r := Compare(nodes, Options{})
		for _, d := range r.Differences {
			if d.Text == "" || len(d.Groups) == 0 || d.Why == "" || d.Remedy == "" {
				t.Fatalf("an empty difference: %+v", d)
			}
		}
		if len(r.Nodes) != len(nodes) {
			t.Fatalf("%d nodes in the report of %d", len(r.Nodes), len(nodes))
		}
	})
}
