package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/inventory"
)

// TestRailTables looks at the numbers of routing tables in remedies.
func TestRailTables(t *testing.T) {
	const one, two = "10.100.0.10", "10.101.0.10"
	connected := facts.Routing{Rules: ownRules(), Routes: []facts.Route{
		routeTo("10.100.0.0/16", "ens1np0", "", facts.TableMain),
		routeTo("10.101.0.0/16", "ens2np0", "", facts.TableMain),
	}}
	taken := connected
	taken.Rules = ownRules(fromRule(9, "192.0.2.1", 20001))
	taken.Routes = append(slices.Clone(connected.Routes), routeTo("192.0.2.0/24", "bond0", "", 20002))
	ruled := connected
	ruled.Rules = ownRules(fromRule(9, one, 77), fromRule(9, two, facts.TableMain))
	narrow := connected
	marked := fromRule(9, one, 77)
	marked.Mark, marked.MarkMask = 1, 1
	narrow.Rules = ownRules(marked)
	for _, c := range []struct {
		name    string
		routing facts.Routing
		want    []string
	}{
		{"a table for each rail", connected, []string{
			"ip rule add from " + one + " table 20001", "ip rule add from " + two + " table 20002",
		}},
		{"other tables in use", taken, []string{
			"ip rule add from " + one + " table 20003", "ip rule add from " + two + " table 20004",
		}},
		{"a table that a rule selects already", ruled, []string{
			"ip route replace default via YOUR_GATEWAY dev ens1np0 table 77",
			"ip rule add from " + two + " table 20001",
		}},
		{"a rule for some packets only", narrow, []string{
			"ip rule add from " + one + " table 20001", "ip rule add from " + two + " table 20002",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, "49_bond", recorded(facts.Facts{Routes: known(c.routing)})), "rail-route")
			var lines []string
			for _, f := range r.Findings {
				lines = append(lines, f.Remedy...)
			}
			for _, line := range c.want {
				if !slices.Contains(lines, line) {
					t.Errorf("no line %q in:\n%s", line, strings.Join(lines, "\n"))
				}
			}
			n := strings.Count(strings.Join(lines, "\n"), "ip rule add")
			if c.name == "a table that a rule selects already" && n != 1 {
				t.Errorf("%d rules are added, want one for the second rail:\n%s", n, strings.Join(lines, "\n"))
			}
		})
	}
}

// TestPCIRemediesQuoteAddresses gives bridges and cards of a recording names that a shell would
// run.
func TestPCIRemediesQuoteAddresses(t *testing.T) {
	const hostile = "0000:15:00.0;reboot $(id)"
	replace := func(f *inventory.Snapshot, from string) {
		for i := range f.Devices {
			p := f.Devices[i].PCI
			if p != nil && p.Address == from {
				p.Address = hostile
			}
			if p != nil && slices.Contains(p.Chain, from) {
				p.Chain[slices.Index(p.Chain, from)] = hostile
			}
		}
		for i := range f.GPUs {
			if at := slices.Index(f.GPUs[i].PCI.Chain, from); at >= 0 {
				f.GPUs[i].PCI.Chain[at] = hostile
			}
		}
	}
	for _, c := range []struct {
		id, from string
		function facts.PCIFunction
	}{
		{"acs", "0000:12:01.0", redirects(hostile, 0x1d)},
		{
			"pcie-requests", "0000:15:00.0",
			facts.PCIFunction{Address: hostile, Express: &facts.PCIExpress{MaxReadRequest: 256}},
		},
		{"relaxed-ordering", "0000:15:00.0", facts.PCIFunction{Address: hostile, Express: &facts.PCIExpress{}}},
	} {
		snap := scan(t, load(t, switches))
		replace(&snap, c.from)
		in := doctor.Input{Snapshot: &snap, Facts: factsOf(t, load(t, switches, recorded(pciOf(c.function))))}
		r, err := doctor.Run(t.Context(), []doctor.Check{check(t, c.id)}, in, doctor.Options{})
		if err != nil {
			t.Fatal(err)
		}
		quoted := 0
		for _, f := range r.Findings {
			for _, line := range f.Remedy {
				if strings.Contains(strings.ReplaceAll(paste(line), "'"+hostile+"'", ""), "reboot") {
					t.Errorf("%s: a shell would run the address in %q", c.id, line)
				}
				quoted += strings.Count(line, "'"+hostile+"'")
			}
		}
		if quoted == 0 {
			t.Errorf("%s: no remedy names the address: %v", c.id, summaries(r))
		}
	}
}

