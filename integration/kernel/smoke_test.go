//go:build kernel

package kernel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest"
)

func TestDevices(t *testing.T) {
	g := guest.Shared(t)
	text, err := g.Output(t.Context(), "rdma -j link")
	if err != nil {
		t.Fatal(err)
	}
	type link struct {
		Name   string `json:"ifname"`
		Port   int    `json:"port"`
		State  string `json:"state"`
		Netdev string `json:"netdev"`
	}
	var got []link
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("rdma -j link printed %q: %v", text, err)
	}
	want := []link{{"rxe0", 1, "ACTIVE", "eth0"}, {"siw0", 1, "ACTIVE", "eth1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rdma link differs (-want +got):\n%s", diff)
	}
	text, err = g.Output(t.Context(), "ibv_devices | awk 'NR > 2 { print $1 }'")
	if err != nil || text != "rxe0\nsiw0\n" {
		t.Errorf("ibv_devices = %q, %v, want rxe0 and siw0", text, err)
	}
}

func TestRunPassesThrough(t *testing.T) {
	g := guest.Shared(t)
	res, err := g.Run(t.Context(), "echo out; echo err >&2; exit 42")
	want := guest.Result{Stdout: []byte("out\n"), Stderr: []byte("err\n"), ExitCode: 42}
	if diff := cmp.Diff(want, res); diff != "" || err != nil {
		t.Errorf("Run error %v; result differs (-want +got):\n%s", err, diff)
	}
}

// Even processes that have left the session of the script end with it.
func TestRunDeadline(t *testing.T) {
	g := guest.Shared(t)
	var res guest.Result
	// A slow guest may print nothing in a second.
	for limit := time.Second; string(res.Stdout) != "before\n"; limit *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		var err error
		res, err = g.Run(ctx, "setsid sleep 4711 & echo before; sleep 4711")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || limit > patience {
			t.Fatalf("Run past its deadline of %v = %q, %v, want what it printed and DeadlineExceeded",
				limit, res.Stdout, err)
		}
	}
	if _, err := g.Output(t.Context(), await("! ps -C sleep -o args= | grep -q 4711")); err != nil {
		t.Errorf("processes left after the deadline: %v", err)
	}
}

