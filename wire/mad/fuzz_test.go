package mad_test

import (
	"bytes"
	"testing"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// fuzzCodec checks that Append writes the bytes that Decode has read, and that Decode doesn't
// panic. The seeds are the responses in testdata.
func fuzzCodec[C codec](f *testing.F, v C) {
	f.Helper()
	for _, vec := range vectors(f) {
		for _, e := range vec.exchanges {
			f.Add(e.reply)
			f.Add(e.reply[64:])
			f.Add(e.reply[mad.SAHeaderLen:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := v.Decode(b)
		if err != nil {
			return
		}
		if again := v.Append(nil); !bytes.Equal(again, b[:n]) {
			t.Errorf("Append(Decode(%x)) = %x", b[:n], again)
		}
	})
}

func FuzzHeader(f *testing.F)               { fuzzCodec(f, &mad.Header{}) }
func FuzzSMP(f *testing.F)                  { fuzzCodec(f, &mad.SMP{}) }
func FuzzDirectedSMP(f *testing.F)          { fuzzCodec(f, &mad.DirectedSMP{}) }
func FuzzNodeInfo(f *testing.F)             { fuzzCodec(f, &mad.NodeInfo{}) }
func FuzzNodeDescription(f *testing.F)      { fuzzCodec(f, &mad.NodeDescription{}) }
func FuzzPortInfo(f *testing.F)             { fuzzCodec(f, &mad.PortInfo{}) }
func FuzzSwitchInfo(f *testing.F)           { fuzzCodec(f, &mad.SwitchInfo{}) }
func FuzzLFTBlock(f *testing.F)             { fuzzCodec(f, &mad.LFTBlock{}) }
func FuzzMFTBlock(f *testing.F)             { fuzzCodec(f, &mad.MFTBlock{}) }
func FuzzPKeyTable(f *testing.F)            { fuzzCodec(f, &mad.PKeyTable{}) }
func FuzzGUIDInfo(f *testing.F)             { fuzzCodec(f, &mad.GUIDInfo{}) }
func FuzzSMInfo(f *testing.F)               { fuzzCodec(f, &mad.SMInfo{}) }
func FuzzExtendedPortInfo(f *testing.F)     { fuzzCodec(f, &mad.ExtendedPortInfo{}) }
func FuzzPerformanceMAD(f *testing.F)       { fuzzCodec(f, &mad.PerformanceMAD{}) }
func FuzzClassPortInfo(f *testing.F)        { fuzzCodec(f, &mad.ClassPortInfo{}) }
func FuzzPortCounters(f *testing.F)         { fuzzCodec(f, &mad.PortCounters{}) }
func FuzzPortCountersExtended(f *testing.F) { fuzzCodec(f, &mad.PortCountersExtended{}) }
func FuzzRMPP(f *testing.F)                 { fuzzCodec(f, &mad.RMPP{}) }
func FuzzSAHeader(f *testing.F)             { fuzzCodec(f, &mad.SAHeader{}) }
func FuzzSA(f *testing.F)                   { fuzzCodec(f, &mad.SA{}) }
func FuzzNodeRecord(f *testing.F)           { fuzzCodec(f, &mad.NodeRecord{}) }
func FuzzPortInfoRecord(f *testing.F)       { fuzzCodec(f, &mad.PortInfoRecord{}) }
func FuzzSMInfoRecord(f *testing.F)         { fuzzCodec(f, &mad.SMInfoRecord{}) }
func FuzzLinkRecord(f *testing.F)           { fuzzCodec(f, &mad.LinkRecord{}) }
func FuzzPathRecord(f *testing.F)           { fuzzCodec(f, &mad.PathRecord{}) }
func FuzzVendorMAD(f *testing.F)            { fuzzCodec(f, &mad.VendorMAD{}) }

func FuzzMCMemberRecord(f *testing.F)   { fuzzCodec(f, &mad.MCMemberRecord{}) }
func FuzzServiceRecord(f *testing.F)    { fuzzCodec(f, &mad.ServiceRecord{}) }
func FuzzInformInfoRecord(f *testing.F) { fuzzCodec(f, &mad.InformInfoRecord{}) }
func FuzzSwitchInfoRecord(f *testing.F) { fuzzCodec(f, &mad.SwitchInfoRecord{}) }
func FuzzPKeyTableRecord(f *testing.F)  { fuzzCodec(f, &mad.PKeyTableRecord{}) }
func FuzzGUIDInfoRecord(f *testing.F)   { fuzzCodec(f, &mad.GUIDInfoRecord{}) }

func FuzzSLtoVLMappingTableRecord(f *testing.F) {
	fuzzCodec(f, &mad.SLtoVLMappingTableRecord{})
}

func FuzzVLArbitrationTableRecord(f *testing.F) {
	fuzzCodec(f, &mad.VLArbitrationTableRecord{})
}

func FuzzLinearForwardingTableRecord(f *testing.F) {
	fuzzCodec(f, &mad.LinearForwardingTableRecord{})
}

func FuzzMulticastForwardingTableRecord(f *testing.F) {
	fuzzCodec(f, &mad.MulticastForwardingTableRecord{})
}

func FuzzREQ(f *testing.F)       { fuzzCodec(f, &mad.REQ{}) }
func FuzzMRA(f *testing.F)       { fuzzCodec(f, &mad.MRA{}) }
func FuzzREJ(f *testing.F)       { fuzzCodec(f, &mad.REJ{}) }
func FuzzREP(f *testing.F)       { fuzzCodec(f, &mad.REP{}) }
func FuzzRTU(f *testing.F)       { fuzzCodec(f, &mad.RTU{}) }
func FuzzDREQ(f *testing.F)      { fuzzCodec(f, &mad.DREQ{}) }
func FuzzDREP(f *testing.F)      { fuzzCodec(f, &mad.DREP{}) }
func FuzzLAP(f *testing.F)       { fuzzCodec(f, &mad.LAP{}) }
func FuzzAPR(f *testing.F)       { fuzzCodec(f, &mad.APR{}) }
func FuzzSIDRREQ(f *testing.F)   { fuzzCodec(f, &mad.SIDRREQ{}) }
func FuzzSIDRREP(f *testing.F)   { fuzzCodec(f, &mad.SIDRREP{}) }
func FuzzCMAHeader(f *testing.F) { fuzzCodec(f, &mad.CMAHeader{}) }

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"0", "0,1,35,1", "7", "", "0,,1", "256", " 0, 1 ", "0,0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := mad.ParsePath(s)
		if err != nil {
			return
		}
		again, err := mad.ParsePath(p.String())
		if err != nil || again != p {
			t.Errorf("ParsePath(%q) = %s, read again %s, %v", s, p, again, err)
		}
	})
}
