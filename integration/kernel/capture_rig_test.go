//go:build kernel

package kernel

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain/capture"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// recordVariable is the environment variable with the name of a folder that keeps the captures.
const recordVariable = "RDMAKIT_RECORD"

// Addresses of the two devices of a captureRig.
const (
	nearAddress = "10.9.0.1" // va, rxea: the requester
	farAddress  = "10.9.0.2" // vb, rxeb: the responder
)

// captureUp makes two rxe devices with a bridge between them. rxe of Linux 6.1 is in the first
// network namespace only, so both ends are there, and routing rules send what one end sends to the
// other one through the bridge. Without IPv6 nothing but the scenes' packets passes it: the
// bridge's router solicitations would be among those that netem drops and counts.
const captureUp = `
modprobe -a veth bridge sch_netem
ip link add vbr type bridge
sysctl -qw net.ipv6.conf.vbr.disable_ipv6=1; ip link set vbr mtu 9000 up
ip rule add pref 32000 lookup local
for end in a b; do
	ip link add v$end type veth peer name v${end}m
	sysctl -qw net.ipv6.conf.v$end.disable_ipv6=1 net.ipv6.conf.v${end}m.disable_ipv6=1
	sysctl -qw net.ipv4.conf.v$end.accept_local=1 net.ipv4.conf.v$end.rp_filter=0
	ip link set v$end mtu 9000 up; ip link set v${end}m mtu 9000 master vbr up
done
ip addr add ` + nearAddress + `/32 dev va; ip addr add ` + farAddress + `/32 dev vb
ip neigh add ` + farAddress + ` lladdr $(cat /sys/class/net/vb/address) dev va nud permanent
ip neigh add ` + nearAddress + ` lladdr $(cat /sys/class/net/va/address) dev vb nud permanent
ip route add ` + farAddress + ` dev va table 901; ip route add ` + nearAddress + ` dev vb table 902
ip rule add pref 5 iif va from ` + nearAddress + ` to ` + farAddress + ` lookup 901
ip rule add pref 5 iif vb from ` + farAddress + ` to ` + nearAddress + ` lookup 902
ip rule add pref 10 iif va lookup local; ip rule add pref 10 iif vb lookup local
ip rule add pref 20 from ` + nearAddress + ` to ` + farAddress + ` lookup 901
ip rule add pref 20 from ` + farAddress + ` to ` + nearAddress + ` lookup 902
ip rule del pref 0
rdma link add rxea type rxe netdev va; rdma link add rxeb type rxe netdev vb
`

const captureDown = `
rdma link delete rxea; rdma link delete rxeb
ip link del va; ip link del vb; ip link del vbr
ip rule add pref 0 lookup local; for p in 5 5 10 10 20 20 32000; do ip rule del pref $p; done
ip rule | grep -q '^0:.*lookup local' && ! ip link show vbr 2>/dev/null
`

// captureRig are two devices of the kernel's rxe, rxea and rxeb, whose packets pass a bridge:
// va ⇄ vam (bridge) vbm ⇄ vb. What leaves vbm are requests of rxea, what leaves vam are answers.
type captureRig struct {
	g   *guest.Guest
	gid map[string]string // indexes of the devices' GIDs of IPv4
}

func newCaptureRig(t *testing.T) *captureRig {
	t.Helper()
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	t.Cleanup(func() {
		if out, err := g.Output(context.Background(), captureDown); err != nil {
			t.Errorf("remove the devices: %v: %s", err, out)
		}
	})
	r := &captureRig{g: g, gid: map[string]string{}}
	output(t, g, "set -e\n"+captureUp)
	for device, gid := range map[string]string{"rxea": "0a09:0001", "rxeb": "0a09:0002"} {
		file := strings.TrimSpace(output(t, g, await("grep -lsx 0000:0000:0000:0000:0000:ffff:"+gid+
			" /sys/class/infiniband/"+device+"/ports/1/gids/*")))
		r.gid[device] = filepath.Base(file)
	}
	return r
}

// perftest returns a script that runs a test of perftest from rxea to rxeb; the ends find each
// other by lo, which nothing disturbs.
func (r *captureRig) perftest(test, args string) string { return r.limited(60, test, args) }

// hanging returns a script of a test that doesn't end; a busy guest takes seconds to begin.
func (r *captureRig) hanging(test, args string) string { return r.limited(20, test, args) }

func (r *captureRig) limited(seconds int, test, args string) string {
	const port = " -F -p 18555 "
	limit := fmt.Sprintf("timeout %d ", seconds)
	return "cd /tmp; " + limit + test + port + "-d rxeb -x " + r.gid["rxeb"] + " " + args +
		" >server.out 2>&1 & server=$!\n" +
		await("ss -Hltn 'sport = :18555' | grep -q .") + "\n" +
		limit + test + port + "-d rxea -x " + r.gid["rxea"] + " " + args + " 127.0.0.1; echo \"exit $?\"\n" +
		"sleep 0.3; kill $server 2>/dev/null; wait $server"
}

// verbs returns a script that runs a case of the verbs program from rxea to rxeb.
func (r *captureRig) verbs(name string) string {
	return "timeout 60 " + verbsProgram + " planted-" + name + " rxea rxeb; echo \"exit $?\""
}

// rping returns a script that pings over a connection of the communication manager, with or without
// a server.
func (r *captureRig) rping(server bool) string {
	script := "timeout 60 rping -c -a " + farAddress + " -I " + nearAddress + " -C 2; echo \"exit $?\""
	if server {
		script = "timeout 60 rping -s -a " + farAddress + " -C 2 & server=$!\n" +
			await("rdma resource show cm_id | grep -q LISTEN") + "\n" + script + "; wait $server"
	}
	return script
}

