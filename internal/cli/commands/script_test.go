package commands

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// TestMain makes the test binary behave as rdmactl if a script or a test starts it under that name.
func TestMain(m *testing.M) {
	programs := map[string]func(){
		"rdmactl": func() { os.Exit(cli.Main(cli.NewApp(All()))) },
		"lab":     func() { os.Exit(labMain()) },
	}
	for _, a := range applet.All() { // links to rdmactl are links to this program
		programs[a.Name] = programs["rdmactl"]
	}
	testscript.Main(m, programs)
}

// TestScripts runs the scripts in testdata/script, one for each command. In addition to the
// commands of testscript there are "exits CODE COMMAND…", which requires that exit code, "mktree
// NAME DIR", which writes a node tree for --root, and the commands for simulated subnets, see
// subnetCommands.
func TestScripts(t *testing.T) {
	commands := subnetCommands(t)
	maps.Copy(commands,
		map[string]func(*testscript.TestScript, bool, []string){"exits": cmdExits, "mktree": cmdMakeTree})
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			testkit, err := filepath.Abs(filepath.Join("..", "..", "testkit"))
			if err != nil {
				return err
			}
			env.Setenv("TREES", filepath.Join(testkit, "testtrees"))     // node trees as text, for --from
			env.Setenv("REALNODES", filepath.Join(testkit, "realnodes")) // the same of machines that people have
			setUpSubnets(env)
			return os.Mkdir(home, 0o755)
		},
		Cmds:                commands,
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
	})
}

// TestScriptPorts has each TCP port in one script: scripts run beside each other.
func TestScriptPorts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	port := regexp.MustCompile(`(?:-p|--tcp-port) ?(\d{4,5})\b`)
	owner := map[uint64]string{}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range port.FindAllSubmatch(text, -1) {
			number, err := strconv.ParseUint(string(found[1]), 10, 16)
			if err != nil {
				continue // a port that rdmactl has to reject
			}
			if first, ok := owner[number]; ok && first != script {
				t.Errorf("%s and %s both use port %d", first, script, number)
			}
			owner[number] = script
		}
	}
	if len(owner) < 2 {
		t.Errorf("only %d ports found", len(owner))
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%v exited with %d, want %d", args[1:], got, want)
	}
}

func cmdMakeTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mktree NAME DIR")
	}
	tree, err := testtrees.Load(args[0])
	ts.Check(err)
	ts.Check(tree.WriteDir(ts.MkAbs(args[1])))
}
