package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// linger limits the time for sending data that was written before Close.
const linger = time.Second

// pipe is a connection over a reader and a writer.
type pipe struct {
	net.Conn // what is written to it is copied to w, and what comes from r can be read from it
	r        io.ReadCloser
	w        io.WriteCloser
	far      net.Conn // the other end of Conn
	once     sync.Once
	lastly   sync.Once

	mu       sync.Mutex
	readErr  error // of r
	writeErr error // of w
}

// Pipe returns a connection over a reader and a writer, such as the standard input and output of a
// program or of an ssh session. Its deadlines work whatever those of r and w do: a goroutine each
// copies, and a deadline is one of waiting for it. A Write returns when its data is on the way to
// w.
//
// Close closes r and, after what is on the way or 1 s later, w. That ends the goroutines if it
// interrupts a Read of r and a Write to w, as it does for pipes of package os; a Read of the
// standard input of a process ends when the other end is closed.
func Pipe(r io.ReadCloser, w io.WriteCloser) net.Conn {
	near, far := net.Pipe()
	p := &pipe{Conn: near, r: r, w: w, far: far}
	go p.receive()
	go p.send()
	return p
}

// receive copies from r until it ends or Close ends it. The connection ends with it.
func (p *pipe) receive() {
	_, err := io.Copy(p.far, p.r)
	p.keep(&p.readErr, err)
	_ = p.far.Close() // never fails
}

// send copies to w until Close ends it. If w fails, what comes from r can still be read: it may say
// why.
func (p *pipe) send() {
	_, err := io.Copy(p.w, p.far)
	p.keep(&p.writeErr, err)
	p.closeWriter()
	_, _ = io.Copy(io.Discard, p.far) // ends with the connection
}

// keep keeps why a direction has ended.
func (p *pipe) keep(kept *error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*kept = err
}

func (p *pipe) closeWriter() {
	p.lastly.Do(func() { _ = p.w.Close() }) // its Write has said what is wrong
}

// Read implements [net.Conn].
func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.readErr != nil {
			return n, fmt.Errorf("read from pipe: %w", p.readErr)
		}
	}
	return n, err
}

// Write implements [net.Conn].
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	err := p.writeErr
	p.mu.Unlock()
	if err != nil {
		return 0, fmt.Errorf("write to pipe: %w", err)
	}
	return p.Conn.Write(b)
}

// Close implements [net.Conn].
func (p *pipe) Close() (err error) {
	p.once.Do(func() {
		_ = p.Conn.Close()                    // never fails; send then ends, if w takes what it has
		time.AfterFunc(linger, p.closeWriter) // if it doesn't
		err = p.r.Close()
	})
	return err
}

// ErrBroken is the error of a connection that can't be made again.
var ErrBroken = errors.New("the connection to the leader is broken")

// Once returns a [Client.Dial] that returns c at the first call, and then [ErrBroken].
func Once(c net.Conn) func(context.Context) (net.Conn, error) {
	first := make(chan net.Conn, 1)
	first <- c
	return func(context.Context) (net.Conn, error) {
		select {
		case c := <-first:
			return c, nil
		default:
			return nil, ErrBroken
		}
	}
}
