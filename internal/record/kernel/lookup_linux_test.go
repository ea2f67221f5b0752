package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// namespace moves the test into a network namespace of its own, which ends with the test's thread.
func namespace(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatal("needs ip (package iproute2): make deps")
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatalf("new network namespace: %v", err)
	}
}

// ip runs commands of ip, those that begin with -6 last.
func ip(t *testing.T, commands ...string) {
	t.Helper()
	families := map[string][]string{}
	for _, c := range commands {
		six, ok := strings.CutPrefix(c, "-6 ")
		family := map[bool]string{true: "-6", false: "-4"}[ok]
		families[family] = append(families[family], six)
	}
	for _, family := range []string{"-4", "-6"} {
		cmd := exec.CommandContext(t.Context(), "ip", family, "-batch", "-")
		cmd.Stdin = strings.NewReader(strings.Join(families[family], "\n"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("ip -batch: %v: %s\n%s", err, out, strings.Join(families[family], "\n"))
		}
	}
}

// railNetwork has four rails, of which two share a subnet; the other ends are up, too.
func railNetwork() (commands []string, locals []netip.Addr) {
	commands = []string{"link set lo up"}
	for i, prefix := range []string{"10.0.0.1/24", "10.0.0.2/24", "10.0.2.1/24", "10.1.0.1/16"} {
		commands = append(commands,
			fmt.Sprintf("link add rail%d type veth peer name peer%d", i, i),
			fmt.Sprintf("link set peer%d up", i), fmt.Sprintf("link set rail%d up", i),
			fmt.Sprintf("addr add %s dev rail%d", prefix, i),
			fmt.Sprintf("-6 addr add 2001:db8:%d::%d/64 dev rail%d nodad", i/2, i%2+1, i))
		locals = append(locals, netip.MustParsePrefix(prefix).Addr())
	}
	return commands, locals
}

// randomRouting returns rules, and routes of some tables.
func randomRouting(rnd *rand.Rand, locals []netip.Addr) []string {
	gateways := []string{"10.0.0.254", "10.0.0.253", "10.0.2.254", "10.1.255.254"}
	rails := []int{0, 1, 2, 3}
	tables := []string{"main", "100", "101", "102"}
	prefix := func() string {
		bits := []int{8, 12, 16, 20, 24, 30, 32}[rnd.IntN(7)]
		a := netip.AddrFrom4([4]byte{10, byte(rnd.IntN(3)), byte(rnd.IntN(3)), byte(rnd.IntN(256))})
		return netip.PrefixFrom(a, bits).Masked().String()
	}
	one := func(list ...string) string { return list[rnd.IntN(len(list))] }
	var out []string
	seen := map[string]bool{}
	for range 4 + rnd.IntN(16) {
		table, to, metric := one(tables...), one(prefix(), prefix(), "default"), one("0", "10", "20")
		key := table + to + metric
		if seen[key] {
			continue
		}
		seen[key] = true
		i, j := rails[rnd.IntN(4)], rails[rnd.IntN(4)]
		way := fmt.Sprintf("via %s dev rail%d", gateways[i], i)
		kind := ""
		switch rnd.IntN(8) {
		case 0:
			way = fmt.Sprintf("dev rail%d", i)
		case 1:
			way = fmt.Sprintf("nexthop via %s dev rail%d weight 2 nexthop via %s dev rail%d", gateways[i], i,
				gateways[j], j)
		case 2:
			kind, way = one("unreachable", "blackhole", "prohibit", "throw"), ""
		}
		out = append(out, fmt.Sprintf("route add %s %s metric %s table %s %s", kind, to, metric, table, way))
	}
	for i := range rnd.IntN(10) {
		match := one(
			"from "+locals[rnd.IntN(4)].String(), "from "+locals[rnd.IntN(4)].String()+" to "+prefix(),
			"not from "+locals[rnd.IntN(4)].String(), "to "+prefix(), "from "+prefix(), "iif lo", "from all",
			fmt.Sprintf("oif rail%d", rnd.IntN(4)), "fwmark 7", "fwmark 0/0xff", "iif rail1", "not to "+prefix(),
			"tos 0x10",
		)
		do := one("table 100", "table 101", "table 102", "table main suppress_prefixlength 0", "table 100",
			"table 101 suppress_prefixlength 15", "unreachable", "blackhole", "prohibit", "goto 32766",
			fmt.Sprintf("goto %d", 1000+3*(i+1+rnd.IntN(4))), "nop")
		out = append(out, fmt.Sprintf("rule add %s %s priority %d", match, do, 1000+3*i))
	}
	return out
}

// ipAnswer is what `ip -j route get` prints.
type ipAnswer struct {
	Type, Gateway, Dev string
}

// kernelLookup asks the kernel; ok is false if it has no route.
func kernelLookup(t *testing.T, f facts.Flow) (answer ipAnswer, ok bool) {
	t.Helper()
	args := []string{"-j", "route", "get", f.To.String(), "from", f.From.String()}
	if f.Output != "" {
		args = append(args, "oif", f.Output)
	}
	out, err := exec.CommandContext(t.Context(), "ip", args...).Output()
	if err != nil {
		return answer, false
	}
	var list []ipAnswer
	if err := json.Unmarshal(out, &list); err != nil || len(list) != 1 {
		t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return list[0], true
}

// TestLookupIsTheKernels compares Routing.Lookup with `ip route get` under random rules and routes.
func TestLookupIsTheKernels(t *testing.T) {
	rounds := 16
	if testing.Short() {
		rounds = 6
	}
	outcomes := map[string]int{}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			namespace(t)
			rnd := rand.New(rand.NewPCG(uint64(seed), 68))
			commands, locals := railNetwork()
			commands = append(commands, randomRouting(rnd, locals)...)
			ip(t, commands...)
			r := readRouting(t)
			for range 60 {
				f := facts.Flow{From: locals[rnd.IntN(4)], To: netip.AddrFrom4(
					[4]byte{10, byte(rnd.IntN(3)), byte(rnd.IntN(3)), byte(1 + rnd.IntN(250))})}
				if slices.Contains(locals, f.To) {
					continue
				}
				if rnd.IntN(2) == 0 {
					f.Output = fmt.Sprintf("rail%d", slices.Index(locals, f.From))
				}
				if kind := compareLookup(t, r, f); kind != "" {
					outcomes[kind]++
				} else {
					t.Fatalf("after:\n%s", strings.Join(commands, "\n"))
				}
			}
		})
	}
	for _, kind := range []string{"gateway", "link", "on that link", "none"} {
		if outcomes[kind] < rounds && !t.Skipped() && os.Geteuid() == 0 {
			t.Errorf("%d flows of kind %q, want at least %d", outcomes[kind], kind, rounds)
		}
	}
	t.Logf("flows: %v", outcomes)
}

