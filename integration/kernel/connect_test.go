//go:build kernel

package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/connect"
	"github.com/rdmakit/rdmakit/integration/guest"
)

// connectEngine is the device at the host's end of the cable; the acknowledgement timeout of a
// second outlasts the stalls of the guest's emulated processor.
const (
	connectEngine  = "roce@" + guest.HostAddress
	connectFlags   = " -o json -n 20 -w 1 -u 18"
	connectListens = "ss -Hltn 'sport = :18516' | grep -q ."
	connectLimit   = 3 * time.Minute
)

// connectRig runs rdmactl connect in the guest, with rxe0, and at the host's end of the cable.
type connectRig struct {
	g   *guest.Guest
	bin string // rdmactl on this machine
}

func newConnectRig(t *testing.T) *connectRig {
	t.Helper()
	g := withRdmactl(t)
	g.Exclusive(t)
	r := &connectRig{g: g, bin: buildProgram(t, rdmactlPackage)}
	r.host(t, "ip link set tap0 txqueuelen 20000")
	t.Cleanup(func() {
		if out, err := g.HostCommand(context.Background(), "ip", "link", "set", "tap0", "txqueuelen", "1000").
			CombinedOutput(); err != nil {
			t.Errorf("restore the host's link: %v: %s", err, out)
		}
	})
	return r
}

func (r *connectRig) host(t *testing.T, script string) {
	t.Helper()
	if out, err := r.g.HostCommand(t.Context(), "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// plant runs a script in the guest, and another one at the end of the test.
func (r *connectRig) plant(t *testing.T, script, undo string) {
	t.Helper()
	t.Cleanup(func() {
		if _, err := r.g.Output(context.Background(), undo); err != nil {
			t.Errorf("restore the guest: %v", err)
		}
	})
	output(t, r.g, script)
}

// drop drops what matches in the guest's ingress, as a firewall does.
func (r *connectRig) drop(t *testing.T, filter string) {
	t.Helper()
	r.plant(t, "modprobe -a sch_ingress cls_flower cls_basic em_meta act_gact; tc qdisc add dev eth0 ingress && "+
		"tc filter add dev eth0 parent ffff: protocol ip "+filter+" action drop", "tc qdisc del dev eth0 ingress")
}

// connectRun is the result of one program.
type connectRun struct {
	report connect.Report
	code   int
	text   string // everything that it printed
}

// parse parses the report.
func (c *connectRun) parse(t *testing.T, stdout, stderr []byte) {
	t.Helper()
	c.text = string(stdout) + string(stderr)
	if err := json.Unmarshal(stdout, &c.report); err != nil {
		t.Fatalf("output of rdmactl connect, exit code %d: %v: %s", c.code, err, c.text)
	}
}

// inGuest runs rdmactl connect in the guest; the arguments may be a whole command.
func (r *connectRig) inGuest(ctx context.Context, t *testing.T, command string) (c connectRun) {
	t.Helper()
	res, err := r.g.Run(ctx, command)
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
	c.code = res.ExitCode
	c.parse(t, res.Stdout, res.Stderr)
	return c
}

// onHost runs rdmactl connect at the host's end.
func (r *connectRig) onHost(ctx context.Context, t *testing.T, args string) (c connectRun) {
	t.Helper()
	cmd := r.g.HostCommand(ctx, r.bin, append([]string{"connect"}, strings.Fields(connectFlags+" "+args)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		c.code = exit.ExitCode()
	} else if err != nil {
		t.Errorf("%v: %v", cmd.Args, err)
	}
	c.parse(t, stdout.Bytes(), stderr.Bytes())
	return c
}

// pair runs the listener in the guest and the client on the host, which dials address.
func (r *connectRig) pair(t *testing.T, address, clientFlags string) (client, listener connectRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), connectLimit)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		listener = r.inGuest(ctx, t, rdmactl+" connect --listen -d rxe0 --timeout 150s"+connectFlags)
	}()
	output(t, r.g, await(connectListens+" || ! pgrep -x rdmactl"))
	client = r.onHost(ctx, t, "-d "+connectEngine+" "+clientFlags+" "+address)
	<-done
	return client, listener
}

// checkConnected checks a report without failure.
func (c *connectRun) checkConnected(t *testing.T, mtu int) {
	t.Helper()
	if c.code != 0 || len(c.report.Attempts) != 1 {
		t.Fatalf("exit code %d: %s", c.code, c.text)
	}
	a := c.report.Attempts[0]
	if a.Failure != nil || int(a.PathMTU) != mtu || len(a.Writes) != 2 || a.Writes[0].Verified != 1 || a.Ping == nil ||
		a.Ping.Iterations != 20 {
		t.Errorf("attempt %+v, want MTU %d and everything verified", a, mtu)
	}
	if len(a.CountersUnknown) > 0 {
		t.Errorf("counters of %v are unknown", a.CountersUnknown)
	}
}

