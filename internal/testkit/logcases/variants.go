package logcases

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Variant derives a log as users have it from a case. The expectation is that of the case, with the
// rule of [Verdict]: a verdict may weaken, never change to something else.
type Variant struct {
	Name string
	// Apply returns the derived case, or ok = false if the variant doesn't apply: a case without
	// NCCL has no lower debug level, a case of one node has no missing node.
	Apply func(c *Case) (derived *Case, ok bool)
}

// Variants returns all variants.
func Variants() []Variant {
	return []Variant{
		{"last 200 lines", lastLines},
		{"mpirun tags", prefixed(mpirunPrefix)},
		{"srun labels", prefixed(srunPrefix)},
		{"kubectl and CRI times", prefixed(kubectlPrefix)},
		{"Ray with colours", prefixed(rayPrefix)},
		{"torchrun and compose", prefixed(torchrunPrefix)},
		{"CRLF", crlf},
		{"interleaved lines", interleaved},
		{"glued lines", glued},
		{"only WARN", onlyWarn},
		{"default subsystems", defaultSubsystems},
		{"one node missing", nodeMissing},
	}
}

// each returns a copy of a case with f applied to the lines of each log.
func each(c *Case, f func(lines []string) []string) *Case {
	d := c.clone()
	for i := range d.Files {
		lines := strings.Split(strings.TrimSuffix(string(d.Files[i].Data), "\n"), "\n")
		d.Files[i].Data = []byte(strings.Join(f(lines), "\n") + "\n")
	}
	return d
}

// tailLines is what a console keeps of a log in this corpus.
const tailLines = 200

// lastLines cuts each log to its last 200 lines. Of a shorter log, three quarters of the lines
// stay, behind the progress of an application, so that each cut loses something.
func lastLines(c *Case) (*Case, bool) {
	return each(c, func(lines []string) []string {
		if len(lines) > tailLines {
			return lines[len(lines)-tailLines:]
		}
		keep := max(1, len(lines)*3/4)
		return slices.Concat(progress(tailLines-keep), lines[len(lines)-keep:])
	}), true
}

func progress(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("iteration %5d: elapsed %.2f s, eta %d s", i, 0.41*float64(i), 9000-i))
	}
	return lines
}

// rankIn finds the rank's place in a line: the host and the GPU of NCCL's prefix.
var rankIn = regexp.MustCompile(`([\w.-]+):(\d+):\d+ \[(\d+)\] (?:\S+ (?:\(\w+\) )?)?NCCL (?:INFO|WARN) `)

// hostAndGPU returns the host and the GPU of a line, or the previous line's.
func hostAndGPU(line, host, gpu string) (string, string) {
	if m := rankIn.FindStringSubmatch(line); m != nil {
		return m[1], m[3]
	}
	return host, gpu
}

// prefixed puts a launcher's prefix in front of each line.
func prefixed(prefix func(host, gpu string, number int) string) func(*Case) (*Case, bool) {
	return func(c *Case) (*Case, bool) {
		return each(c, func(lines []string) []string {
			host, gpu := "node-0", "0"
			for i, line := range lines {
				host, gpu = hostAndGPU(line, host, gpu)
				lines[i] = prefix(host, gpu, i) + line
			}
			return lines
		}), true
	}
}

func mpirunPrefix(_, gpu string, _ int) string { return "[1," + gpu + "]<stdout>:" }

func srunPrefix(_, gpu string, _ int) string { return fmt.Sprintf("%2s: ", gpu) }

func kubectlPrefix(host, _ string, number int) string {
	return fmt.Sprintf("[pod/%s-worker-0/main] 2025-06-03T08:%02d:%02d.%09dZ stdout F ", host, number/60%60, number%60,
		number*7919%1000000000)
}

func rayPrefix(host, gpu string, _ int) string {
	n := 0
	for _, b := range []byte(host) {
		n += int(b)
	}
	return fmt.Sprintf("\x1b[36m(RayWorkerWrapper pid=%d%s, ip=10.4.%d.%d)\x1b[0m ", 590+n%7, gpu, n%200, n%90)
}

func torchrunPrefix(host, gpu string, number int) string {
	if number%2 == 0 {
		return "[rank" + gpu + "]:"
	}
	return host + "-1  | "
}

func crlf(c *Case) (*Case, bool) {
	d := c.clone()
	for i := range d.Files {
		d.Files[i].Data = bytes.ReplaceAll(d.Files[i].Data, []byte("\n"), []byte("\r\n"))
	}
	return d, true
}

// otherJob returns the log of a healthy job on other nodes.
func otherJob(c *Case) []string {
	s := &session{
		library: "NCCL", cuda: "12.4", driver: "12040", gpus: 2, oob: "eno1", direct: true, ro: true, seed: 977,
		subsys: []string{"INIT", "ENV"},
	}
	for i, name := range []string{"other-1", "other-2"} {
		s.nodes = append(s.nodes, node{
			name: name, ip: fmt.Sprintf("10.99.0.%d", i+1), version: version{2, 21, 5}, net: "IB", link: "IB",
			hcas: []string{"mlx5_0"}, mtu: 5, gid: "v4", gidIndex: "0",
		})
	}
	if c.session != nil {
		for i := range s.nodes {
			s.nodes[i].version = c.session.nodes[0].version
		}
	}
	lines, _ := s.initLines([]int{0, 1}, "bootstrap", "complete")
	return slices.Concat(lines, progress(20))
}

// interleaved mixes whole lines of another, healthy job into the first log.
func interleaved(c *Case) (*Case, bool) {
	other := otherJob(c)
	done := false
	return each(c, func(lines []string) []string {
		if done {
			return lines
		}
		done = true
		return interleave(lines, other)
	}), true
}

// interleave takes a line of b after each line of a, as long as both last. It doesn't separate a
// WARN line from the empty line in front of it, which are one write.
func interleave(a, b []string) (mixed []string) {
	for i, line := range a {
		mixed = append(mixed, line)
		if len(b) > 0 && (line != "" || i == 0) {
			mixed = append(mixed, b[0])
			b = b[1:]
		}
	}
	return append(mixed, b...)
}

// glued joins two INFO lines of different ranks, as happens when two processes write to one pipe:
// the second line begins before the first one's line feed.
func glued(c *Case) (*Case, bool) {
	joined := false
	d := each(c, func(lines []string) (out []string) {
		for i := 0; i < len(lines); i++ {
			a, b := rankIn.FindStringSubmatch(lines[i]), []string(nil)
			if i+1 < len(lines) {
				b = rankIn.FindStringSubmatch(lines[i+1])
			}
			if i%5 == 2 && a != nil && b != nil && a[1]+a[3] != b[1]+b[3] {
				out = append(out, lines[i]+lines[i+1], "")
				i++
				joined = true
				continue
			}
			out = append(out, lines[i])
		}
		return out
	})
	return d, joined
}

// onlyWarn drops INFO lines, as NCCL_DEBUG=WARN does; the version is printed without a host.
func onlyWarn(c *Case) (*Case, bool) {
	found, version := false, false
	d := each(c, func(lines []string) (out []string) {
		for _, line := range lines {
			_, text, ok := strings.Cut(line, "NCCL INFO ")
			switch {
			case !ok:
				out = append(out, line)
			case strings.HasPrefix(text, "NCCL version ") && !version:
				out = append(out, text)
				version = true
			}
			found = found || ok
		}
		return out
	})
	return d, found
}

// detail matches what only the subsystems NET and GRAPH print.
var detail = regexp.MustCompile(`NCCL INFO (?:NET/IB: .*\b(?:qpn|qp_num) |NET/\S+ : GPU Direct RDMA |GPU Direct RDMA ` +
	`|Call to \w+ failed .* retrying |HINT: |NET/IB : Made virtual device |NET/IB: \[\d+\] ` +
	`|=== System |===|CPU/|\+ |  +\+ |GPU/|NET/\d|Ring \d|Tree \d|dlvsym )`)

// defaultSubsystems drops the lines that need NCCL_DEBUG_SUBSYS.
func defaultSubsystems(c *Case) (*Case, bool) {
	dropped := false
	d := each(c, func(lines []string) (out []string) {
		for _, line := range lines {
			if detail.MatchString(line) {
				dropped = true
				continue
			}
			out = append(out, line)
		}
		return out
	})
	return d, dropped
}

// nodeMissing drops all NCCL lines of the second node, as if its log had not been collected.
func nodeMissing(c *Case) (*Case, bool) {
	if c.session == nil || len(c.session.nodes) < 2 {
		return nil, false
	}
	gone := c.session.nodes[1].name
	dropped := false
	d := each(c, func(lines []string) (out []string) {
		for _, line := range lines {
			if host, _ := hostAndGPU(line, "", ""); host == gone {
				dropped = true
				continue
			}
			out = append(out, line)
		}
		return out
	})
	return d, dropped
}
