package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s"
)

func TestPlaces(t *testing.T) {
	const in = `# two documents
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: rail0, namespace: sriov}
spec:
  numVfs: 8
  nicSelector:
    pfNames: [ens1, "ens2#0-3"]
---
kind: List
items:
- kind: Pod
  metadata:
    name: a
`
	set := Parse("f", []byte(in))
	if len(set.Objects) != 2 || len(set.Problems) != 0 {
		t.Fatalf("Parse gives %d objects and %v, want 2 and no problem", len(set.Objects), set.Problems)
	}
	o := set.Objects[0]
	for _, tt := range []struct {
		path []any
		want string
	}{
		{[]any{"kind"}, "f:3:7"},
		{[]any{"metadata", "namespace"}, "f:4:36"},
		{[]any{"spec", "numVfs"}, "f:6:11"},
		{[]any{"spec", "nicSelector", "pfNames", 1}, "f:8:21"},
		{[]any{"spec", "nicSelector", "vendor"}, "f:7:3"}, // absent: the key above
		{[]any{"spec", "mtu"}, "f:5:1"},
	} {
		if got := o.At(tt.path...).String(); got != tt.want {
			t.Errorf("At(%s) = %s, want %s", PathText(tt.path...), got, tt.want)
		}
	}
	if got, want := o.KeyAt("spec", "numVfs").String(), "f:6:3"; got != want {
		t.Errorf("KeyAt(spec.numVfs) = %s, want %s", got, want)
	}
	if got, want := o.String()+"; "+set.Objects[1].String(), "SriovNetworkNodePolicy sriov/rail0; Pod a"; got != want {
		t.Errorf("objects are %s, want %s", got, want)
	}
}

func TestInside(t *testing.T) {
	for _, tt := range []struct{ in, find, want string }{
		{"kind: A\nipam: |\n  {\n    \"range\": 7\n  }\n", "7", "f:4:14"},
		{"kind: A\nipam: >-\n  {\n    \"range\": 7\n  }\n", "7", "f:4:14"},
		{"kind: A\nipam: '{\"range\": 7}'\n", "7", "f:2:18"},
		{"kind: A\nipam: \"{}\"\n", "}", "f:2:9"},
	} {
		o := Parse("f", []byte(tt.in)).Objects[0]
		v := o.Find("ipam")
		if got := o.Inside(v, strings.Index(v.Text, tt.find)).String(); got != tt.want {
			t.Errorf("Inside(%q, %q) = %s, want %s", tt.in, tt.find, got, tt.want)
		}
	}
}

// TestOneLine counts characters along a line of JSON, and starts again after a line break.
func TestOneLine(t *testing.T) {
	const in = `{"kind": "é", "a": {"é": "ü", "b": 1}}` + "\n" + `{"kind": "B", "ä": 2, "b": 3}`
	set := Parse("f", []byte(in))
	for i, tt := range []struct {
		path []any
		want string
	}{
		{[]any{"a", "b"}, "f:1:36"},
		{[]any{"b"}, "f:2:28"},
	} {
		if got := set.Objects[i].Find(tt.path...).At.String(); got != tt.want {
			t.Errorf("place of %v in object %d = %s, want %s", tt.path, i, got, tt.want)
		}
	}
}

func TestDuplicateKeys(t *testing.T) {
	for _, in := range []string{
		"kind: A\nspec:\n  a: 1\n  a: 2\n", "{\"kind\": \"A\",\n\"spec\": {\n\"a\": 1,\n  \"a\": 2}}",
	} {
		set := Parse("f", []byte(in))
		if len(set.Problems) != 1 || set.Problems[0].Type != ProblemDuplicate ||
			set.Problems[0].At.Pos != (Pos{"f", 4, 3}) || set.Problems[0].Other.Line != 3 {
			t.Errorf("Parse(%q) = %+v, want a duplicate key at 4:3, first in line 3", in, set.Problems)
		}
		if got := set.Objects[0].Find("spec", "a").Text; got != "2" {
			t.Errorf("spec.a of %q = %s, want 2: the last counts", in, got)
		}
	}
}

func TestMergeKeys(t *testing.T) {
	set := Parse("f", []byte("kind: A\nbase: &b {x: 1, y: 2}\nspec:\n  <<: *b\n  y: 3\n"))
	got := set.Objects[0].Find("spec").Plain()
	if diff := cmp.Diff(map[string]any{"x": 1, "y": 3}, got); diff != "" || len(set.Problems) > 0 {
		t.Errorf("merged spec differs (-want +got):\n%s%v", diff, set.Problems)
	}
}

func TestOneBrokenDocument(t *testing.T) {
	set := Parse("f", []byte("kind: A\n---\nkind: B\n\tx: 1\n---\nkind: C\n--- # end\nkind: D\n...\n"))
	var kinds []string
	for _, o := range set.Objects {
		kinds = append(kinds, o.Kind)
	}
	if diff := cmp.Diff([]string{"A", "C", "D"}, kinds); diff != "" || len(set.Problems) != 1 ||
		set.Problems[0].At.Line != 4 {
		t.Errorf("kinds differ (-want +got):\n%s%+v", diff, set.Problems)
	}
	if o := set.Objects[1]; o.At("kind").Line != 6 {
		t.Errorf("C is in line %d, want 6", o.At("kind").Line)
	}
}

