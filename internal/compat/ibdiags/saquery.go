package ibdiags

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

func saquery() Program {
	var note strings.Builder
	note.WriteString("\nSupported query names (and aliases):\n")
	for _, q := range saQueries() {
		fmt.Fprintf(&note, "  %s (%s) %s\n", q.name, q.alias, q.usage)
	}
	note.WriteString("\n  Queries node records by default.\n")
	return Program{
		Name: "saquery", Summary: "Print records of subnet administration",
		Usage: "[options] [query-name] [<name> | <lid> | <guid>]", UsageNote: note.String(), Example: "--list",
		Long: `Queries: NR (nodes, the default), PIR (ports), PR (paths), LR (links), MCMR (multicast members), SR
(services), SMIR (subnet managers), SWIR (switches), LFTR and MFTR (forwarding tables), SL2VL, VLAR,
PKTR, GIR, IIR (subscriptions) and CPI (capabilities); "saquery -h" lists them with their operands.
Differences from the C program: a query without an answer is sent three times; a key that is no
number is an error rather than a prompt; the block of a PKTR is its number, whose bytes C swaps.
Through ibsim, which has no RMPP, tables end after 256 bytes, as those of the C program do; standard
error says so.`,
		Options: append(saqueryOptions(), commonOptions("DGLsy")...),
		run:     runSaquery,
	}
}

// saqueryOptions are the specific options of saquery, in C's order with C's letters.
func saqueryOptions() []Option {
	return []Option{
		flagOption("p", 'p', "get PathRecord info"),
		flagOption("N", 'N', "get NodeRecord info"),
		flagOption("L", 'L', "return the Lids of the name specified"),
		flagOption("l", 'l', "return the unique Lid of the name specified"),
		flagOption("G", 'G', "return the Guids of the name specified"),
		flagOption("O", 'O', "return name for the Lid specified"),
		flagOption("U", 'U', "return name for the Guid specified"),
		flagOption("s", 's', "return the PortInfoRecords with isSM or \nisSMdisabled capability mask bit on"),
		flagOption("g", 'g', "get multicast group info"),
		flagOption("m", 'm',
			"get multicast member info (if multicast group \n"+
				"specified, list member GIDs only for group \n"+
				"specified, for example 'saquery -m 0xC000')"),
		flagOption("x", 'x', "get LinkRecord info"),
		flagOption("c", 'c', "get the SA's class port info"),
		flagOption("S", 'S', "get ServiceRecord info"),
		flagOption("I", 'I', "get InformInfoRecord (subscription) info"),
		flagOption("list", 'D', "the node desc of the CA's"),
		valueOption("src-to-dst", 1, "<src:dst>",
			"get a PathRecord for <src:dst> where src and \n"+
				"dst are either node names or LIDs"),
		valueOption("sgid-to-dgid", 2, "<sgid-dgid>",
			"get a PathRecord for <sgid-dgid> where sgid \n"+
				"and dgid are addresses in IPv6 format"),
		valueOption("node-name-map", 3, "<file>", "specify a node name map file"),
		valueOption("smkey", 4, "<val>",
			"SA SM_Key value for the query. If non-numeric \n"+
				"value (like 'x') is specified then saquery will \n"+
				"prompt for a value.  Default (when not \n"+
				"specified here or in ibdiag.conf) is to  use \n"+
				"SM_Key == 0 (or \"untrusted\")"),
		valueOption("slid", 5, "<lid>", "Source LID (PathRecord)"),
		valueOption("dlid", 6, "<lid>", "Destination LID (PathRecord)"),
		valueOption("mlid", 7, "<lid>", "Multicast LID (MCMemberRecord)"),
		valueOption("sgid", 14, "<gid>", "Source GID (IPv6 format) (PathRecord)"),
		valueOption("dgid", 15, "<gid>", "Destination GID (IPv6 format) (PathRecord)"),
		valueOption("gid", 16, "<gid>", "Port GID (MCMemberRecord)"),
		valueOption("mgid", 17, "<gid>", "Multicast GID (MCMemberRecord)"),
		valueOption("reversible", 'r', "<val>", "Reversible path (PathRecord)"),
		valueOption("numb_path", 'n', "<val>", "Number of paths (PathRecord)"),
		valueOption("pkey", 18, "<val>",
			"P_Key (PathRecord, MCMemberRecord). If \n"+
				"non-numeric value (like 'x') is specified then \n"+
				"saquery will prompt for a value"),
		valueOption("qos_class", 'Q', "<val>", "QoS Class (PathRecord)"),
		valueOption("sl", 19, "<val>", "Service level (PathRecord, MCMemberRecord)"),
		valueOption("mtu", 'M', "<val>", "MTU and selector (PathRecord, MCMemberRecord)"),
		valueOption("rate", 'R', "<val>", "Rate and selector (PathRecord, MCMemberRecord)"),
		valueOption("pkt_lifetime", 20, "<val>", "Packet lifetime and selector (PathRecord, MCMemberRecord)"),
		valueOption("qkey", 'q', "<val>",
			"Q_Key (MCMemberRecord). If non-numeric value \n"+
				"(like 'x') is specified then saquery will \n"+
				"prompt for a value"),
		valueOption("tclass", 'T', "<val>", "Traffic Class (PathRecord, MCMemberRecord)"),
		valueOption("flow_label", 'F', "<val>", "Flow Label (PathRecord, MCMemberRecord)"),
		valueOption("hop_limit", 'H', "<val>", "Hop limit (PathRecord, MCMemberRecord)"),
		valueOption("scope", 21, "<val>", "Scope (MCMemberRecord)"),
		valueOption("join_state", 'J', "<val>", "Join state (MCMemberRecord)"),
		valueOption("proxy_join", 'X', "<val>", "Proxy join (MCMemberRecord)"),
		valueOption("service_id", 22, "<val>", "ServiceID (PathRecord)"),
	}
}

