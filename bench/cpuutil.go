package bench

import (
	"sync"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/cpus"
)

// cpuMeter measures how busy the machine's CPUs are between two times, which may be those of a
// measurement whose goroutine is busy.
type cpuMeter struct {
	mu          sync.Mutex
	first, last *cpus.Times
	timers      []*time.Timer
}

// start begins to measure after from, until to.
func (m *cpuMeter) start(from, to time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timers = []*time.Timer{
		time.AfterFunc(from, func() { m.sample(&m.first) }),
		time.AfterFunc(to, func() { m.sample(&m.last) }),
	}
}

func (m *cpuMeter) sample(at **cpus.Times) {
	now, err := cpus.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		*at = &now
	}
}

// percent ends the measurement and returns the utilization as perftest computes it: the time in
// programs in percent of that and the idle time, of all CPUs together. The time in the kernel is
// not part of it. It is nil if nothing was measured.
func (m *cpuMeter) percent() *float64 {
	m.mu.Lock()
	ended := m.last != nil
	for _, t := range m.timers {
		t.Stop()
	}
	m.mu.Unlock()
	if !ended {
		m.sample(&m.last) // the measurement ends with the measured time
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == nil || m.last == nil {
		return nil
	}
	user, idle := m.last.User-m.first.User, m.last.Idle-m.first.Idle
	if user+idle == 0 {
		return nil
	}
	return new(100 * float64(user) / float64(user+idle))
}
