package facts_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// dump is the configuration space of one function.
type dump struct {
	address string
	config  []byte
}

// dumps reads the recorded machines, by name of the file.
func dumps(t testing.TB) map[string][]dump {
	t.Helper()
	files, err := filepath.Glob("testdata/pci/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	all := map[string][]dump{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for line := range strings.Lines(string(data)) {
			all[name] = addLine(t, all[name], strings.TrimSpace(line))
		}
	}
	return all
}

// addLine adds "01:00.0 4096", which begins a function, or "1a0: 10 00 …".
func addLine(t testing.TB, functions []dump, line string) []dump {
	t.Helper()
	first, rest, ok := strings.Cut(line, " ")
	if !ok || first == "#" {
		return functions
	}
	off, isHex := strings.CutSuffix(first, ":")
	if !isHex {
		n, err := strconv.Atoi(rest)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		return append(functions, dump{first, make([]byte, n)})
	}
	at, err := strconv.ParseUint(off, 16, 12)
	if err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	b, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
	if err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
	copy(functions[len(functions)-1].config[at:], b)
	return functions
}

// text returns the dump in the form that lspci -xxxx prints and lspci -F reads.
func (d dump) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s device\n", d.address)
	for i := 0; i < len(d.config); i += 16 {
		fmt.Fprintf(&s, "%02x: % x\n", i, d.config[i:min(i+16, len(d.config))])
	}
	return s.String() + "\n"
}

// TestPCIAgreesWithLspci decodes real machines and compares with what lspci says about the same
// bytes.
func TestPCIAgreesWithLspci(t *testing.T) {
	lspci, err := exec.LookPath("lspci")
	if err != nil {
		t.Fatal("lspci is missing: run make deps")
	}
	express, acs, aer, redirects := 0, 0, 0, 0
	for name, functions := range dumps(t) {
		for _, d := range functions {
			file := filepath.Join(t.TempDir(), "dump")
			if err := os.WriteFile(file, []byte(d.text()), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), lspci, "-n", "-vvv", "-F", file).Output()
			if err != nil {
				t.Fatalf("%s %s: lspci: %v", name, d.address, err)
			}
			f, err := facts.DecodePCI(d.address, d.config)
			if err != nil {
				t.Errorf("%s %s: %v", name, d.address, err)
				continue
			}
			compareLspci(t, name+" "+d.address, f, string(out))
			if f.Express != nil {
				express++
			}
			if f.ACS != nil {
				acs++
				if f.ACS.Control&facts.ACSRequestRedirect != 0 {
					redirects++
				}
			}
			if f.AER != nil {
				aer++
			}
		}
	}
	t.Logf("%d functions with PCI Express, %d with ACS (%d redirect), %d with AER", express, acs, redirects, aer)
	if express < 15 || acs < 5 || redirects < 1 || aer < 10 {
		t.Errorf("the dumps show too little")
	}
}

// TestPCIOfThisMachine is the same for the functions of the machine that runs the test.
func TestPCIOfThisMachine(t *testing.T) {
	dirs, _ := filepath.Glob("/" + sysfs.BusPCIDevices + "/*")
	if len(dirs) == 0 {
		t.Skip("this machine shows no PCI function")
	}
	for _, dir := range dirs {
		config, err := os.ReadFile(filepath.Join(dir, "config"))
		if err != nil {
			t.Fatal(err)
		}
		addr := filepath.Base(dir)
		f, err := facts.DecodePCI(addr, config)
		if os.Geteuid() != 0 {
			if !errors.Is(err, facts.ErrDenied) {
				t.Errorf("DecodePCI(%s) with %d bytes: %v, want an error that matches ErrDenied", addr, len(config),
					err)
			}
			continue
		}
		out, lerr := exec.CommandContext(t.Context(), "lspci", "-n", "-vvv", "-s", addr).Output()
		if err != nil || lerr != nil {
			t.Fatalf("%s: %v, lspci: %v", addr, err, lerr)
		}
		compareLspci(t, addr, f, string(out))
	}
}

