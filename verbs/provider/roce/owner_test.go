package roce

import (
	"bufio"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/verbs/provider"
)

// treeRoot writes a recorded machine to disk.
func treeRoot(t *testing.T, name string) string {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := tree.WriteDir(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCardOf(t *testing.T) {
	tests := []struct{ tree, netdev, want string }{
		{"02_rocev2_8hca", "ens1np0", "mlx5_1"},
		{"02_rocev2_8hca", "eth0", ""},
		{"49_bond", "bond0", "mlx5_bond_0"},
		{"04_iwarp", "eth0", ""},   // iWARP doesn't use the UDP port
		{"51_rxe_siw", "eth0", ""}, // rxe uses a socket
		{"01_ib_8hca", "ib0", ""},  // IPoIB
		{"06_none", "eth0", ""},    // no RDMA at all
		{"64_old_kernel_rxe_siw", "eth0", ""},
	}
	for _, tt := range tests {
		root, err := sysfs.OpenRoot(treeRoot(t, tt.tree))
		if err != nil {
			t.Fatal(err)
		}
		if got := cardOf(root, tt.netdev); got != tt.want {
			t.Errorf("cardOf(%s, %s) = %q, want %q", tt.tree, tt.netdev, got, tt.want)
		}
		_ = root.Close()
	}
}

// The loopback device plays the network device of a card: its name is written into the files of a
// recorded machine.
func TestOpenOnCard(t *testing.T) {
	dir := treeRoot(t, "02_rocev2_8hca")
	name := dir + "/" + sysfs.ClassInfiniBand + "/mlx5_3/ports/1/gid_attrs/ndevs/3"
	if err := os.WriteFile(name, []byte("lo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Provider{Root: dir}.Open(t.Context(), "roce@127.0.0.9")
	card, ok := errors.AsType[*CardError](err)
	if !ok || card.Device != "mlx5_3" || !errors.Is(err, provider.ErrNotSupported) {
		t.Fatalf("Open on a card's network device = %v", err)
	}
	want := "roce@127.0.0.9: network device lo belongs to the RoCE card mlx5_3, which takes UDP port 4791 in hardware"
	if err.Error() != want || !strings.Contains(card.Hints()[0], "mlx5_3") {
		t.Errorf("error = %q, hints %q, want %q", err, card.Hints(), want)
	}
}

func TestParseSockets(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  310: 0100007F:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000  1000        0 47011 2 0000000000000000 0
  311: 00000000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 0 2 0000000000000000 0
  312: 00000000000000000000000001000000:12B7 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5 2 0 0
  313: 0000000000000000FFFF00000200000A:12B8 00000000000000000000000000000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 6 2 0 0
  314: xyz:12B7 junk
  315: 010000:12B7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 5 2 0 0
`
	var got []string
	for _, s := range parseSockets([]byte(table)) {
		got = append(got, fmt.Sprint(netip.AddrPortFrom(s.addr, s.port), " ", s.inode))
	}
	want := []string{"127.0.0.1:4791 47011", "0.0.0.0:4791 0", "[::1]:4791 5", "10.0.0.2:4792 6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parseSockets:\n%s", diff)
	}
}

func FuzzParseSockets(f *testing.F) {
	f.Add([]byte("310: 0100007F:12B7 00000000:0000 07 0:0 0:0 0 0 0 47011 2 0 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range parseSockets(b) {
			if !s.addr.IsValid() || s.inode == "" {
				t.Errorf("parseSockets made %+v", s)
			}
		}
	})
}

// rxe's sockets, like all kernel sockets (seen with vxlan on Linux 6.18), have an inode, but belong
// to no process.
func TestOwnerKernel(t *testing.T) {
	dir := treeRoot(t, "06_none")
	for name, table := range map[string]string{
		sysfs.ProcNetUDP: "header\n 1: 00000000:12B7 00000000:0000 07 0:0 0:0 0 0 0 1898153 2 0 0\n",
	} {
		for _, folder := range []string{"/proc/net", "/sys/module/rdma_rxe"} {
			if err := os.MkdirAll(dir+folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(dir+"/"+name, []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, err := sysfs.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	e := bindError(root, "roce@192.0.2.1", netip.MustParseAddr("192.0.2.1"), os.NewSyscallError("bind", errAddrInUse))
	want := "roce@192.0.2.1: UDP port 4791 of 192.0.2.1 is taken by the kernel's rdma_rxe: address already in use"
	if e.Error() != want {
		t.Errorf("error = %q, want %q", e, want)
	}
	taken, ok := errors.AsType[*PortTakenError](e)
	if !ok {
		t.Fatalf("%T", e)
	}
	if hints := taken.Hints(); len(hints) != 1 || !strings.Contains(hints[0], "namespace") {
		t.Errorf("hints = %q", hints)
	}
}

// TestSecondProcess checks that opening an address that an engine of another process uses fails
// with the name and number of that process.
func TestSecondProcess(t *testing.T) {
	if addr := os.Getenv("ROCE_TEST_HOLD"); addr != "" {
		hold(t, addr)
		return
	}
	for _, addr := range []string{"127.0.0.11", "::1"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondProcess$", "-test.v")
		cmd.Env = append(os.Environ(), "ROCE_TEST_HOLD="+addr)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "held"); {
		}
		_, err = Provider{}.Open(t.Context(), "roce@"+addr)
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		want := fmt.Sprintf("taken by %s (process %d)", strings.TrimSpace(string(comm)), cmd.Process.Pid)
		if _, ok := errors.AsType[*PortTakenError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("Open of an address of another process = %v, want %q", err, want)
		}
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		d, err := Provider{}.Open(t.Context(), "roce@"+addr) // it is free again
		if err != nil {
			t.Errorf("Open after the other process has ended: %v", err)
			continue
		}
		_ = d.Close()
	}
}

// hold keeps an engine open until standard input ends.
func hold(t *testing.T, addr string) {
	d, err := Provider{}.Open(t.Context(), "roce@"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Log("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}