func TestDecode(t *testing.T) {
	set := Parse("f", []byte(`kind: SriovNetworkNodePolicy
metadata: {name: a}
spec:
  resourceName: r
  numVfs: "8"
  isRdma: "true"
  nicSelector: {deviceID: 1021, vendor: "15b3", rootDevices: 0000:3b:00.0}
`))
	var policy k8s.SriovNetworkNodePolicy
	misfits := set.Objects[0].Decode(&policy)
	var got []string
	for _, m := range misfits {
		got = append(got, PathText(m.Path...)+" at "+m.At.String()+" wants "+m.Want)
	}
	want := []string{
		"spec.numVfs at f:5:11 wants an integer", "spec.nicSelector.deviceID at f:7:27 wants a string",
		"spec.nicSelector.rootDevices at f:7:62 wants a list", "spec.isRdma at f:6:11 wants a boolean",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("misfits differ (-want +got):\n%s", diff)
	}
	if s := policy.Spec; s.NumVfs != nil || s.IsRdma != nil || s.NicSelector.DeviceID != "1021" ||
		s.NicSelector.Vendor != "15b3" {
		t.Errorf("Decode = %+v, want nothing for numVfs and isRdma, 1021 and 15b3", s)
	}
}

// TestHostile checks the limits: excessive aliases, nesting or repetition end soon, as a problem.
func TestHostile(t *testing.T) {
	bomb := "kind: A\na0: &a0 [" + strings.Repeat("x, ", 10) + "]\n"
	for i := 1; i < 12; i++ {
		bomb += strings.ReplaceAll("aN: &aN [*aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM, *aM]\n",
			"N", string(rune('0'+i)))
		bomb = strings.ReplaceAll(bomb, "M", string(rune('0'+i-1)))
	}
	for name, in := range map[string]string{
		"aliases":   bomb,
		"deep yaml": strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"deep json": `{"a":` + strings.Repeat(`[`, 5000) + strings.Repeat("]", 5000) + "}",
		"itself":    "kind: A\na: &a\n  b: *a\n",
		"objects":   strings.Repeat("{\"kind\": \"A\"}\n", MaxObjects+10),
		"large":     strings.Repeat("#", MaxFile+1),
	} {
		start := time.Now()
		set := Parse("f", []byte(in))
		if len(set.Problems) != 1 {
			t.Errorf("%s: %d problems, want 1: %+.300v", name, len(set.Problems), set.Problems)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("a: &a [*a]\n<<: *a\n---\n\t{"))
	f.Add([]byte(`{"kind": "List", "items": [{"kind": "Pod", "spec": {"a": [1, null, true, 1e3]}}, 7]}`))
	f.Add([]byte("kind: A\nipam: |\n  {\"a\": }\n? x\n: - - y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		set := Parse("f", data)
		for _, p := range set.Problems {
			if p.Text == "" || p.At.Line < 0 || p.At.Column < 0 {
				t.Errorf("problem %+v lacks a text or a place", p)
			}
		}
		for _, o := range set.Objects {
			var policy k8s.SriovNetworkNodePolicy
			var pod k8s.Pod
			o.Decode(&policy)
			o.Decode(&pod)
			o.Root.Plain()
			o.At("spec", "nicSelector", 0)
			if ipam := o.Find("ipam"); ipam != nil {
				o.Inside(ipam, len(ipam.Text)/2)
			}
		}
	})
}

// TestBlocks keeps the line break that ends a block scalar, in each document of a file.
func TestBlocks(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"kind: A\nx: |\n    a\n---\nkind: B\n", "a\n"},
		{"kind: A\nx: |\n    a\n---\nkind: B\nx: |\n    b\n", "a\n|b\n"},
		{"kind: A\r\nx: |\r\n    a\r\n---\r\nkind: B\r\n", "a\n"},
		{"kind: A\nx: |-\n    a\n---\nkind: B\n", "a"},
		{"kind: A\nx: |+\n    a\n\n---\nkind: B\n", "a\n\n"},
		{"kind: A\nx: |\n    a", "a"},
	} {
		var got []string
		for _, o := range Parse("f", []byte(tt.in)).Objects {
			if v := o.Find("x"); v != nil {
				got = append(got, v.Text)
			}
		}
		if got := strings.Join(got, "|"); got != tt.want {
			t.Errorf("Parse(%q) has x = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestStreamOfJSON reads what jq and jsonnet make for kubectl: documents of YAML in the form
// of JSON.
func TestStreamOfJSON(t *testing.T) {
	const one, two = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`,
		`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}`
	for _, tt := range []struct {
		name, in string
		problems int
	}{
		{"one after the other", one + "\n" + two, 0},
		{"---", one + "\n---\n" + two + "\n", 0},
		{"--- and YAML", one + "\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: b\n", 0},
		{"a comment", one + "\n# another\n---\n" + two, 0},
		{"a key twice", `{"apiVersion": "v1", "kind": "Namespace", "kind": "Namespace", "metadata": {"name": "a"}}` +
			"\n---\n" + two, 1},
		{"a fault in the second", one + "\n---\n" + two + "\n---\n" + `{"kind": `, 1},
	} {
		set := Parse("f", []byte(tt.in))
		var names []string
		for _, o := range set.Objects {
			names = append(names, o.Name)
		}
		if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || len(set.Problems) != tt.problems {
			t.Errorf("Parse(%s): %d problems %v, want %d; objects (-want +got)\n%s",
				tt.name, len(set.Problems), set.Problems, tt.problems, diff)
		}
	}
}