// checkFailed checks the failure of a report.
func (c *connectRun) checkFailed(t *testing.T, code connect.Code, stage connect.Stage, exit int, parts ...string) {
	t.Helper()
	if len(c.report.Attempts) != 1 || c.report.Attempts[0].Failure == nil {
		t.Errorf("exit code %d, no failure: %s", c.code, c.text)
		return
	}
	f := c.report.Attempts[0].Failure
	if f.Code != code || f.Stage != stage || c.code != exit {
		t.Errorf("failure %s at %q, exit code %d, want %s at %q, %d: "+
			"%s", f.Code, f.Stage, c.code, code, stage, exit, c.text)
	}
	text := strings.Join(append(slices.Concat(f.Observed, f.Possible, f.Remedies), f.Cause), "\n")
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("failure without %q:\n%s", part, text)
		}
	}
}

// TestConnect connects rxe0 with itself and with the engine at the other end of the cable.
func TestConnect(t *testing.T) {
	r := newConnectRig(t)
	t.Run("itself", func(t *testing.T) {
		c := r.inGuest(t.Context(), t, rdmactl+" connect rxe0"+connectFlags)
		c.checkConnected(t, 4096)
		if gid := c.report.Attempts[0].Local.GID; gid == nil || gid.Kind != connect.KindV2IPv4 {
			t.Errorf("GID %+v, want that of IPv4", gid)
		}
	})
	t.Run("all", func(t *testing.T) {
		c := r.inGuest(t.Context(), t, "cd /tmp && "+rdmactl+" connect --all --save"+connectFlags)
		c.checkConnected(t, 4096)
		saved := output(t, r.g, "cat /tmp/connect-rdmakit-guest-*.json && rm /tmp/connect-rdmakit-guest-*.json")
		var report connect.Report
		if err := json.Unmarshal([]byte(saved), &report); err != nil || len(report.Local.Ports) != 2 ||
			report.Local.Ports[0].Name != "rxe0:1" || !report.Local.Ports[0].Offered || report.Local.Ports[1].Offered {
			t.Errorf("saved report: %v: %s", err, saved)
		}
	})
	t.Run("peer", func(t *testing.T) {
		client, listener := r.pair(t, guest.GuestAddress, "")
		client.checkConnected(t, 4096)
		listener.checkConnected(t, 4096)
	})
	t.Run("unequal MTU", func(t *testing.T) {
		r.plant(t, "ip link set eth0 mtu 1500", "ip link set eth0 mtu 9000")
		client, listener := r.pair(t, guest.GuestAddress, "")
		for _, c := range []connectRun{client, listener} {
			c.checkConnected(t, 1024)
			const want = "the active MTUs of the ports differ"
			if notes := c.report.Attempts[0].Notes; len(notes) == 0 || !strings.HasPrefix(notes[0], want) {
				t.Errorf("notes %q, want %q", notes, want)
			}
		}
	})
}

// TestConnectNetwork plants faults of the network between rxe0 and the engine.
func TestConnectNetwork(t *testing.T) {
	r := newConnectRig(t)
	t.Run("UDP filtered", func(t *testing.T) {
		r.drop(t, "flower ip_proto udp dst_port 4791")
		client, listener := r.pair(t, guest.GuestAddress, "-u 14")
		for _, c := range []connectRun{client, listener} {
			c.checkFailed(t, connect.CodeUnacknowledged, connect.StageFirstSend, 1, "the TCP connection to the "+
				"peer works",
				"no message of", "packets that arrived at rdmakit-guest rxe0:1 since its device was opened: 0 "+
					"(rcvd_pkts)",
				"allow UDP port 4791")
		}
	})
	t.Run("jumbo", func(t *testing.T) {
		r.drop(t, "basic match 'meta(pkt_len gt 2000)'")
		client, listener := r.pair(t, guest.GuestAddress, "-u 14")
		for _, c := range []connectRun{client, listener} {
			c.checkFailed(t, connect.CodeLargeLost, connect.StageData, 1,
				"with path MTU 1024 the same write passes: the path drops larger packets")
		}
	})
	t.Run("TCP filtered", func(t *testing.T) {
		r.drop(t, "flower ip_proto tcp dst_port 18516")
		c := r.onHost(t.Context(), t, "-d "+connectEngine+" "+guest.GuestAddress)
		c.checkFailed(t, connect.CodeExchangeSilent, connect.StageExchange, 6, "a firewall drops the packets of "+
			"this TCP port")
	})
	t.Run("nothing listens", func(t *testing.T) {
		c := r.onHost(t.Context(), t, "-d "+connectEngine+" "+guest.GuestAddress)
		c.checkFailed(t, connect.CodeRefused, connect.StageExchange, 5, "start rdmactl connect --listen there first")
	})
	t.Run("no route", func(t *testing.T) {
		const remote = "203.0.113.9"
		r.host(t, "ip addr add "+remote+"/32 dev lo")
		defer r.host(t, "ip addr del "+remote+"/32 dev lo")
		ctx, cancel := context.WithTimeout(t.Context(), connectLimit)
		defer cancel()
		var listener connectRun
		done := make(chan struct{})
		go func() {
			defer close(done)
			listener = r.onHost(ctx, t, "--listen -d roce@"+remote+" --timeout 100s")
		}()
		r.host(t, await(connectListens))
		client := r.inGuest(ctx, t, rdmactl+" connect -d rxe0 "+guest.HostAddress+connectFlags)
		<-done
		client.checkFailed(t, connect.CodeNoRoute, connect.StageResolve, 5, "network is unreachable",
			"ip route get "+remote+" from "+guest.GuestAddress)
		listener.checkFailed(t, connect.CodeNoRoute, connect.StageResolve, 1, "network is unreachable")
	})
}

