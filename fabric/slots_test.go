package fabric

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestTimersInOrder sets, moves and cancels timers at random: due returns them in order, and none
// twice.
func TestTimersInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s slots
	want := map[*slot]time.Duration{}
	for range 2000 {
		q := s.reserve()
		s.open()
		for range 1 + random.IntN(3) {
			want[q] = time.Duration(1 + random.IntN(1000))
			s.wakeAt(q, want[q])
		}
		if random.IntN(4) == 0 {
			s.close(q)
			delete(want, q)
		}
	}
	var got, expected []time.Duration
	for now := range time.Duration(1001) {
		for q := s.due(now); q != nil; q = s.due(now) {
			if q.timer != now || want[q] != now {
				t.Fatalf("due at %d: a timer for %d, want %d", now, q.timer, want[q])
			}
			got = append(got, now)
			s.close(q)
		}
	}
	for _, when := range want {
		expected = append(expected, when)
	}
	slices.Sort(expected)
	if !slices.Equal(got, expected) {
		t.Errorf("%d timers, want %d", len(got), len(expected))
	}
	if _, ok := s.next(); ok || s.live != 0 {
		t.Errorf("timers or requests are left: %d live", s.live)
	}
}

// TestFindSlot checks that only IDs of live requests and of tries that were sent are found.
func TestFindSlot(t *testing.T) {
	s := slots{salt: firstTransaction(time.Unix(1, 2345))}
	q := s.reserve()
	s.open()
	q.tries = 2
	first := s.transaction(q, 1)
	if found, try := s.find(first); found != q || try != 1 {
		t.Errorf("find = %v, try %d, want the request and 1", found, try)
	}
	for name, id := range map[string]uint32{
		"a try not sent": s.transaction(q, 2), "another slot": first + maxTries,
		"another generation": first + 1<<(tidTryBits+tidSlotBits),
	} {
		if found, _ := s.find(id); found != nil {
			t.Errorf("%s is found", name)
		}
	}
	s.close(q)
	if found, _ := s.find(first); found != nil {
		t.Error("a request that has ended is found")
	}
	uses := 0
	for ; uses < 1<<30; uses++ { // until the ID is used again
		next := s.reserve()
		s.open()
		next.tries = 2
		if s.transaction(next, 1) == first {
			break
		}
		s.close(next)
	}
	if least := leastSlots * (1<<tidGenerationBits - 1); uses < least {
		t.Errorf("an ID is used again after %d requests, want at least %d", uses, least)
	}
}

// TestSlotsFull fills all slots.
func TestSlotsFull(t *testing.T) {
	var s slots
	for range 1 << tidSlotBits {
		if s.reserve() == nil {
			t.Fatalf("no slot behind %d requests", s.live)
		}
		s.open()
	}
	if s.reserve() != nil {
		t.Error("there is a slot more")
	}
	last := s.all[77]
	s.close(last)
	if got := s.reserve(); got != last {
		t.Errorf("reserve behind one that has ended = %v", got)
	}
}

// TestPatience computes how long requests wait.
func TestPatience(t *testing.T) {
	const second = time.Second
	reported := func(value int) time.Duration { return 4096 * time.Nanosecond << value }
	for name, tt := range map[string]struct {
		peer    Peer
		subnet  time.Duration // of the local port
		timeout time.Duration
		retries int
		want    time.Duration
	}{
		"default":        {retries: 3, want: 4 * second},
		"one try":        {retries: 0, want: 4 * second},
		"ten tries":      {retries: 9, want: 10 * second},
		"quick":          {peer: Peer{trips: trips{time.Millisecond, 0, 9}}, retries: 3, want: 4 * second},
		"slow":           {peer: Peer{trips: trips{2 * second, second / 4, 9}}, retries: 3, want: 12 * second},
		"very slow":      {peer: Peer{trips: trips{50 * second, second, 9}}, retries: 3, want: mostPatience},
		"response time":  {peer: Peer{response: reported(21)}, retries: 3, want: reported(21)},
		"subnet":         {subnet: reported(20), retries: 3, want: 2 * reported(20)},
		"subnet of peer": {peer: Peer{subnet: reported(21)}, subnet: reported(18), want: reported(21) + reported(18)},
		"OpenSM's default": {
			peer: Peer{subnet: reported(18), response: reported(16)}, subnet: reported(18), want: 4 * second,
		},
		"fixed":           {peer: Peer{response: reported(21)}, timeout: 20 * second, retries: 3, want: 80 * second},
		"fixed and short": {peer: Peer{response: reported(21)}, timeout: second / 10, retries: 1, want: second / 5},
	} {
		e := NewEngine(nil, 1)
		e.subnet = tt.subnet
		q := &slot{Request: Request{Peer: &tt.peer, Timeout: tt.timeout, Retries: tt.retries}}
		if got := e.patience(q); got != tt.want {
			t.Errorf("%s: patience = %v, want %v", name, got, tt.want)
		}
	}
}

// TestLearnTimes takes the reported times from answers of three classes.
func TestLearnTimes(t *testing.T) {
	e := NewEngine(nil, 1)
	path, err := mad.NewPath(1)
	if err != nil {
		t.Fatal(err)
	}
	smp := func(p *mad.Path, info mad.PortInfo) *Peer {
		packet := mad.NewDirectedSMP(mad.MethodGetResp, mad.AttributePortInfo, 1, 0, p)
		info.Append(packet.Data[:0])
		return learned(e, packet.Append(nil))
	}
	remote := smp(&path, mad.PortInfo{SubnetTimeout: 20, RespTimeValue: 19})
	if remote.subnet != timeUnit<<20 || remote.response != timeUnit<<19 || e.subnet != 0 {
		t.Errorf("another port: %+v, subnet %v", remote, e.subnet)
	}
	own := smp(&mad.Path{}, mad.PortInfo{SubnetTimeout: 18, RespTimeValue: 24})
	if e.subnet != timeUnit<<18 || own.response != 0 {
		t.Errorf("the local port: %+v, subnet %v, want a RespTimeValue of more than a minute ignored", own, e.subnet)
	}
	info := mad.ClassPortInfo{RespTimeValue: 17}
	performance := mad.NewPerformanceMAD(mad.MethodGetResp, mad.AttributeClassPortInfo, 0)
	info.Append(performance.Data[:0])
	if p := learned(e, performance.Append(nil)); p.response != timeUnit<<17 || p.subnet != 0 {
		t.Errorf("performance agent: %+v", p)
	}
	administration := mad.NewSA(mad.MethodGetResp, mad.AttributeClassPortInfo, 0, 0)
	info.Append(administration.Data[:0])
	if p := learned(e, administration.Append(nil)); p.response != timeUnit<<17 {
		t.Errorf("subnet administration: %+v", p)
	}
}

// learned returns what an engine learns from an answer.
func learned(e *Engine, packet []byte) *Peer {
	q := &slot{Request: Request{Peer: new(Peer)}}
	copy(q.MAD[:], packet)
	d := Datagram{MAD: q.MAD}
	var h mad.Header
	h.Decode(packet) //nolint:errcheck // long enough
	e.learn(q, &h, &d)
	return q.Peer
}
