package roce

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// BenchmarkWrite keeps 64 WRITEs outstanding between two engines on loopback.
func BenchmarkWrite(b *testing.B) {
	for _, mtu := range []ib.MTU{ib.MTU1024, ib.MTU4096} {
		for _, size := range []int{64, 4096, 65536, 1 << 20} {
			b.Run(fmt.Sprintf("mtu=%d/size=%d", mtu, size), func(b *testing.B) {
				x, y := open(b, "127.0.10.1", size), open(b, "127.0.10.2", size)
				connect(b, x, y, mtu)
				stream(b, x, y, provider.SendOpWrite, size)
			})
		}
	}
}

// BenchmarkRead keeps 64 READs outstanding.
func BenchmarkRead(b *testing.B) {
	for _, mtu := range []ib.MTU{ib.MTU1024, ib.MTU4096} {
		const size = 65536
		b.Run(fmt.Sprintf("mtu=%d/size=%d", mtu, size), func(b *testing.B) {
			x, y := open(b, "127.0.10.1", size), open(b, "127.0.10.2", size)
			connect(b, x, y, mtu)
			stream(b, x, y, provider.SendOpRead, size)
		})
	}
}

func stream(b *testing.B, x, y *side, op provider.SendOp, size int) {
	wr := []provider.SendRequest{{
		Op: op, Flags: provider.SendSignaled, Segments: []provider.Segment{{Region: x.mr, Length: size}},
		RKey: y.mr.RKey(), RemoteAddr: y.mr.Addr(),
	}}
	wcs := make([]provider.WorkCompletion, depth)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	begin := time.Now()
	for posted, done := 0, 0; done < b.N; {
		for posted < b.N && posted-done < depth {
			if _, err := x.qp.PostSend(wr); err != nil {
				b.Fatal(err)
			}
			posted++
		}
		n, err := x.cq.Wait(b.Context(), wcs)
		if err != nil {
			b.Fatal(err)
		}
		for i := range n {
			if err := wcs[i].Err(); err != nil {
				b.Fatal(err)
			}
		}
		done += n
	}
	b.ReportMetric(float64(size)*8*float64(b.N)/float64(time.Since(begin)), "Gbit/s")
}

// take polls completions, all of which must be successful.
func take(t testing.TB, s *side, wcs []provider.WorkCompletion) int {
	n, err := s.cq.Poll(wcs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := wcs[i].Err(); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// BenchmarkWriteLatency measures half the round-trip time of 64 bytes: WRITEs with immediate,
// for whose completion the peer waits in each wait mode, and plain WRITEs, for whose last
// byte the peer waits.
func BenchmarkWriteLatency(b *testing.B) {
	modes := []struct {
		name string
		mode provider.WaitMode
	}{{"event", provider.WaitEvent}, {"hybrid", provider.WaitHybrid}, {"busy", provider.WaitBusy}}
	for _, m := range modes {
		b.Run("immediate/"+m.name, func(b *testing.B) {
			x, y := openMode(b, "127.0.10.1", 64, m.mode), openMode(b, "127.0.10.2", 64, m.mode)
			connect(b, x, y, ib.MTU4096)
			pingPong(b, x, y, immediatePing)
		})
	}
	b.Run("memory", func(b *testing.B) {
		x, y := open(b, "127.0.10.1", 128), open(b, "127.0.10.2", 128)
		connect(b, x, y, ib.MTU4096)
		pingPong(b, x, y, memoryPing)
	})
}

// pingPong runs b.N round trips and reports median, minimum and 99th percentile of half the
// round-trip time.
func pingPong(b *testing.B, x, y *side, ping func(own, peer *side, first bool, round int) error) {
	failed := make(chan error, 1)
	go func() {
		for i := range b.N {
			if err := ping(y, x, false, i); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	halves := make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		begin := time.Now()
		if err := ping(x, y, true, i); err != nil {
			b.Fatal(err)
		}
		halves[i] = time.Since(begin) / 2
	}
	b.StopTimer()
	if err := <-failed; err != nil {
		b.Fatal(err)
	}
	slices.Sort(halves)
	b.ReportMetric(float64(halves[len(halves)/2].Nanoseconds())/1e3, "µs-median")
	b.ReportMetric(float64(halves[0].Nanoseconds())/1e3, "µs-min")
	b.ReportMetric(float64(halves[len(halves)*99/100].Nanoseconds())/1e3, "µs-p99")
}

// immediatePing sends a WRITE with immediate and waits for the peer's, or, unless first is set,
// waits and then sends.
func immediatePing(own, peer *side, first bool, _ int) error {
	if _, err := own.qp.PostReceive([]provider.ReceiveRequest{{}}); err != nil {
		return err
	}
	if first {
		if err := write64(own, peer, provider.SendOpWriteImmediate, 0); err != nil {
			return err
		}
	}
	var wcs [8]provider.WorkCompletion
	for arrived := false; !arrived; {
		n, err := own.cq.Wait(own.t.Context(), wcs[:])
		for i := range n {
			err = errors.Join(err, wcs[i].Err())
			arrived = arrived || wcs[i].Op == provider.WCReceiveWrite
		}
		if err != nil {
			return err
		}
	}
	if !first {
		return write64(own, peer, provider.SendOpWriteImmediate, 0)
	}
	return nil
}

// memoryPing does the same with plain WRITEs and waits for the last byte. The peer writes to the
// first half of the memory; the second half is sent.
func memoryPing(own, peer *side, first bool, round int) error {
	want := byte(round + 1)
	own.mr.Bytes()[127] = want
	if first {
		if err := write64(own, peer, provider.SendOpWrite, 64); err != nil {
			return err
		}
	}
	watcher, ok := own.mr.(provider.MemoryWatcher)
	if !ok {
		return errors.New("the region can't be watched")
	}
	if err := watcher.WaitByte(own.t.Context(), 63, want); err != nil {
		return err
	}
	var wcs [8]provider.WorkCompletion
	n, err := own.cq.Poll(wcs[:])
	for i := range n {
		err = errors.Join(err, wcs[i].Err())
	}
	if err != nil {
		return err
	}
	if !first {
		return write64(own, peer, provider.SendOpWrite, 64)
	}
	return nil
}

func write64(own, peer *side, op provider.SendOp, at int) error {
	own.wr[0] = provider.SendRequest{
		Op: op, Flags: provider.SendSignaled, Segments: own.segments[:], RKey: peer.mr.RKey(),
		RemoteAddr: peer.mr.Addr(),
	}
	own.segments[0] = provider.Segment{Region: own.mr, Offset: at, Length: 64}
	_, err := own.qp.PostSend(own.wr[:])
	return err
}
