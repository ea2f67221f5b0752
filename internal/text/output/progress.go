package output

import (
	"fmt"
	"io"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// progressInterval is the interval of updates of the progress line: frequent enough to show
// progress, rare enough for slow ssh connections.
const progressInterval = 100 * time.Millisecond

// eraseLine moves the cursor to the first column and erases the line.
const eraseLine = "\r\x1b[K"

// Progress is a line on standard error that shows the progress of a long operation. It is printed
// only on terminals, at most ten times a second, and is erased before notes and data. Several
// goroutines may call its methods.
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

// Progress starts a progress line, such as "reading 3/64". A total of 0 means that the total isn't
// known. Call Done at the end; a later Progress replaces the line.
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

// Timed starts a progress line for work of a known duration, such as "measuring 3s of 10s". The
// line is updated every second until Done.
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

// Add adds n completed steps.
func (g *Progress) Add(n int) {
	g.p.mu.Lock()
	defer g.p.mu.Unlock()
	g.done += n
	if g.p.drawn == g && g.p.now().Sub(g.last) >= progressInterval {
		g.draw()
	}
}

// Done erases the line. It may be called more than once.
func (g *Progress) Done() {
	if stop := g.finish(); stop != nil {
		close(stop)
		<-g.ended
	}
}

// finish removes the line and returns the channel that stops its goroutine, nil if there is none.
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

// wipe erases the progress line before other output; p.mu is held.
func (p *Printer) wipe() {
	if p.dirty {
		_, _ = io.WriteString(p.err, eraseLine)
		p.dirty = false
	}
}
