package ibdiags

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/fabric"
	simulated "github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// printed is the output of a run.
type printed struct {
	Stdout, Stderr string
	Code           int
}

// inSubnet runs a program at a node of a subnet that is simulated in the process; files are the
// files that it can read, by name.
func inSubnet(
	ctx context.Context, t *testing.T, net *simulated.Subnet, node string, files map[string]string, name string,
	args ...string,
) printed {
	t.Helper()
	p, ok := Find(name)
	if !ok {
		t.Fatalf("no program %s", name)
	}
	var stdout, stderr strings.Builder
	code := p.Run(ctx, Host{
		Name: name, Args: args, Stdout: &stdout, Stderr: &stderr, PID: 1,
		Open: func(context.Context, string, int) (fabric.Transport, error) { return net.Transport(node), nil },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		WriteFile: func(name string, data []byte) error {
			files[name] = string(data)
			return nil
		},
	})
	return printed{stdout.String(), stderr.String(), code}
}

// TestSweepLinks checks cases that the C programs' simulator doesn't support: routers, XDR, FDR10,
// a port 0 that doesn't answer.
func TestSweepLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simulated.New()
		sw := net.Add("sw", mad.NodeTypeSwitch, 4)
		host, router := net.Add("host", mad.NodeTypeCA, 1), net.Add("router", mad.NodeTypeRouter, 2)
		fdr10 := net.Add("fdr10", mad.NodeTypeCA, 1)
		net.Connect(sw, 1, host, 1)
		net.Connect(sw, 2, router, 1)
		net.Connect(sw, 3, fdr10, 1)
		xdr := func(_ uint8, info *mad.PortInfo) {
			info.CapabilityMask |= mad.CapabilityIsCapabilityMask2Supported
			info.CapabilityMask2 = mad.Capability2IsExtendedSpeeds2Supported
			info.LinkSpeedExt2Active, info.LinkSpeedExt2Supported = 1, 1
			info.LinkSpeedExtActive = 0
		}
		sw.DeviceID, fdr10.DeviceID = 0xc738, 0x1003
		router.PortInfo = xdr
		sw.PortInfo = func(port uint8, info *mad.PortInfo) {
			switch port {
			case 0, 2:
				xdr(port, info)
			case 3:
				info.LinkSpeedExtActive, info.LinkSpeedExtSupported, info.LinkSpeedSupported, info.LinkSpeedActive = 0,
					0, 7, 4
			}
		}
		fdr10.PortInfo = func(_ uint8, info *mad.PortInfo) {
			info.LinkSpeedExtActive, info.LinkSpeedExtSupported, info.LinkSpeedSupported, info.LinkSpeedActive = 0, 0,
				7, 4
		}
		sw.Ports[3].Mellanox = &mad.ExtendedPortInfo{LinkSpeedSupported: 1}
		fdr10.Ports[1].Mellanox = &mad.ExtendedPortInfo{LinkSpeedSupported: 1, LinkSpeedActive: 1}
		files := map[string]string{}
		for _, tt := range []struct{ line, want string }{
			{"ibnetdiscover -R", "Router\t : 0x0010000000000300 ports 2 devid 0x0 vendid 0x0 \"router\"\n"},
			{
				"ibnetdiscover -p",
				"RT     3  1 0x0010000000000301 4x XDR - SW     1  2 0x0020000000000100 ( 'router' - 'sw' )\n",
			},
			{
				"ibnetdiscover -p",
				"CA     5  1 0x0010000000000401 4x FDR10 - SW     1  3 0x0020000000000100 ( 'fdr10' - 'sw' )\n",
			},
			{
				"ibnetdiscover -p",
				"SW     1  3 0x0020000000000100 4x QDR - CA     5  1 0x0010000000000401 ( 'sw' - 'fdr10' )\n",
			},
			{
				"ibnetdiscover",
				"\nrtguid=0x10000000000300\nRt\t2 \"R-0010000000000300\"\t\t# \"router\"\n[1](10000000000301) \t\"S-",
			},
			{"ibnetdiscover", "lid 3 lmc 0 \"sw\" lid 1 4xXDR\n"},
			{"iblinkinfo -l --switches-only", "1    2[  ] ==( 4X         212.5 Gbps Active/  LinkUp)==>"},
			{
				"iblinkinfo --switches-only",
				"\"fdr10\" ( Could be FDR10 (Found link at QDR but expected speed is FDR10))\n",
			},
			{"iblinkinfo --cas-only", "1[  ] ==( 4X  10.0 Gbps (FDR10) Active/  LinkUp)==>"},
			{"iblinkinfo", "Router: router:\n"},
		} {
			words := strings.Fields(tt.line)
			got := inSubnet(t.Context(), t, net, "host", files, words[0], words[1:]...)
			if got.Code != 0 || !strings.Contains(got.Stdout, tt.want) {
				t.Errorf("%s = code %d, want %q in:\n%s%s", tt.line, got.Code, tt.want, got.Stdout, got.Stderr)
			}
		}
	})
}

