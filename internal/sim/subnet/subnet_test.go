package subnet_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// ask sends one request on a directed route and returns the response, or false if none arrives
// within a second.
func ask(t *testing.T, tr *subnet.Transport, a mad.Attribute, modifier uint32, route ...uint8) (mad.DirectedSMP, bool) {
	t.Helper()
	path, err := mad.NewPath(route...)
	if err != nil {
		t.Fatal(err)
	}
	question := mad.NewDirectedSMP(mad.MethodGet, a, modifier, 42, &path)
	d := make([]fabric.Datagram, 1)
	question.Append(d[0].MAD[:0])
	if n, err := tr.Send(d); n != 1 || err != nil {
		t.Fatalf("Send = %d, %v", n, err)
	}
	n, err := tr.Receive(t.Context(), d, time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var answer mad.DirectedSMP
	answer.Decode(d[0].MAD[:]) //nolint:errcheck // long enough
	if n == 1 && (answer.Method != mad.MethodGetResp || !answer.IsReturning() || answer.TransactionID != 42) {
		t.Errorf("response = method 0x%x, returning %v, tid %d",
			answer.Method, answer.IsReturning(), answer.TransactionID)
	}
	return answer, n == 1
}

func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1) // leaves: hosts at 1 and 2, the spine at 3
		s.Delay = time.Millisecond
		tr := s.Transport("host0")
		for _, test := range []struct {
			route []uint8
			name  string
			in    uint8
		}{
			{nil, "host0", 1},
			{[]uint8{1}, "leaf0", 1},
			{[]uint8{1, 2}, "host1", 1},
			{[]uint8{1, 3}, "spine0", 1},
			{[]uint8{1, 3, 2, 1}, "host2", 1},
			{[]uint8{1, 1}, "host0", 1},
			{[]uint8{2}, "", 0},
			{[]uint8{0}, "", 0},
			{[]uint8{1, 9}, "", 0},
			{[]uint8{1, 2, 1}, "", 0},
		} {
			answer, ok := ask(t, tr, mad.AttributeNodeInfo, 0, test.route...)
			if ok != (test.name != "") {
				t.Errorf("route %v: answer %v", test.route, ok)
				continue
			}
			var info mad.NodeInfo
			info.Decode(answer.Data[:]) //nolint:errcheck // long enough
			if ok && (info.NodeGUID != s.Node(test.name).GUID || info.LocalPortNum != test.in) {
				t.Errorf("route %v leads to %v port %d, want %s port %d",
					test.route, info.NodeGUID, info.LocalPortNum, test.name, test.in)
			}
		}
		if answer, ok := ask(t, tr, mad.AttributeSwitchInfo, 0); !ok ||
			answer.Result() != mad.StatusUnsupportedMethodAttribute {
			t.Errorf("switch info of a host = %v, %v", answer.Result(), ok)
		}
		if answer, ok := ask(t, tr, mad.AttributePortInfo, 99, 1); !ok || answer.Result() == 0 {
			t.Errorf("port info of port 99 = %v, %v", answer.Result(), ok)
		}
		s.Node("leaf0").Dead = true
		if _, ok := ask(t, tr, mad.AttributeNodeInfo, 0, 1); ok {
			t.Error("a dead switch responds")
		}
	})
}

func TestForwarding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := subnet.FatTree(2, 2, 1)
		answer, _ := ask(t, s.Transport("host0"), mad.AttributeLFT, 0, 1)
		for name, want := range map[string]uint8{"host0": 1, "host1": 2, "host2": 3, "host3": 3} {
			if got := answer.Data[s.Node(name).LIDs[1]]; got != want {
				t.Errorf("leaf0 sends to %s by port %d, want %d", name, got, want)
			}
		}
		for name, want := range map[string]uint8{"leaf0": 0, "leaf1": 3, "spine0": 3} {
			if got := answer.Data[s.Node(name).LIDs[0]]; got != want {
				t.Errorf("leaf0 sends to %s by port %d, want %d", name, got, want)
			}
		}
		if answer.Data[0] != mad.LFTPortNone || answer.Data[63] != mad.LFTPortNone {
			t.Errorf("unassigned LIDs have ports %d and %d", answer.Data[0], answer.Data[63])
		}
	})
}

func TestReceiveWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := subnet.FatTree(1, 1, 1).Transport("host0")
		var d [1]fabric.Datagram
		start := time.Now()
		if n, err := tr.Receive(t.Context(), d[:], start.Add(time.Second)); n != 0 || err != nil ||
			time.Since(start) != time.Second {
			t.Errorf("Receive = %d, %v after %v, want 0 at its deadline", n, err, time.Since(start))
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(why) })
		if _, err := tr.Receive(ctx, d[:], time.Time{}); !errors.Is(err, why) {
			t.Errorf("Receive, cancelled = %v", err)
		}
		time.AfterFunc(time.Minute, func() {
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
		})
		if _, err := tr.Receive(t.Context(), d[:], time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Receive, closed = %v", err)
		}
	})
}
