package lint

import (
	"regexp"
	"strings"
)

func checkPCIAddress(p *pass, pol *policy) {
	for i, address := range pol.Value.Spec.NicSelector.RootDevices {
		if pciForm.MatchString(address) {
			continue
		}
		f := p.error(pol.Object, path{"spec", "nicSelector", "rootDevices", i},
			"%q selects nothing: the kernel's form is 0000:3c:00.0", address)
		if guess := guessAddress(address); guess != "" {
			f.fix("%q", guess)
		}
	}
}

var (
	pciForm  = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]$`)
	pciParts = regexp.MustCompile(`^(?:([0-9a-f]{1,4})[:.])?([0-9a-f]{1,2})[:.]([0-1]?[0-9a-f])[.:]([0-7])(?:#.*)?$`)
)

// guessAddress returns an address in the kernel's form, "" if s is not an address.
func guessAddress(s string) string {
	m := pciParts.FindStringSubmatch(strings.ToLower(strings.TrimSpace(s)))
	if m == nil {
		return ""
	}
	pad := func(s string, n int) string { return strings.Repeat("0", n-len(s)) + s }
	return pad(m[1], 4) + ":" + pad(m[2], 2) + ":" + pad(m[3], 2) + "." + m[4]
}
