package checks_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/realnodes"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
)

// harmful matches commands that can harm other nodes, or a whole node: a second subnet manager,
// flow control that the switches must share, a reset of the firmware, a reboot. They are for people
// to decide, never lines to paste.
var harmful = []*regexp.Regexp{
	regexp.MustCompile(`\bopensm\b`),
	regexp.MustCompile(`\bmlnx_qos\b.*(--pfc|-f\b|--trust|--prio_tc|--buffer_size|-r\b|-p\b|-s\b)`),
	regexp.MustCompile(`\bdcb\s+(\S+\s+)*(pfc|ets|app|buffer|dcbx)\s+(set|add|replace|del|flush)\b`),
	regexp.MustCompile(`\bethtool\s+(-A|--pause)\b`),
	regexp.MustCompile(`\blldptool\b.*\s-T\b`),
	regexp.MustCompile(`\b(mlxfwreset|mstfwreset)\b|\bdevlink\s+dev\s+(reload|flash)\b`),
	regexp.MustCompile(`\b(flint|mstflint|mlxburn|mstfwmanager|mlxfwmanager)\b.*(\bb\b|\bburn\b|-u\b|--force)`),
	regexp.MustCompile(`\b(mlxconfig|mstconfig)\b.*\b(set|reset|clear_semaphore)\b`),
	regexp.MustCompile(`\b(reboot|shutdown|poweroff|halt|kexec)\b`),
	regexp.MustCompile(`\bsystemctl\s+(--\S+\s+)*(reboot|poweroff|halt|isolate)\b`),
	regexp.MustCompile(`\bipmitool\b.*\b(power|reset)\b`),
	regexp.MustCompile(`/proc/sysrq-trigger`),
	regexp.MustCompile(`/remove\b|/reset\b`), // of a PCI function
}

// paste returns what a shell would run of a line.
func paste(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return ""
	}
	code, _, _ := strings.Cut(line, " #")
	return code
}

// harm returns what a remedy would do to others if it was pasted, "" for nothing.
func harm(f doctor.Finding) string {
	for _, line := range f.Remedy {
		for _, re := range harmful {
			if re.MatchString(paste(line)) {
				return line
			}
		}
	}
	for _, a := range f.Actions {
		if a.Risk == doctor.RiskOthers && paste(a.String()) != "" {
			return a.String()
		}
	}
	return ""
}

// TestHarm shows that the test below would notice, and takes no offence at commands that only show.
func TestHarm(t *testing.T) {
	for line, want := range map[string]bool{
		"systemctl start opensm":                            true,
		"opensm -B":                                         true,
		"# systemctl start opensm":                          false,
		"mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0":            true,
		"mlnx_qos -i eth0":                                  false,
		"dcb pfc set dev eth0 prio-pfc all:off 3:on":        true,
		"dcb -j pfc set dev eth0 prio-pfc 3:on":             true,
		"dcb pfc show dev eth0":                             false,
		"ethtool -A eth0 rx off tx off":                     true,
		"ethtool -a eth0":                                   false,
		"mlxfwreset -d 0000:3b:00.0 reset":                  true,
		"mstflint -d 0000:3b:00.0 q":                        false,
		"mstflint -d 0000:3b:00.0 -i fw.bin burn":           true,
		"mstconfig -d 0000:3b:00.0 set SRIOV_EN=1":          true,
		"mstconfig -d 0000:3b:00.0 query":                   false,
		"systemctl reboot":                                  true,
		"ip link set dev eth0 up   # or reboot":             false,
		"echo 1 > /sys/bus/pci/devices/0000:3b:00.0/remove": true,
		"devlink health show":                               false,
		"devlink dev reload pci/0000:3b:00.0":               true,
	} {
		if got := harm(doctor.Finding{Remedy: []string{line}}) != ""; got != want {
			t.Errorf("harm of %q = %v, want %v", line, got, want)
		}
	}
	for _, a := range []doctor.Action{
		{Do: doctor.DoRun, Risk: doctor.RiskOthers, Text: "any command"},
		{Do: doctor.DoSysctl, Risk: doctor.RiskOthers, Object: "net.ipv4.conf.all.rp_filter", Value: "2"},
	} {
		if got := paste(a.String()); got != "" {
			t.Errorf("action %+v can be pasted: %s", a, got)
		}
	}
}

// TestRemediesHarmNobody looks at the remedies on all trees, in all cases, and on the recorded
// machines.
func TestRemediesHarmNobody(t *testing.T) {
	findings, lines := 0, 0
	look := func(name string, tree *nodetree.Tree, ids ...string) {
		for _, f := range diagnose(t, tree, ids...).Findings {
			findings++
			lines += len(f.Remedy)
			for _, a := range f.Actions {
				if !slices.Contains(doctor.Risks(), a.Risk) {
					t.Errorf("%s: %s at %s: the action %q has the risk %q", name, f.CheckID, f.Object, a, a.Risk)
				}
			}
			if len(f.Actions) != len(f.Remedy) {
				t.Errorf("%s: %s at %s: %d actions, %d lines", name, f.CheckID, f.Object, len(f.Actions), len(f.Remedy))
			}
			if line := harm(f); line != "" {
				t.Errorf("%s: %s at %s: the line %q can be pasted and harms others", name, f.CheckID, f.Object, line)
			}
		}
	}
	for _, name := range testtrees.Names() {
		for label, changes := range map[string][]change{"": nil, " whole": {whole}, " in a pod": {whole, pod}} {
			look(name+label, load(t, name, changes...))
		}
	}
	for _, c := range numberCases() {
		look(c.id, load(t, c.tree, c.base, c.find), c.id)
	}
	for _, row := range metaTable {
		look(row.id, load(t, row.find.tree, row.find.change), row.id)
	}
	for _, name := range realnodes.Names() {
		n, err := realnodes.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		look(name, n.Tree)
	}
	if findings < 1000 || lines < 200 {
		t.Errorf("looked at %d findings with %d lines only", findings, lines)
	}
}

