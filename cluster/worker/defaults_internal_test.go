package worker

import (
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// TestDefaults checks that RDMA in software has less outstanding, with all flows, than a network of
// 40 Mb/s carries before the acknowledgement timer expires, and that a configuration is kept.
func TestDefaults(t *testing.T) {
	soft := Node{Scale: &result.Scale{}}
	w := New(Config{Node: soft})
	outstanding := w.cfg.Message * w.cfg.Depth
	if way := time.Duration(float64(outstanding) * 8 / 40e6 * 1e9); way >= ib.AckTimeout(w.cfg.Timeout) {
		t.Errorf("%d bytes take %v at 40 Mb/s, and the timer expires after %v", outstanding, way,
			ib.AckTimeout(w.cfg.Timeout))
	}
	if hardware := New(Config{}); w.room < hardware.cfg.Message || hardware.room < w.cfg.Message {
		t.Errorf("a peer writes %d bytes into %d, or %d into %d", hardware.cfg.Message, w.room, w.cfg.Message,
			hardware.room)
	}
	if w.cfg.Depth < 16 {
		t.Errorf("depth %d, want one WRITE for each of 16 flows", w.cfg.Depth)
	}
	if w := New(Config{}); w.cfg.Message != 64<<10 || w.cfg.Depth != 64 || w.cfg.Timeout != 0 {
		t.Errorf("hardware: %+v", w.cfg)
	}
	given := Config{Node: soft, Message: 1, Depth: 2, Timeout: 3}
	if w := New(given); w.cfg.Message != 1 || w.cfg.Depth != 2 || w.cfg.Timeout != 3 {
		t.Errorf("given: %+v", w.cfg)
	}
}
