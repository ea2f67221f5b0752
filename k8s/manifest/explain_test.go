package manifest

import (
	"fmt"
	"strings"
	"testing"
)

// TestExplain checks place, text and remedy of the explanations of mistakes.
func TestExplain(t *testing.T) {
	tests := []struct {
		name, in, at, text, remedy string
	}{
		{
			"tab", "spec:\n  numVfs: 8\n\tmtu: 9000\n", "f:3:1", "indented with a tab",
			"2 (as line 2) or 0 (as line 1) spaces",
		},
		{
			"tab below a key", "spec:\n  nicSelector:\n\t\tvendor: \"15b3\"\n", "f:3:1", "indented with a tab",
			"4 (below line 2), 2 (as line 2) or 0",
		},
		{"spaces then tab", "spec:\n  a: 1\n  \tb: 2\n", "f:3:3", "indented with a tab", "2 (as line 2)"},
		{
			"too deep", "spec:\n  numVfs: 8\n    mtu: 9000\n", "f:3:5",
			`indented by 4, below "numVfs" in line 2, which already has a value`,
			"2 (as line 2) or 0 (as line 1) spaces",
		},
		{
			"deep where only the first column is open", "name: rail\n  mtu: 9000\n", "f:2:3",
			`indented by 2, below "name" in line 1, which already has a value`,
			"begin the line in the first column, as line 1 does",
		},
		{
			"between levels", "spec:\n    numVfs: 8\n  mtu: 9000\n", "f:3:3",
			"indented by 2, unlike any line above", "4 (as line 2) or 0 (as line 1) spaces",
		},
		{
			"one too few", "a:\n  b:\n    - c: 1\n      d: 2\n     e: 3\n", "f:5:6",
			"indented by 5, unlike any line above", "6 (as line 3), 4 (as line 3), 2 (as line 2) or 0",
		},
		{"no space", "spec:\n  numVfs:8\n  mtu: 1\n", "f:2:3", `no space after the colon of "numVfs"`, "numVfs: 8"},
		{"colon in value", "metadata:\n  name: rail: 0\n", "f:2:3", `the value of "name" contains a colon`, "quotes"},
		{"quote", "metadata:\n  name: \"rail\n  x: 1\n", "f:2:3", "the quote is not closed", `add "`},
		{
			"quote before another value", "spec:\n  vendor: \"15b3\n  deviceID: \"1021\"\n", "f:2:3",
			"the quote is not closed", `add "`,
		},
		{
			"quote in a list", "spec:\n  devices:\n  - \"0000:1a:00.0\n  - \"0000:5e:00.0\"\n", "f:3:3",
			"the quote is not closed", `add "`,
		},
		{
			"quote in brackets", "spec:\n  devices: [\"0000:1a:00.0, \"0000:5e:00.0\"]\n  a: 1\n", "f:2:3",
			"a quote is not closed", "quotes",
		},
		{
			"quote over lines", "spec:\n  text: \"one\n    two\"\n  name: @x\n",
			"f:4:3", `the value starts with "@"`, "quotes",
		},
		{
			"backslash before a single quote", "spec:\n  text: 'one\n    two\\'\n  name: @x\n", "f:4:3",
			`the value starts with "@"`, "quotes",
		},
		{
			"backslash before a double quote", "spec:\n  text: \"one\n    \\\"two\\\" #\"\n  name: @x\n", "f:4:3",
			`the value starts with "@"`, "quotes",
		},
		{"bracket", "metadata: {name: a, namespace: b\nspec:\n  numVfs: 8\n", "f:1:1", "a bracket is not closed", "}"},
		{
			"bracket at the end", "spec:\n  vendor: \"15b3\"\n  rootDevices: [\"0000:1a:00.0\"\n", "f:3:3",
			"a bracket is not closed", "]",
		},
		{"binary", "spec: {\x00", "f:1:1", "contains zero bytes", "UTF-8"},
		{"reserved", "metadata:\n  name: @rail\n", "f:2:3", `the value starts with "@"`, "quotes"},
		{"star", "spec:\n  pfNames: *\n", "f:2:3", "the value starts with *", "quotes"},
		{"helm", "spec:\n  {{- if .Values.x }}\n  numVfs: 8\n", "f:2:3", "a Helm template", "helm template"},
		{
			"helm value", "kind: A\nmetadata:\n  name: {{ .Values.name }}\n", "f:3:3", "a Helm template",
			"helm template",
		},
		{
			"helm value with more", "kind: A\nmetadata:\n  name: {{ .Values.name }}-x\n", "f:3:3",
			"a Helm template", "helm template",
		},
		{"helm over lines", "spec:\n  a: {{ if\n    .x }}1{{ end }}\n", "f:2:3", "a Helm template", "helm template"},
		{"mapping as a key", "kind: A\nspec:\n  {a: b}: c\n", "f:3:3", "used as a key", "quotes"},
		{
			"anchor", "# *none\nkind: A\nspec:\n  a: \"*none\"\n  b: [x, *none]\n", "f:5:10",
			"the alias *none has no anchor", "&none",
		},
		{
			"anchor of another document", "a: &x 1\n---\nkind: A\nspec: *x\n", "f:4:7",
			"the alias *x has no anchor", "&x",
		},
		{
			"no ---", "apiVersion: v1\nkind: A\nspec: {}\napiVersion: v1\nkind: B\nspec: {}\n", "f:4:1",
			"another object starts here", "--- above",
		},
		{
			"no ---, kind first", "kind: A\napiVersion: v1\nkind: B\napiVersion: v1\n", "f:3:1",
			"another object starts here", "--- above",
		},
		{
			"conflict", "kind: A\nspec:\n<<<<<<< HEAD\n  a: 1\n=======\n  a: 2\n>>>>>>> topic\n", "f:3:1",
			"lines 3 to 7", "keep the lines of one version",
		},
		{
			"conflict of JSON", "{\n<<<<<<< HEAD\n\"kind\": \"A\"\n=======\n\"kind\": \"B\"\n>>>>>>> topic\n}\n",
			"f:2:1", "lines 2 to 6", "keep the lines of one version",
		},
		{
			"dashes without a blank", "spec:\n  pfNames:\n  -ens1\n  -ens2\n  a: 1\n", "f:3:3",
			"no space after the dash", "- ens1",
		},
		{
			"list in front of its key", "spec:\n  a: 1\n  s:\n    names:\n  - ens1\n", "f:5:3",
			`indented by 2, but "names" in line 4, which has no value, by 4`, `"names" by 4 or 6`,
		},
		{
			"entry below an entry", "kind: A\nspec:\n  names:\n  - ens1\n    - ens2\n  b: 1\n", "f:5:5",
			"indented more than the entry in line 4", "by 2, like line 4",
		},
		{
			"entry deeper, and more", "spec:\n  names:\n  - ens1\n    - ens2\n   x:\n", "f:4:5",
			`below "ens1" in line 3`, "by 2 (as line 3) or 0 (as line 1) spaces",
		},
		{
			"entry between", "spec:\n  names:\n    - ens1\n   - ens2\n", "f:4:4", "it belongs to no list",
			"4 (as line 3)",
		},
		{"no-break spaces", "kind: A\nspec:\n\u00a0\u00a0a: 1\n", "f:3:1", "U+00A0", "spaces"},
		{"no-break spaces in broken text", "kind: A\nspec:\n  a: 1\n\u00a0\u00a0b: 1\n", "f:4:1", "U+00A0", "spaces"},
		{"wide space", "kind: A\nspec:\n\u3000- a\n", "f:3:1", "U+3000", "spaces"},
		{"no width", "kind: A\nspec:\n  \u200ba: 1\n", "f:3:3", "U+200B", "spaces"},
		{"no-break space behind a colon", "kind: A\nmetadata:\n  name:\u00a0a\n", "f:3:8", "U+00A0", "spaces"},
		{"no-break space at the end", "kind: A\nmetadata:\n  name: a\u00a0\n", "f:3:10", "U+00A0", "spaces"},
		{
			"list in mapping", "spec:\n  a: 1\n  - b\n", "f:3:3", "indented by 2 like the mapping in line 2",
			"2 (as line 2)",
		},
		{"json comma", `{"kind": "A", "spec": {"a": 1,}}`, "f:1:31", "not valid JSON", "remove the comma"},
		{"json end", `{"kind": "A"`, "f:1:13", "unexpected end of the file", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set := Parse("f", []byte(tt.in))
			if len(set.Problems) != 1 {
				t.Fatalf("Parse(%q) has problems %+v, want one", tt.in, set.Problems)
			}
			p := set.Problems[0]
			want := ProblemSyntax
			if strings.HasPrefix(tt.name, "helm") {
				want = ProblemTemplate
			}
			if p.Type != want || p.At.String() != tt.at || !strings.Contains(p.Text, tt.text) ||
				!strings.Contains(p.Remedy, tt.remedy) {
				t.Errorf("Parse(%q) = %s at %s: %s; %s\nwant at %s: %s; %s",
					tt.in, p.Type, p.At, p.Text, p.Remedy, tt.at, tt.text, tt.remedy)
			}
		})
	}
}

