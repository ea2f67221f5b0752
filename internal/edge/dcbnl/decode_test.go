package dcbnl

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readVector returns the bytes of a file in testdata, whose comments say where they come from.
func readVector(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			b, err := hex.DecodeString(strings.TrimSpace(line))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return b
		}
	}
	t.Fatalf("%s has no bytes", name)
	return nil
}

// TestDecodeWhatDCBEncodes decodes the requests that iproute2's dcb sends to change settings: they
// have the attributes of the responses.
func TestDecodeWhatDCBEncodes(t *testing.T) {
	mode := uint8(DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE)
	for name, want := range map[string]State{
		"set-pfc": {PFC: &PFC{Enabled: 1 << 3, Delay: 7}},
		"set-ets": {ETS: &ETS{
			TxBandwidth: [8]uint8{10, 10, 10, 10, 10, 10, 0, 40}, Algorithm: [8]uint8{2, 2, 2, 2, 2, 2, 0, 2},
			PriorityClass: [8]uint8{1, 0, 2, 3, 4, 5, 6, 7},
		}},
		"set-app": {Apps: []App{{5, 3, 26}, {5, 6, 48}, {5, 0, 0}}},
		"set-buffer": {Buffer: &Buffer{
			Priority: [8]uint8{3: 1}, Bytes: [8]uint32{130944, 130944},
		}},
		"set-dcbx": {DCBX: &mode},
	} {
		want.Netdev = "lo"
		var got State
		if err := got.decode(readVector(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decode(%s) (-want +got):\n%s", name, diff)
		}
	}
}

// printed is what iproute2's dcb -j prints.
type printed struct {
	PFC struct {
		Cap         uint8     `json:"pfc_cap"`
		Bypass      bool      `json:"macsec_bypass"`
		Delay       uint16    `json:"delay"`
		Enabled     [8]bool   `json:"prio_pfc"`
		Requests    [8]uint64 `json:"requests"`
		Indications [8]uint64 `json:"indications"`
	} `json:"pfc"`
	ETS struct {
		Willing bool      `json:"willing"`
		Cap     uint8     `json:"ets_cap"`
		CBS     bool      `json:"cbs"`
		TC      [8]uint8  `json:"tc_bw"`
		PG      [8]uint8  `json:"pg_bw"`
		TSA     [8]string `json:"tc_tsa"`
		PrioTC  [8]uint8  `json:"prio_tc"`
		RecoBW  [8]uint8  `json:"reco_tc_bw"`
		RecoTSA [8]string `json:"reco_tc_tsa"`
		Reco    [8]uint8  `json:"reco_prio_tc"`
	} `json:"ets"`
	App struct {
		EtherType [][2]uint16 `json:"ethtype_prio"`
		Default   []uint8     `json:"default_prio"`
		DSCP      [][2]uint16 `json:"dscp_prio"`
		Datagram  [][2]uint16 `json:"dgram_port_prio"`
	} `json:"app"`
	Buffer struct {
		Priority [8]uint8  `json:"prio_buffer"`
		Size     [8]uint32 `json:"buffer_size"`
		Total    uint32    `json:"total_size"`
	} `json:"buffer"`
}

// asPrinted returns a state as dcb prints it.
func asPrinted(s State) printed {
	var p printed
	p.PFC.Cap, p.PFC.Bypass, p.PFC.Delay = s.PFC.Capacity, s.PFC.MBC != 0, s.PFC.Delay
	p.PFC.Requests, p.PFC.Indications = s.PFC.Requests, s.PFC.Indications
	p.ETS.Willing, p.ETS.Cap, p.ETS.CBS = s.ETS.Willing != 0, s.ETS.Classes, s.ETS.CBS != 0
	p.ETS.TC, p.ETS.PG, p.ETS.PrioTC = s.ETS.TxBandwidth, s.ETS.RxBandwidth, s.ETS.PriorityClass
	p.ETS.RecoBW, p.ETS.Reco = s.ETS.RecommendedTx, s.ETS.RecommendedPriority
	algorithms := map[uint8]string{0: "strict", 1: "cbs", 2: "ets", 255: "vendor"}
	for i := range 8 {
		p.PFC.Enabled[i] = s.PFC.Enabled>>i&1 != 0
		p.ETS.TSA[i], p.ETS.RecoTSA[i] = algorithms[s.ETS.Algorithm[i]], algorithms[s.ETS.RecommendedAlgo[i]]
	}
	for _, a := range s.Apps {
		entry := [2]uint16{a.Protocol, uint16(a.Priority)}
		switch {
		case a.Selector == IEEE_8021QAZ_APP_SEL_DSCP:
			p.App.DSCP = append(p.App.DSCP, entry)
		case a.Selector == IEEE_8021QAZ_APP_SEL_ETHERTYPE && a.Protocol == 0:
			p.App.Default = append(p.App.Default, a.Priority)
		case a.Selector == IEEE_8021QAZ_APP_SEL_ETHERTYPE:
			p.App.EtherType = append(p.App.EtherType, entry)
		case a.Selector == 3:
			p.App.Datagram = append(p.App.Datagram, entry)
		}
	}
	p.Buffer.Priority, p.Buffer.Size, p.Buffer.Total = s.Buffer.Priority, s.Buffer.Bytes, s.Buffer.Total
	return p
}

// TestDecodeLikeDCB compares the decoder with what iproute2's dcb printed of the same message.
func TestDecodeLikeDCB(t *testing.T) {
	data, err := os.ReadFile("testdata/full.json")
	if err != nil {
		t.Fatal(err)
	}
	var want printed
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	var s State
	if err := s.decode(readVector(t, "full")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, asPrinted(s)); diff != "" {
		t.Errorf("decode(full) (-dcb +got):\n%s", diff)
	}
	peer := State{
		PeerPFC: &PFC{Capacity: 8, Enabled: 1 << 3}, PeerApps: []App{{5, 3, 26}},
		PeerETS: &ETS{
			Classes: 8, TxBandwidth: [8]uint8{0: 50, 3: 50}, Algorithm: [8]uint8{0: 2, 3: 2},
			PriorityClass: [8]uint8{3: 3, 6: 6},
		},
	}
	got := State{PeerPFC: s.PeerPFC, PeerETS: s.PeerETS, PeerApps: s.PeerApps}
	if diff := cmp.Diff(peer, got); diff != "" || len(s.Apps) != 5 || s.Netdev != "eth0" {
		t.Errorf("decode(full): %s with %d entries; peer (-want +got):\n%s", s.Netdev, len(s.Apps), diff)
	}
}

func TestDecodeKeepsWhatIsValid(t *testing.T) {
	full := readVector(t, "full")
	for n := range full {
		var s State
		whole := n == dcbmsgLen || n >= 13 && n <= 16 // no attribute, or the name with or without padding
		if err := s.decode(full[:n]); (err == nil) != whole {
			t.Errorf("decode of the first %d bytes: error %v, result %+v", n, err, s)
		}
	}
	var s State
	short := append([]byte{0, DCB_CMD_IEEE_GET, 0, 0}, // IEEE with a PFC of 2 bytes and an APP of one entry
		0x18, 0, 0x0d, 0x80, 6, 0, 2, 0, 8, 8, 0, 0, 12, 0, 3, 0x80, 8, 0, 1, 0, 5, 3, 26, 0)
	err := s.decode(short)
	if err == nil || !strings.Contains(err.Error(), "attribute 2: 2 bytes instead of 136") {
		t.Errorf("decode with a short PFC: %v", err)
	}
	if s.PFC != nil || len(s.Apps) != 1 || s.Apps[0] != (App{5, 3, 26}) {
		t.Errorf("decode with a short PFC: %+v", s)
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"full", "set-pfc", "set-ets", "set-app", "set-buffer", "set-dcbx"} {
		f.Add(readVector(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s State
		_ = s.decode(b)
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("%x: %v", b, err)
		}
	})
}