// saMode is what saquery does.
type saMode uint8

const (
	saByName saMode = iota // a query by name, or by an option that stands for one
	saNodes
	saClassPortInfo
	saManagers
	saGroups
	saMembers
)

// saShow is what saquery prints of each node.
type saShow uint8

const (
	showRecord saShow = iota
	showDescriptions
	showLIDs
	showLID
	showGUIDs
	showNameOfLID
	showNameOfGUID
)

// saRun is a run of saquery.
type saRun struct {
	*run
	saParams
	client   sa.Client
	names    nodeNames
	nameFile string
	key      uint64 // SM_Key
	mode     saMode
	kind     mad.Attribute // of a query that an option selects; 0: none
	show     saShow
	from, to string // operands of --src-to-dst

	info mad.ClassPortInfo
}

// exitError is an error with C's exit code, after its message was printed: a number of Linux's
// errno.h, on all systems.
type exitError int

// The errors of saquery by their exit codes.
const (
	errSAIO         exitError = 5   // EIO
	errSAInvalid    exitError = 22  // EINVAL
	errSANoNetwork  exitError = 64  // ENONET
	errSAUnanswered exitError = 110 // ETIMEDOUT
)

// Error implements error with glibc's message.
func (e exitError) Error() string {
	return map[exitError]string{
		errSAIO: "Input/output error", errSAInvalid: "Invalid argument",
		errSANoNetwork:  "Machine is not on the network",
		errSAUnanswered: "Connection timed out",
	}[e]
}

func runSaquery(ctx context.Context, r *run) int {
	q := &saRun{run: r, saParams: newSAParams()}
	if code, done := r.options(q.option); done {
		return code
	}
	if q.key == 0 {
		q.key = r.saKey
	}
	query, operands, code := q.choose()
	if code != 0 {
		return code
	}
	if !r.open(ctx) {
		return exitMinusOne
	}
	q.client = sa.Client{Transport: r.transport, Timeout: r.timeout, SMKey: q.key}
	if _, err := q.client.Locate(ctx); err != nil {
		r.warn("sa_get_handle", "No SM/SA found on port %s:%d", r.deviceName(), r.port)
		r.errorf("ibpanic: [%d] main: Failed to bind to the SA: %s\n", r.PID, "No such file or directory")
		r.cause(err)
		return exitMinusOne
	}
	q.names = r.readNodeNames(q.nameFile)
	err := q.ask(ctx, query, operands)
	if code, ok := errors.AsType[exitError](err); ok {
		return int(code)
	}
	return 0
}

