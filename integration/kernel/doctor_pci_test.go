//go:build kernel

package kernel

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/integration/guest"
	"github.com/rdmakit/rdmakit/inventory"
)

// Bits of registers by the names of lspci, from its manual's source (lspci's ls-ecaps.c) and from
// include/uapi/linux/pci_regs.h.
var (
	acsBits = map[string]int{
		"SrcValid": 0, "TransBlk": 1, "ReqRedir": 2, "CmpltRedir": 3, "UpstreamFwd": 4, "EgressCtrl": 5,
		"DirectTrans": 6,
	}
	correctableBits = map[string]int{
		"RxErr": 0, "BadTLP": 6, "BadDLLP": 7, "Rollover": 8, "Timeout": 12, "AdvNonFatalErr": 13,
	}
	uncorrectableBits = map[string]int{
		"DLP": 4, "SDES": 5, "TLP": 12, "FCP": 13, "CmpltTO": 14, "CmpltAbrt": 15, "UnxCmplt": 16, "RxOF": 17,
		"MalfTLP": 18, "ECRC": 19, "UnsupReq": 20, "ACSViol": 21,
	}
)

// lspciFunction is the output of lspci -vvv about a function.
type lspciFunction string

// register decodes a line of flags, such as "ACSCtl:	SrcValid+ TransBlk-".
func (l lspciFunction) register(name string, bits map[string]int) (value uint32, ok bool) {
	m := regexp.MustCompile(`\b` + name + `:(.*)`).FindStringSubmatch(string(l))
	if m == nil {
		return 0, false
	}
	for flag := range strings.FieldsSeq(m[1]) {
		if bit, known := bits[strings.TrimSuffix(flag, "+")]; known {
			value |= 1 << bit
		}
	}
	return value, true
}

// number returns the first number in the output behind a prefix.
func (l lspciFunction) number(prefix string) float64 {
	var n float64
	if m := regexp.MustCompile(prefix + `([0-9.]+)`).FindStringSubmatch(string(l)); m != nil {
		_, _ = fmt.Sscan(m[1], &n)
	}
	return n
}

// function decodes the output. Types of ports are those of [facts.PCIExpress].
func (l lspciFunction) function(address string) facts.PCIFunction {
	f := facts.PCIFunction{Address: address, Bridge: strings.Contains(string(l), "Bus: primary=")}
	f.Express = &facts.PCIExpress{
		MaxPayloadSupported: int(l.number(`DevCap:\s+MaxPayload `)), MaxPayload: int(l.number(`\n\s+MaxPayload `)),
		MaxReadRequest:  int(l.number(`MaxReadReq `)),
		RelaxedOrdering: strings.Contains(string(l), "RlxdOrd+"), NoSnoop: strings.Contains(string(l), "NoSnoop+"),
		Link: &inventory.PCILink{GTPerSecond: l.number(`LnkSta:\s+Speed `), Width: int(l.number(`LnkSta:.*Width x`))},
	}
	if width := int(l.number(`LnkCap:.*Width x`)); width > 0 {
		f.Express.LinkMax = &inventory.PCILink{GTPerSecond: l.number(`LnkCap:.*Speed `), Width: width}
	}
	if f.Bridge {
		f.Express.Type = facts.PCIRootPort
	}
	if control, ok := l.register("ACSCtl", acsBits); ok {
		capability, _ := l.register("ACSCap", acsBits)
		f.ACS = &facts.ACS{Capability: uint16(capability), Control: uint16(control)}
	}
	if status, ok := l.register("UESta", uncorrectableBits); ok {
		correctable, _ := l.register("CESta", correctableBits)
		f.AER = &facts.AER{Uncorrectable: status, Correctable: correctable}
	}
	return f
}

// testPCIRegisters compares what rdmactl decodes of the configuration space of a port of the root
// complex and of the function behind it with the output of lspci: with registers of ACS that setpci
// writes, and with errors that QEMU injects. The kernel doesn't clear their status, because they
// are masked in the port, and QEMU's e1000e reports none.
func testPCIRegisters(t *testing.T, g *guest.Guest, c card) {
	t.Helper()
	defer output(t, g, "setpci -s "+c.port+" ECAP_ACS+6.w=0 ECAP_AER+4.l=ffffffff ECAP_AER+10.l=ffffffff "+
		"ECAP_AER+14.l=2000; setpci -s "+c.function+" ECAP_AER+4.l=ffffffff ECAP_AER+10.l=ffffffff")
	states := []struct {
		name, do string
		inject   []string
	}{
		{name: "as booted", do: "true"},
		{name: "ACS", do: "setpci -s " + c.port + " ECAP_ACS+6.w=0015"},
		{
			name: "other ACS, errors", do: "setpci -s " + c.port + " ECAP_ACS+6.w=0048 ECAP_AER+14.l=ffffffff",
			inject: []string{
				"-c " + guest.Card + " 0x40", "-c " + guest.Card + " 0x1000", guest.Card + " 0x4000",
				"-c " + guest.RootPort + " 0x100",
			},
		},
	}
	for _, s := range states {
		t.Run(s.name, func(t *testing.T) {
			output(t, g, s.do)
			for _, args := range s.inject {
				inject(t, g, args)
			}
			f := gathered(t, g, facts.KindPCI)
			if err := f.PCI.State(); err != nil {
				t.Fatalf("PCI functions: %v", err)
			}
			for _, address := range []string{c.port, c.function} {
				want := lspciFunction(output(t, g, "lspci -D -vvv -s "+address))
				i := slices.IndexFunc(f.PCI.Value, func(p facts.PCIFunction) bool { return p.Address == address })
				if i < 0 {
					t.Fatalf("no function %s in %+v", address, f.PCI.Value)
				}
				if diff := cmp.Diff(want.function(address), f.PCI.Value[i]); diff != "" {
					t.Errorf("%s differs (-lspci +rdmactl):\n%s\n%s", address, diff, want)
				}
			}
		})
	}
}

