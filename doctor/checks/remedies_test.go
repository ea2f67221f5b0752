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
