//go:build kernel

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// The IPv6 addresses that a rig adds to the link between guest and host.
const (
	roceGuest6 = "2001:db8:4::1"
	roceHost6  = "2001:db8:4::fe"
)

// roceRig runs perftest in the guest against rdmactl bench at the other end of the
// link.
type roceRig struct {
	g       *guest.Guest
	rdmactl string
	gid     map[bool]string // the index of rxe0's GID: of IPv6, of IPv4
}

// The servers of a session.
const (
	ours   = true
	theirs = false
)

// roceSession is one run of a bandwidth test.
type roceSession struct {
	test      string // write, read or send
	server    bool
	size, mtu int
	v6        bool
}

func (s roceSession) String() string {
	who, ip := "our client, their server", 4
	if s.server == ours {
		who = "their client, our server"
	}
	if s.v6 {
		ip = 6
	}
	return fmt.Sprintf("%s of %d bytes, MTU %d, IPv%d, %s", s.test, s.size, s.mtu, ip, who)
}

func newRoCERig(t *testing.T, g *guest.Guest) *roceRig {
	t.Helper()
	r := &roceRig{g: g, rdmactl: buildProgram(t, rdmactlPackage), gid: map[bool]string{}}
	r.address(t, "add")
	t.Cleanup(func() { r.address(t, "del") })
	settle(t, g)
	for v6, gid := range map[bool]string{
		false: "0000:0000:0000:0000:0000:ffff:c000:0201",
		true:  "2001:0db8:0004:0000:0000:0000:0000:0001",
	} {
		r.gid[v6] = strings.TrimSpace(output(t, g, "cd /sys/class/infiniband/rxe0/ports/1/gids && grep -lsx "+gid+" ?"))
	}
	return r
}

// address adds the addresses of IPv6 to both ends, or deletes them.
func (r *roceRig) address(t *testing.T, verb string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // runs at the end too
	if _, err := r.g.Output(ctx, "ip addr "+verb+" "+roceGuest6+"/64 dev eth0"+nodad(verb)); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"addr", verb, roceHost6 + "/64", "dev", "tap0"}, strings.Fields(nodad(verb))...)
	if out, err := r.g.HostCommand(ctx, "ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
}

// nodad makes an address usable at once.
func nodad(verb string) string {
	if verb == "add" {
		return " nodad"
	}
	return ""
}

// capture runs f and returns a capture of the RoCE v2 packets on the link.
func (r *roceRig) capture(t *testing.T, f func()) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "session.pcap")
	cmd := r.g.HostCommand(t.Context(), "tcpdump", "-i", "tap0", "-n", "-U", "--immediate-mode", "-B", "65536", "-s",
		"0", "-Z", "root", "-w", file, "udp port 4791")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n') // "listening on …"
	if err != nil || !strings.Contains(first, "listening") {
		t.Fatalf("tcpdump: %q, %v", first, err)
	}
	f()
	time.Sleep(500 * time.Millisecond) // outstanding packets
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		t.Fatalf("tcpdump: %v: %s", err, rest)
	}
	if !strings.Contains(string(rest), "\n0 packets dropped by kernel") {
		t.Errorf("tcpdump lost packets: %s", rest)
	}
	return file
}

const rocePort = "18633"

// run runs one session and checks that both ends succeeded.
func (r *roceRig) run(t *testing.T, s roceSession) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), exchangeTimeout)
	defer cancel()
	host := guest.HostAddress
	if s.v6 {
		host = roceHost6
	}
	same := fmt.Sprintf(" -n 20 -u 20 -s %d -m %d -p %s ", s.size, s.mtu, rocePort)
	mine := "bench " + s.test + "-bw --timeout " + oursTimeout + " -d roce@" + host + same
	other := theirsTimeout + "ib_" + s.test + "_bw -F -d rxe0 -x " + r.gid[s.v6] + same
	their := make(chan error, 1)
	start := func(script string) {
		_, err := r.g.Output(ctx, script)
		their <- err
	}
	var out bytes.Buffer
	var err error
	if s.server == ours {
		cmd := r.g.HostCommand(ctx, r.rdmactl, strings.Fields(mine)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.listening(ctx, t, func(script string) ([]byte, error) {
			return r.g.HostCommand(ctx, "bash", "-c", script).CombinedOutput()
		})
		go start(other + guest.HostAddress)
		err = errors.Join(cmd.Wait(), <-their)
	} else {
		go start(other)
		r.listening(ctx, t, func(script string) ([]byte, error) {
			res, err := r.g.Run(ctx, script)
			return res.Stdout, err
		})
		cmd := r.g.HostCommand(ctx, r.rdmactl, strings.Fields(mine+guest.GuestAddress)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		err = errors.Join(cmd.Run(), <-their)
	}
	if err != nil {
		t.Errorf("%v: %v: %s", s, err, out.String())
	}
}

// listening waits for the server.
func (r *roceRig) listening(ctx context.Context, t *testing.T, run func(script string) ([]byte, error)) {
	t.Helper()
	out, err := run(await("ss -Hltn 'sport = :"+rocePort+"' | grep -q .") + " && echo yes")
	if err != nil || string(out) != "yes\n" || ctx.Err() != nil {
		t.Fatalf("no server on port %s: %q, %v", rocePort, out, err)
	}
}

// roceCount holds the counts of packets in a capture.
type roceCount struct {
	failed  int
	opcodes map[ib.Opcode]int
	from    map[string]int // by source address
	sizes   map[int]int    // payloads, in bytes
	refused map[string]int // NAKs, by source address
}

func newRoCECount() *roceCount {
	return &roceCount{
		opcodes: map[ib.Opcode]int{}, from: map[string]int{}, sizes: map[int]int{}, refused: map[string]int{},
	}
}

func (c *roceCount) add(f *rocev2.Flow, p *ib.Packet) {
	c.opcodes[p.BTH.Opcode]++
	c.from[f.Source.Addr().String()]++
	c.sizes[len(p.Payload)]++
	if p.BTH.Opcode == ib.OpcodeRCAcknowledge && !p.AETH.Syndrome.IsACK() {
		c.refused[f.Source.Addr().String()+" "+p.AETH.Syndrome.String()]++
	}
}

// check requires that the capture has the packets that the sessions must have sent.
func (c *roceCount) check(t *testing.T) {
	t.Helper()
	for _, o := range []ib.Opcode{
		ib.OpcodeRCSendFirst, ib.OpcodeRCSendMiddle, ib.OpcodeRCSendLast, ib.OpcodeRCSendOnly,
		ib.OpcodeRCWriteFirst, ib.OpcodeRCWriteMiddle, ib.OpcodeRCWriteLast,
		ib.OpcodeRCReadRequest, ib.OpcodeRCReadResponseFirst, ib.OpcodeRCReadResponseMiddle,
		ib.OpcodeRCReadResponseLast,
		ib.OpcodeRCAcknowledge,
	} {
		if c.opcodes[o] == 0 {
			t.Errorf("no packet of %v", o)
		}
	}
	for _, address := range []string{guest.GuestAddress, guest.HostAddress, roceGuest6, roceHost6} {
		if c.from[address] < 20 {
			t.Errorf("%d packets from %s, want at least 20", c.from[address], address)
		}
	}
	for m := ib.MTU256; m <= ib.MTU4096; m *= 2 {
		if m != ib.MTU2048 && c.sizes[int(m)] == 0 {
			t.Errorf("no packet of MTU %d", m)
		}
	}
}

// String formats the numbers of packets by source.
func (c *roceCount) String() string {
	return fmt.Sprintf("from %v, refusals %v, %v", c.from, c.refused, c.opcodes)
}