func readRouting(t *testing.T) facts.Routing {
	t.Helper()
	var f facts.Facts
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	routes(time.Now).Collect(ctx, nil, &f)
	if err := f.Routes.State(); err != nil {
		t.Fatal(err)
	}
	return f.Routes.Value
}

// compareLookup returns what kind of route both found, "" after an error.
func compareLookup(t *testing.T, r facts.Routing, f facts.Flow) string {
	t.Helper()
	got, err := r.Lookup(f)
	want, ok := kernelLookup(t, f)
	if err != nil && !errors.Is(err, facts.ErrNoRoute) {
		t.Errorf("Lookup(%+v) = %v", f, err)
		return ""
	}
	switch {
	case err != nil && !ok:
		return "none"
	case err != nil && f.Output != "" && f.To.Is4() && want.Dev == f.Output && want.Gateway == "":
		return "on that link" // the kernel's assumption
	case err == nil && ok:
		for _, hop := range got {
			gateway := ""
			if hop.Gateway.IsValid() {
				gateway = hop.Gateway.String()
			}
			if hop.Netdev == want.Dev && gateway == want.Gateway {
				return map[bool]string{true: "gateway", false: "link"}[gateway != ""]
			}
		}
	}
	t.Errorf("Lookup(%+v) = %+v, %v, want %+v (%v)", f, got, err, want, ok)
	return ""
}

// TestLookupIPv6IsTheKernels does so for a few tables of IPv6.
func TestLookupIPv6IsTheKernels(t *testing.T) {
	namespace(t)
	commands, _ := railNetwork()
	ip(t, append(commands,
		"-6 route add 2001:db8:f::/48 via 2001:db8:0::fe dev rail0 metric 5",
		"-6 route add 2001:db8:f::/48 via 2001:db8:1::fe dev rail2 metric 9",
		"-6 route add 2001:db8:f:7::/64 via 2001:db8:1::fd dev rail3",
		"-6 route add unreachable 2001:db8:e::/48",
		"-6 route add default via 2001:db8:1::fc dev rail3 table 100",
		"-6 rule add from 2001:db8:1::1 table 100 priority 50",
	)...)
	r := readRouting(t)
	for _, to := range []string{
		"2001:db8:f::7", "2001:db8:f:7::1", "2001:db8:e::1", "2001:db8:1::9", "2001:db8::9", "2600::1",
	} {
		for _, from := range []string{"2001:db8::1", "2001:db8:1::1"} {
			compareLookup(t, r, facts.Flow{From: netip.MustParseAddr(from), To: netip.MustParseAddr(to)})
		}
	}
}

// peerNamespace makes a second namespace, runs commands of ip here, in which %d stands for it, and
// then a function there. It ends with the test.
func peerNamespace(t *testing.T, here []string, there func() error) {
	t.Helper()
	made, moved, done := make(chan int, 1), make(chan struct{}), make(chan error, 1)
	go func() { // its thread, which is never unlocked, is the namespace's
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		made <- unix.Gettid()
		<-moved
		done <- there()
		<-t.Context().Done()
	}()
	select {
	case id := <-made:
		for i := range here {
			here[i] = strings.ReplaceAll(here[i], "%d", fmt.Sprint(id))
		}
		ip(t, here...)
		close(moved)
	case err := <-done:
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// ipHere runs commands of ip in the namespace of the calling thread.
func ipHere(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, out)
		}
	}
	return nil
}