// TestQueryErrorsSilent checks the time that silent agents cost, and the counts of unanswered
// requests.
func TestQueryErrorsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simulated.FatTree(4, 20, 2)
		silent := 0
		for i := range 80 {
			if i%4 == 1 {
				silent++
				net.Node(fmt.Sprintf("host%d", i)).Lie = func(answer *fabric.Datagram) int {
					var h mad.Header
					h.Decode(answer.MAD[:]) //nolint:errcheck // a MAD is long enough
					if h.MgmtClass == mad.ClassPerformance {
						return 0
					}
					return 1
				}
			}
		}
		net.Node("host3").Ports[1].Counters.SymbolErrorCounter = 5
		start := time.Now()
		got := inSubnet(t.Context(), t, net, "host0", map[string]string{}, "ibqueryerrors")
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("ibqueryerrors with %d silent agents took %v, want 3 tries of a second, at the same time",
				silent, took)
		}
		if want := fmt.Sprintf("##          %d PMA query failures\n", 2*silent); !strings.Contains(got.Stdout, want) {
			t.Errorf("ibqueryerrors with %d silent agents does not say %q:\n%s", silent, want, got.Stdout)
		}
		if got.Code != 1 || !strings.Contains(got.Stdout, "Errors for \"host3\"\n") {
			t.Errorf("ibqueryerrors = %d, want 1 and host3 with errors:\n%s", got.Code, got.Stdout)
		}
	})
}

// TestSweepCanceled cancels a sweep and the requests that follow it.
func TestSweepCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := simulated.FatTree(4, 20, 2)
		for i := range 80 {
			net.Node(fmt.Sprintf("host%d", i)).Delay = 100 * time.Millisecond
		}
		for _, name := range []string{"ibnetdiscover", "iblinkinfo", "ibqueryerrors", "ibnodes"} {
			for _, after := range []time.Duration{0, 50 * time.Millisecond, 400 * time.Millisecond} {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				start := time.Now()
				got := inSubnet(ctx, t, net, "host0", map[string]string{}, name)
				cancel()
				if took := time.Since(start); took > after || got.Code == 0 {
					t.Errorf("%s cut off after %v took %v and = %d, want no longer, and an error",
						name, after, took, got.Code)
				}
			}
		}
	})
}

// keyWatch sees the M_Key of each packet of subnet management.
type keyWatch struct {
	fabric.Transport
	keys map[uint64]int
}

// Send implements fabric.Transport.
func (k *keyWatch) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var p mad.DirectedSMP
		p.Decode(batch[i].MAD[:]) //nolint:errcheck // a MAD is long enough
		if p.MgmtClass == mad.ClassSubnetDirected {
			k.keys[p.MKey]++
		}
	}
	return k.Transport.Send(batch)
}

func TestSweepMKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for arg, key := range map[string]uint64{"0": 0, "0xfeedface00000001": 0xfeedface00000001} {
			watch := &keyWatch{subnetOfTwo().Transport("host0"), map[uint64]int{}}
			r := newRun(&Host{
				Name: "ibnetdiscover", Args: []string{"-y", arg}, Stdout: io.Discard, Stderr: io.Discard,
				ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
				Open:     func(context.Context, string, int) (fabric.Transport, error) { return watch, nil },
			}, new(ibnetdiscover()))
			if code := runIbnetdiscover(t.Context(), r); code != 0 || len(watch.keys) != 1 || watch.keys[key] == 0 {
				t.Errorf("ibnetdiscover -y %s = %d with keys %v, want only %x", arg, code, watch.keys, key)
			}
			r.close()
		}
	})
}

func subnetOfTwo() *simulated.Subnet { return simulated.FatTree(1, 2, 1) }

