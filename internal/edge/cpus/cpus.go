// Package cpus keeps a goroutine on some of the machine's CPUs, and reads how busy they are.
//
//	restore, err := cpus.Pin([]int{0, 1}) // this goroutine only
//	if err != nil { ... }
//	defer restore()
//
// [Pin] and the function that it returns are called by one goroutine; everything else may be called
// concurrently. On systems other than Linux the functions return errors that match
// [errors.ErrUnsupported].
package cpus

import (
	"fmt"
	"strconv"
	"strings"
)

// maxCPU is the largest number that a list may have: a bound against damaged files.
const maxCPU = 1 << 16

// ParseList parses the kernel's form of a set of CPUs or nodes, "0-3,8"; "" is the empty set.
func ParseList(s string) ([]int, error) {
	var out []int
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("list of CPUs %q: %w", s, err)
		}
		b, err := strconv.ParseUint(last, 10, 16)
		if err != nil || b < a || b >= maxCPU {
			return nil, fmt.Errorf("list of CPUs %q: %q is not a range", s, part)
		}
		for n := a; n <= b; n++ {
			out = append(out, int(n))
		}
	}
	return out, nil
}

// FormatList is the inverse of [ParseList] for ascending numbers.
func FormatList(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(list[i])
		if j > i {
			part += "-" + strconv.Itoa(list[j])
		}
		out = append(out, part)
		i = j + 1
	}
	return strings.Join(out, ",")
}

// Times are the times of all CPUs together since the machine was booted, in ticks of 10 ms.
type Times struct {
	User uint64 // in programs that aren't niced
	Idle uint64 // with nothing to do, and not waiting for a disk
}

// ParseTimes returns the times in the first line of /proc/stat.
func ParseTimes(stat []byte) (Times, error) {
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return Times{}, fmt.Errorf("/proc/stat: %q is not the line of all CPUs", line)
	}
	user, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return Times{}, fmt.Errorf("/proc/stat: user time: %w", err)
	}
	idle, err := strconv.ParseUint(fields[4], 10, 64)
	if err != nil {
		return Times{}, fmt.Errorf("/proc/stat: idle time: %w", err)
	}
	return Times{User: user, Idle: idle}, nil
}
