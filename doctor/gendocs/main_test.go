package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsUpToDate(t *testing.T) {
	const file = "../../docs/checks.md"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the page: %v; run go generate ./doctor/...", err)
	}
	want, err := page("../checks/testdata/examples.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the checks say; run go generate ./doctor/... (-want +got):\n%s", file, diff)
	}
}