func compareLspci(t *testing.T, name string, f facts.PCIFunction, lspci string) {
	t.Helper()
	found := func(pattern string) []string { return regexp.MustCompile(pattern).FindStringSubmatch(lspci) }
	if m := found(`\] Express`); (m != nil) != (f.Express != nil) {
		t.Fatalf("%s: express %+v, lspci: %s", name, f.Express, lspci)
	}
	if e := f.Express; e != nil {
		ctl := found(`RlxdOrd([+-]).*NoSnoop([+-])(?s:.)*?MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes`)
		want := fmt.Sprintf("%s %s %d %d", flag(e.RelaxedOrdering), flag(e.NoSnoop), e.MaxPayload, e.MaxReadRequest)
		if ctl == nil || strings.Join(ctl[1:], " ") != want {
			t.Errorf("%s: control %s, lspci %q", name, want, ctl)
		}
		if m := found(`DevCap:\s+MaxPayload (\d+) bytes`); len(m) < 2 || m[1] != strconv.Itoa(e.MaxPayloadSupported) {
			t.Errorf("%s: payload supported %d, lspci %q", name, e.MaxPayloadSupported, m)
		}
		for label, link := range map[string]*inventory.PCILink{"LnkCap": e.LinkMax, "LnkSta": e.Link} {
			m := found(label + `:\s.*Speed ([\d.]+)GT/s.*Width x(\d+)`)
			switch {
			case m == nil && link == nil, m != nil && link == nil && m[2] == "0":
			case m == nil || link == nil, m[1]+"x"+m[2] != fmt.Sprintf("%gx%d", link.GTPerSecond, link.Width):
				t.Errorf("%s: %s %+v, lspci %q", name, label, link, m)
			}
		}
	}
	for label, bits := range map[string]*uint16{"ACSCap": acsRegister(f, false), "ACSCtl": acsRegister(f, true)} {
		m := found(label +
			`:\s+SrcValid(.) TransBlk(.) ReqRedir(.) CmpltRedir(.) UpstreamFwd(.) EgressCtrl(.) DirectTrans(.)`)
		if (m == nil) != (bits == nil) {
			t.Errorf("%s: %s %v, lspci %q", name, label, bits, m)
			continue
		}
		for i := 1; m != nil && i <= 7; i++ {
			if flag(*bits>>(i-1)&1 == 1) != m[i] {
				t.Errorf("%s: %s %#x, bit %d: lspci %q", name, label, *bits, i-1, m[0])
			}
		}
	}
	for label, status := range map[string]uint32{"UESta": aerOf(f).Uncorrectable, "CESta": aerOf(f).Correctable} {
		m := found(label + `:(.*)`)
		if (m == nil) != (f.AER == nil) {
			t.Errorf("%s: %s %#x, lspci %q", name, label, status, m)
		}
		// lspci of this version names some of the bits only.
		if raised := strings.Count(strings.Join(m, ""), "+"); raised > 0 && status == 0 {
			t.Errorf("%s: %s is 0, lspci %q", name, label, m)
		} else if raised == 0 && status != 0 && label == "UESta" {
			t.Errorf("%s: %s %#x, lspci %q", name, label, status, m)
		}
	}
}

func acsRegister(f facts.PCIFunction, control bool) *uint16 {
	switch {
	case f.ACS == nil:
		return nil
	case control:
		return &f.ACS.Control
	}
	return &f.ACS.Capability
}

func aerOf(f facts.PCIFunction) facts.AER {
	if f.AER == nil {
		return facts.AER{}
	}
	return *f.AER
}

func flag(b bool) string {
	if b {
		return "+"
	}
	return "-"
}

// TestDecodePCIPartly decodes what a process without privilege, an old kernel or a dead function
// gives.
func TestDecodePCIPartly(t *testing.T) {
	config := dumps(t)["cap-exp-dev2"][0].config
	whole, err := facts.DecodePCI("0000:01:00.0", config)
	if err != nil || whole.Partial || whole.AER == nil || whole.ACS == nil {
		t.Fatalf("DecodePCI of 4096 bytes = %+v, %v, want AER and ACS", whole, err)
	}
	part, err := facts.DecodePCI("0000:01:00.0", config[:256])
	if err != nil || !part.Partial || part.AER != nil || part.ACS != nil || part.Express == nil {
		t.Errorf("DecodePCI of 256 bytes = %+v, %v, want PCI Express, and AER and ACS unknown", part, err)
	}
	if _, err := facts.DecodePCI("0000:01:00.0", config[:64]); !errors.Is(err, facts.ErrDenied) {
		t.Errorf("DecodePCI of 64 bytes: %v, want an error that matches ErrDenied", err)
	}
	dead := bytes.Repeat([]byte{0xff}, 4096)
	for _, b := range [][]byte{nil, config[:63], dead} {
		if _, err := facts.DecodePCI("0000:01:00.0", b); err == nil || errors.Is(err, facts.ErrDenied) {
			t.Errorf("DecodePCI of %d bytes: %v, want an error other than ErrDenied", len(b), err)
		}
	}
}

// FuzzDecodePCI decodes anything: lists that loop, capabilities at the end.
func FuzzDecodePCI(f *testing.F) {
	for _, functions := range dumps(f) {
		f.Add(functions[0].config)
	}
	f.Fuzz(func(t *testing.T, config []byte) {
		got, err := facts.DecodePCI("0000:01:00.0", config)
		if err != nil && (got.Express != nil || got.ACS != nil || got.AER != nil) {
			t.Errorf("DecodePCI: %+v together with %v", got, err)
		}
		if got.Partial && (got.ACS != nil || got.AER != nil) && len(config) <= 256 {
			t.Errorf("DecodePCI: %+v of %d bytes", got, len(config))
		}
	})
}
