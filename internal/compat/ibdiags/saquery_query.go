package ibdiags

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saQuery is a query by name.
type saQuery struct {
	name, alias string
	attribute   mad.Attribute
	usage       string // operands
	run         func(q *saRun, ctx context.Context, operands []string) error
}

// saQueries returns the queries in the order of C's usage.
func saQueries() []saQuery {
	return []saQuery{
		{"ClassPortInfo", "CPI", mad.AttributeClassPortInfo, "", (*saRun).queryClassPortInfo},
		{
			"NodeRecord", "NR", mad.AttributeNodeRecord, "[lid]",
			atPlace(mad.AttributeNodeRecord, 0, 0, formatted(nodeText)),
		},
		{
			"PortInfoRecord", "PIR", mad.AttributePortInfoRecord, "[[lid]/[port]/[options]]",
			atPlace(
				mad.AttributePortInfoRecord, mad.PortInfoRecordMaskPortNum,
				mad.PortInfoRecordMaskOptions, formatted(portText),
			),
		},
		{
			"SL2VLTableRecord", "SL2VL", mad.AttributeSLtoVLMappingTableRecord, "[[lid]/[in_port]/[out_port]]",
			atPlace(
				mad.AttributeSLtoVLMappingTableRecord, mad.SLtoVLMappingTableRecordMaskInputPortNum,
				mad.SLtoVLMappingTableRecordMaskOutputPortNum, formatted(mappingText),
			),
		},
		{
			"PKeyTableRecord", "PKTR", mad.AttributePKeyTableRecord, "[[lid]/[port]/[block]]",
			(*saRun).queryPKeys,
		},
		{
			"VLArbitrationTableRecord", "VLAR", mad.AttributeVLArbitrationTableRecord, "[[lid]/[port]/[block]]",
			atPlace(
				mad.AttributeVLArbitrationTableRecord, mad.VLArbitrationTableRecordMaskOutputPortNum,
				mad.VLArbitrationTableRecordMaskBlockNum, formatted(arbitrationText),
			),
		},
		{
			"InformInfoRecord", "IIR", mad.AttributeInformInfoRecord, "[subscriber_gid]",
			(*saRun).querySubscriptions,
		},
		{
			"LinkRecord", "LR", mad.AttributeLinkRecord, "[[from_lid]/[from_port]] [[to_lid]/[to_port]]",
			(*saRun).queryLinks,
		},
		{"ServiceRecord", "SR", mad.AttributeServiceRecord, "", (*saRun).queryServices},
		{"PathRecord", "PR", mad.AttributePathRecord, "", (*saRun).queryPaths},
		{"MCMemberRecord", "MCMR", mad.AttributeMCMemberRecord, "", (*saRun).queryMembers},
		{
			"LFTRecord", "LFTR", mad.AttributeLinearForwardingTableRecord, "[[lid]/[block]]",
			(*saRun).queryForwarding,
		},
		{
			"MFTRecord", "MFTR", mad.AttributeMulticastForwardingTableRecord, "[[mlid]/[position]/[block]]",
			(*saRun).queryMulticast,
		},
		{
			"GUIDInfoRecord", "GIR", mad.AttributeGUIDInfoRecord, "[[lid]/[block]]",
			atPlace(
				mad.AttributeGUIDInfoRecord, mad.GUIDInfoRecordMaskBlockNum, 0,
				formatted(guidsText),
			),
		},
		{
			"SwitchInfoRecord", "SWIR", mad.AttributeSwitchInfoRecord, "[lid]",
			atPlace(mad.AttributeSwitchInfoRecord, 0, 0, formatted(switchText)),
		},
		{
			"SMInfoRecord", "SMIR", mad.AttributeSMInfoRecord, "[lid]",
			atPlace(mad.AttributeSMInfoRecord, 0, 0, formatted(managerText)),
		},
	}
}

func findSAQuery(name string) (saQuery, bool) {
	for _, q := range saQueries() {
		if strings.EqualFold(name, q.name) || strings.EqualFold(name, q.alias) {
			return q, true
		}
	}
	return saQuery{}, false
}

// textOf formats a record.
type textOf func(q *saRun, record []byte) (string, error)

// decoder is a record type.
type decoder[T any] interface {
	*T
	Decode(b []byte) (int, error)
}

// formatted returns the textOf for records of a type.
func formatted[T any, P decoder[T]](text func(q *saRun, r P) string) textOf {
	return func(q *saRun, record []byte) (string, error) {
		var r T
		if _, err := P(&r).Decode(record); err != nil {
			return "", err
		}
		return text(q, &r), nil
	}
}

