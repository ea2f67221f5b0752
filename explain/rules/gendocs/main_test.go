package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsUpToDate(t *testing.T) {
	const file = "../../../docs/explain-rules.md"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the page: %v; run go generate ./explain/...", err)
	}
	if diff := cmp.Diff(string(page()), string(got)); diff != "" {
		t.Errorf("%s is not what the rules say; run go generate ./explain/... (-want +got):\n%s", file, diff)
	}
}
