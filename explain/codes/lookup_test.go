package codes

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestLookup has what people paste, from logs and threads, and parts of the answer.
func TestLookup(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // in the JSON
		not  string
	}{
		{"status=12 vendor=129 driver=mlx5", []string{"status 12", "0x81", "fits the status", "dead peer"}, "0x129"},
		{
			"NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
			[]string{"status 12", "vendor code 129 (0x81)", "give driver="},
			"other reading",
		},
		{"status=12 opcode=0 len=0 vendor err 129", []string{"status 12", "vendor code 129 (0x81)"}, "other reading"},
		{"status=4 vendor=81 driver=mlx5", []string{"vendor code 81 (0x51), read as decimal", "reading is 0x81"}, ""},
		{"status=4 vendor=81 driver=mlx5 program=nccl", []string{"vendor code 81 (0x51)"}, "reading"},
		{"synd 0x15 vend 0x81 hw_synd 0/0", []string{"status 12", "vendor code 129 (0x81)", "fits"}, ""},
		{"Failed status 12: wr_id 0 syndrom 0x81", []string{"status 12", "0x81"}, "syndrome\""},
		{" Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81", []string{
			"status 12",
			"0x81",
		}, ""},
		{"IBV_WC_RETRY_EXC_ERR(12)", []string{"status 12"}, "ambiguities"},
		{"status=IBV_WC_RETRY_EXC_ERR(5)", []string{
			"status 5",
			"names IBV_WC_RETRY_EXC_ERR, but has the number 5",
		}, ""},
		{"status=retry_exc", []string{"status 12"}, ""},
		{"number 0 got bad completion with status: 0xc, vendor syndrome: 0x81", []string{"status 12", "0x81"}, ""},
		{
			"infiniband rocep33s0f0: mlx5_poll_one:530:(pid 0): syndrome 0x5, vendor syndrome 0xf9",
			[]string{"status 5", "0xf9", "never a cause"},
			"",
		},
		{"mlx5_handle_error_cqe:332:(pid 0): WC error: 4, Message: local protection error", []string{"status 4"}, ""},
		{"Send completion with error on qp 0x6214: remote access error syndrome 0x88", []string{
			"status 10",
			"0x88",
		}, "general"},
		{
			"CQE error, wr_id=3, status=2 (local QP operation error), opcode=1, byte_len=0, vendor_err=0x3, bnxt_re0",
			[]string{"status 2", "BNXT_RE_REQ_ST_LOC_QP_OP", "fits the status"},
			"give driver",
		},
		{"status=12 vendor=0x51 driver=mlx5", []string{"does not fit the status"}, ""},
		{"status=12 synd 0x13", []string{"syndrome 0x13 is that of status 10"}, ""},
		{"vendor=0x81", []string{"without the status", "mlx5"}, ""},
		{"mlx5_0/1: QP 5 error: general error (0x81 0x0 0x0)", []string{
			"status 12",
			"text \\\"general error\\\" is wrong",
		}, ""},
		{"mlx5_0/1: QP 5 error: local protection error (0x51 0x0 0x0)", []string{"status 4", "0x51"}, "is wrong"},
		{"rocep2s0/1: QP 137 error: unrecognized status (0x41 0x0 0x0)", []string{
			"vendor code 65 (0x41)",
			"0x16 on",
		}, ""},
		{"ETIMEDOUT", []string{"errno 110", "depends on the call"}, ""},
		{"Connection timed out", []string{"errno 110"}, ""},
		{"errno=110 verb=ibv_modify_qp link=RoCE", []string{"not answered", "modify-qp-rtr"}, "depends on"},
		{`errno=110 verb="modify QP to RTR" link='roce'`, []string{"not answered"}, "depends on"},
		{"errno=-19 verb=modify-qp-rtr", []string{"errno 19", "namespace"}, ""},
		{"errno=104 verb=reg-mr", []string{"its general meaning"}, ""},
		{
			"Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_1:1, curr state INIT, next " +
				"state RTR",
			[]string{"not answered"},
			"",
		},
		{
			"Call to ibv_modify_qp failed with 22 Invalid argument, on dev mlx5_1:1, curr state RTR, next state RTS",
			[]string{"depends on the call"},
			"GID index",
		},
		{"ibv_create_ah(...) on mlx5_0:1/RoCE failed: Connection timed out", []string{"create-ah", `"RoCE"`}, ""},
		{"NET/IB : Call to ibv_reg_mr failed: Cannot allocate memory", []string{"reg-mr", "ulimit"}, "link"},
		{"12", []string{"status 12", "errno=12"}, ""},
		{"129", []string{"errno 129", "vendor=129"}, ""},
		{"event=10", []string{"port error", "Got async event : port error", "until 2.22", "since 2.28.7"}, ""},
		{"NET/IB : mlx5_0:1 Got async error event: port error", []string{"event 10"}, ""},
		{"aeth=0x60", []string{"PSN sequence", "status if retries"}, ""},
		{"mtu=3", []string{"1024 bytes"}, ""},
		{"rnr_timer=0", []string{"655.36 ms"}, ""},
		{"reject=8", []string{"invalid service ID", "nobody listens"}, ""},
		{"ncclRemoteError", []string{"nccl_result", "peer"}, ""},
		{"socketFinalizeAccept from 10.0.0.1<4>: wrong type 4 != 3", []string{
			"the other TCP",
			"ncclSocketTypeNetIb",
		}, ""},
		{"wrong socket type (peer 3 != expected 4 -- x), discarding", []string{"the other TCP"}, ""},
		{dumps[0].text, []string{"completion of mlx5", "0x19a1", "send", "0/147", "status 4", "0xb3"}, ""},
	} {
		e, err := Lookup(c.text)
		b, jsonErr := json.Marshal(e)
		if err = errors.Join(err, jsonErr); err != nil {
			t.Errorf("Lookup(%q): %v", c.text, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(string(b), want) {
				t.Errorf("Lookup(%q) lacks %q:\n%s", c.text, want, b)
			}
		}
		if c.not != "" && strings.Contains(string(b), c.not) {
			t.Errorf("Lookup(%q) has %q:\n%s", c.text, c.not, b)
		}
		if len(e.Sources) == 0 || e.Kind == "" || e.Title == "" {
			t.Errorf("Lookup(%q): no source, kind or title: %+v", c.text, e)
		}
	}
}

