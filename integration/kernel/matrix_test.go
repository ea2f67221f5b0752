package kernel

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/rdmakit/rdmakit/bench"
)

// The runs of the matrix against perftest can be chosen without a kernel: this file has no build
// tag, and its tests run in make test.

// allSizes are the sizes of -a.
func allSizes() []int {
	var out []int
	for n := 2; n <= 8<<20; n *= 2 {
		out = append(out, n)
	}
	return out
}

// cell is a run of the matrix.
type cell struct {
	test   bench.Test
	client bool // ours
	qps    int
	size   int // 0 is all of 2 bytes to 8 MiB
}

func (c cell) name() string {
	peer, size := "real client", "all sizes"
	if c.client {
		peer = "real server"
	}
	if c.size > 0 {
		size = fmt.Sprintf("%d bytes", c.size)
	}
	return fmt.Sprintf("%v/%s/%d queue pairs, %s", c.test, peer, c.qps, size)
}

// iterations is the number of messages of each size: 5 is perftest's minimum.
func (c cell) iterations() int {
	if c.size > 0 && c.size <= 65536 {
		return 20
	}
	return 5
}

func (c cell) args() []string {
	args := []string{"-n", strconv.Itoa(c.iterations()), "-u", "20"}
	if c.qps > 1 {
		args = append(args, "--qps", strconv.Itoa(c.qps))
	}
	if c.size == 0 {
		return append(args, "-a")
	}
	return append(args, "-s", strconv.Itoa(c.size))
}

// cells returns the runs over one network. Each test runs in both directions with 1 and, for
// bandwidth, 8 queue pairs. With full, bandwidth tests with 1 queue pair run all sizes, and some
// other runs 8 MiB; otherwise the sizes take turns, beginning at turn.
func cells(full bool, turn int) []cell {
	sampled := []int{2, 1000, 65536, 1 << 20, 4096, 8191}
	var list []cell
	for _, test := range bench.Tests() {
		for _, client := range []bool{false, true} {
			one := cell{test: test, client: client, qps: 1, size: sampled[turn%len(sampled)]}
			eight := cell{test: test, client: client, qps: 8, size: sampled[(turn+2)%len(sampled)]}
			turn++
			switch {
			case test.IsLatency():
				if full && test == bench.SendLat {
					one.size = 8 << 20
				}
				list = append(list, one)
				continue
			case full:
				one.size = 0
				if test == bench.WriteBW && !client {
					eight.size = 8 << 20
				}
			}
			list = append(list, one, eight)
		}
	}
	return list
}

// network is the network of cells.
type network struct {
	mtu int
	v6  bool
}

// matrixCell is a cell in its network.
type matrixCell struct {
	network
	cell
}

// matrix returns all runs of TestPerftestInterop: six tests, either end the real program, MTU 1024
// and 4096, IPv4 and IPv6, 1 and 8 queue pairs. All sizes from 2 bytes to 8 MiB run over IPv4 and
// MTU 4096; otherwise each run has one size.
func matrix() []matrixCell {
	var list []matrixCell
	for turn, n := range []network{{4096, false}, {4096, true}, {1024, false}, {1024, true}} {
		for _, c := range cells(turn == 0, turn) {
			list = append(list, matrixCell{n, c})
		}
	}
	return list
}

// values returns a run's value of each dimension of the matrix. Sizes are classified by how they
// divide into packets.
func (c matrixCell) values() []string {
	size := "all sizes"
	switch {
	case c.size == 0:
	case c.size <= 1000:
		size = "one packet"
	case c.size == 8191:
		size = "an odd rest"
	case c.size <= 65536:
		size = "full packets"
	default:
		size = "a megabyte and more"
	}
	return []string{
		c.test.String(), fmt.Sprintf("our client: %t", c.client), fmt.Sprintf("MTU %d", c.mtu),
		fmt.Sprintf("IPv6: %t", c.v6), fmt.Sprintf("%d queue pairs", c.qps), size,
	}
}

// pairs are the combinations of two values of a run.
func (c matrixCell) pairs() [][2]string {
	var list [][2]string
	values := c.values()
	for i, a := range values {
		for _, b := range values[i+1:] {
			list = append(list, [2]string{a, b})
		}
	}
	return list
}

// cost estimates the seconds of a run from the start-up time and the throughput of the guest's
// emulated processor.
func (c matrixCell) cost() float64 {
	bytes := c.size
	if c.size == 0 {
		for _, n := range allSizes() {
			bytes += n
		}
	}
	return 1 + float64(bytes*c.iterations()*c.qps)/(12<<20)
}

// covering chooses runs, in their order, that together cover each pair of values of the matrix: it
// repeatedly adds the run with the most new pairs for its cost.
func covering(list []matrixCell) []matrixCell {
	missing := map[[2]string]bool{}
	for _, c := range list {
		for _, p := range c.pairs() {
			missing[p] = true
		}
	}
	worth := func(c matrixCell) float64 {
		n := 0
		for _, p := range c.pairs() {
			if missing[p] {
				n++
			}
		}
		return float64(n) / c.cost()
	}
	chosen := make([]bool, len(list))
	for len(missing) > 0 {
		best := 0
		for i := range list {
			if worth(list[i]) > worth(list[best]) {
				best = i
			}
		}
		chosen[best] = true
		for _, p := range list[best].pairs() {
			delete(missing, p)
		}
	}
	var out []matrixCell
	for i, c := range list {
		if chosen[i] {
			out = append(out, c)
		}
	}
	return out
}

// TestMatrix checks the size of the matrix, and that the part of it that every change is tested
// with covers each pair of values and each size, with less than half of the work.
func TestMatrix(t *testing.T) {
	all := matrix()
	if len(all) != 72 {
		t.Errorf("the matrix has %d runs, want 72", len(all))
	}
	part := covering(all)
	has := map[[2]string]bool{}
	sizes := map[int]bool{}
	work, allWork := 0.0, 0.0
	for _, c := range part {
		for _, p := range c.pairs() {
			has[p] = true
		}
		sizes[c.size] = true
		work += c.cost()
		if !slices.Contains(all, c) {
			t.Errorf("%+v is no run of the matrix", c)
		}
	}
	for _, c := range all {
		allWork += c.cost()
		for _, p := range c.pairs() {
			if !has[p] {
				t.Errorf("no chosen run has %q with %q", p[0], p[1])
				has[p] = true
			}
		}
	}
	for _, size := range []int{0, 2, 1000, 4096, 8191, 65536, 1 << 20} {
		if !sizes[size] {
			t.Errorf("no chosen run has size %d", size)
		}
	}
	if work > allWork/2 {
		t.Errorf("the chosen runs are %.0f of %.0f s, want less than half", work, allWork)
	}
	t.Logf("%d of %d runs, about %.0f of %.0f s", len(part), len(all), work, allWork)
}
