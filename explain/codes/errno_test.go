package codes

import (
	"strings"
	"testing"
)

func TestErrnoByText(t *testing.T) {
	for text, want := range map[string]int{
		"110": 110, "-19": 19, "ETIMEDOUT": 110, "etimedout": 110, "-ENODEV": 19, "Connection timed out": 110,
		"EWOULDBLOCK": 11, "ENOTSUP": 95, "No such device": 19, "No such device or address": 6,
		"Call to ibv_reg_mr failed with error Cannot allocate memory": 12, "Connection refused": 111,
		"No route to host": 113, "Bad address": 14, "Input/output error": 5,
	} {
		if n, ok := ErrnoByText(text); !ok || n != want {
			t.Errorf("ErrnoByText(%q) = %d, %v, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "0", "41", "9999", "-9223372036854775808", "ok", "E"} {
		if n, ok := ErrnoByText(text); ok {
			t.Errorf("ErrnoByText(%q) = %d", text, n)
		}
	}
}

// TestErrnoOfModify has what addr.c and cache.c of the kernel return, and threads with a confirmed
// cause.
func TestErrnoOfModify(t *testing.T) {
	for _, c := range []struct {
		number int
		link   Link
		want   string
	}{
		{110, LinkRoCE, "not answered"},                  // NVIDIA/nccl#2013
		{110, LinkUnknown, "On RoCE"},                    // says for which link it holds
		{110, LinkInfiniBand, "looks for no peer"},       // addresses aren't resolved
		{101, LinkRoCE, "no route"},                      // deepseek-ai/DeepEP#321
		{-19, LinkRoCE, "not in this network namespace"}, // NVIDIA/nccl#925
		{61, LinkRoCE, "GID table is empty"},             // rdma_get_gid_attr
		{61, LinkUnknown, "before 5.11"},
		{61, LinkInfiniBand, "GID table is empty"},
		{22, LinkRoCE, "was refused"},
		{22, LinkInfiniBand, "was refused"},
		{110, LinkIWARP, "rdma_cm"},
		{22, LinkIWARP, "rdma_cm"},
		{12, LinkUnknown, "out of a resource"},
	} {
		e, ok := Errno(c.number, ModifyQPToRTR, c.link)
		if !ok || !strings.Contains(e.Meaning, c.want) || len(e.Causes) == 0 || e.Number < 0 {
			t.Errorf("Errno(%d, modify, %q) = %+v, want %q", c.number, c.link, e, c.want)
		}
	}
}

func TestErrnoOfOtherOperations(t *testing.T) {
	for _, c := range []struct {
		number int
		op     Operation
		cause  string
	}{
		{12, RegisterMemory, "ulimit -l"},              // NVIDIA/nccl-tests#206
		{14, RegisterMemory, "nvidia-peermem"},         // Mellanox/nv_peer_memory#36
		{22, RegisterMemory, "GPU memory"},             // Mellanox/gpu_direct_rdma_access#5
		{1, RegisterMemory, "ulimit -l is 0"},          // can_do_mlock in umem.c
		{12, CreateCQ, "limit of queues"},              // NVIDIA/nccl#1191
		{22, CreateCQ, "max_cqe"},                      // man page ibv_create_cq(3)
		{12, CreateQP, "limit of queues"},              // deepseek-ai/DeepEP#649
		{95, RegisterDMABuf, "older kernel"},           // man page ibv_reg_dmabuf_mr(3)
		{110, CreateAH, "rails"},                       // openucx/ucx#9971
		{2, OpenDevice, "/dev/infiniband"},             // ENOENT of open(2)
		{12, PostSend, "polled"},                       // man page ibv_post_send(3)
		{111, SocketConnect, "interface"},              // connect(2)
		{19, ResolveAddress, "without an RDMA device"}, // k8s-rdma-sriov-dev-plugin#18
	} {
		e, ok := Errno(c.number, c.op, LinkRoCE)
		if !ok || !strings.Contains(strings.Join(e.Causes, "; "), c.cause) {
			t.Errorf("Errno(%d, %s) = %+v, want cause %q", c.number, c.op, e, c.cause)
		}
	}
	// without a row for the operation the general meaning
	if e, _ := Errno(104, RegisterMemory, LinkRoCE); !strings.Contains(e.Meaning, "peer") {
		t.Errorf("Errno(104, reg-mr) = %+v", e)
	}
	for _, n := range []int{0, 41, 134, -134, -1 << 63} {
		if e, ok := Errno(n, AnyOperation, LinkUnknown); ok {
			t.Errorf("Errno(%d) = %+v", n, e)
		}
	}
}

func TestOperationByText(t *testing.T) {
	for text, want := range map[string]Operation{
		"ibv_modify_qp": ModifyQPToRTR, "modify-qp-rtr": ModifyQPToRTR, "Failed to modify QP 322 to RTR": ModifyQPToRTR,
		"Call to ibv_reg_mr_iova2 failed": RegisterMemory, "ibv_reg_dmabuf_mr": RegisterDMABuf,
		"reg-mr":                       RegisterMemory,
		"ibv_create_ah(dlid=0) failed": CreateAH, "ibv_create_cq": CreateCQ, "create-qp": CreateQP,
		"ibv_open_device": OpenDevice, "ibv_post_send() failed": PostSend, "connect": SocketConnect,
		"RDMA_CM_EVENT_ADDR_ERROR": ResolveAddress, "rdma_resolve_addr": ResolveAddress,
	} {
		if op, ok := OperationByText(text); !ok || op != want {
			t.Errorf("OperationByText(%q) = %q, want %q", text, op, want)
		}
	}
	for _, op := range Operations() {
		if got, ok := OperationByText(string(op)); !ok || got != op {
			t.Errorf("OperationByText(%q) = %q", op, got)
		}
	}
	if op, ok := OperationByText("Connection closed"); ok {
		t.Errorf("OperationByText = %q", op)
	}
}

func FuzzErrnoByText(f *testing.F) {
	f.Add("-ETIMEDOUT")
	f.Add("Connection timed out")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := ErrnoByText(text); ok {
			if _, ok := Errno(n, AnyOperation, LinkUnknown); !ok {
				t.Errorf("ErrnoByText(%q) = %d, which is no error number", text, n)
			}
		}
	})
}
