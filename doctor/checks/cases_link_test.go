package checks_test

import (
	"syscall"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// linkCases are those of link quality.
func linkCases() []numberCase {
	fec := func(active string) change {
		return recorded(facts.Facts{Ethtool: known([]facts.Ethtool{{
			Netdev: "ens0np0", FEC: &facts.FEC{Active: active, Configured: []string{"Auto"}, Auto: true},
			Mode: &facts.LinkMode{Mbps: 400000, Lanes: 4},
		}})})
	}
	module := func(celsius float64) change {
		return recorded(facts.Facts{Modules: known([]facts.Module{
			{Netdev: "ens0np0", Type: "OSFP", Celsius: celsius, HighAlarm: 80, HighWarning: 75},
		})})
	}
	hot := func(milliCelsius string) change {
		const hwmon = "sys/bus/pci/devices/0000:18:00.0/hwmon/hwmon4/"
		return all(set(hwmon+"temp1_input", milliCelsius), set(hwmon+"temp1_crit", "105000"))
	}
	return []numberCase{
		{
			32, "fec", "02_rocev2_8hca", nil, fec("RS"), fec("Off"),
			recorded(facts.Facts{Ethtool: failed[[]facts.Ethtool]()}),
			doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
		{
			33, "module-health", "02_rocev2_8hca", nil, module(75), module(80.1),
			recorded(facts.Facts{Modules: &facts.Datum[[]facts.Module]{Denied: "root would show it"}}),
			doctor.OutcomeFail, "ens0np0", doctor.OutcomePrivilege,
		},
		{
			33, "card-temperature", "02_rocev2_8hca", nil, hot("94000"), hot("105000"),
			all(hot("94000"), fail("sys/bus/pci/devices/0000:18:00.0/hwmon/hwmon4/temp1_input", syscall.EIO)),
			doctor.OutcomeFail, "mlx5_0", doctor.OutcomeUnknown,
		},
	}
}
