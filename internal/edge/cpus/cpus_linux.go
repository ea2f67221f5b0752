package cpus

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Pin keeps the calling goroutine on a thread of its own, which runs on the given CPUs only, until
// it calls restore (C twin: sched_setaffinity). Memory that the goroutine touches first is then, by
// the kernel's default policy, on their NUMA node.
func Pin(list []int) (restore func(), err error) {
	var before, set unix.CPUSet
	for _, n := range list {
		set.Set(n)
	}
	runtime.LockOSThread()
	err = unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &set)
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("run on CPUs %s: %w", FormatList(list), err)
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread() // otherwise the thread ends with the goroutine
		}
	}, nil
}

// Allowed returns the CPUs that the calling goroutine's thread may run on (C twin:
// sched_getaffinity): those of the process, unless [Pin] has restricted them.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("query the CPUs of this process: %w", err)
	}
	var out []int
	for n, left := 0, set.Count(); left > 0; n++ {
		if set.IsSet(n) {
			out = append(out, n)
			left--
		}
	}
	return out, nil
}

// Now returns the present times of all CPUs.
func Now() (Times, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Times{}, err
	}
	return ParseTimes(b)
}
