package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// operation is an operation of smpquery. run returns C's error message, "" on success, and the
// cause.
type operation struct {
	name, alias string
	hasPort     bool
	run         func(q *smpQuery, ctx context.Context, port int32) (wrong string, err error)
}

// bare is the prefix of error messages in which C doesn't name the operation.
const bare = "\x00"

// smpQuery is a run of smpquery.
type smpQuery struct {
	*run
	names    nodeNames
	to       address
	extended bool
}

// operations returns smpquery's operations in the order of its usage.
func operations() []operation {
	return []operation{
		{"NodeInfo", "NI", false, (*smpQuery).queryNodeInfo},
		{"NodeDesc", "ND", false, (*smpQuery).queryNodeDescription},
		{"PortInfo", "PI", true, (*smpQuery).queryPortInfo},
		{"PortInfoExtended", "PIE", true, (*smpQuery).queryPortInfoExtended},
		{"SwitchInfo", "SI", false, (*smpQuery).querySwitchInfo},
		{"PKeyTable", "PKeys", true, (*smpQuery).queryPKeys},
		{"SL2VLTable", "SL2VL", true, (*smpQuery).querySLToVL},
		{"VLArbitration", "VLArb", true, (*smpQuery).queryVLArbitration},
		{"GUIDInfo", "GI", false, (*smpQuery).queryGUIDs},
		{"MlnxExtPortInfo", "MEPI", true, (*smpQuery).queryMellanox},
	}
}

func smpquery() Program {
	var note strings.Builder
	note.WriteString("\nSupported ops (and aliases, case insensitive):\n")
	for _, o := range operations() {
		port := ""
		if o.hasPort {
			port = " [<portnum>]"
		}
		fmt.Fprintf(&note, "  %s (%s) <addr>%s\n", o.name, o.alias, port)
	}
	note.WriteString("\n")
	return Program{
		Name: "smpquery", Summary: "Print a subnet management attribute of a port",
		Usage: "[options] <op> <dest dr_path|lid|guid> [op params]", UsageNote: note.String(), Example: "nodeinfo 3",
		Long: `Operations: nodeinfo, nodedesc, portinfo, switchinfo, pkeys, sl2vl, vlarb, guidinfo, mepi; "smpquery
-h" lists them with their aliases. Differences from the C program: PortInfoExtended is rejected even
if a port has it; an invalid key of -y is an error rather than a prompt; -d doesn't print the C
program's internal debug messages; a timeout in the configuration file is used too.`,
		Options: append([]Option{
			flagOption("combined", 'c', "use Combined route address argument"),
			nodeNameMapOption(1),
			flagOption("extended", 'x', "use extended speeds"),
		}, commonOptions("")...),
		Examples: []string{
			"portinfo 3 1\t\t\t\t# portinfo by lid, with port modifier",
			"-G switchinfo 0x2C9000100D051 1\t# switchinfo by guid",
			"-D nodeinfo 0\t\t\t\t# nodeinfo by direct route",
			"-c nodeinfo 6 0,12\t\t\t# nodeinfo by combined route",
		},
		run: runSmpquery,
	}
}

