//go:build kernel

package kernel

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

// cmDevices are the devices of the guest with their addresses.
var cmDevices = []struct{ name, netdev, address, address6 string }{
	{"rxe0", "eth0", guest.GuestAddress, "2001:db8:18::1"},
	{"siw0", "eth1", guest.GuestAddressIWARP, "2001:db8:19::1"},
}

// cmRun runs a case of the program in the guest and reports what it has printed if it fails.
func cmRun(t *testing.T, g *guest.Guest, script string) string {
	t.Helper()
	status, out := statusOf(t, g, script)
	if status != 0 {
		t.Errorf("%s: status %d: %s", script, status, out)
	}
	return out
}

// TestConnectionManager connects queue pairs of rxe and siw through librdmacm: with each other,
// over IPv4 and IPv6, and with a peer that is killed.
func TestConnectionManager(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	for _, d := range cmDevices {
		output(t, g, fmt.Sprintf("ip addr add %s/64 dev %s nodad", d.address6, d.netdev))
		for _, address := range []string{d.address + ":0", "[" + d.address6 + "]:0"} {
			t.Run(d.name+"/"+address, func(t *testing.T) {
				t.Log(cmRun(t, g, fmt.Sprintf("timeout 40 %s cm-itself %s '%s'", verbsProgram, d.name, address)))
			})
		}
		output(t, g, fmt.Sprintf("ip addr del %s/64 dev %s", d.address6, d.netdev))
		t.Run(d.name+"/killed", func(t *testing.T) {
			cmRun(t, g, fmt.Sprintf(`
				timeout 40 %[1]s cm-watch %[2]s %[3]s:7200 >/tmp/cm-watch 2>&1 & watch=$!
				for i in $(seq 20); do # until the other one listens
					%[1]s cm-hold %[2]s %[3]s:7200 >/tmp/cm-hold 2>&1 & hold=$!
					for k in $(seq 50); do
						grep -q '^accepted' /tmp/cm-watch && grep -q '^connected' /tmp/cm-hold && break 2
						kill -0 $hold 2>/dev/null || break
						sleep 0.1
					done
					kill -9 $hold 2>/dev/null
				done
				kill -9 $hold
				wait $watch || { cat /tmp/cm-watch /tmp/cm-hold; exit 1; }`, verbsProgram, d.name, d.address))
		})
	}
}

// TestConnectionManagerPeers talks to the example programs of librdmacm: in make test-kernel to one
// of each kind, in make test-kernel-all to all of them on both devices in both directions.
func TestConnectionManagerPeers(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	for _, d := range cmDevices {
		for _, p := range []struct {
			name                   string
			ourServer, theirClient string
			theirServer, ourClient string
			port                   int
			notIWARP, onlyAll      bool
		}{
			{
				name: "rdma_client", ourServer: "cm-server", theirClient: "rdma_client -s %s -p 7471",
				theirServer: "rdma_server -s %s -p 7471", ourClient: "cm-client", port: 7471,
			},
			{
				name: "ucmatose", ourServer: "cm-cmatose-server", theirClient: "ucmatose -s %s",
				theirServer: "ucmatose -b %s", ourClient: "cm-cmatose-client", port: 7471, onlyAll: true,
			},
			{
				name: "udaddy", ourServer: "cm-udaddy-server", theirClient: "udaddy -s %s",
				theirServer: "udaddy -b %s", ourClient: "cm-udaddy-client", port: 7174, notIWARP: true,
			},
		} {
			if p.notIWARP && d.name == "siw0" || p.onlyAll && !wantAll() {
				continue
			}
			addr := fmt.Sprintf("%s:%d", d.address, p.port)
			ours := func(name string) string {
				return fmt.Sprintf("timeout 10 %s %s %s %s", verbsProgram, name, d.name, addr)
			}
			theirs := func(command string) string { return "timeout 10 " + fmt.Sprintf(command, d.address) }
			attempts := 1
			if p.notIWARP || d.name == "siw0" {
				attempts = 3
			}
			t.Run(d.name+"/"+p.name+"/server", func(t *testing.T) {
				cmRun(t, g, cmPair(ours(p.ourServer), theirs(p.theirClient), attempts))
			})
			t.Run(d.name+"/"+p.name+"/client", func(t *testing.T) {
				cmRun(t, g, cmPair(theirs(p.theirServer), ours(p.ourClient), attempts))
			})
		}
	}
}

// cmPair is a script that runs a server, and then the client, until both succeed. More than one
// attempt is for datagrams, which may be lost, and for siw of Linux 6.1: it loses the message that
// arrives before its accepting end has taken over the socket (siw_accept: between
// siw_send_mpareqrep and siw_qp_socket_assoc), and waits for another one.
func cmPair(server, client string, attempts int) string {
	return strings.NewReplacer("SERVER", server, "CLIENT", client, "ATTEMPTS", strconv.Itoa(attempts)).Replace(`
		for attempt in $(seq ATTEMPTS); do
			SERVER >/tmp/cm-server 2>&1 & server=$!
			for i in $(seq 40); do
				rdma resource show cm_id 2>/dev/null | grep -q LISTEN && break
				sleep 0.1
			done
			CLIENT >/tmp/cm-client 2>&1; client=$?
			wait $server; server=$?
			[ $client = 0 ] && [ $server = 0 ] && exit
			echo "client $client:"; cat /tmp/cm-client; echo "server $server:"; cat /tmp/cm-server
		done
		exit 1`)
}