// TestTemplates has documents that are templates, and broken ones that are not.
func TestTemplates(t *testing.T) {
	for in, want := range map[string]ProblemType{
		"spec:\n  image: {user}/server\n":                     ProblemTemplate,
		"spec:\n  limits:\n    a: 1\n${EFA_LIMITS}\n  b: 2\n": ProblemTemplate,
		"spec:\n{% if x %}\n  a: 1\n  {% endif %}\n":          ProblemTemplate,
		"spec:\n  a: {b\n  c: 1\n":                            ProblemSyntax,
		"spec:\n  a: 1 # {{ not one }}\n    b: 2\n":           ProblemSyntax,
		"# {{ nor here }}\nspec:\n  numVfs: 8\n    mtu: 90\n": ProblemSyntax,
	} {
		set := Parse("f", []byte(in))
		if len(set.Problems) != 1 || set.Problems[0].Type != want {
			t.Errorf("Parse(%q) has %+v, want one of type %s", in, set.Problems, want)
		}
	}
}

// TestPlaceholders tells values that are to be replaced from those that contain the same signs.
func TestPlaceholders(t *testing.T) {
	for text, want := range map[string]bool{
		"${NAMESPACE}": true, "$NS": true, "<namespace>": true, "<your namespace>-x": true, "{{ .Values.a }}": true,
		"__NAME__": true, "rail0": false, "$(POD_NAME)": false, "a < b": false, "echo $HOME": false,
		`{"a": {"b": 1}}`: false, "__init__": false, "": false,
	} {
		if got := IsPlaceholder(text); got != want {
			t.Errorf("IsPlaceholder(%q) = %t", text, got)
		}
	}
}