// inject injects a PCI Express error.
func inject(t *testing.T, g *guest.Guest, args string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := g.Monitor(ctx, "pcie_aer_inject_error "+args)
	if err != nil || !strings.HasPrefix(out, "OK") {
		t.Fatalf("inject error %s: %q, %v", args, out, err)
	}
}

// errorCounter returns a script that prints a counter of PCI Express errors of a function.
func errorCounter(function, file, name string) string {
	return "awk '$1 == \"" + name + "\" { print $2 }' /sys/bus/pci/devices/" + function + "/" + file
}

// testPCIErrors brings about errors of PCI Express: one of the port above the card that is not
// fatal, which QEMU reports only if SERR# is enabled, then corrected errors of the card until
// doctor has read its counters twice. The kernel counts each before the next one comes.
func testPCIErrors(t *testing.T, g *guest.Guest, c card) {
	t.Helper()
	const checks = " doctor --only pcie-errors,pcie-corrected-errors "
	counter := errorCounter(c.port, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL")
	before, err := strconv.Atoi(strings.TrimSpace(output(t, g, "setpci -s "+c.port+" COMMAND=100:100 "+
		"ECAP_AER+4.l=ffffffff ECAP_AER+30.l=7f && "+counter))) // clears the status
	if err != nil {
		t.Fatal(err)
	}
	inject(t, g, guest.RootPort+" 0x4000") // PCI_ERR_UNC_COMP_TIME
	out := output(t, g, await(fmt.Sprintf("[ $(%s) -gt %d ]", counter, before))+
		" && setpci -s "+c.port+" COMMAND=0:100 || exit; "+rdmactl+checks+"2>/dev/null; true")
	want := fmt.Sprintf("INFO     pcie-errors %s: aer_dev_nonfatal TOTAL_ERR_NONFATAL is %d ", c.port, before+1)
	if !strings.Contains(out, want) || strings.Contains(out, "FAIL") || strings.Contains(out, "WARN") {
		t.Errorf("doctor after an error that is not fatal: want %q, and nothing worse, in\n%s", want, out)
	}
	output(t, g, "modprobe aer_inject")
	defer output(t, g, "modprobe -r aer_inject")
	out = output(t, g, correctedErrors(c.function)+rdmactl+checks+"--interval ${span}s 2>/dev/null >/tmp/doctor.out & "+
		"doctor=$!; while kill -0 $doctor 2>/dev/null; do bad_tlp; done; cat /tmp/doctor.out; rm /tmp/doctor.out")
	if want = "WARN     pcie-corrected-errors " + c.function; !strings.Contains(out, want) {
		t.Errorf("doctor with corrected errors: want %q in\n%s", want, out)
	}
}

// correctedErrors returns a script that defines bad_tlp, which lets the kernel find a corrected
// error of the card and waits until it is counted. It sets span to the seconds that more than twice
// as many errors take as the limit of doctor, which is 10, so that a slow guest has a longer
// interval; in both, the shell starts no process.
//
// The module aer_inject makes the errors: QEMU injects corrected errors, but sends no message for
// them. The bytes are those of struct aer_error_inj in drivers/pci/pcie/aer_inject.c: bus, device,
// function, padding, uncorrectable and corrected errors, the header.
func correctedErrors(function string) string {
	bus := strings.Split(function, ":")[1]
	return `
		counted() {
			while read name value; do
				if [ $name = BadTLP ]; then n=$value; fi
			done </sys/bus/pci/devices/` + function + `/aer_dev_correctable
		}
		bad_tlp() {
			counted; want=$((n+1)); until=$((SECONDS+60))
			printf '\x` + bus + strings.Repeat(`\0`, 7) + `\x40` + strings.Repeat(`\0`, 23) + `' >/dev/aer_inject || exit
			while [ $n != $want ]; do
				if [ $SECONDS -gt $until ]; then echo "BadTLP is $n, not $want" >&2; exit 1; fi
				counted
			done
		}
		since=$SECONDS
		for i in {1..25}; do bad_tlp; done
		span=$((SECONDS-since+2))
		`
}
