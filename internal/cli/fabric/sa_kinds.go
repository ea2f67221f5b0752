package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/fabric/sa"
	"github.com/rdmakit/rdmakit/internal/text/output"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// saKind is a kind of record that sa prints.
type saKind struct {
	name, usage, summary string
	operands             int  // at most
	needed               bool // at least one
	query                func(lids []ib.LID) sa.Query
	read                 func(r *saReport, t *sa.Table) error
	columns              []output.Column
	rows                 func(r *saReport, add func(cells ...string))
}

func saKindNames() (names []string) {
	for _, k := range saKinds() {
		names = append(names, k.name)
	}
	return names
}

func findSAKind(name string) (saKind, bool) {
	for _, k := range saKinds() {
		if k.name == name {
			return k, true
		}
	}
	return saKind{}, false
}

// byLID returns the query for an attribute whose records begin with a LID, the first component.
func byLID(a mad.Attribute) func(lids []ib.LID) sa.Query {
	return func(lids []ib.LID) sa.Query {
		q := sa.Query{Attribute: a}
		if len(lids) > 0 {
			q.Mask, q.Record = 1, []byte{byte(lids[0] >> 8), byte(lids[0])}
		}
		return q
	}
}

func pathQuery(lids []ib.LID) sa.Query {
	r := mad.PathRecord{SLID: lids[0], NumPath: mad.MaxNumPath}
	q := sa.Query{
		Attribute: mad.AttributePathRecord, Mask: mad.PathRecordMaskSLID | mad.PathRecordMaskNumPath,
	}
	if len(lids) > 1 {
		r.DLID = lids[1]
		q.Mask |= mad.PathRecordMaskDLID
	}
	q.Record = r.Append(nil)
	return q
}

// readAll decodes the records of a table and adds them to a list.
func readAll[R, T any, P interface {
	*R
	Decode(b []byte) (int, error)
}](list func(r *saReport) *[]T, convert func(record P) []T) func(r *saReport, t *sa.Table) error {
	return func(r *saReport, t *sa.Table) error {
		records, err := sa.Records[R, P](t)
		out := list(r)
		*out = []T{} // present in the document, even without records
		for i := range records {
			*out = append(*out, convert(&records[i])...)
		}
		return err
	}
}

// right returns a column of numbers.
func right(name string) output.Column { return output.Column{Name: name, Align: output.AlignRight} }

// saKinds returns the kinds in the order of the help.
func saKinds() []saKind { return slices.Concat(saPlaces(), saTables()) }

// saPlaces returns the kinds of nodes and what connects them.
func saPlaces() []saKind {
	return []saKind{
		{
			name: "nodes", usage: "[LID]", summary: "nodes, one record for each port that has a LID", operands: 1,
			query: byLID(mad.AttributeNodeRecord),
			read:  readAll(func(r *saReport) *[]saNode { return &r.Nodes }, nodeOf),
			columns: []output.Column{
				{Name: "name"},
				right("lid"),
				{Name: "type"},
				right("port"),
				{Name: "port guid", Priority: 1},
				{Name: "node guid", Priority: 2},
			},
			rows: func(r *saReport, add func(...string)) {
				for _, n := range r.Nodes {
					add(n.Name, lidText(n.LID), n.Type, fmt.Sprint(n.Port), guidText(n.PortGUID), guidText(n.NodeGUID))
				}
			},
		},
		{
			name: "ports", usage: "[LID]", summary: "ports with state, width and speed", operands: 1,
			query: byLID(mad.AttributePortInfoRecord),
			read:  readAll(func(r *saReport) *[]saPort { return &r.Ports }, portOf),
			columns: []output.Column{
				right("lid"), right("port"),
				{Name: "state"},
				{Name: "width"},
				{Name: "speed"},
				right("mtu"),
				right("sm lid"),
			},
			rows: func(r *saReport, add func(...string)) {
				for _, p := range r.Ports {
					add(lidText(p.LID), fmt.Sprint(p.Port), p.State, p.Width, p.Speed, fmt.Sprint(p.MTU),
						lidText(p.SMLID))
				}
			},
		},
		{
			name: "links", usage: "[LID]", summary: "links, in both directions", operands: 1,
			query: byLID(mad.AttributeLinkRecord),
			read:  readAll(func(r *saReport) *[]saLink { return &r.Links }, linkOf),
			columns: []output.Column{
				right("from lid"), right("from port"), right("to lid"), right("to port"),
			},
			rows: func(r *saReport, add func(...string)) {
				for _, l := range r.Links {
					add(lidText(l.FromLID), fmt.Sprint(l.FromPort), lidText(l.ToLID), fmt.Sprint(l.ToPort))
				}
			},
		},
		{
			name: "paths", usage: "SRC [DST]", summary: "paths from LID SRC, to all ports or to LID DST", operands: 2,
			needed: true, query: pathQuery,
			read: readAll(func(r *saReport) *[]saPath { return &r.Paths }, pathOf),
			columns: []output.Column{
				right("src"), right("dst"), right("sl"), right("mtu"), right("gbit/s"),
				{Name: "p_key"},
				{Name: "dst gid", Priority: 1},
			},
			rows: func(r *saReport, add func(...string)) {
				for _, p := range r.Paths {
					add(lidText(p.SLID), lidText(p.DLID), fmt.Sprint(p.SL), fmt.Sprint(p.MTU), rateNumber(p.Gbps),
						p.PKey.String(), p.DGID.String())
				}
			},
		},
	}
}