// TestDamaged breaks a valid manifest line by line. The reported line must be the broken one or,
// if the broken line starts a mapping, the first line that then matches no indentation.
func TestDamaged(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(whole), "\n")
	for i := range lines {
		for name, damage := range map[string]func(string) string{
			"tab":        func(s string) string { return "\t" + strings.TrimLeft(s, " ") },
			"one deeper": func(s string) string { return " " + s },
			"one less":   func(s string) string { return strings.TrimPrefix(s, " ") },
		} {
			broken := append([]string{}, lines...)
			broken[i] = damage(broken[i])
			set := Parse("f", []byte(strings.Join(broken, "\n")))
			for _, p := range set.Problems {
				if p.Type == ProblemSyntax && (p.At.Line < i+1 || p.At.Line > i+3) {
					t.Errorf("%s in line %d %q: reported at %s: %s", name, i+1, lines[i], p.At, p.Text)
				}
				if p.Type == ProblemSyntax && strings.HasPrefix(p.Text, "not valid YAML") {
					t.Errorf("unexplained: %s in line %d %q: %s", name, i+1, lines[i], p.Text)
				}
			}
		}
	}
}

const whole = `
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata:
  name: rail0
  labels: {a: b, c: d}
spec:
  # a comment
  nodeSelector:
    feature.node.kubernetes.io/network-sriov.capable: "true"
  nicSelector:
    vendor: "15b3"
    pfNames: ["ens1f0#0-3"]
    rootDevices:
      - "0000:3b:00.0"
      - 0000:3c:00.0
  list:
  - name: a
    value: b
  - name: c
  text: |
    a: b
      c
    - d
  last: true
`

