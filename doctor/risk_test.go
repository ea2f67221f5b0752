package doctor_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor"
)

// TestRisks has remedies as text and as actions: each action says its risk, and what can harm
// others is no line to paste.
func TestRisks(t *testing.T) {
	for line, want := range map[string]doctor.Risk{
		"dmesg | tail -n 50   # messages": doctor.RiskNone,
		"ethtool eth0":                    doctor.RiskNone,
		"ethtool -a eth0":                 doctor.RiskNone,
		"ethtool --show-fec eth0   # compare with the switch port": doctor.RiskNone,
		"ip route show default":                                       doctor.RiskNone,
		"ip -br address":                                              doctor.RiskNone,
		"ibv_devinfo 2>&1 | grep -i abi":                              doctor.RiskNone,
		"perfquery -C mlx5_0 -P 1":                                    doctor.RiskNone,
		`vars=$(rdmactl env --format sh) && eval "$vars"`:             doctor.RiskNone,
		"export NCCL_IB_HCA='=mlx5_0:1'":                              doctor.RiskNone,
		"# systemctl enable --now opensm":                             doctor.RiskNone,
		"modprobe ib_umad":                                            doctor.RiskNode,
		"perfquery -R -C mlx5_0 -P 1":                                 doctor.RiskNode,
		"echo ib_umad > /etc/modules-load.d/ib_umad.conf":             doctor.RiskNode,
		"dmesg > /etc/motd":                                           doctor.RiskNode,
		"ip link set dev eth0 up":                                     doctor.RiskNode,
		"ip addr add 10.0.0.1/24 dev eth0":                            doctor.RiskNode,
		"mlxlink -d 0000:3b:00.0 -p 1 --port_state UP":                doctor.RiskNode,
		"a-command-that-nobody-knows":                                 doctor.RiskNode,
		"ip link set dev eth0 mtu 9000":                               doctor.RiskTraffic,
		"ip link set dev eth0 down && ip link set dev eth0 up":        doctor.RiskTraffic,
		"systemctl daemon-reload && systemctl restart slurmd.service": doctor.RiskTraffic,
		"devlink health recover pci/0000:3b:00.0 reporter fw":         doctor.RiskTraffic,
		"ethtool --set-fec eth0 encoding auto   # and at the switch":  doctor.RiskTraffic,
		"systemctl enable --now opensm":                               doctor.RiskOthers,
		"sminfo || systemctl start opensm":                            doctor.RiskOthers,
		"dcb pfc set dev eth0 prio-pfc 3:on":                          doctor.RiskOthers,
		"ethtool -A eth0 rx off":                                      doctor.RiskOthers,
		"mstconfig -d 0000:3b:00.0 set SRIOV_EN=1":                    doctor.RiskOthers,
		"systemctl reboot":                                            doctor.RiskOthers,
	} {
		asText := found(doctor.OutcomeFail, "x")
		asText.Remedy = []string{line}
		asAction := found(doctor.OutcomeFail, "x")
		asAction.Actions = []doctor.Action{doctor.Shell("%s", line)}
		if strings.HasPrefix(line, "#") {
			asAction.Actions = []doctor.Action{doctor.Note("%s", line)}
		}
		for _, f := range run(t, node(), doctor.Options{}, giving("a", asText, asAction)).Findings {
			if len(f.Actions) != 1 || f.Actions[0].Risk != want {
				t.Errorf("%s: actions %+v, want risk %s", line, f.Actions, want)
			}
			comment := strings.HasPrefix(f.Remedy[0], "#")
			if comment != (want == doctor.RiskOthers || strings.HasPrefix(line, "#")) {
				t.Errorf("%s: remedy %q, risk %s", line, f.Remedy, want)
			}
		}
	}
}

// TestRiskOfKinds has an action of each kind, and one that states its risk.
func TestRiskOfKinds(t *testing.T) {
	f := found(doctor.OutcomeFail, "x")
	f.Actions = []doctor.Action{
		doctor.Note("look"), doctor.Sysctl("net.ipv4.ip_forward", "0"),
		{Do: doctor.DoModule, Object: "ib_umad"},
		{Do: doctor.DoMTU, Object: "eth0", Value: "9000"},
		{Do: doctor.DoLinkUp, Object: "eth0"},
		{Do: doctor.DoWrite, Object: "/f", Value: "1"},
		{Do: doctor.DoWrite, Object: "/f", Value: "1", Risk: doctor.RiskOthers},
		{Do: doctor.DoNote, Text: "reset it", Risk: doctor.RiskTraffic},
	}
	want := []doctor.Risk{
		doctor.RiskNone, doctor.RiskNode, doctor.RiskNode, doctor.RiskTraffic, doctor.RiskNode, doctor.RiskNode,
		doctor.RiskOthers, doctor.RiskTraffic,
	}
	got := run(t, node(), doctor.Options{}, giving("a", f)).Findings[0]
	for i, a := range got.Actions {
		if a.Risk != want[i] {
			t.Errorf("%+v: risk %s, want %s", a, a.Risk, want[i])
		}
	}
	if f.Actions[0].Risk != "" {
		t.Error("Run changed the actions of the check")
	}
}
