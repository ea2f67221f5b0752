package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdmakit/rdmakit/internal/testkit/ibsimtest"
)

// subnetKey is the key of the simulated subnet in a script's environment.
type subnetKey struct{}

// simulated is the subnet of a script, nil until it is started.
type simulated struct{ sim *ibsimtest.Simulator }

// setUpSubnets prepares the environment of a script for the commands of subnetCommands.
func setUpSubnets(env *testscript.Env) {
	env.Values[subnetKey{}] = &simulated{}
}

// subnetCommands are the commands of scripts that need a simulated subnet:
//
//	subnet NET NODE [SM-NODE [ARG...]]   starts ibsim with a net of fabric/testdata, or a file of
//	                                     the script, and has rdmactl join it as NODE; with SM-NODE,
//	                                     OpenSM runs there. The net may be started once.
//	sm NODE [ARG...]                     starts OpenSM
//	standby NODE [ARG...]                starts one more OpenSM, of lower priority
//	console LINE                         writes a line to the simulator's console
//	waitping NODE                        waits until a server answers pings there
//	until PATTERN PROGRAM [ARG...]       runs a program until its standard output has a line that
//	                                     fits: a simulator or a manager takes its time to start
//	sleep DURATION                       waits: for what has no sign to wait for
//	tool NODE PROGRAM [ARG...]           runs one of the C tools; its output is in $WORK/tool.out
//
// Programs that they start end with the script.
func subnetCommands(t *testing.T) map[string]func(*testscript.TestScript, bool, []string) {
	get := func(ts *testscript.TestScript) *simulated {
		s, ok := ts.Value(subnetKey{}).(*simulated)
		if !ok {
			ts.Fatalf("the script has no place for a subnet")
		}
		return s
	}
	return map[string]func(*testscript.TestScript, bool, []string){
		"subnet": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 2 || get(ts).sim != nil {
				ts.Fatalf("usage: subnet NET NODE [SM-NODE [ARG...]], once")
			}
			net := filepath.Join("..", "..", "..", "fabric", "testdata", args[0], "net")
			if _, err := os.Stat(net); err != nil {
				net = ts.MkAbs(args[0])
			}
			sim := ibsimtest.Start(scriptTB{t, ts}, net)
			get(ts).sim = sim
			getenv := sim.Getenv(args[1])
			for _, name := range []string{"SIM_HOST", "IBSIM_SOCKNAME"} {
				ts.Setenv(name, getenv(name))
			}
			if len(args) > 2 {
				sim.StartSM(args[2], args[3:]...)
			}
		},
		"sm": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 1 || get(ts).sim == nil {
				ts.Fatalf("usage: sm NODE [ARG...], in a subnet")
			}
			get(ts).sim.StartSM(args[0], args[1:]...)
		},
		"standby": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 1 || get(ts).sim == nil {
				ts.Fatalf("usage: standby NODE [ARG...], in a subnet")
			}
			get(ts).sim.StartStandbySM(args[0], args[1:]...)
		},
		"console": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 || get(ts).sim == nil {
				ts.Fatalf("usage: console LINE, in a subnet")
			}
			get(ts).sim.Console("%s", args[0])
		},
		"waitping": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 || get(ts).sim == nil {
				ts.Fatalf("usage: waitping NODE, in a subnet")
			}
			for end := time.Now().Add(time.Minute); ; {
				err := ts.Exec("rdmactl", "fabric", "ping", args[0], "-c", "1", "-W", "200ms")
				if err == nil {
					return
				}
				if time.Now().After(end) {
					ts.Fatalf("nobody answers pings at %s: %v", args[0], err)
				}
			}
		},
		"until": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 2 {
				ts.Fatalf("usage: until PATTERN PROGRAM [ARG...]")
			}
			line, err := regexp.Compile("(?m)" + args[0])
			ts.Check(err)
			for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				err := ts.Exec(args[1], args[2:]...)
				if line.MatchString(ts.ReadFile("stdout")) {
					return
				}
				if time.Now().After(end) {
					ts.Fatalf("%s: no line fits %q: %v", strings.Join(args[1:], " "), args[0], err)
				}
			}
		},
		"sleep": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				ts.Fatalf("usage: sleep DURATION")
			}
			d, err := time.ParseDuration(args[0])
			ts.Check(err)
			time.Sleep(d)
		},
		"tool": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) < 2 || get(ts).sim == nil {
				ts.Fatalf("usage: tool NODE PROGRAM [ARG...], in a subnet")
			}
			out, _, _ := get(ts).sim.Try(args[0], args[1], slices.Clone(args[2:])...)
			ts.Check(os.WriteFile(ts.MkAbs("tool.out"), []byte(strings.TrimSpace(out)+"\n"), 0o600))
		},
	}
}

// scriptTB is the testing.TB of a script for the simulator.
type scriptTB struct {
	testing.TB
	ts *testscript.TestScript
}

func (s scriptTB) Cleanup(f func())                  { s.ts.Defer(f) }
func (s scriptTB) Fatal(args ...any)                 { s.ts.Fatalf("%s", fmt.Sprint(args...)) }
func (s scriptTB) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }
