package protocol

import (
	"net"
	"testing"
)

// TestSource checks which connections are counted together.
func TestSource(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:7700":                    "192.0.2.1",
		"[::ffff:192.0.2.1]:7700":           "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:7700":       "2001:db8:1:2::/64",
		"[2001:db8:1:2:ffff::1]:1":          "2001:db8:1:2::/64",
		"[2001:db8:1:3::1]:1":               "2001:db8:1:3::/64",
		"[fe80::a8bb:ccff:fedd:ee01%ib0]:1": "fe80::/64",
		"pipe":                              "pipe",
		"node1:7700":                        "node1",
	} {
		if got := source(addr); got != want {
			t.Errorf("source(%s) = %s, want %s", addr, got, want)
		}
	}
}

// addressed is a connection from an address.
type addressed struct {
	net.Conn
	addr net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.addr }
func (a addressed) Close() error         { return nil }

// TestFloodFromSubnet checks that a machine with many addresses of its subnet displaces its own
// connections only.
func TestFloodFromSubnet(t *testing.T) {
	s := newStrangers(1)
	defer s.close()
	from := func(ip string) *conn {
		return s.add(addressed{addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}})
	}
	early := from("2001:db8::1")
	for i := range 1000 {
		ip := net.ParseIP("2001:db8:0:1::")
		ip[14], ip[15] = byte(i>>8), byte(i)
		from(ip.String())
	}
	select {
	case <-early.gone:
		t.Error("the flood has displaced a connection from another subnet")
	default:
	}
	if n := s.all.Len(); n != s.limit {
		t.Errorf("%d connections, want %d", n, s.limit)
	}
}