// plain is formatted for a text that depends on the record only.
func plain[T any, P decoder[T]](text func(r P) string) textOf {
	return formatted(func(_ *saRun, r P) string { return text(r) })
}

// atLIDMask is the bit of the LID in the component masks of the records of atPlace.
const atLIDMask = 1 << 0

// atPlace returns the query for records that begin with a LID and two numbers of 8 bits, such as
// ports; a mask of 0 means that the record doesn't have that number.
func atPlace(
	a mad.Attribute, firstMask, secondMask uint64, text textOf,
) func(*saRun, context.Context, []string) error {
	return func(q *saRun, ctx context.Context, operands []string) error {
		c := components{b: make([]byte, mad.SADataLen)}
		if len(operands) > 0 {
			at, err := q.place(ctx, operands[0])
			if err != nil {
				return err
			}
			c.set16(0, int32(at.lid), 0, atLIDMask)
			if firstMask != 0 {
				c.set8(2, at.first, -1, firstMask)
			}
			if secondMask != 0 {
				c.set8(3, at.second, -1, secondMask)
			}
		}
		return q.printRecords(ctx, a, c, text)
	}
}

// query returns a table, after C's messages if it fails.
func (q *saRun) query(ctx context.Context, query sa.Query) (*sa.Table, error) {
	table, err := q.client.Table(ctx, query)
	if err == nil {
		return table, nil
	}
	if _, ok := errors.AsType[*sa.TruncatedError](err); ok {
		q.cause(err) // and the records that are complete, as C prints them
		return table, nil
	}
	return nil, q.failed(err)
}

// failed prints C's message for a query without an answer or with a status, and the cause.
func (q *saRun) failed(err error) error {
	defer q.cause(err)
	if e, ok := errors.AsType[*sa.StatusError](err); ok {
		q.errorf("%s\n", saStatusText(e.Status))
		return errSAIO
	}
	code := errSAIO
	if errors.Is(err, fabric.ErrNoAnswer) {
		code = errSAUnanswered
	}
	q.errorf("Query SA failed: %s\n", code.Error())
	return code
}

// print queries and prints a table.
func (q *saRun) print(ctx context.Context, query sa.Query, text textOf) error {
	table, err := q.query(ctx, query)
	if err != nil {
		return err
	}
	for i := range table.Len() {
		s, err := text(q, table.Record(i))
		if err != nil {
			return q.failed(err)
		}
		q.printf("%s", s)
	}
	return nil
}

func (q *saRun) printRecords(ctx context.Context, a mad.Attribute, c components, text textOf) error {
	return q.print(ctx, sa.Query{Attribute: a, Mask: c.mask, Record: c.b}, text)
}

func (q *saRun) readClassPortInfo(ctx context.Context) (err error) {
	if q.info, err = q.client.ClassPortInfo(ctx); err != nil {
		return q.failed(err)
	}
	return nil
}

// placeOperand is an operand such as "4/1/0": a LID or name, and numbers that are -1 if they are
// not given.
type placeOperand struct {
	lid           uint16
	first, second int32
}

// place parses such an operand (C twin: parse_lid_and_ports).
func (q *saRun) place(ctx context.Context, text string) (p placeOperand, err error) {
	p.first, p.second = -1, -1
	words := strings.SplitN(text, "/", 3)
	if p.lid, err = q.lid(ctx, words[0]); err != nil {
		return p, err
	}
	for i, word := range words[1:] {
		number := []*int32{&p.first, &p.second}[i]
		if word, _, _ = strings.Cut(word, "/"); leads(word) {
			*number = int32(uint32(unsignedOf(word))) //nolint:gosec // C cuts it too
		}
	}
	return p, nil
}

// leads reports whether a text begins with a number.
func leads(text string) bool {
	_, rest := leadingNumber(text)
	return rest != text
}

