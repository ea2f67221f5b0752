package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/rdmakit/rdmakit/internal/sim/cluster"
)

// table prints precision and recall by kind.
func (s *score) table(w *bytes.Buffer) {
	fmt.Fprintf(w, "| kind | planted | found | recall | named | true | precision |\n|---|--:|--:|--:|--:|--:|--:|\n")
	row := func(name string, planted, found, claimed, correct int) {
		fmt.Fprintf(w, "| %s | %d | %d | %.2f | %d | %d | %.2f |\n",
			name, planted, found, ratio(found, planted), claimed, correct, ratio(correct, claimed))
	}
	for _, k := range cluster.Kinds() {
		if c := s.kinds[k]; c.planted+c.claimed > 0 {
			row(string(k), c.planted, c.found, c.claimed, c.correct)
		}
	}
	row("**all**", s.faults, s.found, s.claims, s.correct)
}

// confusion prints what was confused with what.
func (s *score) confusion(w *bytes.Buffer) {
	if len(s.confused) == 0 {
		fmt.Fprintln(w, "Nothing was confused.")
		return
	}
	fmt.Fprintf(w, "| planted | named instead | times |\n|---|---|--:|\n")
	for _, c := range s.confusions() {
		kind, cause := string(c.kind), string(c.cause)
		if kind == "" {
			kind = "nothing"
		}
		if cause == "" {
			cause = "nothing"
		}
		fmt.Fprintf(w, "| %s | %s | %d |\n", kind, cause, s.confused[c])
	}
}

// calibration prints how often verdicts are true by their confidence.
func (s *score) calibration(w *bytes.Buffer) {
	fmt.Fprintf(w, "| confidence | verdicts | mean confidence | true |\n|---|--:|--:|--:|\n")
	for i, b := range s.bins {
		to := 1.0
		if i+1 < len(s.bins) {
			to = s.bins[i+1].from
		}
		if b.claims > 0 {
			fmt.Fprintf(w, "| %.2f to %.2f | %d | %.2f | %.2f |\n",
				b.from, to, b.claims, b.sum/float64(b.claims), ratio(b.right, b.claims))
		}
	}
}

// replace writes a text between the markers of a section of a page.
func replace(path, section string, text []byte) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := []byte("<!-- begin "+section+" -->\n"), []byte("<!-- end "+section+" -->")
	i := bytes.Index(page, begin)
	j := bytes.Index(page, end)
	if i < 0 || j < i {
		return fmt.Errorf("%s has no markers of section %s", path, section)
	}
	out := append([]byte{}, page[:i+len(begin)]...)
	out = append(out, '\n')
	out = append(out, bytes.TrimSpace(text)...)
	out = append(out, "\n\n"...)
	return os.WriteFile(path, append(out, page[j:]...), 0o644) //nolint:gosec // a page that all may read
}