func runSmpquery(ctx context.Context, r *run) int {
	q := &smpQuery{run: r}
	var nameFile string
	if code, done := r.options(func(letter byte, arg string) bool {
		switch letter {
		case 1:
			nameFile = arg
		case 'c':
			r.destination = byCombined
		case 'x':
			q.extended = true
		}
		return true
	}); done {
		return code
	}
	if len(r.operands) < 2 {
		return r.usage()
	}
	op := r.operands[0]
	do, ok := findOperation(op)
	if !ok {
		return r.fail(nil, "operation '%s' not supported", op)
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	q.names = r.readNodeNames(nameFile)
	operand, rest := r.operands[1], r.operands[2:]
	if r.destination == byCombined {
		route := "(null)" // as C prints it
		if len(rest) > 0 {
			route, rest = rest[0], rest[1:]
		}
		operand += " " + route
	}
	var err error
	if q.to, err = r.resolveAddress(ctx, operand); err != nil {
		return r.fail(err, "can't resolve destination port %s", operand)
	}
	port := int32(0)
	if len(rest) > 0 {
		port = clib.Strtol(rest[0], 0)
	}
	wrong, err := do.run(q, ctx, port)
	if wrong == "" {
		return 0
	}
	if message, ok := strings.CutPrefix(wrong, bare); ok {
		return r.fail(err, "%s", message)
	}
	return r.fail(err, "operation %s: %s", op, wrong)
}

func findOperation(name string) (operation, bool) {
	for _, o := range operations() {
		if strings.EqualFold(o.name, name) || strings.EqualFold(o.alias, name) {
			return o, true
		}
	}
	return operation{}, false
}

func (q *smpQuery) queryNodeInfo(ctx context.Context, _ int32) (string, error) {
	info, err := q.nodeInfo(ctx, q.to)
	if err != nil {
		return "node info query failed", err
	}
	q.printf("# Node info: %s\n%s", q.to, dump(nodeInfoRows(&info)))
	return "", nil
}

func (q *smpQuery) queryNodeDescription(ctx context.Context, _ int32) (string, error) {
	info, err := q.nodeInfo(ctx, q.to)
	if err != nil {
		return "node info query failed", err
	}
	description, err := q.nodeDescription(ctx, q.to)
	if err != nil {
		return "node desc query failed", err
	}
	name := q.names.name(info.NodeGUID, description)
	q.printf("Node Description:%s%s\n", strings.Repeat(".", max(1, 32-len(name))), name)
	return "", nil
}

func (q *smpQuery) queryPortInfo(ctx context.Context, port int32) (string, error) {
	modifier := uint32(port)
	if q.extended {
		modifier |= mad.PortInfoExtendedSpeeds
	}
	info, err := q.portInfo(ctx, q.to, modifier)
	if err != nil {
		return "port info query failed", err
	}
	q.printf("# Port info: %s port %d\n%s", q.to, port, dump(portInfoRows(&info, q.showKeys)))
	return "", nil
}

// queryPortInfoExtended only checks whether the port has the attribute.
func (q *smpQuery) queryPortInfoExtended(ctx context.Context, port int32) (string, error) {
	node, err := q.nodeInfo(ctx, q.to)
	if err != nil {
		return bare + "node info query failed", err
	}
	number := uint32(port)
	if node.NodeType == mad.NodeTypeSwitch {
		number = 0
	}
	info, err := q.portInfo(ctx, q.to, number)
	switch {
	case err != nil:
		return bare + "port info query failed", err
	case !info.CapabilityMask.Has(mad.CapabilityIsCapabilityMask2Supported) ||
		!info.CapabilityMask2.Has(mad.Capability2IsPortInfoExtendedSupported):
		return "port info extended not supported", nil
	}
	return "port info extended query failed", errors.New(
		"the port has PortInfoExtended, but this version can't print it")
}

func (q *smpQuery) querySwitchInfo(ctx context.Context, _ int32) (string, error) {
	info, err := q.switchInfo(ctx, q.to)
	if err != nil {
		return "switch info query failed", err
	}
	q.printf("# Switch info: %s\n%s", q.to, dump(switchInfoRows(&info)))
	return "", nil
}

func (q *smpQuery) queryMellanox(ctx context.Context, port int32) (string, error) {
	data, err := q.ask(ctx, q.to, mad.AttributeExtendedPortInfo, uint32(port))
	if err != nil {
		return "Mellanox ext port info query failed", err
	}
	var info mad.ExtendedPortInfo
	info.Decode(data) //nolint:errcheck // ask has the length
	q.printf("# MLNX ext Port info: %s port %d\n%s", q.to, port, dump(extendedPortInfoRows(&info)))
	return "", nil
}
