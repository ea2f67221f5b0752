package checks_test

import (
	"time"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// inventoryCases are those of inventory and drivers.
func inventoryCases() []numberCase {
	reporter := func(r facts.HealthReporter) change {
		return recorded(facts.Facts{Devlink: known([]facts.DevlinkDevice{
			{Name: "pci/0000:18:00.0", Reporters: []facts.HealthReporter{{Name: "fw"}, r}},
		})})
	}
	line := func(text string) change {
		return recorded(facts.Facts{KernelLog: known([]facts.KernelMessage{
			{Since: 12 * time.Second, Level: 6, Text: "mlx5_core 0000:18:00.0: firmware version: 28.36.1010"},
			{Since: 20 * time.Hour, Level: 4, Text: text},
		})})
	}
	return []numberCase{
		{
			17, "devlink-health", "01_ib_8hca", nil,
			reporter(facts.HealthReporter{Name: "fw_fatal"}),
			reporter(facts.HealthReporter{Name: "fw_fatal", Errored: true, Errors: 1}),
			recorded(facts.Facts{Devlink: failed[[]facts.DevlinkDevice]()}),
			doctor.OutcomeFail, "mlx5_0", doctor.OutcomeUnknown,
		},
		{
			18, "kernel-log", "01_ib_8hca", nil,
			line("mlx5_core 0000:18:00.0: Port module event: module 0, Cable plugged"),
			line("mlx5_core 0000:18:00.0: wait_func:1132:(pid 141181): CREATE_DCT(0x710) timeout. " +
				"Will cause a leak of a command resource"),
			recorded(facts.Facts{KernelLog: &facts.Datum[[]facts.KernelMessage]{Denied: "root would show it"}}),
			doctor.OutcomeFail, "mlx5_0", doctor.OutcomePrivilege,
		},
	}
}
