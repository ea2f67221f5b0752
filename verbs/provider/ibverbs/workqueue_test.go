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
