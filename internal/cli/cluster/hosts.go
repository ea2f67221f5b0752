package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdmakit/rdmakit/cluster/hostlist"
	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/remote"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// hostFlags are the flags of workers that are started by ssh.
type hostFlags struct {
	list, ssh, remotePath string
	names                 []string // of list, with user@ where it was given
	inline                bool     // list was no file
}

// defaultSSH is the ssh program unless the user names one.
const defaultSSH = "ssh"

func (f *hostFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.list, "hosts", "", "start workers by ssh on the hosts of this `LIST`: gpu[001-064],login1, "+
		"the name of a file, or - for standard input")
	flags.StringVar(&f.ssh, "ssh", defaultSSH, "with --hosts: the ssh `PROGRAM`, with options")
	flags.StringVar(&f.remotePath, "remote-path", "", "with --hosts: start this rdmactl of the hosts, `PATH`, instead "+
		"of copying this one there")
}

// read reads the list of hosts.
func (f *hostFlags) read(stdin io.Reader) (err error) {
	if f.list == "" {
		return nil
	}
	switch name := f.list; {
	case name == "-":
		f.names, err = hostlist.ParseFile(stdin, "standard input")
	case isFile(name):
		var file *os.File
		if file, err = os.Open(name); err == nil {
			defer func() { _ = file.Close() }() // nothing was written
			f.names, err = hostlist.ParseFile(file, name)
		}
	default:
		f.inline = true
		f.names, err = hostlist.Parse(name)
	}
	if err != nil {
		return cli.Exitf(cli.ExitUsage, "--hosts: %w", err)
	}
	f.list = hostlist.Compress(f.names) // for the journal, which may outlive standard input or a file
	return nil
}

