package administration

import (
	"slices"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// informInfo is the attribute of subscriptions.
const informInfo mad.Attribute = 3

// register takes a registration, or with Delete removes it, and returns the record for the answer.
func (s *Server) register(q *mad.SA, from ib.LID) ([][]byte, mad.Status) {
	remove := q.Method == mad.MethodDelete
	switch {
	case q.AttributeID == mad.AttributeServiceRecord:
		return s.registerService(q, remove)
	case q.AttributeID == mad.AttributeMCMemberRecord && remove:
		return s.leave(q)
	case q.AttributeID == mad.AttributeMCMemberRecord:
		return s.join(q)
	case q.AttributeID == informInfo && !remove:
		return s.subscribe(q, from)
	}
	return nil, mad.StatusUnsupportedMethodAttribute
}

func (s *Server) registerService(q *mad.SA, remove bool) ([][]byte, mad.Status) {
	var r mad.ServiceRecord
	r.Decode(q.Data[:]) //nolint:errcheck // long enough
	const key = mad.ServiceRecordMaskServiceID | mad.ServiceRecordMaskServiceGID | mad.ServiceRecordMaskServicePKey
	if q.ComponentMask&key != key {
		return nil, mad.StatusSAInsufficientComponent
	}
	at := slices.IndexFunc(s.Services, func(o mad.ServiceRecord) bool {
		return o.ServiceID == r.ServiceID && o.ServiceGID == r.ServiceGID && o.ServicePKey == r.ServicePKey
	})
	switch {
	case remove && at < 0:
		return nil, mad.StatusSANoRecords
	case remove:
		s.Services = slices.Delete(s.Services, at, at+1)
	case at < 0:
		s.Services = append(s.Services, r)
	default:
		s.Services[at] = r
	}
	return [][]byte{r.Append(nil)}, 0
}

// subscribe adds or removes a subscription to events, which aren't reported.
func (s *Server) subscribe(q *mad.SA, from ib.LID) ([][]byte, mad.Status) {
	const head = 24 // of a record, before the InformInfo
	var r mad.InformInfoRecord
	r.Decode(append(make([]byte, head), q.Data[:]...)) //nolint:errcheck // long enough
	subscribes := r.Info.Subscribe
	for e := range s.ends() {
		if e.lid == from {
			r.SubscriberGID = e.gid()
		}
	}
	at := slices.IndexFunc(s.Subscriptions, func(o mad.InformInfoRecord) bool {
		o.Info.Subscribe, o.Enum = subscribes, 0
		return o == r
	})
	switch {
	case subscribes == 0 && at < 0:
		return nil, mad.StatusSARequestInvalid
	case subscribes == 0:
		s.Subscriptions = slices.Delete(s.Subscriptions, at, at+1)
	case at < 0:
		for _, o := range s.Subscriptions {
			if o.SubscriberGID == r.SubscriberGID {
				r.Enum = max(r.Enum, o.Enum+1)
			}
		}
		s.Subscriptions = append(s.Subscriptions, r)
	}
	return [][]byte{slices.Clone(q.Data[:mad.InformInfoRecordLen-head])}, 0
}

// Components that a join must have, and those that must be known to create a group (specification
// section 15.2.5.17).
const (
	joins = mad.MCMemberRecordMaskMGID | mad.MCMemberRecordMaskPortGID | mad.MCMemberRecordMaskJoinState
	makes = mad.MCMemberRecordMaskQKey | mad.MCMemberRecordMaskPKey | mad.MCMemberRecordMaskSL |
		mad.MCMemberRecordMaskFlowLabel | mad.MCMemberRecordMaskTClass
	fullMember = 1
)

// join makes a port a member of a group, which a full member may create.
func (s *Server) join(q *mad.SA) ([][]byte, mad.Status) {
	var r mad.MCMemberRecord
	r.Decode(q.Data[:]) //nolint:errcheck // long enough
	if q.ComponentMask&joins != joins {
		return nil, mad.StatusSAInsufficientComponent
	}
	at, group := s.member(&r)
	switch {
	case group == nil && (q.ComponentMask&makes != makes || r.JoinState&fullMember == 0):
		return nil, mad.StatusSAInsufficientComponent
	case r.MGID[0] != 0xff || r.JoinState == 0:
		return nil, mad.StatusSARequestInvalid
	case group == nil:
		r.MLID = mad.MulticastLIDBase
		for _, o := range s.Members {
			r.MLID = max(r.MLID, o.MLID+1)
		}
		r.MTUSelector, r.RateSelector, r.PacketLifeTimeSelector = exactly, exactly, exactly
	default:
		of := *group
		of.PortGID, of.JoinState, of.ProxyJoin = r.PortGID, r.JoinState, r.ProxyJoin
		r = of
	}
	if at >= 0 {
		r.JoinState |= s.Members[at].JoinState
		s.Members[at] = r
	} else {
		s.Members = append(s.Members, r)
	}
	return [][]byte{r.Append(nil)}, 0
}

// member returns the place of a member, -1 if it is none, and a record of its group or nil.
func (s *Server) member(r *mad.MCMemberRecord) (at int, group *mad.MCMemberRecord) {
	at = -1
	for i := range s.Members {
		o := &s.Members[i]
		if o.MGID != r.MGID {
			continue
		}
		group = o
		if o.PortGID == r.PortGID {
			at = i
		}
	}
	return at, group
}

// leave ends the membership of a port as far as JoinState says, and the group with its last member.
func (s *Server) leave(q *mad.SA) ([][]byte, mad.Status) {
	var r mad.MCMemberRecord
	r.Decode(q.Data[:]) //nolint:errcheck // long enough
	if q.ComponentMask&joins != joins {
		return nil, mad.StatusSAInsufficientComponent
	}
	at, _ := s.member(&r)
	if at < 0 || (r.PortGID == ib.GID{}) || s.Members[at].JoinState&r.JoinState == 0 {
		return nil, mad.StatusSARequestInvalid
	}
	left := s.Members[at]
	left.JoinState &^= r.JoinState
	s.Members[at] = left
	if left.JoinState == 0 {
		s.Members = slices.Delete(s.Members, at, at+1)
	}
	return [][]byte{left.Append(nil)}, 0
}
