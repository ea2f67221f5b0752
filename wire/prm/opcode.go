package prm

import "fmt"

// Opcode is the device's finding about a link (adb, pddr_monitor_opcode_ext; the details of opcodes
// 2 to 39 are in drivers/net/ethernet/mellanox/mlxsw/spectrum_ethtool.c of the Linux kernel).
type Opcode uint16

// Opcodes that callers distinguish.
const (
	OpcodeNone           Opcode = 0    // no issue
	OpcodeClosed         Opcode = 1    // the port was disabled
	OpcodeNotAvailable   Opcode = 1023 // nothing is known
	OpcodeUnplugged      Opcode = 1024
	OpcodeModuleDisabled Opcode = 1034
)

// String describes the finding.
func (o Opcode) String() string {
	if text := o.link(); text != "" {
		return text
	}
	if text := o.module(); text != "" {
		return text
	}
	return fmt.Sprintf("opcode %d", uint16(o))
}

// link describes opcodes of the link.
func (o Opcode) link() string {
	switch o {
	case OpcodeNone:
		return "no issue"
	case OpcodeClosed:
		return "port disabled by command"
	case 2, 60:
		return "negotiation: no partner detected"
	case 3:
		return "negotiation: no acknowledgement from the partner"
	case 4:
		return "negotiation: exchange of pages failed"
	case 36:
		return "no partner detected in force mode"
	case 38:
		return "negotiation: FEC modes don't match"
	case 39:
		return "negotiation: no common speed"
	case 69:
		return "negotiation failed"
	case 5:
		return "link training: no frame lock"
	case 6:
		return "link training: timeout"
	case 7:
		return "link training: the partner's receiver isn't ready"
	case 8, 62, 63, 64, 65, 66:
		return "link training failed"
	case 9:
		return "partners don't match: no block lock"
	case 10:
		return "partners don't match: no alignment marker lock"
	case 11:
		return "partners don't match: lanes not aligned"
	case 12:
		return "partners don't match: no lock of Firecode FEC"
	case 13:
		return "partners don't match: no lock of RS FEC"
	case 14:
		return "remote fault received"
	case 17:
		return "bad signal integrity: many physical errors"
	case 42:
		return "bad signal integrity: rate not supported"
	case 15, 48, 49, 52:
		return "bad signal integrity"
	case 16, 20, 24, 25, 26, 27, 28, 29, 30, 31, 32:
		return "cable doesn't fit the port's protocol"
	case 23:
		return "internal error: calibration failed"
	case 18, 19, 22, 50, 55:
		return "internal error"
	case 34, 35:
		return "speed degraded"
	case 56:
		return "lanes of the module have different frequencies"
	case 57:
		return "no signal detected"
	case 68:
		return "timeout of data collection"
	case 70:
		return "unhealthy: bit error ratio above the criteria"
	case 128:
		return "troubleshooting in progress"
	case OpcodeNotAvailable:
		return "not available"
	}
	return ""
}

// module describes opcodes of the module.
func (o Opcode) module() string {
	const first = 1024
	names := [...]string{
		0:  "cable unplugged",
		1:  "long-range module of another vendor",
		2:  "I²C bus of the module stuck",
		3:  "memory of the module invalid or not supported",
		4:  "part number not in the list",
		5:  "cable not supported",
		6:  "module shut down: temperature",
		7:  "cable shorted",
		8:  "power budget exceeded",
		9:  "port forced down by management",
		10: "module disabled by command",
		11: "module powered off: power of the system exceeded",
		12: "module type not enabled",
		16: "power of the PCIe slot exceeded",
		18: "state machine of the module failed",
		19: "speed of the module degraded", 20: "speed of the module degraded",
		21: "speed of the module degraded", 22: "speed of the module degraded",
		23: "data path of the module failed", 24: "data path of the module failed",
		26: "module failed to boot", 27: "module failed to boot", 28: "module failed to boot",
		29: "module failed to boot",
		30: "module in low power by command",
		31: "external laser: fiber contaminated",
		32: "external laser: power control failed",
		33: "external laser unplugged",
		34: "external laser: ramp timed out",
		35: "external laser: power above its range",
		36: "external laser: power below its range",
		37: "external laser: temperature control failed",
		38: "external laser: power tuning failed",
		39: "external laser: wavelength tuning failed",
	}
	if o >= first && int(o-first) < len(names) {
		return names[o-first]
	}
	return ""
}

// Reason is why a link went down (adb, pddr_link_down_info_page_ext.local_reason_opcode).
type Reason uint8

// String describes the reason.
func (r Reason) String() string {
	names := [...]string{
		0:  "no link-down",
		1:  "unknown reason",
		2:  "high bit error ratio",
		3:  "block lock lost",
		4:  "alignment lost",
		5:  "FEC lock lost",
		6:  "PLL lock lost",
		7:  "FIFO overflow",
		8:  "false skip condition",
		9:  "minor errors above threshold",
		10: "timeout of physical layer retransmission",
		11: "heartbeat errors",
		12: "link layer: no credits (watchdog)",
		13: "link layer: integrity errors above threshold",
		14: "link layer: buffer overrun",
		15: "out-of-band command, healthy link",
		16: "out-of-band command, high bit error ratio",
		17: "in-band command, healthy link",
		18: "in-band command, high bit error ratio",
		19: "verification gateway",
		20: "remote fault received",
		21: "TS1 received: the partner restarted the link",
		22: "management command",
		23: "cable unplugged",
		24: "module not readable",
		25: "module shut down: temperature",
		26: "module: current",
		27: "power budget",
		28: "recovery: raw bit error ratio",
		29: "recovery: effective bit error ratio",
		30: "recovery: symbol bit error ratio",
		31: "recovery: credit watchdog",
		32: "partner: sleep",
		33: "partner: disabled",
		34: "partner: disabled and locked",
		35: "partner: temperature",
		36: "partner: forced",
		37: "partner: reset",
		38: "reset without power cycle",
		39: "recovery: retransmission",
		40: "forced by hardware",
		42: "exit from L1 failed",
		43: "too many recoveries",
		44: "contain mode",
		45: "bandwidth loss above threshold",
		46: "external laser failed",
		47: "high symbol error ratio",
		48: "administrative command (NMX)",
		49: "bit error ratio in guard time",
		50: "local fault received",
		51: "link interruption received",
		52: "manual debugging",
		53: "recovery by command",
		58: "recovery: bandwidth loss above threshold",
		59: "partner: contain mode",
		60: "module: unexpected reset or low power",
		61: "contain mode, receiver",
		62: "contain mode, transmitter",
	}
	if int(r) < len(names) && names[r] != "" {
		return names[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}
