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

	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(any) bool { return false }
	app.Environ = []string{"HOME=" + t.TempDir()}
	getenv := sim.Getenv("host0")
	for _, name := range []string{"SIM_HOST", "IBSIM_SOCKNAME"} {
		app.Environ = append(app.Environ, name+"="+getenv(name))
	}
	code := app.Run(t.Context(), []string{"fabric", "ping", "host1", "-c", "3", "-f", "-o", "json"})
	var document map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil || code != 0 {
		t.Fatalf("rdmactl fabric ping: exit code %d, %v: %s", code, err, &stderr)
	}
	return []map[string]any{document}
}
