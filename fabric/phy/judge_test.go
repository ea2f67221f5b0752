package phy_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/fabric/phy"
	"github.com/rdmakit/rdmakit/wire/mad"
	"github.com/rdmakit/rdmakit/wire/prm"
)

func none() prm.BER { return prm.BER{Coefficient: 15, Magnitude: 255} }

func TestJudge(t *testing.T) {
	ratio := func(c, m uint8) prm.BER { return prm.BER{Coefficient: c, Magnitude: m} }
	good := prm.StatisticalCounters{ReceivedBits: 1e15, Raw: ratio(3, 8), Effective: ratio(2, 13), Symbol: none()}
	worse := good
	worse.Symbol = ratio(2, 12)
	warm := good
	warm.Symbol = ratio(2, 15)
	at := good
	at.Symbol = ratio(1, 12)
	counted := good
	counted.Symbol, counted.SymbolErrors = prm.BER{}, 4000
	silent := prm.StatisticalCounters{SinceClear: 3600_000}
	short := good
	short.ReceivedBits = 2.9e12
	timed := good
	timed.ReceivedBits, timed.SinceClear = 0, 60_000
	fresh := timed
	fresh.SinceClear = 1000
	for _, tt := range []struct {
		name                   string
		speed                  mad.LinkSpeed
		c                      prm.StatisticalCounters
		kind                   phy.Kind
		exceeded, aboveFactory bool
		notJudged              string
	}{
		{"no errors", mad.LinkSpeedNDR, good, phy.KindSymbol, false, false, ""},
		{"HDR", mad.LinkSpeedHDR, worse, phy.KindSymbol, true, false, ""},
		{"XDR", mad.LinkSpeedXDR, worse, phy.KindSymbol, true, false, ""},
		{"the raw ratio isn't judged, that of EDR is", mad.LinkSpeedEDR, good, phy.KindEffective, false, true, ""},
		{"the symbol ratio of EDR isn't judged", mad.LinkSpeedEDR, worse, phy.KindEffective, false, true, ""},
		{"FDR", mad.LinkSpeedFDR, good, phy.KindEffective, false, true, ""},
		{"between the two limits", mad.LinkSpeedHDR, warm, phy.KindSymbol, false, true, ""},
		{"at the threshold", mad.LinkSpeedHDR, at, phy.KindSymbol, false, true, ""},
		{"computed from counters", mad.LinkSpeedHDR, counted, phy.KindSymbol, true, false, ""},
		{"not reported", mad.LinkSpeedHDR, silent, phy.KindSymbol, false, false, "reports no symbol ratio"},
		{"too few bits", mad.LinkSpeedHDR, short, phy.KindSymbol, false, false, "only 2.9e+12 bits"},
		{"bits from time and rate", mad.LinkSpeedHDR, timed, phy.KindSymbol, false, false, ""},
		{"too short a time", mad.LinkSpeedHDR, fresh, phy.KindSymbol, false, false, "only 2.1e+11 bits"},
	} {
		v := phy.Judge(tt.speed, 212.5, &tt.c, phy.Threshold)
		if v.Kind != tt.kind || v.Exceeded != tt.exceeded || v.AboveFactory != tt.aboveFactory || v.Source == "" ||
			(v.NotJudged == "") != (tt.notJudged == "") || !strings.Contains(v.NotJudged, tt.notJudged) {
			t.Errorf("%s: %+v", tt.name, v)
		}
	}
	if v := phy.Judge(mad.LinkSpeedHDR, 212.5, &warm, 1e-16); !v.Exceeded || v.Threshold != 1e-16 || v.AboveFactory {
		t.Errorf("2E-15 of at most 1e-16: %+v", v)
	}
	if r := phy.Ratios(&counted)[phy.KindSymbol]; !r.Counted || r.String() != "4E-12" {
		t.Errorf("ratio from 4000 errors in 1e15 bits = %+v", r)
	}
}
