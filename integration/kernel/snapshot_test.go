//go:build kernel

package kernel

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// replayed are the commands whose output must be the same for the guest and for its bundle: first
// those that depend most on the state of the node, then the others, then other output formats.
var replayed = [...][]string{
	{
		"detect -o json", "doctor -o json", "env -o json --for all", "env --peer 192.0.2.9 -o json", "show_gids",
		"ibv_devinfo -v",
	},
	{
		"detect -o yaml", "status", "doctor --strict", "env", "env --explain", "env --include rxe0 --pin-gid",
		"env --compat kserve -o json", "show rxe0 -o json", "show siw0 -o json", "show eth0", "ibdev2netdev -v",
		"ibstatus", "ibstat", "ibstat -p", "ibv_devices", "ibv_devinfo -d rxe0", "ibv_devinfo -d nosuch",
	},
	{
		"detect", "detect -o wide", "status -o wide", "status -o json", "doctor", "doctor -o wide",
		"env --format dotenv", "env --format json", "show rxe0", "ibdev2netdev", "ibstat -s", "ibstat -l",
		"ibv_devinfo", "ibv_devinfo -l",
	},
}

// The times of scans, of counter readings and of gathering, values that change all the time, the
// control groups of runs, and where a recording is from.
var moving = regexp.MustCompile(`(?m)^ *"recording": \{\n(?:.*\n)*? *\},\n|^.*"?(taken|seconds)"?: .*$\n?|` +
	`^ *"time": ".*",$\n|^node .*, recorded .*\n\n?|[0-9]+ messages|/run-[0-9a-f]+`)

// replays compares the output of commands, run as a user, on the guest and on a bundle of it.
func replays(commands []string, file, as string) comparison {
	mask := func(text string) string { return moving.ReplaceAllString(text, "") }
	c := comparison{as: as, before: "cd /tmp; export KSERVE_INFER_ROCE=true", mask: mask}
	for _, args := range commands {
		c.pairs = append(c.pairs, [2]string{rdmactlShared + " " + args, rdmactlShared + " " + withFrom(args, file)})
	}
	return c
}

// withFrom inserts --from after the name of the command.
func withFrom(args, file string) string {
	name, rest, _ := strings.Cut(args, " ")
	if strings.HasPrefix(name, "ib") || name == "show_gids" { // an applet's own options follow its name
		return "--from " + file + " " + args
	}
	return name + " --from " + file + " " + rest
}

// rdmactlShared is a copy that users other than root can run.
const rdmactlShared = "/tmp/rdmactl"

// TestBundleReplaysGuest records the guest as root and as nobody, in several states, and compares
// every read-only command on the guest and on the bundle.
func TestBundleReplaysGuest(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	output(t, g, "cp "+rdmactl+" "+rdmactlShared+"; chmod 755 "+rdmactlShared+"; chmod 1777 /tmp")
	defer output(t, g, "rm -rf "+rdmactlShared+" /tmp/bundle.*") // the context is over in a Cleanup
	states := []struct{ name, do, undo string }{
		{"as booted", "true", "true"},
		{"more addresses", "ip addr add 10.77.0.1/16 dev eth0; ip addr add 2001:db8:7::1/64 dev eth0 nodad; ip route " +
			"add 10.99.0.0/16 via 192.0.2.2", "ip addr del 10.77.0.1/16 dev eth0; ip addr del 2001:db8:7::1/64 dev " +
			"eth0; ip route del 10.99.0.0/16 2>/dev/null; true"},
		{"link down", "ip link set eth0 down", "ip link set eth0 up; ip addr replace 192.0.2.1/24 dev eth0"},
		{"one device", "rdma link del siw0", "rdma link add siw0 type siw netdev eth1"},
	}
	users := []struct{ name, prefix string }{
		{"root", ""},
		{"nobody", "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "},
	}
	for _, s := range states {
		output(t, g, s.do)
		settle(t, g)
		for i, u := range users {
			if i > 0 && s.do != "true" {
				continue // what a user may read doesn't depend on these states
			}
			t.Run(s.name+"/"+u.name, func(t *testing.T) {
				run := func(script string) string {
					return output(t, g, u.prefix+"sh -c '"+script+"'")
				}
				file := "/tmp/bundle." + u.name + "." + strings.ReplaceAll(s.name, " ", "-") + ".tar.gz"
				said := run(rdmactlShared + " snapshot --force --peer 192.0.2.9 -o " + file + " 2>&1; echo exit $?")
				t.Log(strings.TrimSpace(said))
				if !strings.Contains(said, "exit 0") && !(u.name == "nobody" && strings.Contains(said, "exit 7")) {
					t.Errorf("snapshot says %s", said)
				}
				if mode := strings.TrimSpace(output(t, g, "stat -c %a "+file)); mode != "600" {
					t.Errorf("mode of the bundle = %s, want 600", mode)
				}
				groups := 1
				switch {
				case wantAll():
					groups = 3
				case s.do == "true" && u.name == "root":
					groups = 2
				}
				commands := slices.Concat(replayed[:groups]...)
				checkAll(t, g.Output, replays(commands, file, u.prefix).shares())
			})
		}
		output(t, g, s.undo)
	}
}

