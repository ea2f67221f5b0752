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

// linger is how long what was written to a pipe that is closed may take to be sent.
const linger = time.Second

// pipe is a connection over a reader and a writer.
type pipe struct {
	net.Conn // what is written to it is copied to w, and what comes from r can be read from it
	r        io.ReadCloser
	w        io.WriteCloser
	far      net.Conn // the other end of Conn
	once     sync.Once
	lastly   sync.Once
	timer    *time.Timer

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

// receive copies from r until it ends or Close ends it.
func (p *pipe) receive() {
	_, err := io.Copy(p.far, p.r)
	p.broken(&p.readErr, err)
}

// send copies to w until it ends or Close ends it.
func (p *pipe) send() {
	_, err := io.Copy(p.w, p.far)
	p.broken(&p.writeErr, err)
	p.closeWriter()
}

// broken keeps why a direction has ended. That ends the other one.
func (p *pipe) broken(kept *error, err error) {
	p.mu.Lock()
	if !errors.Is(err, io.ErrClosedPipe) { // the other direction has ended first
		*kept = err
	}
	p.mu.Unlock()
	_ = p.far.Close() // never fails
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
	n, err := p.Conn.Write(b)
	if errors.Is(err, io.ErrClosedPipe) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.writeErr != nil {
			return n, fmt.Errorf("write to pipe: %w", p.writeErr)
		}
	}
	return n, err
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
