package virtualtime_test

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/clock"
	"github.com/rdmakit/rdmakit/internal/sim/virtualtime"
)

// TestDrive runs goroutines that pass messages in simulated time: an hour of it, in the order of
// the clock, however long the goroutines compute.
func TestDrive(t *testing.T) {
	m := new(clock.Manual)
	before := runtime.GOMAXPROCS(0)
	stop := virtualtime.Drive(m)
	begin := m.Now()
	var mu sync.Mutex
	var got []time.Duration
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			for k := range 100 {
				if err := clock.Sleep(t.Context(), m, time.Duration(1+i)*time.Second); err != nil {
					t.Error(err)
				}
				for range k { // work takes no time
					runtime.Gosched()
				}
				mu.Lock()
				got = append(got, m.Now().Sub(begin))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if end := m.Now().Sub(begin); end != 2000*time.Second {
		t.Errorf("the clock shows %v at the end, want 2000s", end)
	}
	if !slices.IsSorted(got) || len(got) != 2000 {
		t.Errorf("%d wake-ups, in the order of the clock: %t", len(got), slices.IsSorted(got))
	}
	var want []time.Duration
	for i := range 20 {
		for k := range 100 {
			want = append(want, time.Duration((1+i)*(1+k))*time.Second)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("goroutines woke up at other times than those that they wanted")
	}
	stop()
	stop()
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d after the end, want %d", after, before)
	}
}

// TestSystemCall checks that the clock doesn't move while a goroutine is in a system call.
func TestSystemCall(t *testing.T) {
	m := new(clock.Manual)
	defer virtualtime.Drive(m)()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// A file that the runtime doesn't poll: reading it is a system call that blocks.
	blocking := os.NewFile(r.Fd(), "pipe")
	late := make(chan struct{})
	read := make(chan time.Duration)
	begin := m.Now()
	go func() {
		var b [1]byte
		_, _ = blocking.Read(b[:])
		read <- m.Now().Sub(begin)
	}()
	go func() {
		time.Sleep(20 * time.Millisecond) // long enough for a driver that doesn't wait
		m.AfterFunc(time.Hour, func() { close(late) })
		time.Sleep(20 * time.Millisecond)
		_, _ = w.Write([]byte{1})
		_ = w.Close()
	}()
	if at := <-read; at != 0 {
		t.Errorf("the clock moved by %v while a goroutine was in a system call", at)
	}
	<-late
}

// TestEndlessSystemCall checks that a goroutine that enters a system call for good doesn't stop the
// clock.
func TestEndlessSystemCall(t *testing.T) {
	m := new(clock.Manual)
	defer virtualtime.Drive(m)()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	blocking := os.NewFile(r.Fd(), "pipe")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var b [1]byte
		_, _ = blocking.Read(b[:])
	}()
	time.Sleep(time.Millisecond) // it is in the call
	if err := clock.Sleep(t.Context(), m, time.Hour); err != nil {
		t.Error(err)
	}
	_ = w.Close()
	<-ended
}
