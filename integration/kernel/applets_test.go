//go:build kernel

package kernel

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// appletDir holds links to rdmactl under the names of the tools that the guest has from Debian.
const appletDir = "/root/applets"

// withApplets returns the guest with the links, made by rdmactl itself, where any user can run them.
func withApplets(t *testing.T) *guest.Guest {
	t.Helper()
	g := withRdmactl(t)
	output(t, g, "rm -rf "+appletDir+" /opt/applets; mkdir -p /opt/applets && cp "+rdmactl+" /opt/applets/rdmactl && chmod 755 /opt/applets/rdmactl && "+
		"/opt/applets/rdmactl applet install /opt/applets >&2 && ln -s /opt/applets "+appletDir)
	return g
}

// appletRun is what one run of a tool gave.
type appletRun struct {
	Stdout, Stderr string
	Code           int
}

// appletPID is the one thing that is masked: messages of infiniband-diags hold the number of the process.
var appletPID = regexp.MustCompile(`(?m)^(ib(?:warn|panic)): \[\d+\]`)

// comparison runs commands twice, by Debian's tools and by ours, under equal names and in equal surroundings.
type comparison struct {
	commands []string
	as       string // what goes before a command, such as setpriv
}

// script prints a line for each run: index, side, exit code, stdout, stderr.
func (c comparison) script() string {
	var b strings.Builder
	b.WriteString("t=$(mktemp -d); chmod 755 $t\n")
	for i, command := range c.commands {
		for side, path := range []string{"/usr/sbin:/usr/bin:/sbin:/bin", "/opt/applets:/usr/sbin:/usr/bin:/sbin:/bin"} {
			fmt.Fprintf(&b, "env PATH=%s %s %s >$t/o 2>$t/e </dev/null; echo %d %d $? $(base64 -w0 <$t/o). $(base64 -w0 <$t/e).\n", path, c.as, command, i, side)
		}
	}
	b.WriteString("rm -r $t\n")
	return b.String()
}

// check runs the commands in the guest and returns how many runs were equal.
func (c comparison) check(t *testing.T, g *guest.Guest, before string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out, err := g.Output(ctx, before+"\n"+c.script())
	if err != nil {
		t.Fatal(err)
	}
	runs := make([][2]appletRun, len(c.commands))
	lines := 0
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 5 {
			t.Fatalf("script printed %q", line)
		}
		i, _ := strconv.Atoi(f[0])
		side, _ := strconv.Atoi(f[1])
		code, _ := strconv.Atoi(f[2])
		runs[i][side] = appletRun{Stdout: unpack(t, f[3]), Stderr: appletPID.ReplaceAllString(unpack(t, f[4]), "$1: [PID]"), Code: code}
		lines++
	}
	if lines != 2*len(runs) {
		t.Fatalf("%d runs answered, want %d", lines, 2*len(runs))
	}
	equal := 0
	for i, r := range runs {
		if diff := cmp.Diff(r[0], r[1]); diff != "" {
			t.Errorf("%s %s differs (-Debian +ours):\n%s", c.as, c.commands[i], diff)
			continue
		}
		equal++
	}
	return equal
}

func unpack(t *testing.T, field string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(field, "."))
	if err != nil {
		t.Fatalf("decode %q: %v", field, err)
	}
	return string(b)
}

// appletCommands are the uses of the tools that depend on the state of the node; briefly is fewer of them, for a
// start of rdmactl takes a third of a second on the guest's emulated processor.
func appletCommands(device string, briefly bool) []string {
	list := []string{"ibv_devices", "ibv_devinfo -v", "ibv_devinfo -l", "ibv_devinfo -i 2", "ibstat", "ibstat -p", "ibstatus"}
	formats := []string{"ibv_devinfo -d %s", "ibstat -dd %s 1", "ibstat %s 2", "ibstatus %s:2"}
	if !briefly {
		list = append(list, "ibv_devinfo", "ibv_devinfo -d siw0 -v", "ibv_devinfo -i 1", "ibv_devinfo -d nosuch", "ibstat -l", "ibstat -s", "ibstat -dd",
			"ibstat siw0", "ibstat nosuch", "ibstatus siw0:1", "ibstatus nosuch", "ibstatus nosuch:1 siw0")
		formats = append(formats, "ibv_devinfo -vd %s", "ibv_devinfo -d %s -i 2", "ibstat %s", "ibstat %s 1", "ibstat -dd %s 3", "ibstat -p %s", "ibstatus %s")
	}
	for _, f := range formats {
		list = append(list, fmt.Sprintf(f, device))
	}
	return list
}

