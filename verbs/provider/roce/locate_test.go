package roce

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	device := func(name string, addrs ...string) netdev {
		n := netdev{Interface: net.Interface{Name: name}}
		for _, a := range addrs {
			n.addrs = append(n.addrs, netip.MustParsePrefix(a))
		}
		return n
	}
	list := []netdev{
		device("lo", "127.0.0.1/8", "::1/128"),
		device("bare"),
		device("local", "fe80::1/64"),
		device("cable", "fe80::9/64", "169.254.3.4/16"),
		device("twin", "fe80::9/64"),
		device("late", "169.254.3.5/16", "fe80::5/64", "2001:db8::5/64"),
		device("both", "fe80::2/64", "2001:db8::2/64", "192.0.2.2/24", "192.0.2.3/24"),
		device("six", "fe80::3/64", "2001:db8::3/64"),
	}
	tests := []struct{ where, addr, netdev, err string }{
		{"127.0.9.9", "127.0.9.9", "lo", ""},
		{"lo", "127.0.0.1", "lo", ""},
		{"192.0.2.3", "192.0.2.3", "both", ""},
		{"::ffff:192.0.2.3", "192.0.2.3", "both", ""},
		{"both", "192.0.2.2", "both", ""},
		{"six", "2001:db8::3", "six", ""},
		{"bare", "", "", "bare: no IP address"},
		{"local", "fe80::1%local", "local", ""},
		{"fe80::1", "fe80::1%local", "local", ""},
		{"fe80::1%local", "fe80::1%local", "local", ""},
		{"fe80::1%7", "fe80::1%local", "local", ""},
		{"fe80::1%twin", "", "", "fe80::1%twin: no such address of this machine"},
		{"cable", "169.254.3.4", "cable", ""},
		{"late", "2001:db8::5", "late", ""},
		{"fe80::9%twin", "fe80::9%twin", "twin", ""},
		{"fe80::9", "", "", "fe80::9: an address of cable and of twin: roce@fe80::9%cable names one of them"},
		{"eth7", "", "", "eth7: no such network device"},
		{"192.0.2.4", "", "", "192.0.2.4: no such address of this machine"},
		{"", "", "", "no address and no network device follows roce@"},
	}
	list[slices.IndexFunc(list, func(n netdev) bool { return n.Name == "local" })].Index = 7
	for _, tt := range tests {
		addr, n, err := locate(list, tt.where)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("locate(%q) = %v, %v, want %q that matches fs.ErrNotExist", tt.where, addr, err, tt.err)
			}
			continue
		}
		if err != nil || addr.String() != tt.addr || n.Name != tt.netdev {
			t.Errorf("locate(%q) = %v, %+v, %v, want %s of %s", tt.where, addr, n, err, tt.addr, tt.netdev)
		}
	}
}

func TestNames(t *testing.T) {
	device := func(name string, flags net.Flags, addrs ...string) netdev {
		n := netdev{Interface: net.Interface{Name: name, Flags: flags}}
		for _, a := range addrs {
			n.addrs = append(n.addrs, netip.MustParsePrefix(a))
		}
		return n
	}
	list := []netdev{
		device("lo", net.FlagUp|net.FlagLoopback, "127.0.0.1/8"),
		device("down", 0, "192.0.2.1/24"),
		device("eth1", net.FlagUp, "fe80::2/64", "192.0.2.2/24"),
		device("bare", net.FlagUp),
		device("local", net.FlagUp, "fe80::1/64"),
		device("cable", net.FlagUp, "169.254.3.4/16"),
		device("eth0", net.FlagUp, "2001:db8::2/64"),
		device("unplugged", 0, "fe80::3/64"),
	}
	got, want := names(list), []string{"roce@eth1", "roce@eth0", "roce@cable", "roce@lo"}
	if !slices.Equal(got, want) {
		t.Errorf("names = %v, want %v", got, want)
	}
	if got := linkLocalNames(list); !slices.Equal(got, []string{"roce@local"}) {
		t.Errorf("linkLocalNames = %v, want roce@local", got)
	}
}

// TestNoSuchPort queries a port that an engine doesn't have: the error matches fs.ErrNotExist, as
// that of a device of the kernel does.
func TestNoSuchPort(t *testing.T) {
	e := &Engine{name: "roce@192.0.2.1"}
	for _, number := range []int{0, 2} {
		_, err := e.Port(t.Context(), number)
		_, gidErr := e.GIDs(t.Context(), number)
		if want := fmt.Sprintf("no port %d: ", number); err == nil || !strings.HasPrefix(err.Error(), want) ||
			!errors.Is(err, fs.ErrNotExist) || !errors.Is(gidErr, fs.ErrNotExist) {
			t.Errorf("Port(%d) = %v, GIDs = %v, want %q that matches fs.ErrNotExist", number, err, gidErr, want)
		}
	}
}

// TestSubnet checks the subnets of addresses; one with the length of the address is none.
func TestSubnet(t *testing.T) {
	n := netdev{addrs: []netip.Prefix{
		netip.MustParsePrefix("fe80::1/64"), netip.MustParsePrefix("192.0.2.7/24"),
		netip.MustParsePrefix("198.51.100.130/25"), netip.MustParsePrefix("203.0.113.1/32"),
	}}
	for addr, want := range map[string]string{
		"fe80::1%eth0": "fe80::/64", "192.0.2.7": "192.0.2.0/24", "198.51.100.130": "198.51.100.128/25",
		"203.0.113.1": "invalid Prefix", "192.0.2.8": "invalid Prefix",
	} {
		if got := n.subnet(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("subnet(%s) = %s, want %s", addr, got, want)
		}
	}
	got, err := Subnet(Prefix + "127.0.0.1")
	if want := netip.MustParsePrefix("127.0.0.0/8"); got != want || err != nil {
		t.Errorf("Subnet(127.0.0.1) = %v, %v; want %v", got, err, want)
	}
	if got, err := Subnet(Prefix + "192.0.2.99"); err == nil {
		t.Errorf("Subnet of an address that this machine doesn't have = %v", got)
	}
}