// TestConnectGIDs takes the guest's addresses away: exchanges go over the other cable.
func TestConnectGIDs(t *testing.T) {
	r := newConnectRig(t)
	const v4 = guest.GuestAddress + "/24 dev eth0"
	r.plant(t, "ip addr del "+v4, "ip addr del "+guestIPv6+"/64 dev eth0; ip addr replace "+v4+" && "+
		await("grep -ls 0000:0000:0000:0000:0000:ffff:c000:0201 /sys/class/infiniband/rxe0/ports/1/gids/*"))
	c := r.inGuest(t.Context(), t, rdmactl+" connect rxe0"+connectFlags)
	c.checkFailed(t, connect.CodeNoGID, connect.StageResolve, 1, "only link-local addresses", "ip addr add")
	output(t, r.g, "ip addr replace "+guestIPv6+"/64 dev eth0 nodad && "+
		await("grep -ls 2001:0db8:0005:0000:0000:0000:0000:0001 /sys/class/infiniband/rxe0/ports/1/gids/*"))
	client, listener := r.pair(t, guest.GuestAddressIWARP, "")
	for _, c := range []connectRun{client, listener} {
		c.checkFailed(t, connect.CodeGIDFamily, connect.StageExchange, 1, "has RoCE v2 over IPv4 ("+guest.HostAddress,
			"has RoCE v2 over IPv6 ("+guestIPv6)
	}
}

// TestConnectPrograms plants faults of the programs: too little pinned memory, a peer that is
// killed, and one that posts no receive request.
func TestConnectPrograms(t *testing.T) {
	r := newConnectRig(t)
	t.Run("memlock", func(t *testing.T) {
		c := r.inGuest(t.Context(), t, "cp "+rdmactl+" /tmp/rdmactl; setpriv --reuid 65534 --regid 65534 "+
			"--clear-groups --inh-caps=-all --bounding-set=-all bash -c 'ulimit -l 1024; /tmp/rdmactl connect "+
			"rxe0"+connectFlags+
			"'; code=$?; rm /tmp/rdmactl; exit $code")
		c.checkFailed(t, connect.CodeMemlock, connect.StageRegister, 1, "cannot allocate memory", "RLIMIT_MEMLOCK",
			"1048576 bytes")
	})
	t.Run("dead peer", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), connectLimit)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = r.g.Run(ctx, rdmactl+" connect --listen -d rxe0") // it is killed
		}()
		output(t, r.g, await(connectListens))
		go func() {
			script := await("[ $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts) -gt $start ]")
			_, _ = r.g.Run(ctx, "start=$(($(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts) + 200)); "+
				script+"; pkill -9 -x rdmactl")
		}()
		client := r.onHost(ctx, t, "-d "+connectEngine+" -n 1000000 "+guest.GuestAddress)
		<-done
		client.checkFailed(t, connect.CodePeerEnded, connect.StageData, 1, "the peer's program ended")
	})
	t.Run("RNR of rxe", func(t *testing.T) {
		const standIn, pkg = "/tmp/connectpeer", "github.com/rdmakit/rdmakit/integration/kernel/testdata/connectpeer"
		withProgram(t, pkg, standIn)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = r.g.Run(t.Context(), "timeout 60 "+standIn+" rxe0 :18516") // it ends with its client
		}()
		output(t, r.g, await(connectListens))
		client := r.onHost(t.Context(), t, "-d "+connectEngine+" "+guest.GuestAddress)
		<-done
		client.checkFailed(t, connect.CodeRNR, connect.StageFirstSend, 1, "no receive request (RNR)",
			"packets pass in both directions")
		cmd := r.g.HostCommand(t.Context(), buildProgram(t, pkg), connectEngine, ":18516")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r.host(t, await(connectListens))
		client = r.inGuest(t.Context(), t, fmt.Sprintf("%s connect -d rxe0 "+
			"%s%s", rdmactl, guest.HostAddress, connectFlags))
		if err := cmd.Wait(); err != nil {
			t.Errorf("the stand-in: %v", err)
		}
		client.checkFailed(t, connect.CodeRNR, connect.StageFirstSend, 1, "no receive request (RNR)")
	})
}