func TestRunParallel(t *testing.T) {
	g := guest.Shared(t)
	defer output(t, g, "rm -rf /tmp/parallel")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			script := fmt.Sprintf("mkdir -p /tmp/parallel; touch /tmp/parallel/%d; ", i) +
				await("[ $(ls /tmp/parallel | wc -l) = 8 ]")
			if _, err := g.Output(t.Context(), script); err != nil {
				t.Errorf("script %d doesn't meet the other seven: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestRunLatency(t *testing.T) {
	g := guest.Shared(t)
	var took []time.Duration
	for range 21 {
		start := time.Now()
		if _, err := g.Output(t.Context(), "true"); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	t.Logf("Run of true: least %v, median %v, most %v", took[0], took[len(took)/2], took[len(took)-1])
	if median := took[len(took)/2]; median > 2*time.Second {
		t.Errorf("median of Run = %v, want 2 s at most even on a busy machine", median)
	}
}

func TestCopyRoundTrip(t *testing.T) {
	g := guest.Shared(t)
	dir := t.TempDir()
	from, back := filepath.Join(dir, "from"), filepath.Join(dir, "back")
	content := make([]byte, 1<<20+1)
	for i := range content {
		content[i] = byte(i * i >> 3)
	}
	if err := os.WriteFile(from, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := g.CopyIn(t.Context(), from, "/root/deep/copy"); err != nil {
		t.Fatal(err)
	}
	if err := g.CopyOut(t.Context(), "/root/deep/copy", back); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(back)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("copied in and out: %d bytes, %v, want the %d bytes of before", len(got), err, len(content))
	}
	if info, err := os.Stat(back); err != nil || info.Mode() != 0o755 {
		t.Errorf("mode after copying: %v, %v, want 0755", info, err)
	}
}

func TestStaticProgram(t *testing.T) {
	g := guest.Shared(t)
	dir := t.TempDir()
	source := "package main\n\nimport \"os\"\n\nfunc main() { name, _ := os.Hostname(); os.Stdout.WriteString(name) }\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", "hello", "main.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	if err := g.CopyIn(t.Context(), filepath.Join(dir, "hello"), "/root/hello"); err != nil {
		t.Fatal(err)
	}
	if out, err := g.Output(t.Context(), "/root/hello"); out != "rdmakit-guest" || err != nil {
		t.Errorf("Go program in the guest = %q, %v, want the guest's host name", out, err)
	}
}

func TestHostSide(t *testing.T) {
	g := guest.Shared(t)
	out, err := g.HostCommand(t.Context(), "ip", "-o", "-4", "addr").CombinedOutput()
	if err != nil {
		t.Fatalf("ip addr on the host's side: %v: %s", err, out)
	}
	for _, want := range []string{guest.HostAddress + "/24", guest.HostAddressIWARP + "/24"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ip addr on the host's side is missing %s:\n%s", want, out)
		}
	}
	// 8972 bytes and two headers are one packet of 9000 bytes.
	for _, address := range []string{guest.HostAddress, guest.HostAddressIWARP} {
		if _, err := g.Output(t.Context(), "ping -c 1 -W 60 -M do -s 8972 "+address); err != nil {
			t.Error(err)
		}
	}
}

// Requirements of later tests: kernel modules, MTU, VLAN addresses in the GID table, and both ways
// of connecting.
func TestEquipment(t *testing.T) {
	g := guest.Shared(t)
	g.Exclusive(t)
	tests := []struct{ name, script, want string }{
		{"modules", "modprobe -a 8021q bonding dummy macvlan ipvlan veth vxlan sch_netem && echo ok", "ok\n"},
		{
			"mtu", `for mtu in 1500 9000; do
				ip link set eth0 mtu $mtu
				ibv_devinfo -d rxe0 | awk '/active_mtu/ { print $2 }'
			done`, "1024\n4096\n",
		},
		{
			"vlan", `trap 'ip link del eth0.7' EXIT
			ip link add link eth0 name eth0.7 type vlan id 7 && ip addr add 192.0.3.1/24 dev eth0.7 && ip link set eth0.7 up
			` + await("cat /sys/class/infiniband/rxe0/ports/1/gids/[0-7] | grep -x 0000:0000:0000:0000:0000:ffff:c000:0301"), "0000:0000:0000:0000:0000:ffff:c000:0301\n",
		},
		{"rdma dev", "rdma -j dev | grep -o 'rxe0\\|siw0'", "rxe0\nsiw0\n"},
		{"devinfo", "ibv_devinfo -v | awk '/hca_id|link_layer/ { print $2 }'", "rxe0\nEthernet\nsiw0\nEthernet\n"},
		{
			"addresses", "ip -j addr | grep -o '192.0.2.1\\|198.51.100.1'",
			guest.GuestAddress + "\n" + guest.GuestAddressIWARP + "\n",
		},
		{"rping rxe", rping(guest.GuestAddress), "ok\n"},
		{"rping siw", rping(guest.GuestAddressIWARP), "ok\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if got, err := g.Output(ctx, tt.script); got != tt.want || err != nil {
				t.Errorf("%s = %q, %v, want %q", tt.name, got, err, tt.want)
			}
		})
	}
}

// rping returns a script in which rping talks to itself over a device. One run in many hangs on a
// busy machine, with the kernel's code at both ends, so it has three attempts.
func rping(address string) string {
	return `for attempt in 1 2 3; do
		timeout 60 rping -s -a ` + address + ` -C 3 >/dev/null 2>&1 &
		` + await("timeout 20 rping -c -a "+address+" -C 3 >/dev/null 2>&1") + `
		wait $! && echo ok && break
	done`
}

// The guest of a killed test program must be removed.
func TestKilledOwner(t *testing.T) {
	t.Parallel()
	guest.Shared(t) // builds the guest if need be
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), victimVariable+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(stdout).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if readErr != nil {
		t.Fatalf("the other test program booted no guest: %v: %s", readErr, stderr.String())
	}
	dir := strings.TrimSpace(line)
	netns := "rdmakit-guest-" + filepath.Base(dir)
	pids := func() string {
		out, err := exec.CommandContext(t.Context(), "ip", "netns", "pids", netns).CombinedOutput()
		if err != nil {
			t.Fatalf("ip netns pids: %v: %s", err, out)
		}
		return string(out)
	}
	for deadline := time.Now().Add(patience); pids() != ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("processes left in the namespace of a killed owner: %s", pids())
		}
	}
	if err := guest.ClearDead(t.Context(), nil); err != nil {
		t.Errorf("ClearDead = %v, want nil", err)
	}
	for _, path := range []string{dir, "/run/netns/" + netns} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after ClearDead: %v, want it gone", path, err)
		}
	}
}
