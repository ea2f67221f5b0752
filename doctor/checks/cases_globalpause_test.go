package checks_test

import (
	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/facts"
)

// globalPauseCases are those of global pause.
func globalPauseCases() []numberCase {
	pause := func(tx bool) change {
		return recorded(facts.Facts{
			Ethtool: known([]facts.Ethtool{{Netdev: "ens0np0", Pause: &facts.Pause{TX: tx}}}),
			DCB:     known([]facts.DCB{{Netdev: "ens0np0", PFC: &facts.PFC{Enabled: 1 << 3}}}),
		})
	}
	return []numberCase{
		{
			51, "global-pause", "02_rocev2_8hca", nil, pause(false), pause(true),
			recorded(facts.Facts{
				Ethtool: failed[[]facts.Ethtool](),
				DCB:     known([]facts.DCB{{Netdev: "ens0np0", PFC: &facts.PFC{Enabled: 1 << 3}}}),
			}),
			doctor.OutcomeWarn, "ens0np0", doctor.OutcomeUnknown,
		},
	}
}