// lid returns a LID that is given as a number, or as the name of a node (C twin: get_lid).
func (q *saRun) lid(ctx context.Context, text string) (uint16, error) {
	if text != "" && (text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z') {
		table, err := q.query(ctx, sa.Query{Attribute: mad.AttributeNodeRecord})
		if err == nil {
			var nodes []mad.NodeRecord
			if nodes, err = sa.Records[mad.NodeRecord](table); err != nil {
				err = q.failed(err)
			}
			for i := range nodes {
				if isNamed(&nodes[i].Description, text) {
					return uint16(nodes[i].LID), nil
				}
			}
		}
		code, ok := errors.AsType[exitError](err)
		if !ok {
			code = errSANoNetwork
		}
		q.errorf("Failed to find lid for \"%s\": %s\n", text, code.Error())
		return 0, code
	}
	v, overflow := clib.Strtoul(text, 0)
	if lid := int64(v); overflow || lid <= 0 || lid > 0xffff { //nolint:gosec // negative numbers wrap
		q.errorf("Invalid lid specified: \"%s\"\n", text)
		return 0, errSAInvalid
	}
	return uint16(v), nil
}

// isNamed reports whether a node description is the name, byte for byte.
func isNamed(d *mad.NodeDescription, name string) bool {
	text, _, _ := bytes.Cut(d[:], []byte{0})
	if len(name) > len(d) {
		name = name[:len(d)]
	}
	return string(text) == name
}

func (q *saRun) queryClassPortInfo(context.Context, []string) error {
	q.printf("%s", classPortInfoText(&q.info))
	return nil
}

func (q *saRun) queryServices(ctx context.Context, _ []string) error {
	return q.print(ctx, sa.Query{Attribute: mad.AttributeServiceRecord}, formatted(serviceText))
}

func (q *saRun) queryPaths(ctx context.Context, _ []string) error {
	return q.printRecords(ctx, mad.AttributePathRecord, q.pathRecord(), plain(pathText))
}

func (q *saRun) queryMembers(ctx context.Context, _ []string) error {
	return q.printRecords(ctx, mad.AttributeMCMemberRecord, q.memberRecord(), plain(memberText))
}

func (q *saRun) querySubscriptions(ctx context.Context, operands []string) error {
	c := components{b: make([]byte, mad.InformInfoRecordLen)}
	if len(operands) > 0 {
		var g ib.GID
		if !parseGID(operands[0], &g) {
			q.errorf("Invalid SubscriberGID specified: \"%s\"\n", operands[0])
			return errSAInvalid
		}
		copy(c.b, g[:])
		c.mask = mad.InformInfoRecordMaskSubscriberGID
	}
	return q.printRecords(ctx, mad.AttributeInformInfoRecord, c, formatted(subscriptionText))
}

func (q *saRun) queryLinks(ctx context.Context, operands []string) error {
	c := components{b: make([]byte, mad.LinkRecordLen)}
	for i, operand := range operands[:min(2, len(operands))] {
		at, err := q.place(ctx, operand)
		if err != nil {
			return err
		}
		c.set16([]int{0, 4}[i], int32(at.lid), 0, []uint64{mad.LinkRecordMaskFromLID, mad.LinkRecordMaskToLID}[i])
		c.set8([]int{2, 3}[i], at.first, -1, []uint64{mad.LinkRecordMaskFromPort, mad.LinkRecordMaskToPort}[i])
	}
	return q.printRecords(ctx, mad.AttributeLinkRecord, c, plain(linkText))
}

func (q *saRun) queryPKeys(ctx context.Context, operands []string) error {
	c := components{b: make([]byte, mad.PKeyTableRecordLen)}
	if len(operands) > 0 {
		at, err := q.place(ctx, operands[0])
		if err != nil {
			return err
		}
		c.set16(0, int32(at.lid), 0, mad.PKeyTableRecordMaskLID)
		c.set8(4, at.first, -1, mad.PKeyTableRecordMaskPortNum)
		c.set16(2, at.second, -1, mad.PKeyTableRecordMaskBlockNum)
	}
	return q.printRecords(ctx, mad.AttributePKeyTableRecord, c, plain(pkeysText))
}

func (q *saRun) queryForwarding(ctx context.Context, operands []string) error {
	c := components{b: make([]byte, mad.LinearForwardingTableRecordLen)}
	if len(operands) > 0 {
		at, err := q.place(ctx, operands[0])
		if err != nil {
			return err
		}
		c.set16(0, int32(at.lid), 0, mad.LinearForwardingTableRecordMaskLID)
		c.set16(2, at.first, -1, mad.LinearForwardingTableRecordMaskBlockNum)
	}
	return q.printRecords(ctx, mad.AttributeLinearForwardingTableRecord, c, plain(forwardingText))
}

