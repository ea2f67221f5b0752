package rdmanl

import (
	"encoding/json"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzDecode passes the same bytes to every decoder: none may panic, and the result must be
// valid and survive JSON, even if there is an error.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.hex")
	if err != nil || len(files) == 0 {
		f.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		for _, b := range readVector(f, strings.TrimSuffix(filepath.Base(file), ".hex")) {
			f.Add(b)
		}
	}
	f.Add(ibPort())
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzOne(t, b, decodeDevice)
		fuzzOne(t, b, decodePort)
		fuzzOne(t, b, decodeSystem)
		fuzzOne(t, b, decodeCharDevice)
		for _, l := range fuzzOne(t, b, decodeLink) {
			if l.Index <= 0 || l.Name == "" || len(l.Address) > maxHardwareAddr {
				t.Errorf("decodeLink(%x) = %+v", b, l)
			}
		}
		for _, a := range fuzzOne(t, b, decodeAddress) {
			if !a.Prefix.IsValid() || a.Prefix.Addr().Is4() != (a.Family == "ipv4") {
				t.Errorf("decodeAddress(%x) = %+v", b, a)
			}
		}
		for _, r := range fuzzOne(t, b, decodeRule) {
			if r.From != (netip.Prefix{}) && !r.From.IsValid() || r.To != (netip.Prefix{}) && !r.To.IsValid() {
				t.Errorf("decodeRule(%x) = %+v", b, r)
			}
		}
		for _, r := range fuzzOne(t, b, decodeFilterRule) {
			if r.Chain == "" || slices.ContainsFunc(r.Conditions, func(c FilterCondition) bool { return c.Key == "" }) {
				t.Errorf("decodeFilterRule(%x) = %+v", b, r)
			}
		}
		fuzzOne(t, b, decodeFilterChain)
		for _, s := range fuzzOne(t, b, decodeFilterSet) {
			if err := decodeFilterElements(&s, b); err == nil && s.Interval {
				for _, e := range s.Elements {
					if len(e) == 0 || e[len(e)-1] > 1 {
						t.Errorf("decodeFilterElements(%x) = %x", b, s.Elements)
					}
				}
			}
		}
		for _, n := range fuzzOne(t, b, decodeNeighbour) {
			if !n.IP.IsValid() || n.IP.Is4() != (n.Family == "ipv4") || len(n.Address) > maxHardwareAddr {
				t.Errorf("decodeNeighbour(%x) = %+v", b, n)
			}
		}
		for _, hops := range fuzzOne(t, b, decodeRoute) {
			for _, r := range hops {
				if !r.Destination.IsValid() || r.Destination.Addr().Is4() != (r.Family == "ipv4") {
					t.Errorf("decodeRoute(%x) = %+v", b, r)
				}
			}
		}
	})
}

// fuzzOne returns what a Client would return, which is nothing for an incomplete message.
func fuzzOne[T any](t *testing.T, b []byte, decode func([]byte) (T, error)) []T {
	v, err := decode(b)
	if errors.Is(err, errIncomplete) {
		return nil
	}
	checkJSON(t, v)
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("%x: %v", b, err)
	}
	return []T{v}
}
