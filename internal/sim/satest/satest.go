// Package satest adds records to the subnet administration of a simulated subnet, as a client of
// it.
//
//	gid, set := satest.Setter(t, transport)
//	set(mad.AttributeServiceRecord, mask, record)
package satest

import (
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Setter returns the GID of the port of a transport, and a function that sends a record with the
// method Set from there to the subnet manager, and ends the test if that is refused.
func Setter(t *testing.T, tr fabric.Transport) (ib.GID, func(a mad.Attribute, mask uint64, record []byte)) {
	t.Helper()
	c := &fabric.Client{Transport: tr, Timeout: 5 * time.Second}
	own, err := c.OwnPort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, err := c.SMP(t.Context(), fabric.Target{}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var info mad.NodeInfo
	info.Decode(data) //nolint:errcheck // long enough
	gid := ib.GID{0xfe, 0x80}
	copy(gid[8:], info.PortGUID[:])
	return gid, func(a mad.Attribute, mask uint64, record []byte) {
		t.Helper()
		p := mad.NewSA(mad.MethodSet, a, mask, 0)
		copy(p.Data[:], record)
		d := fabric.Datagram{Address: fabric.Address{LID: own.MasterSMLID, QPN: 1, QKey: fabric.QKeyGSI}}
		p.Append(d.MAD[:0])
		if err := c.Call(t.Context(), &d); err != nil {
			t.Fatalf("%s: %v", a.Name(mad.ClassSA), err)
		}
	}
}