func (q *saRun) queryMulticast(ctx context.Context, operands []string) error {
	c := components{b: make([]byte, mad.MulticastForwardingTableRecordLen)}
	if len(operands) > 0 {
		at, err := q.place(ctx, operands[0])
		if err != nil {
			return err
		}
		c.set16(0, int32(at.lid), 0, mad.MulticastForwardingTableRecordMaskLID)
		c.set16(2, at.second, -1, mad.MulticastForwardingTableRecordMaskBlockNum)
		c.b[2] &= 1 // 9 bits
		if given(at.first) {
			c.b[2] |= uint8(at.first) << 4 //nolint:gosec // C cuts it too
			c.mask |= mad.MulticastForwardingTableRecordMaskPosition
		}
	}
	return q.printRecords(ctx, mad.AttributeMulticastForwardingTableRecord, c, plain(multicastText))
}

// printNodes prints the node records, or a part of them (C twin: print_node_records).
func (q *saRun) printNodes(ctx context.Context, operands []string) error {
	table, err := q.query(ctx, sa.Query{Attribute: mad.AttributeNodeRecord})
	if err != nil {
		return err
	}
	nodes, err := sa.Records[mad.NodeRecord](table)
	if err != nil {
		return q.failed(err)
	}
	if q.show == showDescriptions {
		q.printf("   LID \"name\"\n================\n")
	}
	for i := range nodes {
		n := &nodes[i]
		if !q.wanted(n, operands) {
			continue
		}
		q.printf("%s", q.partText(n))
		if q.show == showLID {
			break
		}
	}
	return nil
}

// wanted reports whether the operands select a node.
func (q *saRun) wanted(n *mad.NodeRecord, operands []string) bool {
	switch {
	case q.show == showDescriptions:
		return n.Info.NodeType == mad.NodeTypeCA
	case len(operands) == 0:
		return true
	case q.show == showNameOfLID:
		return uint16(unsignedOf(operands[0])) == uint16(n.LID)
	case q.show == showNameOfGUID:
		return unsignedOf(operands[0]) == guid64(n.Info.PortGUID)
	}
	name := operands[0]
	return isNamed(&n.Description, name) || q.names.name(n.Info.NodeGUID, n.Description) == name
}

// printManagers prints the ports with a subnet manager, and those where it is disabled.
func (q *saRun) printManagers(ctx context.Context) error {
	for i, capability := range []mad.Capability{mad.CapabilityIsSM, mad.CapabilityIsSMDisabled} {
		record := mad.PortInfoRecord{Info: mad.PortInfo{CapabilityMask: capability}}
		table, err := q.query(ctx, sa.Query{
			Attribute: mad.AttributePortInfoRecord, Modifier: mad.PortInfoRecordAllBits,
			Mask: mad.PortInfoRecordMaskCapabilityMask, Record: record.Append(nil),
		})
		if err != nil {
			return err
		}
		q.printf("%s", []string{"IsSM ports\n", "\nIsSMdisabled ports\n"}[i])
		ports, err := sa.Records[mad.PortInfoRecord](table)
		if err != nil {
			return q.failed(err)
		}
		for i := range ports {
			q.printf("%s", shortPortText(&ports[i]))
		}
	}
	return nil
}

// printMembers prints the members of multicast groups with the names of their nodes.
func (q *saRun) printMembers(ctx context.Context, operands []string) error {
	table, err := q.query(ctx, sa.Query{Attribute: mad.AttributeMCMemberRecord})
	if err != nil {
		return err
	}
	nodeTable, err := q.query(ctx, sa.Query{Attribute: mad.AttributeNodeRecord})
	if err != nil {
		return err
	}
	members, err := sa.Records[mad.MCMemberRecord](table)
	nodes, err2 := sa.Records[mad.NodeRecord](nodeTable)
	if err := errors.Join(err, err2); err != nil {
		return q.failed(err)
	}
	names := map[ib.GUID]string{}
	for i := range nodes {
		info := &nodes[i].Info
		if _, ok := names[info.PortGUID]; !ok {
			names[info.PortGUID] = q.names.name(info.NodeGUID, nodes[i].Description)
		}
	}
	for i := range members {
		m := &members[i]
		name, ok := names[ib.GUID(m.PortGID[8:])]
		if !ok {
			name = "<unknown>"
		}
		switch {
		case len(operands) == 0:
			q.printf("%s", memberOfGroupText(m, name))
		case clib.Strtol(operands[0], 0) == int32(m.MLID):
			q.printf("\t\tPortGid.................%s (%s)\n", ipv6(m.PortGID), name)
		}
	}
	return nil
}
