package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func ibroute() Program {
	return Program{
		Name: "ibroute", Summary: "Print the forwarding tables of a switch",
		Usage: "[options] [<dest dr_path|lid|guid> [<startlid> [<endlid>]]]",
		Long: `Difference from the C program: the last LID is printed even if it is a multiple of ` +
			`64; the C program leaves it out.`,
		Options: append([]Option{
			flagOption("all", 'a', "show all lids, even invalid entries"),
			flagOption("no_dests", 'n', "do not try to resolve destinations"),
			flagOption("Multicast", 'M', "show multicast forwarding tables"),
			nodeNameMapOption(1),
		}, commonOptions("K")...),
		Example: "4 0x10 0x20",
		Examples: []string{
			" -- Unicast examples:",
			"4\t# dump all lids with valid out ports of switch with lid 4",
			"-a 4\t# same, but dump all lids, even with invalid out ports",
			"-n 4\t# simple dump format - no destination resolving",
			"4 10\t# dump lids starting from 10",
			"4 0x10 0x20\t# dump lid range",
			"-G 0x08f1040023\t# resolve switch by GUID",
			"-D 0,1\t# resolve switch by direct path",
			" -- Multicast examples:",
			"-M 4\t# dump all non empty mlids of switch with lid 4",
			"-M 4 0xc010 0xc020\t# same, but with range",
			"-M -n 4\t# simple dump format",
		},
		run: runIbroute,
	}
}

// routeDump is a run of ibroute.
type routeDump struct {
	*run
	all, brief, multicast bool
	names                 nodeNames
	start, end            uint32 // LIDs; end 0: the last

	to          address
	node        mad.NodeInfo
	info        mad.SwitchInfo
	description string

	// Of the last port with several LIDs: its range, and its GUID or 0 if it didn't answer.
	base, last uint32
	portGUID   uint64
}

func runIbroute(ctx context.Context, r *run) int {
	d := &routeDump{run: r}
	var nameFile string
	if code, done := r.options(func(letter byte, arg string) bool {
		switch letter {
		case 'a':
			d.all = true
		case 'n':
			d.brief = true
		case 'M':
			d.multicast = true
		case 1:
			nameFile = arg
		}
		return true
	}); done {
		return code
	}
	if len(r.operands) == 0 {
		return r.usage()
	}
	d.start, d.end = lidOperand(r.operands, 1), lidOperand(r.operands, 2)
	d.names = r.readNodeNames(nameFile)
	if !r.open(ctx) {
		return exitMinusOne
	}
	var err error
	if d.to, err = r.resolveAddress(ctx, r.operands[0]); err != nil {
		return r.fail(err, "can't resolve destination port %s", r.operands[0])
	}
	if wrong, err := d.checkSwitch(ctx); wrong != "" {
		return r.fail(err, "dump tables: %s", wrong)
	}
	if d.multicast {
		return d.dumpMulticast(ctx)
	}
	return d.dumpUnicast(ctx)
}

func lidOperand(operands []string, i int) uint32 {
	if i >= len(operands) {
		return 0
	}
	v, _ := clib.Strtoul(operands[i], 0)
	return uint32(v) //nolint:gosec // C cuts it too
}

// checkSwitch reads the node and switch info and checks that the node is a switch.
func (d *routeDump) checkSwitch(ctx context.Context) (wrong string, err error) {
	if d.node, err = d.nodeInfo(ctx, d.to); err != nil {
		return "node info failed: valid addr?", err
	}
	description, err := d.nodeDescription(ctx, d.to)
	if err != nil {
		return "node desc failed", err
	}
	if d.node.NodeType != mad.NodeTypeSwitch {
		return "not a switch", nil
	}
	if d.info, err = d.switchInfo(ctx, d.to); err != nil {
		return "switch info failed: is a switch node?", err
	}
	d.description = d.names.name(d.node.NodeGUID, description)
	return "", nil
}

// title is the first line of a dump.
func (d *routeDump) title(what string) {
	d.printf("%s [0x%x-0x%x] of switch %s guid 0x%016x (%s):\n",
		what, d.start, d.end, d.to, guid64(d.node.NodeGUID), d.description)
}

