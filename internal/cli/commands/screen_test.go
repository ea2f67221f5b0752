package commands

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// onScreen runs a command on a terminal of some width, without colours, and returns its lines. The
// folder is the root of the repository to the arguments that are files.
func onScreen(t *testing.T, columns int, args ...string) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	for i, arg := range args {
		if strings.HasPrefix(arg, "internal/") || strings.HasPrefix(arg, "examples/") {
			args[i] = filepath.Join(root, arg)
		}
	}
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.IsTerminal = func(stream any) bool { return stream == app.Stdout }
	app.Size = func() (int, int) { return columns, 400 }
	app.Environ = []string{
		"HOME=" + t.TempDir(), "RDMAKIT_PCI_IDS=" + filepath.Join("testdata", "pci.ids"), "TERM=xterm", "NO_COLOR=1",
	}
	if code := app.Run(t.Context(), args); code == cli.ExitUsage {
		t.Fatalf("rdmactl %s: %s", strings.Join(args, " "), stderr.String())
	}
	return strings.Split(strings.TrimSuffix(ansi.Strip(stdout.String()), "\n"), "\n")
}

// tree is the file of a test node, as seen from the root of the repository.
func tree(name string) string { return "internal/testkit/testtrees/" + name + ".tree" }

// tableCommands are commands that print tables, and nothing that may be wider than a terminal.
func tableCommands(t *testing.T) [][]string {
	t.Helper()
	const testtreesDir, testdata = "internal/testkit/testtrees/", "internal/cli/commands/testdata/"
	sound, faults := testdata+"fabric/sound.json", testdata+"fabric/faults.json"
	list := [][]string{
		{"doctor", "--list"},
		{"env", "lint", "--list"},
		{"k8s", "lint", "--list"},
		{"applet", "list"},
		{"config", "show"},
		{"config", "show", "--origin"},
		{"env", "consensus", tree("07_sriov_vf_pod"), tree("06_none")},
		{"env", "consensus", testtreesDir + "consensus"},
		{"fabric", "sm", "--from", sound},
		{"fabric", "switches", "--from", sound},
		{"fabric", "switches", "--from", faults},
		{"fabric", "hosts", "--from", sound},
		{"fabric", "links", "--from", sound},
		{"fabric", "links", "--from", faults},
		{"fabric", "links", "--down", "--from", faults},
		{"fabric", "errors", "--from", faults, "--since", sound},
		{"fabric", "topology", "-o", "table", "--from", faults},
		{"fabric", "trace", "host0", "host9", "--from", sound},
		{"k8s", "impact", "examples/kubernetes/sriov", "--snapshots", tree("58_two_ib_fabrics")},
		{"k8s", "impact", "examples/kubernetes/eight-vfs.yaml", "--nodes", "examples/kubernetes/cluster.yaml"},
		{"k8s", "plan", tree("58_two_ib_fabrics"), "--rail", "4,5", "--out", filepath.Join(t.TempDir(), "sriov")},
	}
	for _, name := range []string{
		"01_ib_8hca", "04_iwarp", "06_none", "09_multiport", "13_ipv6_only_roce", "20_states", "40_pf_vfs",
		"42_unbound", "44_container_no_dev", "46_usb_thunderbolt", "47_gpu_switches", "48_efa", "49_bond",
		"51_rxe_siw", "53_counters_saturated", "58_two_ib_fabrics", "61_ib_vfs_host", "67_subfunction",
	} {
		for _, args := range [][]string{{"detect"}, {"status"}, {"status", "--watch", "--count", "1"}} {
			list = append(list, append(slices.Clone(args), "--from", tree(name)))
		}
		list = append(list, []string{"env", "--explain", "--from", tree(name)})
		for _, device := range devicesOf(t, name) {
			list = append(list, []string{"show", device, "--from", tree(name)})
		}
	}
	return list
}

// devicesOf names the first and last device of a test node.
func devicesOf(t *testing.T, name string) []string {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()})
	switch n := len(snap.Devices); n {
	case 0:
		return nil
	case 1:
		return []string{snap.Devices[0].Name}
	default:
		return []string{snap.Devices[0].Name, snap.Devices[n-1].Name}
	}
}

