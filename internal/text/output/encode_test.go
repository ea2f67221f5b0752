package output

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

type sample struct {
	Zone    string            `json:"zone"`
	Counter uint64            `json:"counter"`
	Ratio   float64           `json:"ratio"`
	Up      bool              `json:"up"`
	Names   []string          `json:"names"`
	Empty   []string          `json:"empty"`
	Nothing *int              `json:"nothing"`
	Labels  map[string]string `json:"labels"`
	Inner   struct {
		MTU int `json:"mtu"`
	} `json:"inner"`
	Omitted string `json:"omitted,omitempty"`
}

func newSample() sample {
	s := sample{
		Zone: "no", Counter: math.MaxUint64, Ratio: 0.25, Up: true,
		Names: []string{
			"0x15b3", "0000:17:00.0", "1e3", "", "null", "a <b> & c", "two\nlines", "\x1b[2J\u009b\u202e\U000e0041",
		},
		Empty:  []string{},
		Labels: map[string]string{"b": "2", "a": "1"},
	}
	s.Inner.MTU = 4096
	return s
}

func TestEncodeJSON(t *testing.T) {
	want := `{
  "zone": "no",
  "counter": 18446744073709551615,
  "ratio": 0.25,
  "up": true,
  "names": [
    "0x15b3",
    "0000:17:00.0",
    "1e3",
    "",
    "null",
    "a <b> & c",
    "two\nlines",
    "\u001b[2J\u009b\u202e\udb40\udc41"
  ],
  "empty": [],
  "nothing": null,
  "labels": {
    "a": "1",
    "b": "2"
  },
  "inner": {
    "mtu": 4096
  }
}
`
	got, err := encodeJSON(newSample(), false)
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("encodeJSON(sample) = %v, -want +got:\n%s", err, diff)
	}
	var back sample
	if err := json.Unmarshal(got, &back); err != nil {
		t.Fatalf("Unmarshal(encodeJSON(sample)) = %v", err)
	}
	if diff := cmp.Diff(newSample(), back); diff != "" {
		t.Errorf("encodeJSON(sample) reads back otherwise, -want +got:\n%s", diff)
	}
}

func TestEncodeYAML(t *testing.T) {
	want := `zone: "no"
counter: 18446744073709551615
ratio: 0.25
up: true
names:
- "0x15b3"
- "0000:17:00.0"
- "1e3"
- ""
- "null"
- a <b> & c
- |-
  two
  lines
- "\e[2J\x9B\U0000202E\U000E0041"
empty: []
nothing: null
labels:
  a: "1"
  b: "2"
inner:
  mtu: 4096
`
	got, err := encodeYAML(newSample())
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("encodeYAML(sample) = %v, -want +got:\n%s", err, diff)
	}
}

func TestEncodeErrors(t *testing.T) {
	for _, v := range []any{math.NaN(), make(chan int)} {
		if got, err := encodeJSON(v, false); err == nil {
			t.Errorf("encodeJSON(%T) = %q, want an error", v, got)
		}
		if got, err := encodeYAML(v); err == nil {
			t.Errorf("encodeYAML(%T) = %q, want an error", v, got)
		}
	}
}

// FuzzEncodeYAML holds that any text survives YAML as key and as value, and that none of it reaches
// the terminal raw.
func FuzzEncodeYAML(f *testing.F) {
	for _, s := range []string{
		"", " lead", "trail ", "\n", "a\n", "\n a\n\n", "- x", "# x", "k: v", "0o7", "~", "\t", "\u0085", "👩‍🚀", "<<",
		"=", "2001-01-01", "\ufffe", "a\n\u202eb",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		in := map[string][]string{key: {value, "end"}}
		got, err := encodeYAML(in)
		if err != nil {
			t.Fatalf("encodeYAML(%q) = %v", in, err)
		}
		for _, r := range string(got) {
			if r != '\n' && hostile(r) {
				t.Fatalf("encodeYAML(%q) = %q, holds %U", in, got, r)
			}
		}
		var back map[string][]string
		if err := yaml.Unmarshal(got, &back); err != nil {
			t.Fatalf("Unmarshal(%q) = %v", got, err)
		}
		if diff := cmp.Diff(in, back); diff != "" {
			t.Errorf("encodeYAML(%q) = %q, reads back otherwise, -want +got:\n%s", in, got, diff)
		}
	})
}