// TestAppletsAgainstDebian compares output, messages and exit codes with Debian's tools byte by byte, in one state of
// the guest after the other.
func TestAppletsAgainstDebian(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	states := []struct{ name, device, do, undo string }{
		{"as booted", "rxe0", "true", "true"},
		{"several addresses", "rxe0", "ip addr add 192.0.2.77/25 dev eth0; ip addr add 2001:db8:7::1/64 dev eth0 nodad; ip addr add 198.51.100.9/32 dev eth1", "ip addr del 192.0.2.77/25 dev eth0; ip addr del 2001:db8:7::1/64 dev eth0; ip addr del 198.51.100.9/32 dev eth1"},
		{"VLAN", "rxe0", "modprobe 8021q; ip link add link eth0 name eth0.100 type vlan id 100; ip addr add 203.0.113.1/24 dev eth0.100; ip link set eth0.100 up", "ip link del eth0.100"},
		{"MTU 1500", "rxe0", "ip link set eth0 mtu 1500; ip link set eth1 mtu 1500", "ip link set eth0 mtu 9000; ip link set eth1 mtu 9000"},
		{"link down", "rxe0", "ip link set eth0 down; ip link set eth1 down", "ip link set eth0 up; ip link set eth1 up; ip addr replace 192.0.2.1/24 dev eth0"},
		{"two rxe devices", "rxe1", "ip link add dummy1 type dummy; ip link set dummy1 up; ip addr add 203.0.113.9/24 dev dummy1; rdma link add rxe1 type rxe netdev dummy1", "rdma link del rxe1; ip link del dummy1"},
		{"renamed device", "rocep0s4", "rdma dev set rxe0 name rocep0s4", "rdma dev set rocep0s4 name rxe0"},
		{"name of 18 characters", "rocep129s0f0np0v12", "rdma dev set rxe0 name rocep129s0f0np0v12", "rdma dev set rocep129s0f0np0v12 name rxe0"},
		{"order of the kernel, not of names", "rxe0", "rdma link del rxe0; rdma link add rxe0 type rxe netdev eth0", "rdma link del siw0; rdma link add siw0 type siw netdev eth1"},
		{"one device", "rxe0", "rdma link del siw0", "rdma link add siw0 type siw netdev eth1"},
		{"iWARP only", "siw0", "rdma link del rxe0", "rdma link add rxe0 type rxe netdev eth0; rdma link del siw0; rdma link add siw0 type siw netdev eth1"},
		{"no device", "rxe0", "rdma link del rxe0; rdma link del siw0", "rdma link add rxe0 type rxe netdev eth0; rdma link add siw0 type siw netdev eth1"},
		{"no ib_umad", "rxe0", "modprobe -r ib_umad", "modprobe ib_umad"},
	}
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, s.do)
			defer func() { output(t, g, s.undo) }()
			settle(t, g)
			c := comparison{commands: appletCommands(s.device, s.name != "as booted" && s.name != "no device")}
			t.Logf("%d of %d commands equal", c.check(t, g, ""), len(c.commands))
		})
	}
}

// TestAppletOptions compares what is made of options, right and wrong.
func TestAppletOptions(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	c := comparison{commands: []string{
		"ibv_devices -x", "ibv_devices --help", "ibv_devices rxe0",
		"ibv_devinfo -h", "ibv_devinfo --help", "ibv_devinfo -V", "ibv_devinfo -x", "ibv_devinfo -vx", "ibv_devinfo -d", "ibv_devinfo --ib-dev",
		"ibv_devinfo --ib", "ibv_devinfo --ib-d rxe0", "ibv_devinfo --ib-dev=rxe0", "ibv_devinfo --verbose=1", "ibv_devinfo --list=", "ibv_devinfo --li",
		"ibv_devinfo -i 0", "ibv_devinfo -i x", "ibv_devinfo -i -1", "ibv_devinfo -i 0x1", "ibv_devinfo -i 257", "ibv_devinfo -i 256", "ibv_devinfo -i 99999999999999999999",
		"ibv_devinfo -lx", "ibv_devinfo -xl", "ibv_devinfo -vd rxe0 -i1", "ibv_devinfo -drxe0", "ibv_devinfo siw0 -d rxe0 x", "ibv_devinfo -- -d rxe0", "ibv_devinfo -",
		"ibv_devinfo -d siw0 -d rxe0", "ibv_devinfo -d ''", "ibv_devinfo -d nosuch -l", "ibv_devinfo --=", "ibv_devinfo --nosuch=1",
		"ibstat -h", "ibstat --help", "ibstat -V", "ibstat --version", "ibstat -v", "ibstat -e", "ibstat -C rxe0", "ibstat -lx", "ibstat -z", "ibstat --config",
		"ibstat -z /nosuch rxe0", "ibstat --config=/nosuch -l", "ibstat --v", "ibstat --ver", "ibstat --verb", "ibstat --s", "ibstat --short=3", "ibstat --p", "ibstat --list",
		"ibstat rxe0 -l", "ibstat -l rxe0", "ibstat rxe0 0", "ibstat rxe0 x", "ibstat rxe0 -1", "ibstat -- rxe0 -1", "ibstat rxe0 0x1", "ibstat rxe0 1x", "ibstat rxe0 01",
		"ibstat rxe0 1 2 3", "ibstat ''", "ibstat rxe0 ''", "ibstat -ls", "ibstat -ps rxe0", "ibstat -s rxe0 9", "ibstat -d", "ibstat -ddl", "ibstat -ddp", "ibstat -dddp rxe0",
		"ibstat rxe0 99999999999999999999", "ibstat -dd nosuch",
		"env POSIXLY_CORRECT=1 ibstat rxe0 -l", "env POSIXLY_CORRECT=1 ibv_devinfo rxe0 -l",
		"ibstatus -h", "ibstatus rxe0 -h", "ibstatus --help", "ibstatus -x", "ibstatus ''", "ibstatus rxe0 '' siw0", "ibstatus rxe0:", "ibstatus :1", "ibstatus rxe0:x", "ibstatus rxe0:1:1",
		"ibstatus 'rxe0 1'", "ibstatus rxe0 siw0", "ibstatus .", "ibstatus ..",
		// The name in messages is the one that the program was started under.
		"$(command -v ibstat) -x", "$(command -v ibv_devinfo) -x", "$(command -v ibstatus) -h",
	}}
	t.Logf("%d of %d commands equal", c.check(t, g, ""), len(c.commands))
}

