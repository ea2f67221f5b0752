package perftest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parameter is a parameter of a test that perftest 6.28 and later compare between the two ends.
type Parameter uint8

// The parameters, in the order of the C struct (C twin: struct perftest_parameters_negotiate).
const (
	ParamTestMethod        Parameter = iota // one size, all sizes, or without end
	ParamConnectionType                     // RC, UC, UD, …
	ParamVerb                               // SEND, WRITE, READ, …
	ParamTest                               // latency or bandwidth
	ParamAtomicType                         // operation of an atomic test
	ParamTestType                           // a number of messages, or a duration
	ParamReportFormat                       // unit of the results that the ends exchange
	ParamSize                               // of a message, in bytes
	ParamIterations                         // messages per queue pair and size; 0 with a duration
	ParamAESXTS                             // encryption
	ParamQueuePairs                         // number of queue pairs
	ParamDuration                           // in seconds
	ParamRDMACM                             // queue pairs connected by rdma_cm
	ParamWriteImmediate                     // WRITE with immediate data
	ParamNoEnhancedReorder                  // no receives out of order, on mlx5 devices
	ParamSignature                          // signature offload
	ParamDataValidation                     // the receiver checks the data
	ParamDuplex                             // both ends send; from 6.30 on
	ParamTxDepth                            // send requests per queue pair; from 6.30 on
	ParamMaxReads                           // outstanding READs that the device accepts
	ParamMLX5Mask                           // capabilities of an mlx5 device
	parameters
)

// Values of the parameters (C twins: enum ctx_test_method, the connection types, VerbType,
// TestType, TestMethod and enum ctx_report_fmt).
const (
	MethodOneSize  = 0 // ParamTestMethod: one size
	MethodAllSizes = 1 // ParamTestMethod: all sizes from 2 bytes to 8 MiB

	ConnectionRC = 0 // ParamConnectionType: reliable connection
	ConnectionUC = 1 // ParamConnectionType: unreliable connection
	ConnectionUD = 2 // ParamConnectionType: unreliable datagram

	VerbSend  = 0 // ParamVerb: SEND
	VerbWrite = 2 // ParamVerb: RDMA WRITE
	VerbRead  = 4 // ParamVerb: RDMA READ

	TestLatency   = 0 // ParamTest: latency
	TestBandwidth = 1 // ParamTest: bandwidth

	TypeIterations = 0 // ParamTestType: a number of messages
	TypeDuration   = 1 // ParamTestType: a duration

	ReportGbps = 0 // ParamReportFormat: 10^9 bits per second
	ReportMBps = 1 // ParamReportFormat: 2^20 bytes per second
)

// DefaultDuration is the value of ParamDuration for a test of a number of messages.
const DefaultDuration = 5

// parameterInfo describes a parameter on the wire and in errors.
type parameterInfo struct {
	key    string // name in a list of values
	width  int    // bytes
	offset int    // in the struct; -1: not in it
	rank   int    // differences of a higher rank follow from those of a lower one
	label  string // in errors
	option string // of both rdmactl and perftest; may be empty
	values []string
}

// onOff are the values of a switch.
var onOff = []string{"off", "on"}

// parameterTable is indexed by Parameter.
var parameterTable = [parameters]parameterInfo{
	ParamTestMethod: {
		"test_method", 4, 0, 1, "sizes", "-a", []string{"one", "all", "one, without end"},
	},
	ParamConnectionType: {
		"connection_type", 4, 4, 1, "connection type", "-c",
		[]string{"RC", "UC", "UD", "raw Ethernet", "XRC", "DC", "SRD"},
	},
	ParamVerb: {
		"verb", 4, 8, 0, "operation", "",
		[]string{"SEND", "SEND with immediate", "WRITE", "WRITE with immediate", "READ", "atomic"},
	},
	ParamTest: {
		"tst", 4, 12, 0, "measurement", "",
		[]string{"latency", "bandwidth", "latency by bandwidth", "rate of flow steering"},
	},
	ParamAtomicType: {
		"atomicType", 4, 16, 2, "atomic operation", "-A", []string{"compare and swap", "fetch and add"},
	},
	ParamTestType: {
		"test_type", 4, 20, 1, "length of the test", "-n or -D", []string{"number of messages", "duration"},
	},
	ParamReportFormat: {
		"report_fmt", 4, 24, 2, "unit of the reports", "--report_gbits (rdmactl bench: --report-gbits)",
		[]string{"Gb/s", "MB/s"},
	},
	ParamSize:       {"size", 8, 32, 2, "message size", "-s", nil},
	ParamIterations: {"iters", 8, 40, 2, "number of messages", "-n", nil},
	ParamAESXTS:     {"aes_xts", 4, 48, 2, "AES-XTS encryption", "--aes_xts", onOff},
	ParamQueuePairs: {"num_of_qps", 4, 52, 2, "number of queue pairs", "-q (rdmactl bench: --qps)", nil},
	ParamDuration:   {"duration", 4, 56, 2, "duration in seconds", "-D", nil},
	ParamRDMACM:     {"use_rdma_cm", 4, 60, 2, "connection by rdma_cm", "-R", onOff},
	ParamWriteImmediate: {
		"use_write_with_imm", 4, 64, 2, "WRITE with immediate", "--write_with_imm", onOff,
	},
	ParamNoEnhancedReorder: {
		"no_enhanced_reorder", 4, 68, 2, "receiving in order", "--no_enhanced_reorder", onOff,
	},
	ParamSignature:      {"sig_offload", 4, 72, 2, "signature offload", "--sig_offload", onOff},
	ParamDataValidation: {"data_validation", 4, 76, 2, "validation of the data", "--data_validation", onOff},
	ParamDuplex:         {"duplex", 4, -1, 1, "both directions at once", "-b", onOff},
	ParamTxDepth:        {"tx_depth", 4, -1, 2, "send requests", "-t", nil},
	ParamMaxReads:       {"max_qp_rd_atom", 4, -1, 2, "outstanding READs", "-o", nil},
	ParamMLX5Mask:       {"mlx5dv_comp_mask", 8, -1, 2, "capabilities of mlx5", "", nil},
}