// TestSnapshotOnlyReads compares modules, files, settings, links and addresses of the guest before
// and after.
func TestSnapshotOnlyReads(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	const state = "lsmod | cut -d' ' -f1 | sort; find /etc /var/lib /root /tmp /run /home -xdev -newer /tmp/mark ! " +
		"-name mark ! -name 'run-*.sh' 2>/dev/null | sort; sysctl -a 2>/dev/null | grep -E " +
		"'^(net|vm|kernel.(numa|sched))' | grep -vE 'random|nf_conntrack_count|nr_|stat'; rdma -j link; ip -j addr | " +
		"tr ',' '\\n' | grep -vE 'valid_life|preferred'"
	settle(t, g)
	output(t, g, "mkdir -p /tmp/alone; touch /tmp/mark; sleep 1.1")
	defer output(t, g, "rm -rf /tmp/alone /tmp/mark")
	before := output(t, g, state)
	said := output(t, g, "cd /tmp/alone && "+rdmactl+" snapshot -o n.tar.gz 2>&1; echo exit $?; rm n.tar.gz")
	// Snapshot takes at most 20 s for further files, which this emulated machine exceeds beside
	// other programs or with a second device that has 1024 GIDs.
	late := strings.Contains(said, "warning: /: the time limit for further files was reached") &&
		strings.Count(said, "warning: ") == 1
	if !strings.Contains(said, "exit 0\n") && !(late && strings.Contains(said, "exit 7\n")) {
		t.Errorf("snapshot says %s", said)
	}
	after := strings.ReplaceAll(output(t, g, state), "/tmp/alone\n", "")
	if before != strings.ReplaceAll(after, "/tmp\n", "") && before != after {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if left := output(t, g, "ls -A /tmp/alone"); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestSnapshotWhileDevicesComeAndGo records while devices are removed: every bundle must open, and
// its findings must equal the output of commands on it.
func TestSnapshotWhileDevicesComeAndGo(t *testing.T) {
	g := withRdmactl(t)
	g.Exclusive(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bundles := 3
	if wantAll() {
		bundles = 12 // of 15 to 40 seconds each
	}
	out, err := g.Output(ctx, `cd /tmp; rm -f churn.*
		for i in 7 8; do ip link add dummy$i type dummy; ip link set dummy$i up; done
		(while [ ! -e churn.stop ]; do
			rdma link add rxe7 type rxe netdev dummy7; sleep 0.0$((RANDOM % 9)); rdma link add siw7 type siw netdev dummy8; sleep 0.1; rdma link del rxe7; sleep 0.0$((RANDOM % 9)); rdma link del siw7
		done) >/dev/null 2>&1 & churn=$!
		for i in $(seq `+strconv.Itoa(bundles)+`); do
			`+rdmactl+` snapshot -o churn.$i.tar.gz 2>churn.$i.err; echo "snapshot $?"
			`+rdmactl+` detect -o json --from churn.$i.tar.gz >churn.$i.json 2>/dev/null
			echo "detect $?"
			tar xzf churn.$i.tar.gz findings/detect.json -O | cmp - churn.$i.json && echo same
			grep -q '"name": "rxe0"' churn.$i.json && echo rxe0
		done
		touch churn.stop; wait $churn
		rdma link del rxe7 2>/dev/null; rdma link del siw7 2>/dev/null; ip link del dummy7; ip link del dummy8; cat churn.*.err | sort | uniq -c; rm -f churn.*`)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(out)
	if strings.Count(out, "same") != bundles || strings.Count(out, "rxe0\n") < bundles {
		t.Errorf("want %d bundles that say what they hold, with rxe0 in each:\n%s", bundles, out)
	}
	for line := range strings.Lines(out) {
		if code, ok := strings.CutPrefix(strings.TrimSpace(line), "snapshot "); ok && code != "0" && code != "7" {
			t.Errorf("snapshot = %s", code)
		}
	}
}