// MaxReadReq is bits 14:12 of Device Control, at offset 8 of the PCI Express capability
// (PCI_EXP_DEVCTL_READRQ 0x7000 in include/uapi/linux/pci_regs.h); MAX_ACC_OUT_READ of mlxconfig
// limits the number of outstanding reads.
func TestReadRequestRemedy(t *testing.T) {
	tree := load(t, switches, recorded(pciOf(facts.PCIFunction{
		Address: "0000:15:00.0", Express: &facts.PCIExpress{MaxPayload: 256, MaxReadRequest: 512},
	})))
	all := allText(diagnose(t, tree, "pcie-requests").Findings)
	for _, want := range []string{"setpci -s 0000:15:00.0 CAP_EXP+8.w=5000:7000", "lost at the next reset", "BIOS"} {
		if !strings.Contains(all, want) {
			t.Errorf("the remedy does not say %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "MAX_ACC_OUT_READ") {
		t.Errorf("the remedy sets another property:\n%s", all)
	}
}

// TestDaemonUnits compares the units in remedies with those that packages install.
func TestDaemonUnits(t *testing.T) {
	daemon := func(name, unit string) change {
		return recorded(facts.Facts{Daemons: known([]facts.Daemon{{
			Name: name, PID: 811, Unit: unit, Memlock: facts.Range{
				Soft: inventory.Limit{Bytes: 65536}, Hard: inventory.Limit{Bytes: 65536},
			},
		}})})
	}
	for _, c := range []struct{ name, unit, want string }{
		{"slurmd", "", "slurmd.service"},
		{"dockerd", "", "docker.service"},
		{"k3s-server", "", "k3s.service"},
		{"k3s-agent", "", "k3s-agent.service"},
		{"pbs_mom", "", "pbs.service"},
		{"condor_startd", "", "condor.service"},
		{"containerd", "", "containerd.service"},
		{"containerd", "k3s.service", "k3s.service"},
		{"rke2", "rke2-agent.service", "rke2-agent.service"},
		{"slurmd", "a;b.service", "'a;b.service'"},
		{"rke2", "", ""},
		{"ray", "", ""},
		{"sge_execd", "", ""},
	} {
		r := diagnose(t, load(t, "01_ib_8hca", daemon(c.name, c.unit)), "memlock-jobs")
		all := allText(r.Findings)
		want := "systemctl restart " + c.want + "\n"
		if c.want == "" {
			want = "systemctl status 811 "
			if strings.Contains(all, ".service") || strings.Contains(all, "systemctl restart") {
				t.Errorf("%s: the remedy guesses a unit:\n%s", c.name, all)
			}
		}
		if !strings.Contains(all, want) {
			t.Errorf("%s of unit %q: no %q in:\n%s", c.name, c.unit, want, all)
		}
	}
}

// TestACSUnread has bridges whose configuration space is not known.
func TestACSUnread(t *testing.T) {
	const at = "0000:12:01.0"
	without := bridgesOf()
	without.PCI.Value = slices.DeleteFunc(without.PCI.Value, func(f facts.PCIFunction) bool { return f.Address == at })
	with := func(f facts.PCIFunction) change { return recorded(bridgesOf(f)) }
	for _, c := range []struct {
		name   string
		change change
		want   []string
		says   string
	}{
		{"all were read", recorded(bridgesOf()), []string{"pass node"}, ""},
		{"one has no ACS", with(facts.PCIFunction{Address: at}), []string{"pass node"}, ""},
		{
			"one is missing", recorded(without),
			[]string{"unknown node"},
			"the ACS of 1 of 16 bridges between GPUs and cards is not known: 0000:12:01.0 (its configuration space",
		},
		{
			"one can't be read", with(facts.PCIFunction{Address: at, Error: "input/output error"}),
			[]string{"unknown node"},
			"0000:12:01.0 (input/output error)",
		},
		{
			"one in part", with(facts.PCIFunction{Address: at, Partial: true}),
			[]string{"unknown node"},
			"first 256 bytes",
		},
		{
			"one in part, another redirects", recorded(bridgesOf(facts.PCIFunction{Address: at, Partial: true},
				redirects("0000:12:00.0", 0x1d))),
			[]string{"warn 0000:12:00.0", "unknown node"},
			"first 256 bytes",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, switches, c.change), "acs")
			if c.want[0] != "pass node" && r.Verdict == doctor.OutcomePass {
				t.Errorf("verdict pass: %v", summaries(r))
			}
			wantBrief(t, r, c.want)
			if !strings.Contains(fmt.Sprint(summaries(r)), c.says) {
				t.Errorf("no finding says %q: %v", c.says, summaries(r))
			}
		})
	}
}