// String returns perftest's name of the parameter.
func (p Parameter) String() string {
	if p < parameters {
		return parameterTable[p].key
	}
	return fmt.Sprintf("parameter %d", uint8(p))
}

// value formats a value for errors.
func (p Parameter) value(v uint64) string {
	if names := parameterTable[p].values; v < uint64(len(names)) {
		return names[v]
	}
	return strconv.FormatUint(v, 10)
}

// Parameters holds the parameters of one end.
type Parameters struct {
	values [parameters]uint64
	known  [parameters]bool
	loose  [parameters]bool
}

// Set sets the value of a parameter, which must be equal at both ends.
func (p *Parameters) Set(name Parameter, v uint64) {
	p.values[name], p.known[name], p.loose[name] = v, true, false
}

// SetLoose sets the value of a parameter that may differ between the ends as far as this end is
// concerned. A list of parameters doesn't contain it; in a struct the server repeats the client's
// value, because perftest compares all of a struct.
func (p *Parameters) SetLoose(name Parameter, v uint64) {
	p.values[name], p.known[name], p.loose[name] = v, true, true
}

// Get returns the value of a parameter, and whether there is one.
func (p *Parameters) Get(name Parameter) (v uint64, ok bool) { return p.values[name], p.known[name] }

// compared reports whether different values of a parameter are an error; the others are limits.
func (p Parameter) compared() bool { return p != ParamMaxReads && p != ParamMLX5Mask }

// Compare returns a [DifferenceError], or nil if all parameters that both ends have, and that are
// not loose, are equal. peer is the role of the other end.
func (p *Parameters) Compare(theirs *Parameters, peer Role) error {
	var list []Difference
	least := parameterTable[ParamSize].rank
	for name := range parameters {
		if name.compared() && p.known[name] && !p.loose[name] && theirs.known[name] &&
			p.values[name] != theirs.values[name] {
			list = append(list, Difference{name, p.values[name], theirs.values[name]})
			least = min(least, parameterTable[name].rank)
		}
	}
	if len(list) == 0 {
		return nil
	}
	list = slices.DeleteFunc(list, func(d Difference) bool { return parameterTable[d.Parameter].rank > least })
	return &DifferenceError{Differences: list, Peer: peer}
}

// Difference is a parameter that differs between the ends.
type Difference struct {
	Parameter Parameter
	Own       uint64 // value at this end
	Theirs    uint64 // value at the peer
}

// DifferenceError is the error for two ends with different parameters. It names the parameters that
// explain the others only: a different test has different default sizes, for example.
type DifferenceError struct {
	Differences []Difference // at least one
	Peer        Role         // role of the other end
}

// Error implements error.
func (e *DifferenceError) Error() string {
	parts := make([]string, len(e.Differences))
	for i, d := range e.Differences {
		p := d.Parameter
		parts[i] = fmt.Sprintf("%s: %s here, %s at the %v",
			parameterTable[p].label, p.value(d.Own), p.value(d.Theirs), e.Peer)
	}
	return "the ends differ: " + strings.Join(parts, "; ")
}

// Hints returns the options that both ends need.
func (e *DifferenceError) Hints() []string {
	var options []string
	for _, d := range e.Differences {
		switch option := parameterTable[d.Parameter].option; {
		case parameterTable[d.Parameter].rank == 0:
			return []string{"run the same test at both ends"}
		case option != "":
			options = append(options, option)
		}
	}
	if options == nil {
		return nil
	}
	return []string{"give both ends the same " + strings.Join(options, ", ")}
}
