package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/explain"
	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/input"
)

// What a program prints over several lines is found wherever it is between the batches in which
// lines are read: they end after 512 lines, or 256 KiB.
func TestLinesTogether(t *testing.T) {
	const dump = `[166755.332323] infiniband mlx5_0: dump_cqe:272:(pid 0): dump error cqe
[166755.332944] 00000000: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.333573] 00000010: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334202] 00000020: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
[166755.334837] 00000030: 00 00 00 00 00 00 88 13 08 03 61 b3 1e a1 42 d3
`
	const wrapped = "first send: send 64 B from node1 to node2: no\n            acknowledgement from the peer\n"
	for _, c := range []struct {
		name, line string // of the filling
		text       string
		kind       evidence.Kind
		from, to   int
		after      int // lines of the filling after the text
	}{
		{"dump", "step", dump, evidence.MLX5CQE, 505, 514, 3},
		{"dump after long lines", strings.Repeat("x", 64<<10-1), dump, evidence.MLX5CQE, 1, 6, 3},
		{"wrapped line", "step", wrapped, evidence.OwnConnect, 508, 514, 3},
		{"wrapped line at the end", "step", wrapped, evidence.OwnConnect, 510, 512, 0},
	} {
		for n := c.from; n <= c.to; n++ {
			text := strings.Repeat(c.line+"\n", n) + c.text + strings.Repeat(c.line+"\n", c.after)
			inputs := input.All([]string{input.Stdin}, strings.NewReader(text))
			report, err := explain.Explain(t.Context(), inputs, explain.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var places []string
			for e := range report.Facts.Store.Of(c.kind) {
				places = append(places, fmt.Sprint(e.Place.Line))
			}
			lines, want := strings.Count(text, "\n"), fmt.Sprint(n+1)
			in := report.Inputs[0]
			if len(places) != 1 || places[0] != want || in.Lines != lines || in.Bytes != int64(len(text)) {
				t.Errorf("%s after %d lines: found in lines %v, want %s; read %d lines and %d bytes, want %d and %d",
					c.name, n, places, want, in.Lines, in.Bytes, lines, len(text))
			}
		}
	}
}
