package own_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/own"
)

func TestRead(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{
			`{"schema": "rdmakit.doctor/v1", "node": "n", "findings": [
			 {"check": "memlock", "outcome": "fail", "object": "node", "summary": "a"},
			 {"check": "mtu", "outcome": "warn", "object": "mlx5_0:1", "summary": "b"},
			 {"check": "acs", "outcome": "fail", "object": "node", "summary": "c", "suppressed": {"check": "acs"}},
			 {"check": "fec", "outcome": "fail", "object": "node", "summary": "d", "shadow": true},
			 {"check": "pkey", "outcome": "pass", "object": "node", "summary": "e"}]}`,
			"rdmactl.doctor a n|rdmactl.doctor mlx5_0:1: b n",
		},
		{
			`{"schema": "rdmakit.fabric-trace/v1", "from": {"name": "a", "port": 1}, "to": {"name": "b", "port": 2},
			 "end": "black-hole", "reason": "no route"}`,
			"rdmactl.fabric from a[1] to b[2]: black-hole: no route ",
		},
		{`{"schema": "rdmakit.fabric-trace/v1", "end": "unknown", "reason": "no answer"}`, ""},
		{
			`{"schema": "rdmakit.consensus/v1", "differences": [{"check": "mtu", "severity": "breaks", "text": "x"},
			 {"check": "rate", "severity": "slows", "text": "y"}, {"check": "z", "severity": "note", "text": "z"}]}`,
			"rdmactl.consensus x |rdmactl.consensus y ",
		},
		{
			`{"schema": "rdmakit.connect/v1", "local": {"host": "a"}, "attempts": [], "tcp": {"failure": {"operation":
			 "connect to", "object": "b", "cause": "refused", "code": "exchange-refused"}}}`,
			"rdmactl.connect connect to b: refused a",
		},
		{
			`{"schema": "rdmakit.ping-server/v1", "failure": {"operation": "listen on", "object": "port 1", "cause": "in use",
			 "code": "port-in-use"}}`, "rdmactl.ping listen on port 1: in use ",
		},
	} {
		found, err := own.Read(strings.NewReader(c.document), "d.json")
		var got []string
		for _, e := range found.Events {
			got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.Text, e.Process.Host))
		}
		if err != nil || strings.Join(got, "|") != c.want || found.Healthy != (c.want == "") {
			t.Errorf("Read(%.60s) = %q, healthy %v, %v, want %q", c.document, got, found.Healthy, err, c.want)
		}
	}
}

// Every schema that commands print is read, or it is said why not.
func TestSchemas(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "schema", "*.json"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	var read []string
	for _, file := range files {
		kind, _, _ := strings.Cut(filepath.Base(file), ".")
		found, err := own.Read(strings.NewReader(fmt.Sprintf(`{"schema": "rdmakit.%s/v1"}`, kind)), "d")
		switch {
		case err == nil:
			read = append(read, kind)
		case !errors.Is(err, own.ErrUnknown) || found.Why == "":
			t.Errorf("%s: %v, why %q", kind, err, found.Why)
		}
	}
	for _, kind := range []string{
		"connect", "ping", "ping-server", "doctor", "doctor-nodes", "cluster-report", "consensus", "lint", "k8slint",
		"fabric-errors", "fabric-trace",
	} {
		if !slices.Contains(read, kind) {
			t.Errorf("%s is not read", kind)
		}
	}
	if data, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", "bench.v1.json")); err != nil ||
		strings.Contains(string(data), `"failure"`) {
		t.Errorf("bench has failures now, which are not read (%v)", err)
	}
}

func TestReadErrors(t *testing.T) {
	for _, document := range []string{
		`{"schema": "rdmakit.doctor/v1", "findings": 1}`, `{"schema": "rdmakit.doctor/v1"`,
	} {
		_, err := own.Read(strings.NewReader(document), "d.json")
		if err == nil || !strings.Contains(err.Error(), "d.json") {
			t.Errorf("Read(%s) = %v, want an error that names d.json", document, err)
		}
	}
}