// choose returns the query of the operands and options, with the operands that are left; another
// exit code than 0 ends the run.
func (q *saRun) choose() (saQuery, []string, int) {
	operands := q.operands
	kind := q.kind
	if kind == 0 {
		kind = mad.AttributeNodeRecord
		if q.mode == saByName && len(operands) > 0 {
			if named, ok := findSAQuery(operands[0]); ok {
				kind, operands = named.attribute, operands[1:]
			}
		}
	}
	wrong := ""
	switch {
	case (q.show == showLIDs || q.show == showLID || q.show == showGUIDs) && len(operands) == 0:
		wrong = "name not specified"
	case q.show == showNameOfLID && len(operands) == 0:
		wrong = "lid not specified"
	case q.show == showNameOfGUID && len(operands) == 0:
		wrong = "guid not specified"
	case q.show == showNameOfLID && uint16(unsignedOf(operands[0])) == 0:
		wrong = "lid invalid"
	}
	if wrong != "" {
		q.errorf("ERROR: %s\n", wrong)
		return saQuery{}, nil, q.usage()
	}
	for _, query := range saQueries() {
		if query.attribute == kind {
			return query, operands, 0
		}
	}
	return saQuery{}, nil, exitUsage // not reached: each kind has a query
}

// ask runs the query.
func (q *saRun) ask(ctx context.Context, query saQuery, operands []string) error {
	for text, lid := range map[*string]*uint16{&q.from: &q.slid, &q.to: &q.dlid} {
		if *text != "" {
			v, err := q.lid(ctx, *text)
			if err != nil {
				return err
			}
			*lid = v
		}
	}
	if q.mode == saClassPortInfo || query.attribute == mad.AttributeClassPortInfo ||
		query.attribute == mad.AttributeSwitchInfoRecord {
		if err := q.readClassPortInfo(ctx); err != nil {
			q.errorf("Failed to query SA:ClassPortInfo\n")
			return err
		}
	}
	switch q.mode {
	case saNodes:
		return q.printNodes(ctx, operands)
	case saClassPortInfo:
		q.printf("%s", classPortInfoText(&q.info))
		return nil
	case saManagers:
		return q.printManagers(ctx)
	case saGroups:
		return q.print(ctx, sa.Query{Attribute: mad.AttributeMCMemberRecord}, plain(groupText))
	case saMembers:
		return q.printMembers(ctx, operands)
	default:
		return query.run(q, ctx, operands)
	}
}

// option handles a specific option.
func (q *saRun) option(letter byte, arg string) bool {
	switch letter {
	case 1:
		var ok bool
		q.from, q.to, ok = strings.Cut(arg, ":")
		q.numPath, q.kind = mad.MaxNumPath, mad.AttributePathRecord
		return ok
	case 2:
		from, to, ok := strings.Cut(arg, "-")
		q.numPath, q.kind = mad.MaxNumPath, mad.AttributePathRecord
		return ok && parseGID(from, &q.sgid) && parseGID(to, &q.dgid)
	case 3:
		q.nameFile = arg
	case 4:
		return q.keyOption(arg, "SM_Key", func(v uint64) { q.key = v })
	case 'p':
		q.kind = mad.AttributePathRecord
	case 'S':
		q.kind = mad.AttributeServiceRecord
	case 'I':
		q.kind = mad.AttributeInformInfoRecord
	case 'x':
		q.kind = mad.AttributeLinkRecord
	case 'c':
		q.mode = saClassPortInfo
	case 's':
		q.mode = saManagers
	case 'g':
		q.mode = saGroups
	case 'm':
		q.mode = saMembers
	default:
		if show, ok := saShows()[letter]; ok {
			q.mode = saNodes
			if letter != 'N' { // as in C, -N changes only the mode
				q.show = show
			}
			return true
		}
		return q.component(letter, arg)
	}
	return true
}

func saShows() map[byte]saShow {
	return map[byte]saShow{
		'N': showRecord, 'D': showDescriptions, 'L': showLIDs, 'l': showLID, 'G': showGUIDs, 'O': showNameOfLID,
		'U': showNameOfGUID,
	}
}

// keyOption parses a key. C prompts for one that doesn't begin with a digit.
func (q *saRun) keyOption(arg, name string, set func(uint64)) bool {
	if arg == "" || !strings.ContainsRune("0123456789abcdefABCDEF", rune(arg[0])) {
		q.errorf("cannot get %s\n", name)
		return false
	}
	set(unsignedOf(arg))
	return true
}

// unsignedOf parses a number as strtoull with base 0.
func unsignedOf(text string) uint64 {
	v, _ := clib.Strtoul(text, 0)
	return v
}

// parseGID parses a GID as inet_pton does.
func parseGID(text string, g *ib.GID) bool {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return false
	}
	*g = a.As16()
	return true
}