// dumpUnicast prints the linear forwarding table, with the owner of each LID.
func (d *routeDump) dumpUnicast(ctx context.Context) int {
	top := uint32(d.info.LinearFDBTop)
	if d.end == 0 || d.end > top {
		d.end = top
	}
	if most := uint32(mad.MulticastLIDBase) - 1; d.end > most {
		d.warn("dump_unicast_tables", "illegal lft top %d, truncate to %d", d.end, most)
		d.end = most
	}
	d.title("Unicast lids")
	d.printf("  Lid  Out   Destination\n       Port     Info \n")
	count := 0
	var block mad.LFTBlock
	for begin := d.start / mad.LFTBlockLen * mad.LFTBlockLen; begin <= d.end && d.end > 0; begin += mad.LFTBlockLen {
		number := begin / mad.LFTBlockLen
		data, err := d.ask(ctx, d.to, mad.AttributeLFT, number)
		if err != nil {
			return d.unread(ctx, number, err)
		}
		block.Decode(data) //nolint:errcheck // ask has the length
		for lid := max(begin, d.start); lid <= min(d.end, begin+mad.LFTBlockLen-1); lid++ {
			out := block[lid-begin]
			valid := out <= d.node.NumPorts
			if !valid && !d.all {
				continue
			}
			d.printf("0x%04x %03d %s\n", lid, out, d.destination(ctx, lid, valid))
			if d.stopped(ctx) {
				return exitMinusOne
			}
			count++
		}
	}
	d.printf("%d %slids dumped \n", count, d.valid())
	return 0
}

// unread reports a block of a table that could not be read. As in C, that ends the run but is not
// an error.
func (d *routeDump) unread(ctx context.Context, modifier uint32, err error) int {
	if d.stopped(ctx) {
		return exitMinusOne
	}
	status := mad.Status(0)
	if refused, ok := errors.AsType[*fabric.StatusError](err); ok {
		status = refused.Status
	}
	d.errorf("SubnGet() failed; MAD status 0x%x AM 0x%x\n", uint16(status), modifier)
	return 0
}

func (d *routeDump) valid() string {
	if d.all {
		return ""
	}
	return "valid "
}

// destinationTimeout is the timeout of each request to the owner of a LID.
const destinationTimeout = 100 * time.Millisecond

// destination describes the owner of a LID. A port with several LIDs is queried only for the first.
func (d *routeDump) destination(ctx context.Context, lid uint32, valid bool) string {
	switch {
	case d.brief:
		return ""
	case lid <= d.last && !valid:
		return fmt.Sprintf(": (path #%d - illegal port)", lid-d.base)
	case lid <= d.last && d.portGUID == 0:
		return fmt.Sprintf(": (path #%d out of %d)", lid-d.base+1, d.last-d.base+1)
	case lid <= d.last:
		return fmt.Sprintf(": (path #%d out of %d: portguid 0x%016x)", lid-d.base+1, d.last-d.base+1, d.portGUID)
	case !valid:
		return ": (illegal port)"
	}
	d.portGUID = 0
	description, node, port, err := d.owner(ctx, ib.LID(lid))
	if err != nil {
		return ": (unknown node and type)"
	}
	d.portGUID = guid64(node.PortGUID)
	if port.LMC > 0 {
		d.base = uint32(port.LID)
		d.last = d.base + 1<<port.LMC - 1
	}
	kind := nodeInfoRows(&node)[2].value
	return fmt.Sprintf(": (%s portguid 0x%016x: '%s')", kind, d.portGUID, d.names.name(node.NodeGUID, description))
}

func (d *routeDump) owner(
	ctx context.Context, lid ib.LID,
) (description mad.NodeDescription, node mad.NodeInfo, port mad.PortInfo, err error) {
	timeout := d.client.Timeout
	d.client.Timeout = destinationTimeout
	defer func() { d.client.Timeout = timeout }()
	to := address{Target: fabric.Target{LID: lid}}
	if description, err = d.nodeDescription(ctx, to); err != nil {
		return description, node, port, err
	}
	if port, err = d.portInfo(ctx, to, 0); err != nil {
		return description, node, port, err
	}
	node, err = d.nodeInfo(ctx, to)
	return description, node, port, err
}