// saTables returns the other kinds.
func saTables() []saKind {
	return []saKind{
		{
			name: "multicast", summary: "multicast groups, and with --sm-key their members",
			query: byLID(mad.AttributeMCMemberRecord),
			read:  readAll(func(r *saReport) *[]saGroup { return &r.Groups }, groupOf),
			columns: []output.Column{
				{Name: "mlid"},
				{Name: "mgid"},
				{Name: "p_key"},
				right("mtu"), right("gbit/s"),
				{Name: "member", Priority: 1},
				{Name: "joined as", Priority: 2},
			},
			rows: func(r *saReport, add func(...string)) {
				for _, g := range r.Groups {
					member := ""
					if g.Member != nil {
						member = g.Member.String()
					}
					add(fmt.Sprintf("0x%04x", uint16(g.MLID)), g.MGID.String(), g.PKey.String(), fmt.Sprint(g.MTU),
						rateNumber(g.Gbps), member, strings.Join(g.JoinedAs, ", "))
				}
			},
		},
		{
			name: "services", summary: "services that ports have registered",
			query:   byLID(mad.AttributeServiceRecord),
			read:    readAll(func(r *saReport) *[]saService { return &r.Services }, serviceOf),
			columns: []output.Column{{Name: "id"}, {Name: "name"}, {Name: "gid"}, {Name: "p_key"}, {Name: "lease"}},
			rows: func(r *saReport, add func(...string)) {
				for _, s := range r.Services {
					lease := "forever"
					if s.Lease != nil {
						lease = fmt.Sprintf("%d s", *s.Lease)
					}
					add(s.ID, s.Name, s.GID.String(), s.PKey.String(), lease)
				}
			},
		},
		{
			name: "managers", usage: "[LID]", summary: "subnet managers that the master knows", operands: 1,
			query: byLID(mad.AttributeSMInfoRecord),
			read:  readAll(func(r *saReport) *[]saManager { return &r.Managers }, managerOf),
			columns: []output.Column{
				right("lid"), {Name: "state"}, right("priority"), right("activity"), {Name: "port guid"},
			},
			rows: func(r *saReport, add func(...string)) {
				for _, m := range r.Managers {
					add(lidText(m.LID), m.State, fmt.Sprint(m.Priority), fmt.Sprint(m.Activity), guidText(m.GUID))
				}
			},
		},
		{
			name: "forwarding", usage: "[LID]", summary: "linear forwarding tables of switches", operands: 1,
			query:   byLID(mad.AttributeLinearForwardingTableRecord),
			read:    readAll(func(r *saReport) *[]saRoute { return &r.Forwarding }, routesOf),
			columns: []output.Column{right("switch lid"), right("dst"), right("port")},
			rows: func(r *saReport, add func(...string)) {
				for _, f := range r.Forwarding {
					add(lidText(f.Switch), lidText(f.DLID), fmt.Sprint(f.Port))
				}
			},
		},
		{
			name: "lanes", usage: "[LID]", summary: "virtual lanes by service level (SL2VL)", operands: 1,
			query: byLID(mad.AttributeSLtoVLMappingTableRecord),
			read:  readAll(func(r *saReport) *[]saLaneTable { return &r.Lanes }, lanesOf),
			columns: []output.Column{
				right("lid"), right("in"), right("out"), {Name: "lanes of service levels 0 to 15", Wrap: true},
			},
			rows: func(r *saReport, add func(...string)) {
				for _, l := range r.Lanes {
					var words []string
					for _, lane := range l.Lanes {
						words = append(words, strconv.Itoa(lane))
					}
					add(lidText(l.LID), fmt.Sprint(l.In), fmt.Sprint(l.Out), strings.Join(words, " "))
				}
			},
		},
	}
}
