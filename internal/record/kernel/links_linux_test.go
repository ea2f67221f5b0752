package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/rdmanl"
)

// ipLink is a link as `ip -d -j link show` prints it.
type ipLink struct {
	Name    string   `json:"ifname"`
	Flags   []string `json:"flags"`
	Address string   `json:"address"`
	MTU     uint32   `json:"mtu"`
	MaxMTU  uint32   `json:"max_mtu"`
	Master  string   `json:"master"`
	Info    struct {
		Kind string `json:"info_kind"`
	} `json:"linkinfo"`
}

// linksByIP returns the links of the thread's namespace as ip reads them, without the counts of the
// carrier, which it doesn't print.
func linksByIP(t *testing.T) map[string]facts.Link {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ip", "-d", "-j", "link", "show").Output()
	var list []ipLink
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		t.Fatalf("ip link show: %v: %s", err, out)
	}
	links := map[string]facts.Link{}
	for _, l := range list {
		up := slices.Contains(l.Flags, "UP")
		links[l.Name] = facts.Link{
			Name: l.Name, Up: up, Running: up && !slices.Contains(l.Flags, "NO-CARRIER"), Address: l.Address,
			MTU: l.MTU, MaxMTU: l.MaxMTU, Master: l.Master, Kind: l.Info.Kind,
		}
	}
	return links
}

// linksWhen reads the links until rail0 is running or not, which the kernel sets with a delay.
func linksWhen(t *testing.T, running bool) map[string]facts.Link {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var f facts.Facts
		links(time.Now).Collect(t.Context(), nil, &f)
		if err := f.Links.State(); err != nil {
			t.Fatal(err)
		}
		found := map[string]facts.Link{}
		for _, l := range f.Links.Value {
			found[l.Name] = l
		}
		if found["rail0"].Running == running {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("rail0 = %+v, want running: %t", found["rail0"], running)
		}
	}
}

// TestLinksAreTheKernels compares the links of a namespace with those of ip, and counts a change of
// the carrier.
func TestLinksAreTheKernels(t *testing.T) {
	namespace(t)
	ip(t, "link set lo up", "link add br0 address "+peerMAC+" type bridge",
		"link add rail0 address "+railMAC0+" mtu 9000 type veth peer name peer0 address "+railMAC1,
		"link set rail0 master br0", "link set rail0 up", "link set peer0 up")
	before := linksWhen(t, true)
	want := linksByIP(t)
	for _, name := range []string{"lo", "br0", "rail0", "peer0"} {
		got := before[name]
		got.CarrierUp, got.CarrierDown = 0, 0
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("link %s, -ip +links:\n%s", name, diff)
		}
	}
	if l := want["rail0"]; l.Master != "br0" || l.Kind != "veth" || l.MTU != 9000 || l.MaxMTU == 0 || !l.Running {
		t.Errorf("ip shows rail0 as %+v, which tests too little", l)
	}
	if want["br0"].Up {
		t.Errorf("ip shows br0 as %+v, want one that is down", want["br0"])
	}
	ip(t, "link set peer0 down")
	after := linksWhen(t, false)
	if got := after["rail0"]; !got.Up || got.CarrierDown != before["rail0"].CarrierDown+1 ||
		got.CarrierUp != before["rail0"].CarrierUp {
		t.Errorf("rail0 without a carrier = %+v, before %+v", got, before["rail0"])
	}
	ip(t, "link set peer0 up")
	if got := linksWhen(t, true)["rail0"]; got.CarrierDown != after["rail0"].CarrierDown ||
		got.CarrierUp != after["rail0"].CarrierUp+1 {
		t.Errorf("rail0 with a carrier again = %+v, before %+v", got, after["rail0"])
	}
}

func TestLinksOfAnIncompleteList(t *testing.T) {
	broken := errors.New("broken framing")
	list := []rdmanl.Link{{Index: 7, Name: "rail0", MasterIndex: new(8)}, {Index: 8, Name: "bond0"}}
	got, err := linksOf(list, broken)
	want := []facts.Link{{Name: "rail0", Master: "bond0"}, {Name: "bond0"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("linksOf(an incomplete list) = %v, -want +got:\n%s", err, diff)
	}
	if got, err := linksOf(nil, broken); got != nil || !errors.Is(err, broken) {
		t.Errorf("linksOf(nothing) = %v, %v, want the error", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var f facts.Facts
	links(time.Now).Collect(ctx, nil, &f)
	if f.Links.State() == nil {
		t.Error("links after the end of the time have no error")
	}
}
