package codes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runC compiles and runs a C program, and returns its lines. It fails without a compiler or the
// headers and libraries (packages libibverbs-dev, librdmacm-dev): make deps installs them.
func runC(t *testing.T, source string, libraries ...string) []string {
	t.Helper()
	dir := t.TempDir()
	file, program := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-D_GNU_SOURCE", "-o", program, file}, libraries...)
	if out, err := exec.CommandContext(t.Context(), "cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("compile (make deps): %v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// enumOf returns the names of an enumeration in a header, in order.
func enumOf(t *testing.T, header, enum string) []string {
	t.Helper()
	text, err := os.ReadFile(header)
	if err != nil {
		t.Fatalf("%v (make deps)", err)
	}
	_, body, ok := strings.Cut(string(text), "enum "+enum+" {")
	if !ok {
		t.Fatalf("%s has no enum %s", header, enum)
	}
	body, _, _ = strings.Cut(body, "}")
	return regexp.MustCompile(`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+`).FindAllString(body, -1)
}

// TestStatusesAreThoseOfLibibverbs asks the installed libibverbs for the text of every status of
// its header.
func TestStatusesAreThoseOfLibibverbs(t *testing.T) {
	names := enumOf(t, "/usr/include/infiniband/verbs.h", "ibv_wc_status")
	var body strings.Builder
	for _, n := range names {
		fmt.Fprintf(&body, "printf(\"%%d|%s|%%s\\n\", %s, ibv_wc_status_str(%s));\n", n, n, n)
	}
	want := runC(t, "#include <stdio.h>\n#include <infiniband/verbs.h>\nint main(void){"+body.String()+"}", "-libverbs")
	var got []string
	for _, s := range statuses {
		got = append(got, fmt.Sprintf("%d|%s|%s", s.Number, s.Name, s.Text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-libibverbs +table):\n%s", diff)
	}
}

// TestEventsAreThoseOfLibibverbs does the same for events. Debian 12's library doesn't know the
// last one, which rdma-core 62 added.
func TestEventsAreThoseOfLibibverbs(t *testing.T) {
	names := enumOf(t, "/usr/include/infiniband/verbs.h", "ibv_event_type")
	var body strings.Builder
	for _, n := range names {
		fmt.Fprintf(&body, "printf(\"%%d|%s|%%s\\n\", %s, ibv_event_type_str(%s));\n", n, n, n)
	}
	want := runC(t, "#include <stdio.h>\n#include <infiniband/verbs.h>\nint main(void){"+body.String()+"}", "-libverbs")
	var got []string
	for _, e := range events[:min(len(names), len(events))] {
		got = append(got, fmt.Sprintf("%d|%s|%s", e.Number, e.Name, e.Text))
	}
	if len(names) < 20 {
		t.Fatalf("only %d events in the header", len(names))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-libibverbs +table):\n%s", diff)
	}
	last := events[20] // rdma-core commit 5083d3af8, September 2025
	if last.Number != 20 || last.Name != "IBV_EVENT_DEVICE_SPEED_CHANGE" || last.Text != "Device link speed change" {
		t.Errorf("event 20 = %+v", last)
	}
}

// TestMLX5NumbersAreThoseOfTheHeader reads syndromes, opcodes and the code for page faults from
// mlx5dv.h.
func TestMLX5NumbersAreThoseOfTheHeader(t *testing.T) {
	text, err := os.ReadFile("/usr/include/infiniband/mlx5dv.h")
	if err != nil {
		t.Fatalf("%v (make deps)", err)
	}
	// the names of mlx5 and of verbs, as mlx5_handle_error_cqe in providers/mlx5/cq.c pairs them
	statusOf := map[string]string{
		"LOCAL_LENGTH_ERR": "LOC_LEN_ERR", "LOCAL_QP_OP_ERR": "LOC_QP_OP_ERR", "LOCAL_PROT_ERR": "LOC_PROT_ERR",
		"WR_FLUSH_ERR": "WR_FLUSH_ERR", "MW_BIND_ERR": "MW_BIND_ERR", "BAD_RESP_ERR": "BAD_RESP_ERR",
		"LOCAL_ACCESS_ERR": "LOC_ACCESS_ERR", "REMOTE_INVAL_REQ_ERR": "REM_INV_REQ_ERR",
		"REMOTE_ACCESS_ERR": "REM_ACCESS_ERR", "REMOTE_OP_ERR": "REM_OP_ERR",
		"TRANSPORT_RETRY_EXC_ERR": "RETRY_EXC_ERR",
		"RNR_RETRY_EXC_ERR":       "RNR_RETRY_EXC_ERR", "REMOTE_ABORTED_ERR": "REM_ABORT_ERR",
	}
	define := regexp.MustCompile(`\bMLX5_(CQE_SYNDROME|OPCODE)_(\w+)\s*= (0x[0-9a-fA-F]+)`)
	syndromes, opcodes := 0, 0
	for _, m := range define.FindAllStringSubmatch(string(text), -1) {
		n, _ := strconv.ParseUint(m[3], 0, 8)
		if m[1] == "OPCODE" {
			opcodes++
			if cqeOpcodes[uint8(n)] == "" {
				t.Errorf("no name for opcode %s (MLX5_OPCODE_%s)", m[3], m[2])
			}
			continue
		}
		syndromes++
		s, known := StatusBySyndrome(uint8(n))
		if !known || s.Name != "IBV_WC_"+statusOf[m[2]] {
			t.Errorf("StatusBySyndrome(%s) = %v, %v, want IBV_WC_%s", m[3], s, known, statusOf[m[2]])
		}
	}
	if syndromes != len(statusOf) || opcodes < 15 {
		t.Errorf("%d syndromes and %d opcodes in the header, want %d and more than 15", syndromes, opcodes,
			len(statusOf))
	}
	have := 0
	for _, s := range statuses {
		if s.Syndrome != 0 {
			have++
		}
	}
	if have != syndromes {
		t.Errorf("%d statuses have a syndrome, want %d", have, syndromes)
	}
}

// TestErrnosAreThoseOfTheCLibrary compares every number, name and text, and the aliases.
func TestErrnosAreThoseOfTheCLibrary(t *testing.T) {
	var body strings.Builder
	for name, n := range errnoAliases {
		fmt.Fprintf(&body, "if (%s != %d) printf(\"%s is %%d\\n\", %s);\n", name, n, name, name)
	}
	want := runC(t, "#include <stdio.h>\n#include <string.h>\n#include <errno.h>\nint main(void){for (int i = 1; "+
		"i < 200; i++) "+
		"if (strerrorname_np(i)) printf(\"%d|%s|%s\\n\", i, strerrorname_np(i), strerror(i));"+body.String()+"}")
	var got []string
	for n, e := range errnos {
		if e.name != "" {
			got = append(got, fmt.Sprintf("%d|%s|%s", n, e.name, e.text))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errnos (-libc +table):\n%s", diff)
	}
}

// TestEnumerationsAreThoseOfTheHeaders compares names and numbers with verbs.h and rdma_cma.h.
func TestEnumerationsAreThoseOfTheHeaders(t *testing.T) {
	for _, c := range []struct{ key, header, enum string }{
		{"mtu", "/usr/include/infiniband/verbs.h", "ibv_mtu"},
		{"port_state", "/usr/include/infiniband/verbs.h", "ibv_port_state"},
		{"cm_event", "/usr/include/rdma/rdma_cma.h", "rdma_cm_event_type"},
	} {
		names := enumOf(t, c.header, c.enum)
		var body strings.Builder
		for _, n := range names {
			fmt.Fprintf(&body, "printf(\"%%d|%s\\n\", %s);\n", n, n)
		}
		want := runC(t, "#include <stdio.h>\n#include <"+strings.TrimPrefix(c.header, "/usr/include/")+
			">\nint main(void){"+body.String()+"}")
		enum, _ := EnumerationByKey(c.key)
		var got []string
		for _, v := range enum.Values[:min(len(want), len(enum.Values))] { // later releases add at the end
			got = append(got, fmt.Sprintf("%d|%s", v.Number, v.Name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-header +table):\n%s", c.key, diff)
		}
	}
}