// TestTablesFitTerminal holds that no table is wider than the terminal. On one of 20 columns names
// may be, but nothing fails.
func TestTablesFitTerminal(t *testing.T) {
	for _, args := range tableCommands(t) {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			for _, columns := range []int{20, 80, 120, 200} {
				for _, line := range onScreen(t, columns, slices.Clone(args)...) {
					if width := ansi.StringWidth(line); width > columns && columns >= 80 && !mayBeWide(line) {
						t.Errorf("on %d columns a line has %d: %q", columns, width, line)
					}
				}
			}
		})
	}
}

// mayBeWide reports a line of evidence, which stays in one piece.
func mayBeWide(line string) bool { return strings.Contains(line, " = ") }

// TestDetectOnTerminal holds what a terminal of 80 columns shows of each port, and in one line.
func TestDetectOnTerminal(t *testing.T) {
	for _, name := range []string{"47_gpu_switches", "51_rxe_siw", "46_usb_thunderbolt", "20_states", "49_bond"} {
		node, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: node.FS()})
		ports := 0
		for _, d := range snap.Devices {
			ports += len(d.Ports)
		}
		before := 0
		for _, columns := range []int{80, 120, 0} {
			lines := onScreen(t, columns, "detect", "--from", tree(name))
			if ports == 0 {
				continue
			}
			head := strings.Fields(lines[0])
			for _, want := range []string{"PORT", "TRANSPORT", "STATE", "RATE", "NETDEV", "ROLE", "RAIL"} {
				if !slices.Contains(head, want) {
					t.Errorf("detect %s on %d columns has no %s: %q", name, columns, want, lines[0])
				}
			}
			if len(head) < before {
				t.Errorf("detect %s on %d columns shows %d columns, fewer than a narrower terminal: %q",
					name, columns, len(head), lines[0])
			}
			before = len(head)
			if columns > 0 && len(head) < 12 && !strings.HasPrefix(lines[1+ports], "not shown: ") {
				t.Errorf("detect %s on %d columns: after %d ports %q, want what is not shown",
					name, columns, ports, lines[1+ports])
			}
		}
	}
}

// TestStatusOnTerminal holds that a narrow terminal keeps what --watch is for.
func TestStatusOnTerminal(t *testing.T) {
	lines := onScreen(t, 80, "status", "--watch", "--count", "2", "--interval", "100ms", "--from", tree("01_ib_8hca"))
	head := lines[slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "PORT") })]
	for _, want := range []string{"ERRORS", "NEW", "STATE"} {
		if !strings.Contains(head, want) {
			t.Errorf("status --watch on 80 columns shows %q, want %s", head, want)
		}
	}
}

// TestProseFitsTerminal holds that sentences are broken at the terminal's width, and commands and
// lines of evidence never.
func TestProseFitsTerminal(t *testing.T) {
	for _, args := range [][]string{
		{"doctor", "--from", tree("20_states")},
		{"doctor", "--from", tree("45_partial_errors")},
		{"doctor", "--explain", "memlock"},
		{"env", "lint", "--env", "examples/job.env", "--from", tree("47_gpu_switches")},
		{"env", "lint", "--explain", "gid-index-unusable"},
		{"k8s", "lint", "examples/kubernetes/sriov-mistakes.yaml", "--nodes", tree("58_two_ib_fabrics")},
		{"k8s", "lint", "--explain", "ipam-prefix"},
		{"status", "--help"},
		{"k8s", "lint", "--help"},
		{"--help"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			narrow := onScreen(t, 60, slices.Clone(args)...)
			for _, line := range narrow {
				if ansi.StringWidth(line) > 60 && !isVerbatim(line) {
					t.Errorf("on 60 columns a line has %d: %q", ansi.StringWidth(line), line)
				}
			}
			// Whatever was broken, the words are those of a wide terminal.
			wide := onScreen(t, 1000, slices.Clone(args)...)
			if got, want := words(narrow), words(wide); got != want && !slices.Contains(args, "--help") {
				t.Errorf("on 60 columns:\n%s\nwant the words of a wide terminal:\n%s",
					strings.Join(narrow, "\n"), strings.Join(wide, "\n"))
			}
		})
	}
}

