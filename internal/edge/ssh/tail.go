package ssh

import (
	"bytes"
	"sync"
)

// maxTail is how much of standard error is kept, in bytes.
const maxTail = 8 << 10

// tail keeps the end of what is written to it. Its zero value is ready.
type tail struct {
	mu  sync.Mutex
	b   []byte
	cut bool // something before b was dropped
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - maxTail; over > 0 {
		t.cut = true
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(b), nil
}

// String returns whole lines, without blanks at the end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.b
	if t.cut {
		if _, rest, ok := bytes.Cut(b, []byte("\n")); ok {
			b = rest
		}
	}
	return string(bytes.TrimSpace(b))
}
