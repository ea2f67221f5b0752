//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// appletDir is a folder with links to rdmactl under the names of the guest's Debian tools, which
// any user can run.
const appletDir = "/opt/applets"

// withApplets returns the guest with the links, made by rdmactl itself.
func withApplets(t *testing.T) *guest.Guest {
	t.Helper()
	g := withRdmactl(t)
	tools.once(t, "install applets", func() { output(t, g, installApplets(rdmactl, appletDir)) })
	return g
}

func installApplets(program, folder string) string {
	return fmt.Sprintf("rm -rf %[2]s; mkdir -p %[2]s && cp %[1]s %[2]s/rdmactl && chmod 755 %[2]s/rdmactl && "+
		"%[2]s/rdmactl applet install %[2]s >&2", program, folder)
}

// appletPID matches the only masked value: messages of infiniband-diags contain the process ID.
var appletPID = regexp.MustCompile(`(?m)^(ib(?:warn|panic)): \[\d+\]`)

// applets compares the output of commands with Debian's tools and with ours, which are in a folder,
// under equal names and in equal environments.
func applets(folder string, commands []string, as string) comparison {
	mask := func(text string) string { return appletPID.ReplaceAllString(text, "$1: [PID]") }
	c := comparison{as: as, before: "cd /", mask: mask}
	for _, command := range commands {
		c.pairs = append(c.pairs, [2]string{
			"PATH=/usr/sbin:/usr/bin:/sbin:/bin " + command,
			"PATH=" + folder + ":/usr/sbin:/usr/bin:/sbin:/bin " + command,
		})
	}
	return c
}

// TestAppletsAgainstDebian compares output, messages and exit codes with Debian's tools byte by
// byte, in one state of the guest after the other.
func TestAppletsAgainstDebian(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	for turn, s := range appletStates() {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, s.do)
			defer func() { output(t, g, s.undo) }()
			settle(t, g)
			commands := appletsBriefly(s.device, turn)
			if wantAll() || s.whole() {
				commands = appletCommands(s.device)
			}
			checkAll(t, g.Output, applets(appletDir, commands, "").shares())
		})
	}
}

// TestAppletOptions compares the handling of valid and invalid options.
func TestAppletOptions(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	checkAll(t, g.Output, applets(appletDir, []string{
		"ibv_devices -x", "ibv_devices --help", "ibv_devices rxe0",
		"ibv_devinfo -h", "ibv_devinfo --help", "ibv_devinfo -V", "ibv_devinfo -x", "ibv_devinfo -vx", "ibv_devinfo -d",
		"ibv_devinfo --ib-dev",
		"ibv_devinfo --ib", "ibv_devinfo --ib-d rxe0", "ibv_devinfo --ib-dev=rxe0", "ibv_devinfo --verbose=1",
		"ibv_devinfo --list=", "ibv_devinfo --li",
		"ibv_devinfo -i 0", "ibv_devinfo -i x", "ibv_devinfo -i -1", "ibv_devinfo -i 0x1", "ibv_devinfo -i 257",
		"ibv_devinfo -i 256", "ibv_devinfo -i 99999999999999999999",
		"ibv_devinfo -lx", "ibv_devinfo -xl", "ibv_devinfo -vd rxe0 -i1", "ibv_devinfo -drxe0",
		"ibv_devinfo siw0 -d rxe0 x", "ibv_devinfo -- -d rxe0", "ibv_devinfo -",
		"ibv_devinfo -d siw0 -d rxe0", "ibv_devinfo -d ''", "ibv_devinfo -d nosuch -l", "ibv_devinfo --=",
		"ibv_devinfo --nosuch=1",
		"ibstat -h", "ibstat --help", "ibstat -V", "ibstat --version", "ibstat -v", "ibstat -e", "ibstat -C rxe0",
		"ibstat -lx", "ibstat -z", "ibstat --config",
		"ibstat -z /nosuch rxe0", "ibstat --config=/nosuch -l", "ibstat --v", "ibstat --ver", "ibstat --verb",
		"ibstat --s", "ibstat --short=3", "ibstat --p", "ibstat --list",
		"ibstat rxe0 -l", "ibstat -l rxe0", "ibstat rxe0 0", "ibstat rxe0 x", "ibstat rxe0 -1", "ibstat -- rxe0 -1",
		"ibstat rxe0 0x1", "ibstat rxe0 1x", "ibstat rxe0 01",
		"ibstat rxe0 1 2 3", "ibstat ''", "ibstat rxe0 ''", "ibstat -ls", "ibstat -ps rxe0", "ibstat -s rxe0 9",
		"ibstat -d", "ibstat -ddl", "ibstat -ddp", "ibstat -dddp rxe0",
		"ibstat rxe0 99999999999999999999", "ibstat -dd nosuch",
		"env POSIXLY_CORRECT=1 ibstat rxe0 -l", "env POSIXLY_CORRECT=1 ibv_devinfo rxe0 -l",
		"ibstatus -h", "ibstatus rxe0 -h", "ibstatus --help", "ibstatus -x", "ibstatus ''", "ibstatus rxe0 '' siw0",
		"ibstatus rxe0:", "ibstatus :1", "ibstatus rxe0:x", "ibstatus rxe0:1:1",
		"ibstatus 'rxe0 1'", "ibstatus rxe0 siw0", "ibstatus .", "ibstatus ..",
		// The name in messages is the one that the program was started under.
		"bash -c 'exec -a /some/where/ibstat ibstat -x'", "bash -c 'exec -a /some/where/ibv_devinfo ibv_devinfo -x'",
	}, "").shares())
}

