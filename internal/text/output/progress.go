package output

import (
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// progressInterval paces the progress line: often enough to look alive, too seldom to cost anything
// over ssh.
const progressInterval = 100 * time.Millisecond

// eraseLine goes back to the first column and erases the line.
const eraseLine = "\r\x1b[K"

// Progress is one line on standard error that tells how far long work is. It is drawn on terminals
// only, at most ten times a second, and gives way to notes and data. Its methods may be called from
// several goroutines.
type Progress struct {
	p     *Printer
	label string
	total int
	start time.Time
	last  time.Time
	done  int
	lasts time.Duration // see Timed
	stop  chan struct{} // ends the goroutine of Timed, which then closes ended
	ended chan struct{}
}

// Progress starts a progress line, such as "reading 3/64". A total of 0 means that the end isn't
// known. Call Done when the work is over; a later Progress takes the line over.
func (p *Printer) Progress(label string, total int) *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &Progress{p: p, label: Clean(label), total: total, start: p.now()}
	if p.progress {
		p.drawn = g
		g.draw()
	}
	return g
}

// Timed starts a progress line for work whose duration is known, such as "measuring 3s of 10s". It
// goes on by itself until Done.
func (p *Printer) Timed(label string, lasts time.Duration) *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &Progress{p: p, label: Clean(label), start: p.now(), lasts: lasts}
	if p.progress {
		p.drawn = g
		g.draw()
		g.stop, g.ended = make(chan struct{}), make(chan struct{})
		go g.tick(g.stop)
	}
	return g
}

// tick draws the line each second until it is stopped.
func (g *Progress) tick(stop <-chan struct{}) {
	defer close(g.ended)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			g.Add(0)
		}
	}
}

// Add counts n more steps as done.
func (g *Progress) Add(n int) {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	g.done += n
	if g.p.drawn == g && g.p.now().Sub(g.last) >= progressInterval {
		g.draw()
	}
}

// Done takes the line away. It may be called more than once.
func (g *Progress) Done() {
	if stop := g.finish(); stop != nil {
		close(stop)
		<-g.ended
	}
}

// finish takes the line away, and returns what ends its goroutine: nil where none runs.
func (g *Progress) finish() (stop chan struct{}) {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	if g.p.drawn == g {
		g.p.wipe()
		g.p.drawn = nil
	}
	stop, g.stop = g.stop, nil
	return stop
}

// draw writes the line; g.p.mu is held.
func (g *Progress) draw() {
	g.last = g.p.now()
	seconds := int(g.last.Sub(g.start) / time.Second)
	line := fmt.Sprintf("%s %d", g.label, g.done)
	switch {
	case g.lasts > 0:
		line = fmt.Sprintf("%s %ds of %v", g.label, seconds, g.lasts)
	case g.total > 0:
		line += fmt.Sprintf("/%d", g.total)
	}
	if seconds > 0 && g.lasts == 0 {
		line += fmt.Sprintf(" %ds", seconds)
	}
	if columns, _ := g.p.size(); columns > 0 {
		line = ansi.Truncate(line, columns-1, "") // a wrapped line could not be erased
	}
	_, _ = io.WriteString(g.p.err, eraseLine+line)
	g.p.dirty = true
}

// wipe erases the progress line so that other text can take its place; p.mu is held.
func (p *Printer) wipe() {
	if p.dirty {
		_, _ = io.WriteString(p.err, eraseLine)
		p.dirty = false
	}
}