// TestSweepFileOperand writes the topology into the file that is named, and lists nodes from there.
func TestSweepFileOperand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net, files := simulated.FatTree(2, 2, 1), map[string]string{}
		all := inSubnet(t.Context(), t, net, "host0", files, "ibnetdiscover").Stdout
		if got := inSubnet(t.Context(), t, net, "host0", files, "ibnetdiscover", "net"); got.Stdout != "" ||
			undated(files["net"]) != undated(all) {
			t.Errorf("ibnetdiscover net: %s", cmp.Diff(all, files["net"]))
		}
		swept := inSubnet(t.Context(), t, net, "host0", files, "ibnodes")
		if diff := cmp.Diff(swept, inSubnet(t.Context(), t, net, "host0", files, "ibnodes", "net")); diff != "" ||
			swept.Code != 0 {
			t.Errorf("ibnodes net, -swept +from the file:\n%s", diff)
		}
	})
}

// undated removes the date from ibnetdiscover's output.
func undated(text string) string {
	_, behind, _ := strings.Cut(text, "# Initiated")
	return behind
}

func TestListLines(t *testing.T) {
	for _, tt := range []struct{ in, host, sw string }{
		{
			`Switch	64 "S-0000000000200003"		# "leaf" base port 0 lid 6 lmc 0`, "",
			"Switch\t: 0x0000000000200003 ports 64 \"leaf\" base port 0 lid 6 lmc 0",
		},
		{
			`Switch	64 "S-0000000000200003"		# "a port 0 b" enhanced port 0 lid 6 lmc 0`, "",
			"Switch\t: 0x0000000000200003 ports 64 \"a port 0 b\" enhanced port 0 lid 6 lmc 0",
		},
		{
			`Switch	64 "S-0000000000200003"		# "xport 0" base`, "",
			"Switch\t: 0x0000000000200003 ports 64 \" port 0\" base",
		},
		{
			`Switch	64 "S-0000000000200003"		# "no end"`, "",
			"Switch\t: 0x0000000000200003 ports 64  \"no end\"",
		},
		{`Ca	2 "H-0000000000100002"		# "h # 1" `, "Ca\t: 0x0000000000100002 ports 2 \"h # 1\" ", ""},
		{"Ca", "Ca\t: 0x ports  Ca", ""},
		{"Switch", "", "Switch\t: 0x ports   Switch"},
		{`[1]	"H-1"[1]`, "", ""},
	} {
		host, _ := hostLine(tt.in)
		sw, _ := switchLine(tt.in)
		if !strings.HasPrefix(tt.in, "Ca") {
			host = ""
		}
		if !strings.HasPrefix(tt.in, "Switch") {
			sw = ""
		}
		if host != tt.host || sw != tt.sw {
			t.Errorf("lines of %q = %q, %q, want %q, %q", tt.in, host, sw, tt.host, tt.sw)
		}
	}
}

func TestThresholds(t *testing.T) {
	var stderr strings.Builder
	r := newRun(&Host{Stderr: &stderr, ReadFile: func(string) ([]byte, error) {
		return []byte("\n# x\nSymbolErrorCounter=0x10\nNosuch=1\nLinkDownedCounter = 5\n==PortXmitWait=7=8\n" +
			"PortRcvErrors\nSymbolErrorCounter=20"), nil
	}}, &Program{})
	got := r.readThresholds("file")
	want := map[string]uint64{"SymbolErrorCounter": 20, "PortXmitWait": 7}
	const text = "Thresholds: [SymbolErrorCounter = 16][PortXmitWait = 7][SymbolErrorCounter = 20]"
	if diff := cmp.Diff(want, got.values); diff != "" || got.text != text {
		t.Errorf("thresholds = %q, want %q, -want +got:\n%s", got.text, text, diff)
	}
	if !strings.Contains(stderr.String(), "PortRcvErrors") {
		t.Errorf("no warning of a line without value: %q", stderr.String())
	}
}

func TestHuman(t *testing.T) {
	for _, tt := range []struct {
		value uint64
		data  bool
		want  string
	}{
		{0, false, "0.000"},
		{0, true, "0.000B"},
		{1023, false, "1023.000"},
		{1024, false, "1.000K"},
		{1024, true, "4.000KB"},
		{256, true, "1024.000B"},
		{257, true, "1.004KB"},
		{3744, true, "14.625KB"},
		{1 << 20, false, "1.000M"},
		{1 << 40, true, "4.000TB"},
		{math.MaxUint64, false, "16.000E"},
		{math.MaxUint64, true, "64.000EB"},
	} {
		if got := human(tt.value, tt.data); got != tt.want {
			t.Errorf("human(%d, %v) = %q, want %q", tt.value, tt.data, got, tt.want)
		}
	}
}