// TestAppletsUnprivileged compares the tools for a user who may not open any device.
func TestAppletsUnprivileged(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	modes := output(t, g, "stat -c 'chmod %a %n' /dev/infiniband/uverbs*")
	t.Cleanup(func() {
		if _, err := g.Output(context.Background(), modes); err != nil {
			t.Errorf("give the device nodes back their modes: %v", err)
		}
	})
	const nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
	const refuse = "chmod 0600 /dev/infiniband/uverbs"
	for _, state := range []string{"true", refuse + "*", modes + refuse + "0"} {
		output(t, g, state)
		checkAll(t, g.Output, applets(appletDir, append(appletViews(), appletUses("rxe0")...), nobody).shares())
	}
}

// TestAppletsWithoutNodes compares the tools without device nodes.
func TestAppletsWithoutNodes(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	const without = "unshare -m sh -c 'mount -t tmpfs none /dev/infiniband; exec \"$@\"' x"
	checkAll(t, g.Output, applets(appletDir, append(appletViews(), appletUses("rxe0")...), without).shares())
}

// TestAppletsOnTestTrees runs Debian's ibstat and ibstatus on the test trees, mounted over /sys,
// and compares ours. It runs on this machine, because it doesn't need a kernel with RDMA. Errors
// that a plain folder can't represent are left out, and so are the trees for timing, because of
// their size.
func TestAppletsOnTestTrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "applets")
	if _, err := onThisMachine(t.Context(), installApplets(buildProgram(t, rdmactlPackage), folder)); err != nil {
		t.Fatal(err)
	}
	var list []comparison
	for _, name := range testtrees.Names() {
		sys := writeSys(t, dir, name)
		if sys == "" {
			continue
		}
		commands := []string{"ibstat", "ibstatus"}
		if strings.HasPrefix(name, "45") { // the tree of errors: each device by itself
			for i := range 7 {
				commands = append(commands, fmt.Sprintf("ibstat -dd mlx5_%d 1", i), fmt.Sprintf("ibstatus mlx5_%d", i))
			}
		}
		list = append(list, applets(folder, commands, "unshare -m sh -c 'mount --bind "+sys+" /sys; exec \"$@\"' x"))
	}
	t.Logf("%d trees", len(list))
	checkAll(t, onThisMachine, list)
}

// writeSys writes a test tree into a folder and returns its sys folder, if it has one and isn't for
// timing.
func writeSys(t *testing.T, dir, name string) string {
	t.Helper()
	if strings.HasPrefix(name, "3") {
		return ""
	}
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	sys := filepath.Join(dir, "sys")
	if _, err := os.Stat(sys); err != nil {
		return ""
	}
	return sys
}
