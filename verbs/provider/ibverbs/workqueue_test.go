package ibverbs

import "testing"

// TestRing checks the entries of a work queue, also where positions wrap around.
func TestRing(t *testing.T) {
	var table queueTable
	var r ring
	r.init(5)
	var err error
	if r.id, err = table.add(&r); err != nil {
		t.Fatal(err)
	}
	r.posted.Store(1<<32 - 7)
	r.retired.Store(1<<32 - 7)
	for round := range uint64(10) {
		var tickets []uint64
		for i := range r.room() {
			tickets = append(tickets, r.put(i, 100*round+uint64(i)))
		}
		r.post(len(tickets))
		if len(tickets) != 5 || r.room() != 0 {
			t.Fatalf("round %d: %d entries, %d left", round, len(tickets), r.room())
		}
		for _, i := range []int{1, 4} { // the second completion frees the entries before it
			if id, ok := table.complete(tickets[i]); !ok || id != 100*round+uint64(i) || r.room() != i+1 {
				t.Fatalf("round %d: complete(%d) = %d, %v, room %d", round, i, id, ok, r.room())
			}
		}
		if _, ok := table.complete(tickets[2]); ok {
			t.Fatalf("round %d: an entry completed twice", round)
		}
	}
	ticket := r.put(0, 1)
	r.post(1)
	r.clear()
	if _, ok := table.complete(ticket); ok || r.room() != 5 {
		t.Errorf("after a reset: completed %v, room %d", ok, r.room())
	}
}

// TestStaleTickets checks that completions of removed queues are not taken for those of new ones.
func TestStaleTickets(t *testing.T) {
	var table queueTable
	if _, ok := table.complete(0); ok {
		t.Error("an empty table has a queue")
	}
	add := func() (*ring, uint64) {
		r := &ring{}
		r.init(1)
		var err error
		if r.id, err = table.add(r); err != nil {
			t.Fatal(err)
		}
		ticket := r.put(0, 42)
		r.post(1)
		return r, ticket
	}
	old, stale := add()
	table.remove(old.id)
	if _, ok := table.complete(stale); ok {
		t.Error("a removed queue has completed a request")
	}
	r, ticket := add()
	if r.id&indexMask != old.id&indexMask || r.id == old.id {
		t.Fatalf("IDs %#x and %#x, want the same index", old.id, r.id)
	}
	if _, ok := table.complete(stale); ok {
		t.Error("the ticket of a removed queue completed a request of a new one")
	}
	if id, ok := table.complete(ticket); !ok || id != 42 {
		t.Errorf("complete = %d, %v, want 42", id, ok)
	}
	if _, ok := table.complete(7 << 32); ok {
		t.Error("a queue that doesn't exist completed a request")
	}
}

// TestLateEntries checks requests that complete after later ones, also where positions wrap around.
func TestLateEntries(t *testing.T) {
	var r ring
	r.init(4)
	r.allowLate()
	for _, start := range []uint32{0, 1<<32 - 3, 1<<31 - 2} {
		r.posted.Store(start)
		r.retired.Store(start)
		for round := range uint64(5) {
			var tickets []uint64
			for i := range uint64(4) {
				ticket := r.put(int(i), 10*round+i)
				r.expectLate(ticket, i == 1) // a READ
				tickets = append(tickets, ticket)
			}
			r.post(4)
			for _, step := range []struct{ entry, room int }{{2, 1}, {3, 1}, {1, 4}} {
				id, ok := r.complete(uint32(tickets[step.entry]))
				if !ok || id != 10*round+uint64(step.entry) || r.room() != step.room {
					t.Fatalf("start %#x, round %d: complete(%d) = %d, %v, room %d, want room %d",
						start, round, step.entry, id, ok, r.room(), step.room)
				}
			}
			if _, ok := r.complete(uint32(tickets[1])); ok {
				t.Fatalf("start %#x, round %d: an entry completed twice", start, round)
			}
		}
	}
	ticket := r.put(0, 1)
	r.expectLate(ticket, true)
	r.post(1)
	r.clear()
	if _, ok := r.complete(uint32(ticket)); ok || r.room() != 4 {
		t.Errorf("after a reset: completed %v, room %d", ok, r.room())
	}
}
