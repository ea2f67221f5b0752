package worker

import (
	"testing"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// TestLayout checks that the memory of an edge, of all its slots, is within the limit, also for the
// largest messages that a leader asks for: the edges of a node with eight rails are locked into
// memory at the same time.
func TestLayout(t *testing.T) {
	w := New(Config{})
	for _, c := range []struct {
		role     protocol.Role
		bytes    int64
		receives int
	}{
		{protocol.RoleSend, 0, 0},
		{protocol.RoleBoth, 0, 0},
		{protocol.RoleTarget, 0, 0},
		{protocol.RoleAsk, 0, 8},
		{protocol.RoleAnswer, 0, 8},
		{protocol.RoleCollective, 4, 8},
		{protocol.RoleCollective, 7 << 20, 8},
		{protocol.RoleCollective, 16 << 20, 3}, // a ring of two nodes
		{protocol.RoleCollective, 32 << 20, 1}, // a tree
	} {
		e := &edge{spec: protocol.Edge{Role: c.role, Bytes: c.bytes, Flows: 1}, w: w}
		slot, slots := e.layout()
		if got := e.receives(); got != c.receives {
			t.Errorf("%s with messages of %d bytes: %d receive requests, want %d", c.role, c.bytes, got, c.receives)
		}
		if slot*slots > 64<<20 || slots < 2 || slots < 1+c.receives {
			t.Errorf("%s with messages of %d bytes: %d slots of %d bytes", c.role, c.bytes, slots, slot)
		}
	}
}