// captureScene is a run with a fault.
type captureScene struct {
	name   string
	plant  string // a script, after which the fault is there
	undo   string
	script string // of the programs
	status capture.Status
	fails  bool // there is no status, but the program fails
	// near and far are the findings at the requester's and at the responder's end of the network:
	// what was planted, as it must look there according to the specification.
	near, far []capture.Name
	// drops names the port whose netem must have dropped something, and that counts it.
	drops string
	check func(t *testing.T, near, far *capture.Report, dropped int)
}

// captured are the captures of a run.
type captured struct {
	near, far []byte
	out       string
	dropped   int
}

// run runs a scene with captures at both ends, again if perftest gave up because of the guest's
// clock or if chance has dropped fewer than two packets: a loss of the very last one alone, which
// nothing overtakes, brings no NAK.
func (r *captureRig) run(t *testing.T, s *captureScene) (c captured) {
	t.Helper()
	for range clockTries {
		c = r.once(t, s)
		if !strings.Contains(c.out, clockDoubt) && (s.drops == "" || c.dropped > 1) {
			return c
		}
	}
	t.Fatalf("in %d runs fewer than two packets were dropped, or perftest gave up because of the clock: %s",
		clockTries, c.out)
	return c
}

var droppedPattern = regexp.MustCompile(`dropped (\d+)`)

func (r *captureRig) once(t *testing.T, s *captureScene) (c captured) {
	t.Helper()
	if s.plant != "" {
		output(t, r.g, "set -e\n"+s.plant)
		defer func() {
			if _, err := r.g.Output(context.WithoutCancel(t.Context()), s.undo); err != nil {
				t.Errorf("end the fault: %v", err)
			}
		}()
	}
	var script strings.Builder
	for _, end := range []string{"a", "b"} {
		fmt.Fprintf(&script, "tcpdump -i v%[1]s -n -U --immediate-mode -B 16384 -s 0 -Z root -w /tmp/%[1]s.pcap "+
			"udp port 4791 or icmp or arp 2>/tmp/%[1]s.log & %[1]s=$!\n%s || exit 1\n", end,
			await("grep -q listening /tmp/"+end+".log"))
	}
	script.WriteString("(\n" + s.script + "\n) 2>&1\nsleep 0.5; kill -INT $a $b; wait $a $b\n" +
		"grep -h 'dropped by kernel' /tmp/a.log /tmp/b.log\n")
	if s.drops != "" {
		script.WriteString("tc -s qdisc show dev " + s.drops + " | sed -n 's/.*(\\(dropped [0-9]*\\),.*/netem \\1/p'\n")
	}
	c.out = output(t, r.g, script.String())
	if strings.Count(c.out, "\n0 packets dropped by kernel") != 2 {
		t.Errorf("tcpdump lost packets: %s", c.out)
	}
	for line := range strings.Lines(c.out) {
		if m := droppedPattern.FindStringSubmatch(line); strings.HasPrefix(line, "netem ") && m != nil {
			c.dropped, _ = strconv.Atoi(m[1])
		}
	}
	dir := os.Getenv(recordVariable)
	if dir == "" {
		dir = t.TempDir()
	}
	for end, b := range map[string]*[]byte{"a": &c.near, "b": &c.far} {
		file := filepath.Join(dir, s.name+"-"+map[string]string{"a": "near", "b": "far"}[end]+".pcap")
		if err := r.g.CopyOut(t.Context(), "/tmp/"+end+".pcap", file); err != nil {
			t.Fatal(err)
		}
		var err error
		if *b, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

var statusPattern = regexp.MustCompile(`(?:Failed status |status )(\d+)`)

// try runs a scene and compares what the captures show, and the programs print, with what was
// planted.
func (r *captureRig) try(t *testing.T, s *captureScene) {
	t.Helper()
	c := r.run(t, s)
	if dir := os.Getenv(recordVariable); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, s.name+".log"), []byte(c.out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status := capture.StatusNone
	if m := statusPattern.FindStringSubmatch(c.out); m != nil {
		n, err := strconv.ParseUint(m[1], 10, 8)
		if err != nil {
			t.Fatal(err)
		}
		status = capture.Status(n)
	}
	if ok := strings.Contains(c.out, "\nexit 0\n"); status != s.status || !ok && status == 0 && !s.fails {
		t.Errorf("status %d, want %d: %s", status, s.status, c.out)
	}
	near := compareFindings(t, "requester", c.near, s.near)
	far := compareFindings(t, "responder", c.far, s.far)
	leads := func(f capture.Finding) bool { return f.Status == s.status }
	if s.status != 0 && !slices.ContainsFunc(near.Findings, leads) {
		t.Errorf("no finding leads to status %d", s.status)
	}
	if s.check != nil {
		s.check(t, near, far, c.dropped)
	}
}

// compareFindings reads a capture and compares the names of its findings.
func compareFindings(t *testing.T, end string, b []byte, want []capture.Name) *capture.Report {
	t.Helper()
	report, err := capture.Read(bytes.NewReader(b), capture.Options{})
	if err != nil {
		t.Fatalf("capture of the %s: %v", end, err)
	}
	var got []capture.Name
	var text strings.Builder
	for _, f := range report.Findings {
		if !slices.Contains(got, f.Name) {
			got = append(got, f.Name)
		}
		fmt.Fprintf(&text, "%s: %s: %s %v\n", f.Name, f.Where, f.Summary, f.Evidence)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: findings %v, want %v\n%s", end, got, want, text.String())
	} else {
		t.Logf("%s: %d packets\n%s", end, report.Packets, text.String())
	}
	return report
}