// TestVirtualMachines compares DMI values with what systemd-detect-virt (src/basic/virt.c) makes of
// them. On arm64 there is no flag of the processor.
func TestVirtualMachines(t *testing.T) {
	const dmi = "sys/devices/virtual/dmi/id/"
	for _, c := range []struct {
		vendor, product string
		virtual         bool
	}{
		{"Amazon EC2", "c7gn.16xlarge", true},
		{"Amazon EC2", "c7gn.metal", false},
		{"Amazon EC2", "m7g.metal-48xl", false},
		{"Amazon EC2", "m7g.metallic", true},
		{"Amazon EC2", "", true},
		{"Google", "Google Compute Engine", true},
		{"Microsoft Corporation", "Virtual Machine", true},
		{"QEMU", "KVM Virtual Machine", true},
		{"KubeVirt", "None", true},
		{"OpenStack Foundation", "OpenStack Nova", true},
		{"Parallels International GmbH.", "Parallels ARM Virtual Machine", true},
		{"Apple Inc.", "Apple Virtualization Generic Platform", true},
		{"innotek GmbH", "x", true},
		{"Alibaba Cloud", "Alibaba Cloud ECS", true},
		{"NVIDIA", "Grace CPU", false},
		{"Supermicro", "ARS-111GL-NHR (for QEMU and KVM)", false},
		{"Oracle Corporation", "ORACLE SERVER E5-2c", false},
	} {
		changes := []change{
			set("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41"), set(dmi+"sys_vendor", c.vendor),
			recorded(bridgesOf()),
		}
		if c.product != "" {
			changes = append(changes, set(dmi+"product_name", c.product))
		}
		r := diagnose(t, load(t, switches, changes...), "acs")
		if got := strings.Contains(fmt.Sprint(summaries(r)), "virtual machine"); got != c.virtual {
			t.Errorf("%s, %s: virtual = %v, want %v: %v", c.vendor, c.product, got, c.virtual, summaries(r))
		}
	}
}

// TestClock has the states in which daemons leave the kernel's clock.
func TestClock(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name  string
		clock facts.ClockDiscipline
		want  string
		says  string
		not   string
	}{
		{
			"chrony",
			facts.ClockDiscipline{Synchronized: true, MaxError: 7 * ms, Estimated: 100 * time.Microsecond},
			"pass node", "does not know the offset, at most it is 7ms", "adjtimex:offset",
		},
		{
			"chrony with a bad source",
			facts.ClockDiscipline{Synchronized: true, MaxError: 90 * ms, Estimated: 2 * ms},
			"warn node", "estimated error of the clock is 2ms; the limit is 1ms", "adjtimex:offset",
		},
		{
			"ntpd",
			facts.ClockDiscipline{Synchronized: true, PLL: true, MaxError: 90 * ms, Estimated: 2 * ms},
			"pass node", "adjtimex:offset = 0s", "",
		},
		{
			"ntpd, far off",
			facts.ClockDiscipline{Synchronized: true, PLL: true, Offset: -2 * ms},
			"warn node",
			"2ms off its source", "",
		},
		{
			"nobody",
			facts.ClockDiscipline{MaxError: 16 * time.Second, Estimated: 16 * time.Second},
			"warn node",
			"no time source", "adjtimex:offset",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnose(t, load(t, "01_ib_8hca", recorded(facts.Facts{Clock: known(c.clock)})), "clock-sync")
			wantBrief(t, r, []string{c.want})
			all := allText(r.Findings)
			if !strings.Contains(all, c.says) || c.not != "" && strings.Contains(all, c.not) {
				t.Errorf("want %q and not %q in:\n%s", c.says, c.not, all)
			}
		})
	}
}