// isVerbatim reports a line that stays in one piece: evidence, a command, an example, or one that
// has no blank to break it at.
func isVerbatim(line string) bool {
	text := strings.TrimSpace(line)
	return strings.Contains(line, " = ") || strings.HasPrefix(line, "       ") || strings.HasPrefix(line, "    ") ||
		strings.HasPrefix(line, "  rdmactl ") || strings.HasPrefix(line, "  helm ") || !strings.Contains(text, " ") ||
		strings.HasPrefix(line, "ERROR  ") || strings.HasPrefix(line, "WARN   ") ||
		strings.HasPrefix(line, "NOTE   ") ||
		strings.HasPrefix(line, "  fix  ") || strings.HasPrefix(line, "  NCCL_") || strings.Contains(line, "/sys/") ||
		strings.HasPrefix(line, "without index") || strings.HasPrefix(line, "pinned by") ||
		strings.HasPrefix(line, "wrong") || strings.HasPrefix(line, "right")
}

// words joins the words of lines, without the signs that a broken remark repeats.
func words(lines []string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.Join(lines, " ")), " "), "# ", "")
}

// TestNoProgressWhileTyping holds that a progress line keeps out of the way of who types a file.
func TestNoProgressWhileTyping(t *testing.T) {
	for _, args := range [][]string{{"k8s", "lint", "-"}, {"env", "lint", "--env", "-", "--from", tree("06_none")}} {
		for _, typed := range []bool{true, false} {
			var stderr bytes.Buffer
			app := cli.NewApp(All())
			app.Stdin, app.Stdout, app.Stderr = strings.NewReader("kind: Pod\n"), io.Discard, &stderr
			app.IsTerminal = func(stream any) bool { return stream == app.Stderr || typed && stream == app.Stdin }
			app.Environ = []string{"HOME=" + t.TempDir(), "TERM=xterm"}
			app.Run(t.Context(), slices.Clone(args))
			if got := strings.Contains(stderr.String(), "\r\x1b[Kreading"); got == typed {
				t.Errorf("rdmactl %v, typed %t: progress %t in %q", args, typed, got, stderr.String())
			}
		}
	}
}

// TestPlainOutputIsNotFitted holds that a narrow terminal changes nothing where -o wide asks for
// everything.
func TestPlainOutputIsNotFitted(t *testing.T) {
	for _, args := range [][]string{{"detect"}, {"status"}, {"doctor"}, {"show", "mlx5_0"}} {
		args = append(args, "-o", "wide", "--from", tree("47_gpu_switches"))
		narrow, wide := onScreen(t, 40, slices.Clone(args)...), onScreen(t, 0, slices.Clone(args)...)
		if fmt.Sprint(narrow) != fmt.Sprint(wide) {
			t.Errorf("rdmactl %s differs on a terminal of 40 columns", strings.Join(args, " "))
		}
	}
}

// TestNarrowTablesKeepColumns holds that a terminal of 80 columns shows what a table is read for:
// long texts are below the rows instead, and commands in them are whole.
func TestNarrowTablesKeepColumns(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string // parts of the output
	}{
		{
			[]string{"fabric", "links", "--from", "internal/cli/commands/testdata/fabric/faults.json"},
			[]string{"  WIDTH  SPEED  GBIT/S", "\n  note: no answer from the other end\n"},
		},
		{
			[]string{"env", "--explain", "--from", tree("02_rocev2_8hca")},
			[]string{
				"  NCCL ALONE  NCCL NOW  UCX ALONE  REASON\n", "\n  rule: port-selected\n",
				"\n  file: /sys/class/infiniband/mlx5_0/ports/1/state and 2 more\n", "  SOURCE   RULE\n",
				"\n  reason: 8 selected ports",
			},
		},
		{
			[]string{"detect", "--from", tree("06_none")},
			[]string{
				"\n  remedy: for tests, create a software device:\n" +
					"          rdma link add rxe0 type rxe netdev NETDEV\n",
			},
		},
		{
			[]string{"status", "--from", tree("45_partial_errors")},
			[]string{
				"\n  remedy: modprobe mlx5_ib\n          if that doesn't help, read the kernel log:\n" +
					"          dmesg | grep -iE 'mlx5_core|infiniband'\n",
			},
		},
	} {
		got := strings.Join(onScreen(t, 80, slices.Clone(tt.args)...), "\n") + "\n"
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("rdmactl %s prints\n%s\nwithout %q", strings.Join(tt.args, " "), got, want)
			}
		}
	}
}
