package codes

import "testing"

// TestStatusByText has forms that programs print.
func TestStatusByText(t *testing.T) {
	for text, want := range map[string]int{
		"transport retry counter exceeded":                                                  12,
		"Transport Retry Counter Exceeded":                                                  12, // charm++
		"Transport retry count exceeded":                                                    12, // UCX
		"Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)": 12,
		"Receive-no-ready retry count exceeded on mlx5_0:1/IB":                              13,
		"RNR retry counter exceeded":                                                        13,
		"IBV_WC_RETRY_EXC_ERR(12)":                                                          12,
		"IBV_WC_RNR_RETRY_EXC_ERR":                                                          13,
		"wc.status = IB_WC_LOC_PROT_ERR":                                                    4,
		"LOC_PROT_ERR":                                                                      4,
		"LOC_PROT":                                                                          4,
		"RETRY_EXC":                                                                         12,
		"Local protection error on mlx5_0:1/IB (synd 0x4 vend 0x32 hw_synd 0/146)": 4,  // openucx/ucx#9167
		"Remote QP on mlx5_0:1/IB (synd 0x14 vend 0x89 hw_synd 0/0)":               11, // openucx/ucx#5472
		"remote invalid request error":                                             9,
		"Invalid request on mlx5_0:1/RoCE":                                         9,
		"WR flushed because QP in error state":                                     5,
		"Work Request Flushed Error":                                               5,
		"WR flushed":                                                               5, // Linux
		"operation aborted":                                                        16,
		"remote invalid RD request":                                                15,
		"memory bind operation error":                                              6,
		"success":                                                                  0,
		"fatal error":                                                              19,
		"12":                                                                       12,
		"0xc":                                                                      12,
		" 5 ":                                                                      5,
		"transport retry counter exceeded, then TM software rendezvous": 12, // the longer one
		"TM software rendezvous": 23,
		"CQ error on CQ 0x7f, Request 0x1 (4): local protection error": 4, // SPDK
	} {
		if s, ok := StatusByText(text); !ok || s.Number != want {
			t.Errorf("StatusByText(%q) = %v, %v, want %d", text, s, ok, want)
		}
	}
	for _, text := range []string{
		"", "24", "-1", "communicator encountered a fatal error", "unsuccessful", "success rate 0",
		"invalid request local work queue error", "local access violation work queue error", "bad response time",
		"Connection timed out",
	} {
		if s, ok := StatusByText(text); ok {
			t.Errorf("StatusByText(%q) = %v, want none", text, s)
		}
	}
}

func TestStatusTable(t *testing.T) {
	for i, s := range statuses {
		if s.Number != i || s.Meaning == "" {
			t.Errorf("row %d: %+v", i, s)
		}
		if s.Who != WhoNobody && s.Who != WhoUnknown && s.Who.String() == WhoUnknown.String() {
			t.Errorf("row %d: %v has no words", i, uint8(s.Who))
		}
	}
	// which side an error accuses: InfiniBand Architecture Specification volume 1, sections 9.9.2
	// and 9.9.3
	for n, want := range map[int]Who{
		4: WhoLocal, 5: WhoNever, 11: WhoPeer, 12: WhoPath, 13: WhoPeer,
		9: WhoEither, 0: WhoNobody,
	} {
		if s, _ := Status(n); s.Who != want {
			t.Errorf("status %d accuses %v, want %v", n, s.Who, want)
		}
	}
	for _, n := range []int{-1, 24} {
		if s, ok := Status(n); ok {
			t.Errorf("Status(%d) = %v", n, s)
		}
	}
	if s, known := StatusBySyndrome(0x77); known || s.Number != 21 {
		t.Errorf("StatusBySyndrome(0x77) = %v, %v, want general error", s, known)
	}
	if _, known := StatusBySyndrome(0); known {
		t.Error("syndrome 0 is known")
	}
}

func FuzzStatusByText(f *testing.F) {
	f.Add("IBV_WC_RETRY_EXC_ERR(12)")
	f.Add("Invalid request on mlx5_0:1")
	f.Fuzz(func(t *testing.T, text string) {
		if s, ok := StatusByText(text); ok && (s.Name == "" || statuses[s.Number].Name != s.Name) {
			t.Errorf("StatusByText(%q) = %+v", text, s)
		}
	})
}
