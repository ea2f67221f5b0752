package capture

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// recorded is an entry of captures.yaml: a capture, and the findings that it must lead to.
type recorded struct {
	File     string // relative to the folder of the list
	Source   string // who made it, where and how
	Findings []Name // all of them
}

// captureLists returns the lists of captures: that of the repository, and that of the foreign
// folder if there is one.
func captureLists() []string {
	lists := []string{filepath.Join("testdata", "captures.yaml")}
	if dir := os.Getenv(foreignDir); dir != "" {
		lists = append(lists, filepath.Join(dir, "captures.yaml"))
	}
	return lists
}

// eachRecorded calls a function with each capture of the lists.
func eachRecorded(t *testing.T, then func(t *testing.T, file string, c *recorded)) {
	t.Helper()
	for _, list := range captureLists() {
		text, err := os.ReadFile(list)
		check(t, err)
		var all []recorded
		check(t, yaml.Unmarshal(text, &all))
		if len(all) == 0 {
			t.Fatalf("%s is empty", list)
		}
		for _, c := range all {
			t.Run(filepath.Base(c.File), func(t *testing.T) {
				then(t, filepath.Join(filepath.Dir(list), c.File), &c)
			})
		}
	}
}

// Captures of other programs lead to the findings in captures.yaml, which were written down before
// this package had read them.
func TestRecorded(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string, c *recorded) {
		b, err := os.ReadFile(file)
		check(t, err)
		r := expect(t, b, c.Findings)
		t.Log("\n" + dump(r))
	})
}

// Every field of every transport packet of them is as tshark decodes it.
func TestTsharkAgrees(t *testing.T) {
	eachRecorded(t, func(t *testing.T, file string, c *recorded) {
		n := agree(t, file)
		if n == 0 && !slices.Contains(c.Findings, NameNoRoCE) {
			t.Error("no transport packet")
		}
		t.Logf("%d transport packets", n)
	})
}

// Each finding has a description, and each description is complete.
func TestDescriptions(t *testing.T) {
	seen := map[Name]bool{}
	for _, d := range Descriptions() {
		if d.Name == "" || d.Means == "" || d.Severity == "" || seen[d.Name] {
			t.Errorf("%+v is incomplete or there twice", d)
		}
		seen[d.Name] = true
	}
}
