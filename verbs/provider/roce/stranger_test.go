package roce

import (
	"bytes"
	"testing"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// FuzzHostileStranger passes packets of an attacker, who knows queue pairs, keys and Q_Key, to
// queue pairs of the types UC and UD, which must neither panic nor write outside the memory. The
// input is a list of packets, each preceded by its length in four-byte words; the top bit chooses
// UD.
func FuzzHostileStranger(f *testing.F) {
	for _, seed := range hostileSeeds() {
		f.Add(seed)
		for at := 0; at < len(seed); at += 1 + 4*int(seed[at]) {
			if at+1 < len(seed) {
				seed[at+1] |= byte(serviceUC)
			}
		}
		f.Add(seed)
	}
	v := newVictim(f)
	own := v.qp
	var qps [2]provider.QueuePair
	for i, kind := range []provider.QPType{provider.QPTypeUC, provider.QPTypeUD} {
		qp, err := v.pd.CreateQP(provider.QPConfig{Type: kind, SendCQ: v.cq, RecvCQ: v.cq})
		if err != nil {
			f.Fatal(err)
		}
		attr := inner(f, own).attr
		attr.QKey = testQKey
		for attr.State = provider.QPStateInit; attr.State <= provider.QPStateRTS; attr.State++ {
			attr.Mask, _, _ = provider.TransitionAttributes(kind, attr.State-1, attr.State)
			if err := qp.Modify(attr); err != nil {
				f.Fatal(err)
			}
		}
		qps[i] = qp
		v.also = append([]interface{ Close() error }{qp}, v.also...)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		defer func() { v.qp = own }()
		for i := range qps {
			for range 3 {
				_, _ = qps[i].PostReceive([]provider.ReceiveRequest{{
					Segments: []provider.Segment{{Region: v.target, Length: victimSize}},
				}})
			}
		}
		for count := 0; len(in) > 0 && count < 64; count++ {
			v.qp = qps[in[0]>>7]
			n := min(1+4*int(in[0]&0x7f), len(in))
			v.take(v.patch(bytes.Clone(in[1:n])))
			in = in[n:]
		}
		drain(v.cq)
		v.qp = own
		v.check(t)
		for i := range qps {
			if r := &inner(t, qps[i]).resp; r.message.got > victimSize+int(ib.MTU4096) || r.jobCount != 0 || r.ackDue {
				t.Fatalf("queue pair %d: %+v", i, r.message)
			}
		}
	})
}
