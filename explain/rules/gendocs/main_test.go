package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/explain/rules"
)

func TestPageIsUpToDate(t *testing.T) {
	const file = "../../../docs/explain-rules.md"
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the page: %v; run go generate ./explain/...", err)
	}
	if diff := cmp.Diff(string(rules.Markdown(rules.All())), string(got)); diff != "" {
		t.Errorf("%s is not what the rules say; run go generate ./explain/... (-want +got):\n%s", file, diff)
	}
}
