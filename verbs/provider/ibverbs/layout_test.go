//go:build linux && (amd64 || arm64)

package ibverbs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

// newer are the fields that the header of rdma-core 44 doesn't have.
var newer = map[string]bool{"ibv_port_attr active_speed_ex": true}

// partial are the structs whose end is not mirrored: locks, which the library alone uses, and
// objects that programs may let librdmacm create.
var partial = map[string]bool{"ibv_cq": true, "ibv_qp": true, "rdma_cm_id": true}

// unions are the offsets and sizes of fields that share the memory of a mirrored one.
var unions = []struct {
	name         string
	offset, size uintptr
}{
	{"ibv_send_wr wr.rdma.remote_addr", unsafe.Offsetof(cSendWR{}.RemoteAddr), 8},
	{"ibv_send_wr wr.rdma.rkey", unsafe.Offsetof(cSendWR{}.Word), 4},
	{"ibv_send_wr wr.ud.ah", unsafe.Offsetof(cSendWR{}.RemoteAddr), 8},
	{"ibv_send_wr wr.ud.remote_qpn", unsafe.Offsetof(cSendWR{}.Word), 4},
	{"ibv_send_wr wr.ud.remote_qkey", unsafe.Offsetof(cSendWR{}.Word) + 4, 4},
	{"ibv_send_wr invalidate_rkey", unsafe.Offsetof(cSendWR{}.Imm), 4},
	{"ibv_wc invalidated_rkey", unsafe.Offsetof(cWC{}.Imm), 4},
	{"ibv_async_event element.port_num", 0, 4},
	{"rdma_cm_event param.conn", unsafe.Offsetof(cCMEvent{}.UD), unsafe.Sizeof(cConnParam{})},
	{"ibv_context ops.alloc_mw", unsafe.Offsetof(cContext{}.Ops) + 8*opAllocMW, 8},
	{"ibv_context ops.dealloc_mw", unsafe.Offsetof(cContext{}.Ops) + 8*opDeallocMW, 8},
	{"ibv_context ops.poll_cq", unsafe.Offsetof(cContext{}.Ops) + 8*opPollCQ, 8},
	{"ibv_context ops.req_notify_cq", unsafe.Offsetof(cContext{}.Ops) + 8*opReqNotifyCQ, 8},
	{"ibv_context ops.post_srq_recv", unsafe.Offsetof(cContext{}.Ops) + 8*opPostSRQRecv, 8},
	{"ibv_context ops.post_send", unsafe.Offsetof(cContext{}.Ops) + 8*opPostSend, 8},
	{"ibv_context ops.post_recv", unsafe.Offsetof(cContext{}.Ops) + 8*opPostRecv, 8},
}

// TestLayout compiles a program against the installed header and compares each mirrored field.
func TestLayout(t *testing.T) {
	var fields, want strings.Builder
	for _, s := range []struct {
		name string
		v    any
	}{
		{"ibv_device", cDevice{}},
		{"ibv_context", cContext{}},
		{"ibv_device_attr", cDeviceAttr{}},
		{"ibv_device_attr_ex", cDeviceAttrEx{}},
		{"ibv_port_attr", cPortAttr{}},
		{"ibv_gid_entry", cGIDEntry{}},
		{"ibv_mr", cMR{}},
		{"ibv_mw", cMW{}},
		{"ibv_comp_channel", cChannel{}},
		{"ibv_cq", cCQ{}},
		{"ibv_qp", cQP{}},
		{"ibv_qp_cap", cQPCap{}},
		{"ibv_qp_init_attr", cQPInitAttr{}},
		{"ibv_ah_attr", cAHAttr{}},
		{"ibv_qp_attr", cQPAttr{}},
		{"ibv_srq_attr", cSRQAttr{}},
		{"ibv_srq_init_attr", cSRQInitAttr{}},
		{"ibv_sge", cSGE{}},
		{"ibv_send_wr", cSendWR{}},
		{"ibv_recv_wr", cRecvWR{}},
		{"ibv_wc", cWC{}},
		{"ibv_async_event", cAsyncEvent{}},
		{"rdma_event_channel", cEventChannel{}},
		{"rdma_cm_id", cCMID{}},
		{"rdma_conn_param", cConnParam{}},
		{"rdma_ud_param", cUDParam{}},
		{"rdma_cm_event", cCMEvent{}},
	} {
		size := reflect.TypeOf(s.v).Size()
		for f := range reflect.TypeOf(s.v).Fields() {
			name := f.Tag.Get("c")
			if newer[s.name+" "+name] {
				size = f.Offset
				continue
			}
			if name == "" {
				continue // padding
			}
			fmt.Fprintf(&fields, "FIELD(%s, %s)\n", s.name, name)
			fmt.Fprintf(&want, "%s %s %d %d\n", s.name, name, f.Offset, f.Type.Size())
		}
		if partial[s.name] {
			continue
		}
		fmt.Fprintf(&fields, "SIZE(%s)\n", s.name)
		fmt.Fprintf(&want, "%s sizeof %d\n", s.name, size)
	}
	for _, u := range unions {
		fmt.Fprintf(&fields, "FIELD(%s)\n", strings.Replace(u.name, " ", ", ", 1))
		fmt.Fprintf(&want, "%s %d %d\n", u.name, u.offset, u.size)
	}
	for name, distance := range map[string]int{
		"sz": distanceSize, "query_device_ex": distanceQueryDeviceEx, "query_port": distanceQueryPort,
	} {
		fmt.Fprintf(&fields, "DISTANCE(%s)\n", name)
		fmt.Fprintf(&want, "verbs_context %s %d\n", name, distance)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fields.h"), []byte(fields.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "layout")
	compile(t, "-I", dir, "-o", program, "testdata/layout.c")
	got, err := exec.CommandContext(t.Context(), program).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("layout.go differs from infiniband/verbs.h and rdma/rdma_cma.h (-Go +C):\n%s", diff)
	}
}

// compile runs the C compiler. The test fails if the compiler or the header is missing:
// scripts/deps.sh installs both.
func compile(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "gcc",
		append([]string{"-Wall", "-Wno-unused-parameter", "-O1"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v (scripts/deps.sh test installs gcc, libibverbs-dev and librdmacm-dev)\n%s", cmd, err, out)
	}
}