// isFile reports whether a list of hosts is the name of a file: one with a slash, or an existing
// one whose name no host has.
func isFile(name string) bool {
	if strings.Contains(name, "/") {
		return true
	}
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

// stdioAddr is the address of an invitation whose leader is at the other end of the worker's
// standard input and output.
const stdioAddr = "stdio:0"

// ended is a host whose worker has ended or never started.
type ended struct {
	host  string
	err   error
	noted bool
}

// remoteHosts starts workers by ssh and waits until each has joined or failed. The links are those
// of all hosts, in the order of the list: those of a failed one return the reason.
func (h *host) remoteHosts(ctx context.Context, f *hostFlags, limit time.Duration) ([]leader.Link, []string, error) {
	words, err := remote.Words(f.ssh)
	if err != nil {
		return nil, nil, cli.Exitf(cli.ExitUsage, "--ssh: %w", err)
	}
	gone := make(chan ended, len(f.names))
	for name, r := range remote.Start(h.within(ctx), f.names, remote.Config{
		SSH: words, RemotePath: f.remotePath, Version: protocol.Software(), Args: workerArgs(), Progress: h.copying,
	}) {
		if r.Err != nil {
			h.noteFailed(r.Err)
			gone <- ended{host: name, err: r.Err, noted: true}
			continue
		}
		h.wg.Go(func() { gone <- ended{host: name, err: h.serve(name, r.Session, time.Now().Add(limit))} })
	}
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	joined, failed, err := h.joinHosts(ctx, f.names, gone, limit)
	if err != nil {
		return nil, nil, err
	}
	if len(joined) < 2 {
		const text = "nothing was measured: %s of %d joined, and a verification needs two"
		return nil, nil, cli.Exitf(cli.ExitPartial, text, english.Count(len(joined), "host"), len(f.names))
	}
	links, names := make([]leader.Link, len(f.names)), make([]string, len(f.names))
	for i, name := range f.names {
		names[i] = hostName(name)
		if s := joined[names[i]]; s != nil {
			links[i] = s
			continue
		}
		links[i] = absent{failed[name]}
	}
	return links, names, nil
}

// workerArgs are the arguments of a worker that speaks over its standard input and output.
func workerArgs() []string { return []string{"cluster", "worker", "--join", "-"} }

// hostName is the name of a node of the list, without user@.
func hostName(name string) string {
	if _, host, ok := strings.Cut(name, "@"); ok {
		return host
	}
	return name
}

// absent is the link of a host whose worker never joined.
type absent struct{ err error }

// Do returns the reason.
func (a absent) Do(context.Context, protocol.Command) (protocol.Reply, error) {
	return protocol.Reply{}, a.err
}

// serve sends a worker its invitation and answers it until it ends. The error is the reason if
// it ended before the run.
func (h *host) serve(name string, s *remote.Session, expires time.Time) error {
	i, err := h.server.Invite(stdioAddr, protocol.Ticket{Host: hostName(name), Expires: expires})
	if err == nil {
		_, err = fmt.Fprintln(s, i)
	}
	if err == nil {
		_ = h.server.ServeConn(s) // the program's exit status has the cause
	}
	_ = s.Close() // always nil
	return errors.Join(s.Wait(), err)
}

// joinHosts waits until the workers of all hosts have joined or failed, and notes each.
func (h *host) joinHosts(
	ctx context.Context, names []string, gone <-chan ended, limit time.Duration,
) (joined map[string]*protocol.Session, failed map[string]error, err error) {
	defer h.server.Begin()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	arrivals := h.arrivals(ctx)
	joined, failed = map[string]*protocol.Session{}, map[string]error{}
	for len(joined)+len(failed) < len(names) {
		select {
		case s := <-arrivals:
			joined[s.Name()] = s
		case e := <-gone:
			delete(joined, hostName(e.host))
			failed[e.host] = e.err
			if !e.noted {
				h.noteFailed(e.err)
			}
		case <-ctx.Done():
			if !errors.Is(context.Cause(ctx), errLate) {
				return nil, nil, context.Cause(ctx)
			}
			for _, name := range names {
				if joined[hostName(name)] == nil && failed[name] == nil {
					failed[name] = fmt.Errorf("%s: its worker did not join within %v", name, limit)
					h.app.Out.Note("%v", failed[name])
				}
			}
		}
	}
	h.app.Out.Note("%s of %d joined", english.Count(len(joined), "host"), len(names))
	return joined, failed, nil
}

// noteFailed notes why a host takes no part.
func (h *host) noteFailed(err error) {
	h.app.Out.Note("%v", err)
	for _, hint := range cli.Hints(err) {
		h.app.Out.Note("hint: %s", hint)
	}
}

// arrivals returns the workers that join until ctx ends.
func (h *host) arrivals(ctx context.Context) <-chan *protocol.Session {
	c := make(chan *protocol.Session)
	h.wg.Go(func() {
		for {
			s, err := h.server.Next(ctx)
			if err != nil {
				return
			}
			select {
			case c <- s:
			case <-ctx.Done():
				return
			}
		}
	})
	return c
}

// copying notes that the executable is sent to a host, which takes a while.
func (h *host) copying(e remote.Event) {
	if e.Total > 0 && e.Sent == 0 && e.Err == nil {
		h.app.Log.Debug("copy rdmactl", "host", e.Host, "bytes", e.Total)
	}
}

// maxInvitation bounds a line with an invitation.
const maxInvitation = 4096

// readInvitation reads the invitation from standard input. With the address stdio it returns the
// connection to the leader, over what follows and standard output.
func readInvitation(app *cli.App) (i protocol.Invitation, conn net.Conn, err error) {
	in := bufio.NewReaderSize(app.Stdin, maxInvitation)
	line, err := in.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return i, nil, fmt.Errorf("read the invitation from standard input: %w", err)
	}
	if i, err = protocol.ParseInvitation(strings.TrimSpace(string(line))); err != nil || i.Addr != stdioAddr {
		return i, nil, err
	}
	closer, _ := app.Stdin.(io.Closer)
	return i, protocol.Pipe(stdinRest{in, closer}, stdout{app.Stdout}), nil
}

// stdinRest is standard input after the invitation.
type stdinRest struct {
	io.Reader
	closer io.Closer
}

// Close closes it, if it can be.
func (i stdinRest) Close() error {
	if i.closer == nil {
		return nil
	}
	return i.closer.Close()
}

// stdout is standard output.
type stdout struct{ io.Writer }

// Close closes it, if it can be.
func (o stdout) Close() error {
	if c, ok := o.Writer.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