// TestAppletsUnprivileged compares the tools for a user who may open no device.
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
	for _, state := range []string{"true", "chmod 0600 /dev/infiniband/uverbs*", "chmod 0600 /dev/infiniband/uverbs0"} {
		c := comparison{commands: appletCommands("rxe0", true), as: nobody}
		t.Logf("%s: %d of %d commands equal", state, c.check(t, g, "cd /; "+state), len(c.commands))
	}
}

// TestAppletsWithoutNodes compares the tools where the device nodes are not there.
func TestAppletsWithoutNodes(t *testing.T) {
	g := withApplets(t)
	g.Exclusive(t)
	c := comparison{commands: appletCommands("rxe0", true), as: "unshare -m sh -c 'mount -t tmpfs none /dev/infiniband; exec \"$@\"' x"}
	t.Logf("%d of %d commands equal", c.check(t, g, ""), len(c.commands))
}

// TestAppletsOnTestTrees shows the test trees to Debian's ibstat and ibstatus, mounted over /sys, and compares ours.
// Errors that a plain folder can't hold are left out; the trees for timing are left out because of their size.
func TestAppletsOnTestTrees(t *testing.T) {
	g := withApplets(t)
	archive, names := packTrees(t)
	if err := g.CopyIn(t.Context(), archive, "/tmp/trees.tgz"); err != nil {
		t.Fatal(err)
	}
	output(t, g, "rm -rf /opt/trees; mkdir /opt/trees; tar xzf /tmp/trees.tgz -C /opt/trees; rm /tmp/trees.tgz")
	t.Cleanup(func() { _, _ = g.Output(context.Background(), "rm -rf /opt/trees") })
	equal, total := 0, 0
	for _, name := range names {
		commands := []string{"ibstat", "ibstatus"}
		if strings.HasPrefix(name, "45") { // the tree of errors: each device by itself
			for i := range 7 {
				commands = append(commands, fmt.Sprintf("ibstat -dd mlx5_%d 1", i), fmt.Sprintf("ibstatus mlx5_%d", i))
			}
		}
		c := comparison{commands: commands, as: "unshare -m sh -c 'mount --bind /opt/trees/" + name + "/sys /sys; exec \"$@\"' x"}
		equal += c.check(t, g, "")
		total += len(commands)
	}
	t.Logf("%d of %d commands equal on %d trees", equal, total, len(names))
}

// packTrees writes the sys folders of the test trees into an archive.
func packTrees(t *testing.T) (file string, names []string) {
	t.Helper()
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	out := tar.NewWriter(zip)
	for _, name := range testtrees.Names() {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "3") {
			continue
		}
		if err := tree.WriteDir(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "sys")); err != nil {
			continue
		}
		if err := addTree(out, dir, name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	for _, c := range []interface{ Close() error }{out, zip} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file = filepath.Join(t.TempDir(), "trees.tgz")
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, names
}

func addTree(out *tar.Writer, dir, name string) error {
	return filepath.Walk(filepath.Join(dir, "sys"), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&os.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		hdr, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		hdr.Name = name + "/" + filepath.ToSlash(rel)
		if err := out.WriteHeader(hdr); err != nil || !info.Mode().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, err = out.Write(b)
		return err
	})
}
