package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// pings returns the output of rdmactl fabric ping for a server in a simulated subnet.
func pings(t *testing.T) []map[string]any {
	t.Helper()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/ft2/net")
	sim.StartSM("host31")
	server, err := fabric.OpenIBSim(t.Context(), sim.GetenvSM("host1"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- fabric.ServePing(ctx, server, mad.OUIPing(), "worker.lab", nil) }()
	defer func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ping server: %v", err)
		}
	}()

	return []map[string]any{inSubnet(t, sim, 0, "fabric", "ping", "host1", "-c", "3", "-f", "-o", "json")}
}

// adminRecords returns the output of rdmactl fabric sa for each kind of record.
func adminRecords(t *testing.T) (list []map[string]any) {
	t.Helper()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	sim.StartSM("host1")
	for _, args := range []string{
		"nodes 1", "ports 1", "links 1", "paths 1 3", "multicast", "services", "managers", "lanes 1",
	} {
		args := append([]string{"fabric", "sa", "-o", "json"}, strings.Fields(args)...)
		list = append(list, inSubnet(t, sim, cli.ExitOK, args...))
	}
	return append(list, inSubnet(t, sim, cli.ExitPartial, "fabric", "sa", "forwarding", "-o", "json"))
}

// registers returns the output of the commands that read access registers, which the nodes of the
// simulated subnet don't have.
func registers(t *testing.T) []map[string]any {
	t.Helper()
	sim := ibsimtest.Start(t, "../../../fabric/testdata/dualsm/net")
	sim.StartSM("host0")
	return []map[string]any{
		inSubnet(t, sim, cli.ExitNotFound, "fabric", "cables", "-o", "json"),
		inSubnet(t, sim, cli.ExitNotFound, "fabric", "errors", "--ber", "-o", "json"),
	}
}

// inSubnet runs a command at host0 of a simulated subnet, which must end with the exit code, and
// returns the document that it prints.
func inSubnet(t *testing.T, sim *ibsimtest.Simulator, want int, args ...string) map[string]any {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir()}
	getenv := sim.Getenv("host0")
	for _, name := range []string{"SIM_HOST", "IBSIM_SOCKNAME"} {
		app.Environ = append(app.Environ, name+"="+getenv(name))
	}
	code := app.Run(t.Context(), args)
	var document map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil || code != want {
		t.Fatalf("rdmactl %s: exit code %d, %v: %s", strings.Join(args, " "), code, err, &stderr)
	}
	return document
}