// dumpMulticast prints the multicast forwarding table, with the ports of each multicast LID.
func (d *routeDump) dumpMulticast(ctx context.Context) int {
	d.multicastRange()
	d.title("Multicast mlids")
	d.multicastHead()
	if d.verbose > 0 {
		d.printf("Switch multicast mlid capability is %d top is 0x%x\n", d.info.MulticastFDBCap, d.info.MulticastFDBTop)
	}
	positions := (int(d.node.NumPorts) + mad.MFTPortsPerPosition) / mad.MFTPortsPerPosition // including port 0
	count := 0
	blocks := make([]mad.MFTBlock, positions)
	for begin := d.start / mad.MFTBlockLen * mad.MFTBlockLen; begin <= d.end; begin += mad.MFTBlockLen {
		for position := range blocks {
			//nolint:gosec // start is a multicast LID
			number := uint16((begin - uint32(mad.MulticastLIDBase)) / mad.MFTBlockLen)
			modifier := mad.MFTModifier(number, uint8(position))
			data, err := d.ask(ctx, d.to, mad.AttributeMFT, modifier)
			if err != nil {
				return d.unread(ctx, modifier, err)
			}
			blocks[position].Decode(data) //nolint:errcheck // ask has the length
		}
		for lid := max(begin, d.start); lid <= min(d.end, begin+mad.MFTBlockLen-1); lid++ {
			if ports, ok := d.portMask(blocks, int(lid-begin)); ok {
				d.printf("0x%04x      %s\n", lid, ports)
				count++
			}
		}
	}
	d.printf("%d %smlids dumped \n", count, d.valid())
	return 0
}

// multicastRange limits the range to the switch's table.
func (d *routeDump) multicastRange() {
	const base, most = uint32(mad.MulticastLIDBase), 0xfffe
	capacity, top := uint32(d.info.MulticastFDBCap), uint32(d.info.MulticastFDBTop)
	if end := base + capacity - 1; d.end == 0 || d.end > end {
		d.end = end
	}
	if !d.all && top != 0 && top < d.end {
		if top < base-1 {
			d.warn("dump_multicast_tables", "illegal top mlid %x", top)
		} else {
			d.end = top
		}
	}
	if d.start < base {
		if d.start != 0 {
			d.warn("dump_multicast_tables", "illegal start mlid %x, set to %x", d.start, base)
		}
		d.start = base
	}
	if d.end > most {
		d.warn("dump_multicast_tables", "illegal end mlid %x, truncate to %x", d.end, most)
		d.end = most
	}
}

// multicastHead prints the column headings.
func (d *routeDump) multicastHead() {
	if d.brief {
		d.printf(" MLid       Port Mask\n")
		return
	}
	var tens, ones strings.Builder
	for port := range int(d.node.NumPorts) + 1 {
		ten := byte(' ')
		if port%10 == 0 {
			ten = byte('0' + port/10)
		}
		tens.WriteString(string([]byte{ten, ' '}))
		fmt.Fprintf(&ones, "%d ", port%10)
	}
	if d.node.NumPorts > 9 {
		d.printf("            %s\n", &tens)
	}
	d.printf("     Ports: %s\n MLid\n", &ones)
}

// portMask formats the ports of the entry; false for an entry without ports, unless all entries are
// printed.
func (d *routeDump) portMask(blocks []mad.MFTBlock, entry int) (string, bool) {
	var b strings.Builder
	shown := d.all
	for _, block := range blocks {
		shown = shown || block[entry] != 0
		if d.brief {
			fmt.Fprintf(&b, "%04x", block[entry])
		}
	}
	for port := range int(d.node.NumPorts) + 1 {
		switch {
		case d.brief:
		case blocks[port/mad.MFTPortsPerPosition][entry]>>(port%mad.MFTPortsPerPosition)&1 != 0:
			b.WriteString("x ")
		default:
			b.WriteString("  ")
		}
	}
	return b.String(), shown
}