// TestLookupRefuses names what is accepted.
func TestLookupRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "want KEY=VALUE",
		"hello":                         "want KEY=VALUE",
		"stauts=12":                     `unknown key "stauts"`,
		"status=99":                     "want 0 to 23",
		"status=12 status=5":            "given twice",
		"status=12 vendor=xyz":          "want a decimal number or a hexadecimal one",
		"status=12 vendor=1 driver=foo": "want one of mlx5, bnxt_re",
		"status=12 driver=foo":          "want one of mlx5, bnxt_re",
		"status=12 vendor=1 program=ls": "want one of nccl",
		"errno=9999":                    "1 to 133",
		"errno=110 verb=dance":          "want one of modify-qp-rtr",
		"errno=110 link=ring":           "want RoCE, InfiniBand or iWARP",
		"event=77":                      "want 0 to 20",
		"aeth=999":                      "syndrome byte",
		"mtu=9":                         "want 1 to 5",
		"syndrome=999":                  "one byte",
		"12345":                         "vendor=12345",
	} {
		if e, err := Lookup(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Lookup(%q) = %+v, %v, want an error with %q", text, e, err, want)
		}
	}
	if _, err := LookupErrno("nothing", "", ""); err == nil || !strings.Contains(err.Error(), "ETIMEDOUT") {
		t.Errorf("LookupErrno = %v", err)
	}
	if _, err := LookupCQE("x"); err == nil || !strings.Contains(err.Error(), "64 bytes") {
		t.Errorf("LookupCQE = %v", err)
	}
	long := strings.Repeat("ä", 500)
	if _, err := Lookup(long); err == nil || len(err.Error()) > 700 {
		t.Errorf("Lookup of a long text = %v", err)
	}
}

func FuzzLookup(f *testing.F) {
	for _, text := range []string{
		"status=12 vendor=129 driver=mlx5", "synd 0x15 vend 0x81 hw_synd 0/0",
		"mlx5_0/1: QP 5 error: general error (0x81 0x0 0x0)",
		"wrong type 4 != 3", "errno=-19 verb=reg-mr link=ib", "aeth=0x60", dumps[0].text,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Lookup(text)
		if err == nil && (e.Kind == "" || e.Title == "") {
			t.Errorf("Lookup(%q) = %+v", text, e)
		}
	})
}