// TestInterruptingLinesAreNotPasted checks that what stops traffic, or jobs, is for a person to
// time, and behind what must be done before.
func TestInterruptingLinesAreNotPasted(t *testing.T) {
	rdmaDown := func(t *testing.T, tree *nodetree.Tree) { // the network device has a link
		t.Helper()
		all(port("mlx5_1", "state", "1: DOWN"), port("mlx5_1", "phys_state", "3: Disabled"))(t, tree)
	}
	for _, c := range []struct {
		id   string
		tree *nodetree.Tree
		// steps are lines, in order
		steps []string
	}{
		{
			"mtu", load(t, "56_mtu_1500"),
			[]string{
				"# first let the switch ports accept frames of 9216 bytes; then, while no job runs",
				"or the next boot undoes it", "# ip link set dev ens1np0 mtu 9000",
			},
		},
		{
			"port-active", load(t, "49_bond", rdmaDown),
			[]string{"dmesg | tail", "# then set it down and up, while no job runs", "# ip link set dev ens2np0 down"},
		},
		{
			"memlock-jobs", load(t, "01_ib_8hca", daemons("slurmd", 65536, 65536)),
			[]string{"systemctl daemon-reload", "# then, while no job runs: systemctl restart slurmd.service"},
		},
	} {
		remedy := ""
		for _, f := range diagnose(t, c.tree, c.id).Findings {
			for _, line := range f.Remedy {
				remedy += line + "\n"
				code := paste(line)
				if slices.ContainsFunc([]string{" mtu ", " down", "restart"},
					func(word string) bool { return strings.Contains(code, word) }) {
					t.Errorf("%s: the line %q can be pasted", c.id, line)
				}
			}
		}
		at := -1
		for _, step := range c.steps {
			next := strings.Index(remedy, step)
			if next <= at {
				t.Errorf("%s: %q is missing or too early:\n%s", c.id, step, remedy)
			}
			at = next
		}
	}
}

// TestDisabledPortsAreSwitchedOn checks that nobody reseats the cable of a port that is switched
// off on this side.
func TestDisabledPortsAreSwitchedOn(t *testing.T) {
	r := diagnose(t, realNode(t, "ibstatus_five_ports_disabled"), "port-active")
	for object, want := range map[string]string{
		"mlx5_2:1": "ip -br link", "mlx5_3:1": "ibportstate -C mlx5_3 -P 1 -D 0 1 enable",
	} {
		remedy := strings.Join(finding(t, r, object).Remedy, "\n")
		if !strings.Contains(remedy, want) || strings.Contains(remedy, "reseat") {
			t.Errorf("%s: got %q, want %q", object, remedy, want)
		}
	}
	r = diagnose(t, load(t, "01_ib_8hca", state("mlx5_0", "1: DOWN", "3: Disabled")), "port-active")
	if got := strings.Join(finding(t, r, "mlx5_0:1").Remedy, "\n"); !strings.Contains(got, "--port_state UP") ||
		strings.Contains(got, "reseat") {
		t.Errorf("a card of NVIDIA: %q", got)
	}
}

// TestStepsAgainstAMissingDevice checks that each command is a line that can be pasted.
func TestStepsAgainstAMissingDevice(t *testing.T) {
	got := finding(t, diagnose(t, load(t, "45_partial_errors"), "card-driver"), "0000:a4:00.0").Remedy
	want := []string{
		"modprobe mlx5_ib",
		"# if that doesn't help: the kernel's log, and whether RoCE is disabled (enable_roce false)",
		"dmesg | grep -iE 'mlx5_core|infiniband'", "devlink dev param show pci/0000:a4:00.0 name enable_roce",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = finding(t, diagnose(t, load(t, "45_partial_errors", set(".dockerenv", "")), "card-driver"),
		"0000:a4:00.0").Remedy
	if len(got) != 5 || got[0] != "# on the host, not in this container:" {
		t.Errorf("in a container: %q", got)
	}
}

// TestStepsAgainstAMissingModule checks that the advice for other obstacles is a comment, because
// it can be a package to install.
func TestStepsAgainstAMissingModule(t *testing.T) {
	for _, f := range diagnose(t, load(t, "43_no_module"), "card-driver").Findings {
		if len(f.Remedy) != 1 || !strings.HasPrefix(f.Remedy[0], "# modprobe mlx5_ib   # in Ubuntu of") {
			t.Errorf("%s: %q", f.Object, f.Remedy)
		}
	}
}
