package demo

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/clitest"
	"github.com/rdmakit/rdmakit/internal/sim/host"
)

// demoOf runs demo on a node other than the default one.
func demoOf(spec host.Spec, faults []host.Fault, args ...string) (code int, stdout, stderr string) {
	var out, errOut bytes.Buffer
	app := cli.NewApp(Commands())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &out, &errOut
	app.IsTerminal = func(any) bool { return false }
	app.Environ = nil
	app.Commands = []cli.Entry{{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
		return clitest.Command("node",
			func(cmd *cobra.Command) error { return runDemo(cmd.Context(), app, spec, faults, "") })
	}}}
	code = app.Run(context.Background(), append([]string{"node"}, args...))
	return code, out.String(), errOut.String()
}

// TestDemoNamesDifferences checks that demo can fail: it must name a fault that doctor did not
// find, and one that was not planted.
func TestDemoNamesDifferences(t *testing.T) {
	spec := host.Demo()
	code, stdout, stderr := demoOf(spec, spec.Faults())
	if code != cli.ExitOK || stderr != "" ||
		!strings.Contains(stdout, "doctor found the 2 planted faults, and nothing else\n") {
		t.Errorf("demo = %d, %q:\n%s", code, stderr, stdout)
	}
	healed := spec
	healed.Plant = healed.Plant[:1]
	code, stdout, stderr = demoOf(healed, spec.Faults())
	if code != cli.ExitFault || !strings.Contains(stdout, "missing  rail 5") ||
		!strings.Contains(stderr, "mtu at mlx5_5:1 is missing\n") {
		t.Errorf("demo with a fault that is not there = %d, %q:\n%s", code, stderr, stdout)
	}
	code, stdout, stderr = demoOf(spec, healed.Faults())
	if code != cli.ExitFault || !strings.Contains(stdout, "extra    mtu at mlx5_5:1: active MTU 1024") ||
		!strings.Contains(stderr, "mtu at mlx5_5:1 is extra\n") {
		t.Errorf("demo with a fault that nobody planted = %d, %q:\n%s", code, stderr, stdout)
	}
}

// TestDemoIsLabelled checks that emulated results can't be mistaken for real ones.
func TestDemoIsLabelled(t *testing.T) {
	spec := host.Demo()
	for _, format := range []string{"table", "wide"} {
		if _, stdout, _ := demoOf(spec, spec.Faults(), "-o", format); !strings.HasPrefix(stdout, "EMULATED  ") {
			t.Errorf("demo -o %s begins with %.60q, want EMULATED", format, stdout)
		}
	}
	if _, stdout, _ := demoOf(spec, spec.Faults(), "-o", "json"); !strings.Contains(stdout, `"emulated": true,`) {
		t.Errorf("demo -o json does not say that it is emulated")
	}
}

func TestDemoStops(t *testing.T) {
	app := clitest.NewApp(Commands())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	app.Commands = []cli.Entry{{Group: cli.GroupNode, Build: func(app *cli.App) *cobra.Command {
		return clitest.Command("node", func(*cobra.Command) error {
			err := runDemo(ctx, app, host.Demo(), nil, "")
			if !errors.Is(err, context.Canceled) {
				t.Errorf("runDemo after the end of its context = %v, want %v", err, context.Canceled)
			}
			return err
		})
	}}}
	app.Run(context.Background(), []string{"node"})
}
