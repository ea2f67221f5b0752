package launcher

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/cluster/hostlist"
)

// variables reads variables and keeps the first error.
type variables struct {
	env func(string) string
	err error
}

// value is the number of a variable; name is "" if it is not set.
type value struct {
	name string
	n    int
}

func (x value) String() string { return fmt.Sprintf("%s=%d", x.name, x.n) }

// set reports whether the variable is set.
func (x value) set() bool { return x.name != "" }

// or returns the number, or another one if the variable is not set.
func (x value) or(n int) int {
	if !x.set() {
		return n
	}
	return x.n
}

// any reports whether one of several variables is set.
func (v *variables) any(names ...string) bool {
	name, _ := v.first(names...)
	return name != ""
}

// first returns the first of several variables that is set.
func (v *variables) first(names ...string) (name, text string) {
	for _, name := range names {
		if text := v.env(name); text != "" {
			return name, text
		}
	}
	return "", ""
}

// number reads the first of several variables that is set.
func (v *variables) number(names ...string) value {
	name, text := v.first(names...)
	if name == "" {
		return value{}
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxTasks {
		v.fail(name, text, fmt.Errorf("not a number from 0 to %d", maxTasks))
	}
	return value{name, int(n)}
}

// maxTasks bounds all numbers of variables.
const maxTasks = 1 << 24

// needed is number for a variable that must be set.
func (v *variables) needed(names ...string) value {
	x := v.number(names...)
	if !x.set() {
		v.keep(fmt.Errorf("%s is not set", names[0]))
	}
	return x
}

// below keeps an error if a number is not below the other; unset ones are not compared.
func (v *variables) below(a, b value) {
	if a.set() && b.set() && a.n >= b.n {
		v.keep(fmt.Errorf("%v is not below %v", a, b))
	}
}

// most keeps an error if a number is larger than the other; unset ones are not compared.
func (v *variables) most(a, b value) {
	if a.set() && b.set() && a.n > b.n {
		v.keep(fmt.Errorf("%v is more than %v", a, b))
	}
}

// equal keeps an error if a number differs from the other; unset ones are not compared.
func (v *variables) equal(a, b value) {
	if a.set() && b.set() && a.n != b.n {
		v.keep(fmt.Errorf("%v contradicts %v", a, b))
	}
}

// host reads the name or address of a host, "" if the variable is not set.
func (v *variables) host(name string) string {
	text := v.env(name)
	if text == "" {
		return ""
	}
	if err := hostlist.CheckName(text); err != nil {
		v.fail(name, text, err)
	}
	return text
}

// fail keeps an error about a variable.
func (v *variables) fail(name, text string, err error) {
	if len(text) > 100 {
		text = text[:100] + "..."
	}
	v.keep(fmt.Errorf("%s=%q: %w", name, text, err))
}

// keep keeps the first error.
func (v *variables) keep(err error) {
	if v.err == nil {
		v.err = err
	}
}

// numbers are the variables that most launchers have.
type numbers struct{ rank, size, localRank, localSize, node, nodes value }

// task checks the numbers against each other and returns the task that they describe.
func (v *variables) task(x numbers) Task {
	for _, size := range []value{x.size, x.localSize, x.nodes} {
		if size.set() && size.n == 0 {
			v.fail(size.name, "0", errors.New("not a number from 1"))
		}
	}
	v.below(x.rank, x.size)
	v.below(x.localRank, x.localSize)
	v.below(x.localRank, x.size)
	v.most(x.localSize, x.size)
	v.below(x.node, x.nodes)
	v.most(x.nodes, x.size)
	t := Task{
		Rank: x.rank.n, Size: x.size.n, LocalRank: x.localRank.or(-1), LocalSize: x.localSize.n,
		Node: x.node.or(-1), Nodes: x.nodes.n,
	}
	if t.Size == 1 {
		t.LocalRank, t.LocalSize = 0, 1
	}
	if t.Size > 0 && t.LocalSize == t.Size {
		t.Node, t.Nodes = 0, 1
	}
	return t
}
