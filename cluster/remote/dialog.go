package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/ssh"
)

// dialog is the leader's side of the dialog with the script on one host.
type dialog struct {
	*starter
	host, mark string
	step       Step

	stream *ssh.Session
	r      *bufio.Reader
	watch  *time.Timer // ends the dialog unless it is reset

	system, machine string   // as uname prints them
	loaders         []string // files of dynamic loaders
	heard           bool     // the script has begun
	noise           string   // the last line of something else
	version         string
}

// lateError is the error of a step that takes too long.
type lateError struct{ limit time.Duration }

// Error implements error.
func (e *lateError) Error() string { return fmt.Sprintf("no answer within %v", e.limit) }

// refusalError is something that makes the start impossible.
type refusalError struct {
	kind Kind
	text string
}

// Error implements error.
func (e *refusalError) Error() string { return e.text }

func refuse(kind Kind, format string, args ...any) error {
	return &refusalError{kind, fmt.Sprintf(format, args...)}
}

// run conducts the dialog. If ctx ends or a step takes too long, it closes the stream and returns
// the cause. Without an error, the stream belongs to the program.
func (d *dialog) run(ctx context.Context, stream *ssh.Session) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := &lateError{d.cfg.Limit}
	d.stream, d.r = stream, bufio.NewReaderSize(stream, maxLine)
	d.watch = time.AfterFunc(d.cfg.Limit, func() { cancel(late) })
	defer d.watch.Stop()
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() }) // always nil
	err := d.talk()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// talk is the dialog: who is there, which executable, and the start.
func (d *dialog) talk() error {
	if err := d.hello(); err != nil {
		return err
	}
	if err := d.offer(); err != nil {
		return err
	}
	d.step = StepStart
	return d.launch()
}

// hello reads what the host is.
func (d *dialog) hello() error {
	for {
		verb, rest, err := d.line()
		if err != nil {
			return err
		}
		d.heard = true
		switch verb {
		case "hello":
			if rest != dialogVersion {
				return refuse(KindLost, "dialog version %q", rest)
			}
		case "system":
			d.system = rest
		case "machine":
			d.machine = rest
		case "loader":
			d.loaders = append(d.loaders, rest)
		case "ask":
			return nil
		default:
			return refuse(KindLost, "unexpected answer %q", verb)
		}
	}
}

// offer has the host check, and copy if necessary, an executable that runs there.
func (d *dialog) offer() error {
	d.step = StepCopy
	if d.system != "Linux" {
		return refuse(KindNotLinux, "the system is %s", d.system)
	}
	if d.cfg.RemotePath != "" {
		return d.use(d.cfg.RemotePath)
	}
	usable, err := d.builds.forHost(d.machine, d.loaders)
	if err != nil {
		return err
	}
	d.progress(Event{Host: d.host, Step: StepCopy})
	for i, b := range usable {
		err = d.copy(b)
		var refused *refusalError
		again := errors.As(err, &refused) && (refused.kind == KindNoLoader || refused.kind == KindCannotRun)
		if !again || i == len(usable)-1 {
			break
		}
	}
	return err
}

// use has the host try a program that it has.
func (d *dialog) use(path string) error {
	if strings.ContainsAny(path, "\r\n") {
		return refuse(KindNoRemotePath, "%q: the path has a line end", path)
	}
	if err := d.send("path\n" + path + "\n"); err != nil {
		return err
	}
	if err := d.ready(); err != nil {
		return err
	}
	words := strings.Fields(d.version)
	if want := d.cfg.Version; want != "" && (len(words) < 2 || words[1] != want) {
		return refuse(KindOtherVersion, "%s is %q, and this is %s", path, d.version, want)
	}
	return nil
}

// copy has the host check an executable, and sends it if it isn't there.
func (d *dialog) copy(b *build) error {
	if err := d.send(fmt.Sprintf("copy %s %d\n", b.hash, b.size)); err != nil {
		return err
	}
	verb, rest, err := d.line()
	switch {
	case err != nil:
		return err
	case verb != "need":
		return d.answered(verb, rest)
	}
	content, size, err := b.content(rest == "gzip")
	if err != nil {
		return refuse(KindNoBuild, "%v", err)
	}
	sent := make(chan error, 1)
	go func() {
		sent <- errors.Join(d.transfer(content, size), content.Close())
	}()
	err = d.ready()
	if err != nil {
		_ = d.stream.Close() // always nil; ends the transfer
	}
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	return err
}

// underWay is how much longer than a step the host may take after the last part of an executable
// was accepted: ssh sends up to 2 MB ahead (CHAN_SES_WINDOW_DEFAULT in OpenSSH), and the system
// more.
const underWay = 4

// chunk is how much of an executable is written at a time, in bytes.
const chunk = 64 << 10

// transfer sends the content of an executable, with its length first.
func (d *dialog) transfer(content io.Reader, size int64) error {
	if err := d.send(strconv.FormatInt(size, 10) + "\n"); err != nil {
		return err
	}
	b := make([]byte, chunk)
	for sent := int64(0); sent < size; {
		n, err := io.ReadFull(content, b[:min(chunk, size-sent)])
		if err != nil {
			return err // the host notices that bytes are missing
		}
		if _, err := d.stream.Write(b[:n]); err != nil {
			return err
		}
		d.watch.Reset(d.cfg.Limit)
		sent += int64(n)
		d.progress(Event{Host: d.host, Step: StepCopy, Sent: sent, Total: size})
	}
	d.watch.Reset(underWay * d.cfg.Limit)
	return nil
}

// ready reads the answer to a copy or a path.
func (d *dialog) ready() error {
	verb, rest, err := d.line()
	if err != nil {
		return err
	}
	return d.answered(verb, rest)
}

// answered evaluates the answer to a copy or a path.
func (d *dialog) answered(verb, rest string) error {
	switch verb {
	case "ready":
		d.version = rest
		return nil
	case "fail":
		return d.refused(rest)
	}
	return refuse(KindLost, "unexpected answer %q", verb)
}

// launch starts the program with its arguments.
func (d *dialog) launch() error {
	d.progress(Event{Host: d.host, Step: StepStart})
	var lines strings.Builder
	fmt.Fprintf(&lines, "start %d\n", len(d.cfg.Args))
	for _, a := range d.cfg.Args {
		if strings.ContainsAny(a, "\r\n") {
			return refuse(KindCannotRun, "argument %q has a line end", a)
		}
		lines.WriteString(a + "\n")
	}
	if err := d.send(lines.String()); err != nil {
		return err
	}
	verb, _, err := d.line()
	if err == nil && verb != "start" {
		err = refuse(KindLost, "unexpected answer %q", verb)
	}
	return err
}

func (d *dialog) send(text string) error {
	_, err := io.WriteString(d.stream, text)
	return err
}

// maxLine is the longest line of the dialog in bytes.
const maxLine = 64 << 10

// line reads the next line of the script: its first word and the rest. It ignores other output,
// such as that of a login shell's profile.
func (d *dialog) line() (verb, rest string, err error) {
	for {
		b, err := d.r.ReadSlice('\n')
		if _, text, ok := bytes.Cut(b, []byte(d.mark+" ")); ok && err == nil {
			d.watch.Reset(d.cfg.Limit)
			verb, rest, _ = strings.Cut(strings.TrimSpace(string(text)), " ")
			return verb, rest, nil
		}
		if text := strings.TrimSpace(string(b)); text != "" {
			d.noise = text[:min(len(text), maxNoise)]
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return "", "", err
		}
	}
}

// maxNoise is how much of a line of other output is kept, in bytes.
const maxNoise = 200
