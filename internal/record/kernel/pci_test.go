package kernel

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// config returns a configuration space with a PCI Express capability and ACS.
func config(size int, control uint16) string {
	b := make([]byte, size)
	binary.LittleEndian.PutUint16(b, 0x15b3)
	if size >= 256 {
		b[6], b[0x34], b[0x60] = 0x10, 0x60, 0x10
	}
	if size == 4096 {
		binary.LittleEndian.PutUint32(b[0x100:], 0x0001000d)
		binary.LittleEndian.PutUint16(b[0x106:], control)
	}
	return string(b)
}

func TestFunctions(t *testing.T) {
	const dir = "sys/bus/pci/devices/"
	snap := &inventory.Snapshot{
		Cards: []inventory.Card{{PCI: inventory.PCI{Address: "0000:18:00.0", Chain: []string{
			"pci0000:15",
			"0000:15:01.0",
		}}}},
		Devices: []inventory.Device{{PCI: &inventory.PCI{Address: "0000:18:00.0"}}, {Software: "rxe"}},
		GPUs: []inventory.GPU{{PCI: inventory.PCI{Address: "0000:19:00.0", Chain: []string{
			"pci0000:15",
			"0000:15:01.0",
		}}}},
	}
	want := []string{"0000:15:01.0", "0000:18:00.0", "0000:19:00.0"}
	if diff := cmp.Diff(want, addresses(snap)); diff != "" {
		t.Fatalf("addresses (-want +got):\n%s", diff)
	}
	tree := nodetree.New()
	set := func(addr, content string) {
		t.Helper()
		if err := tree.Set(dir+addr+"/config", content); err != nil {
			t.Fatal(err)
		}
	}
	set("0000:15:01.0", config(4096, 0x1d))
	set("0000:18:00.0", config(256, 0))
	set("0000:00:1f.0", config(4096, 0)) // on nobody's way
	got, err := pciFunctions(t.Context(), tree.FS(), want)
	if err != nil || len(got) != 2 || got[0].ACS == nil || got[0].ACS.Control != 0x1d || !got[1].Partial {
		t.Errorf("functions = %+v, %v, want the bridge with ACS 0x1d, the card in part, and no GPU", got, err)
	}
	set("0000:19:00.0", "\xff\xff")
	if got, err := pciFunctions(t.Context(), tree.FS(), want); err != nil || len(got) != 3 || got[2].Error == "" {
		t.Errorf("functions with a dead GPU = %+v, %v, want its error beside the others", got, err)
	}
	set("0000:18:00.0", config(64, 0))
	if _, err := pciFunctions(t.Context(), tree.FS(), want); !errors.Is(err, facts.ErrDenied) {
		t.Errorf("functions without privilege: %v, want an error that matches ErrDenied", err)
	}
	for _, addrs := range [][]string{nil, {"0000:77:00.0"}} {
		if _, err := pciFunctions(t.Context(), tree.FS(), addrs); !errors.Is(err, facts.ErrAbsent) {
			t.Errorf("pciFunctions(%v): %v, want an error that matches ErrAbsent", addrs, err)
		}
	}
}

func TestRunning(t *testing.T) {
	const limits = `Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         8388608              unlimited            bytes     
`
	tree := nodetree.New()
	for name, content := range map[string]string{
		"proc/811/comm": "slurmd\n", "proc/811/limits": limits,
		"proc/811/cgroup": "12:memory:/other.service\n1:name=systemd:/system.slice/slurm-gpu.service/step.scope\n",
		"proc/99/comm":    "containerd\n", "proc/99/limits": limits,
		"proc/99/cgroup": "0::/user.slice/session-1.scope\n",
		"proc/1/comm":    "systemd\n", "proc/1/limits": limits,
		"proc/12/comm": "slurmd\n", "proc/12/limits": "Max locked memory lots more\n", // cut off
		"proc/meminfo": "x\n",
		"etc/systemd/system/slurm-gpu.service.d/limit.conf": "[Service]\nEnvironment=PASSWORD=x\nLimitMEMLOCK=64K\n",
		"etc/systemd/system.conf":                           "[Manager]\n#DefaultLimitMEMLOCK=8M\n",
		"etc/security/limits.conf": "# all\n* hard memlock unlimited\nann hard memlock 1\n* " +
			"hard core 0\n",
	} {
		if err := tree.Set(name, content); err != nil {
			t.Fatal(err)
		}
	}
	memlock := facts.Range{Soft: inventory.Limit{Bytes: 8 << 20}, Hard: inventory.Limit{Unlimited: true}}
	files := facts.Range{Soft: inventory.Limit{Bytes: 1024}, Hard: inventory.Limit{Bytes: 524288}}
	login := facts.DaemonSetting{Path: "/etc/security/limits.conf", Value: "* hard memlock unlimited"}
	unit := facts.DaemonSetting{Path: "/etc/systemd/system/slurm-gpu.service.d/limit.conf", Value: "LimitMEMLOCK=64K"}
	want := []facts.Daemon{
		{Name: "containerd", PID: 99, Memlock: memlock, Files: files, Settings: []facts.DaemonSetting{login}},
		{
			Name: "slurmd", PID: 811, Unit: "slurm-gpu.service", Memlock: memlock, Files: files,
			Settings: []facts.DaemonSetting{unit, login},
		},
	}
	got, err := running(t.Context(), tree.FS())
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("running: %v (-want +got):\n%s", err, diff)
	}
}
