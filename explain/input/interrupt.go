package input

import (
	"context"
	"io"
)

// untilDone reads a file that doesn't block, until the context ends.
type untilDone struct {
	ctx context.Context //nolint:containedctx // a reader has no other place for it
	in  io.Reader
}

// Read implements io.Reader. The error is the cause of the context once that has ended.
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.in.Read(p)
}

// pumpBlock is how much a pump reads at once.
const pumpBlock = 64 << 10

// pump reads a stream that may block forever, such as a pipe from kubectl logs -f, until the
// context ends. A read that then still waits ends with the stream or the process.
type pump struct {
	ctx    context.Context //nolint:containedctx // a reader has no other place for it
	in     io.Reader
	blocks chan block // nil until the first Read
	rest   []byte
	err    error
}

type block struct {
	data []byte
	err  error
}

// Read implements io.Reader. The error is the cause of the context once that has ended.
func (p *pump) Read(b []byte) (int, error) {
	if p.blocks == nil {
		p.blocks = make(chan block)
		go p.run()
	}
	for len(p.rest) == 0 && p.err == nil {
		select {
		case <-p.ctx.Done():
			return 0, context.Cause(p.ctx)
		case x := <-p.blocks:
			p.rest, p.err = x.data, x.err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	if n == 0 && len(b) > 0 {
		return 0, p.err
	}
	return n, nil
}

// run reads blocks until the stream or the context ends.
func (p *pump) run() {
	for {
		data := make([]byte, pumpBlock)
		n, err := p.in.Read(data)
		select {
		case <-p.ctx.Done():
			return
		case p.blocks <- block{data[:n], err}:
		}
		if err != nil {
			return
		}
	}
}