func TestWholeIsRight(t *testing.T) {
	set := Parse("f", []byte(whole))
	if len(set.Problems) > 0 || len(set.Objects) != 1 {
		t.Fatalf("Parse = %+v, %d objects, want none and 1", set.Problems, len(set.Objects))
	}
	// The reader of indentation must find nothing in a valid document.
	source := newText("f", []byte(whole))
	if f, ok := findFault(source, 0, len(source.lines)); ok {
		t.Errorf("findFault = %+v, want nothing", f)
	}
}

// TestPlain checks valid texts that look like mistakes.
func TestPlain(t *testing.T) {
	for name, in := range map[string]string{
		"conflict in a block":      "kind: A\ndata:\n  a: |\n    <<<<<<< x\n    >>>>>>> y\n",
		"template in quotes":       "kind: A\nspec: {a: \"{{ .x }}\", b: '{{ .y }}'}\n",
		"template in a block":      "kind: A\nspec:\n  a: |\n    {{ .x }}\n",
		"no-break space in quotes": "kind: A\nspec: {a: \"\u00a0x\"}\n",
		"no-break space in a text": "kind: A\nspec: {a: 400\u00a0G}\n",
		"no-break space in block":  "kind: A\nspec:\n  a: |\n    x\n    \u00a0y\n",
		"dash in a text":           "kind: A\nspec: {a: [x - y, -z]}\n",
		"dash on the next line":    "kind: A\nspec:\n  text: one\n    - two\n",
		"kind twice below":         "apiVersion: v1\nkind: A\nspec: {kind: B}\n",
		"list in the key's column": "kind: A\nspec:\n  names:\n  - a\n  b: 1\n",
	} {
		if set := Parse("f", []byte(in)); len(set.Problems) > 0 || len(set.Objects) != 1 {
			t.Errorf("%s: Parse(%q) = %d objects and %+v, want one and no problem",
				name, in, len(set.Objects), set.Problems)
		}
	}
}

// TestMissingMarker reads both objects where "---" is missing, and each entry where a dash is
// too deep.
func TestMissingMarker(t *testing.T) {
	set := Parse("f",
		[]byte("apiVersion: v1\nkind: A\nspec: {a: 1}\napiVersion: v1\nkind: B\nspec:\n  a:\n  - x\n    - y\n"))
	if len(set.Objects) != 2 || set.Objects[0].Kind != "A" || set.Objects[1].Kind != "B" {
		t.Fatalf("Parse = %v, want A and B", set.Objects)
	}
	if got := len(set.Objects[1].Find("spec", "a").List()); got != 2 {
		t.Errorf("spec.a of B has %d entries, want 2", got)
	}
}

// TestNoObject checks that mappings without fields of an object are skipped.
func TestNoObject(t *testing.T) {
	for in, want := range map[string]int{
		"operator: {spec: none}\n":                 0, // values of a chart
		"apiVersion: v2\nname: a\n":                0, // Chart.yaml
		"metadata: {name: a}\n":                    1,
		"apiVersion: sriovnetwork.openshift.io/v1": 1,
		"kind: A\n": 1,
		`["https://example.org/a.jpg", "https://example.org/b.jpg"]`: 0, // data for a test
		"- 1\n- [2, 3]\n": 0,
	} {
		if set := Parse("f", []byte(in)); len(set.Objects) != want || len(set.Problems) > 0 {
			t.Errorf("Parse(%q) = %d objects and %+v, want %d", in, len(set.Objects), set.Problems, want)
		}
	}
}

func ExampleParse() {
	set := Parse("policy.yaml", []byte("kind: SriovNetworkNodePolicy\nspec:\n  numVfs: 8\n    mtu: 9000\n"))
	for _, p := range set.Problems {
		fmt.Printf("%s: %s\n%s\n", p.At, p.Text, p.Remedy)
	}
	// Output:
	// policy.yaml:4:5: indented by 4, below "numVfs" in line 3, which already has a value
	// indent the line by 2 (as line 3) or 0 (as line 1) spaces
}
