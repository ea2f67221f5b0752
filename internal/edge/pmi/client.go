package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ErrNone is the error if there is no process manager that speaks PMI-1: its variables are not set,
// or they are left over from another job and name no socket.
var ErrNone = errors.New("no PMI server")

// ErrMalformed is the error for an answer that isn't one of PMI-1.
var ErrMalformed = errors.New("malformed answer of the PMI server")

// ErrNotFound is the error for a key that no task had put before the last barrier.
var ErrNotFound = errors.New("no such key in the key-value space")

// ServerError is an error that the server has returned.
type ServerError struct {
	Command string
	Code    int    // rc
	Text    string // msg, "" if the server gave none
}

// Error returns the command, the code and the server's message.
func (e *ServerError) Error() string {
	s := fmt.Sprintf("the PMI server answered %s with rc=%d", e.Command, e.Code)
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// notFound reports whether this is the answer to a get of a key that doesn't exist: Slurm gives no
// reason (_handle_get in pmi1.c of its plugin pmi2), and Hydra key_K_not_found (pmip_pmi_v1.c).
func (e *ServerError) notFound() bool { return e.Text == "" || strings.HasSuffix(e.Text, "not_found") }

// maxRanks is the largest accepted number of tasks of a job.
const maxRanks = 1 << 24

// Client is a connection to the process manager.
type Client struct {
	conn       net.Conn
	r          *bufio.Reader
	rank, size int
	kvs        string
	limits     limits
	broken     error // set when the conversation is out of step
	late       bool  // broken by a context only: an answer is still on its way
}

// Open connects to the server that the environment names. The error matches [ErrNone] if there is
// none. A descriptor from PMI_FD can be opened once: it is closed in this process afterwards.
func Open(ctx context.Context, getenv func(string) string) (*Client, error) {
	c, err := open(ctx, getenv)
	if err != nil {
		return nil, fmt.Errorf("open PMI: %w", err)
	}
	return c, nil
}

func open(ctx context.Context, getenv func(string) string) (*Client, error) {
	fd, port := getenv("PMI_FD"), getenv("PMI_PORT")
	switch {
	case fd != "":
		return openFD(ctx, fd, getenv)
	case port != "":
		return dial(ctx, port, getenv)
	}
	return nil, fmt.Errorf("%w: neither PMI_FD nor PMI_PORT is set", ErrNone)
}

// openFD uses the inherited socket. It works on a duplicate until the server has answered, so that
// a stale number of another socket does no harm.
func openFD(ctx context.Context, text string, getenv func(string) string) (*Client, error) {
	fd, err := number("PMI_FD", text, 1<<30)
	if err != nil {
		return nil, err
	}
	rank, err := number("PMI_RANK", getenv("PMI_RANK"), maxRanks)
	if err != nil {
		return nil, err
	}
	size, err := number("PMI_SIZE", getenv("PMI_SIZE"), maxRanks)
	if err != nil {
		return nil, err
	}
	conn, err := inherit(fd)
	if err != nil {
		return nil, fmt.Errorf("%w: PMI_FD=%s: %w", ErrNone, text, err)
	}
	c := newClient(conn)
	if err := c.begin(ctx, rank, size); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if err := closeInherited(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("close the duplicate of PMI_FD=%s: %w", text, err), conn.Close())
	}
	return c, nil
}

// dial connects to PMI_PORT and identifies this task by PMI_ID.
func dial(ctx context.Context, port string, getenv func(string) string) (*Client, error) {
	id, err := number("PMI_ID", getenv("PMI_ID"), maxRanks)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", port)
	if err != nil {
		return nil, fmt.Errorf("PMI_PORT=%s: %w", port, err)
	}
	c := newClient(conn)
	rank, size, err := c.acknowledge(ctx, id)
	if err == nil {
		err = c.begin(ctx, rank, size)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func number(name, text string, limit int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s=%q is not a number from 0 to %d", name, text, limit)
	}
	return n, nil
}

func newClient(conn net.Conn) *Client {
	return &Client{conn: conn, r: bufio.NewReaderSize(conn, maxAnswer)}
}

// acknowledge identifies this task on a TCP connection, and returns its rank and the size of the
// job.
func (c *Client) acknowledge(ctx context.Context, id int) (rank, size int, err error) {
	if _, err := c.ask(ctx, fmt.Sprintf("initack pmiid=%d", id), "initack"); err != nil {
		return 0, 0, err
	}
	values := map[string]int{}
	for _, name := range []string{"size", "rank", "debug"} {
		a, err := c.ask(ctx, "", "set")
		if err != nil {
			return 0, 0, err
		}
		if values[name], err = a.number(name, 0, maxRanks); err != nil {
			return 0, 0, c.fail(err)
		}
	}
	return values["rank"], values["size"], nil
}

// begin agrees on the version and asks for the limits and the name of the key-value space.
func (c *Client) begin(ctx context.Context, rank, size int) error {
	if rank >= size {
		return fmt.Errorf("rank %d of %d tasks", rank, size)
	}
	c.rank, c.size = rank, size
	a, err := c.ask(ctx, "init pmi_version=1 pmi_subversion=1", "response_to_init")
	if err != nil {
		return err
	}
	if v, err := a.number("pmi_version", 0, 99); err != nil || v != 1 {
		return errors.Join(fmt.Errorf("the PMI server speaks version %q, not 1", a.fields["pmi_version"]), err)
	}
	if a, err = c.ask(ctx, "get_maxes", "maxes"); err != nil {
		return err
	}
	if c.limits, err = a.limits(); err != nil {
		return err
	}
	if a, err = c.ask(ctx, "get_my_kvsname", "my_kvsname"); err != nil {
		return err
	}
	c.kvs = a.fields["kvsname"]
	if c.kvs == "" || len(c.kvs) > c.limits.name {
		return fmt.Errorf("%w: a name of %d bytes, of at most %d", ErrMalformed, len(c.kvs), c.limits.name)
	}
	return nil
}

// Rank is the number of this task, from 0.
func (c *Client) Rank() int { return c.rank }

// Size is the number of tasks of the job.
func (c *Client) Size() int { return c.size }

// Barrier waits until all tasks of the job have entered it.
func (c *Client) Barrier(ctx context.Context) error {
	if _, err := c.ask(ctx, "barrier_in", "barrier_out"); err != nil {
		return fmt.Errorf("PMI barrier of %d tasks: %w", c.size, err)
	}
	return nil
}

// Close finalizes PMI, also after a wait that a context has ended, and closes the
// connection. It doesn't wait for the other tasks. A second call does nothing.
func (c *Client) Close(ctx context.Context) error {
	if c.conn == nil {
		return nil
	}
	var err error
	switch {
	case c.broken == nil:
		_, err = c.ask(ctx, "finalize", "finalize_ack")
	case c.late:
		c.broken = nil
		if _, err = c.ask(ctx, "finalize", "finalize_ack"); errors.Is(err, ErrMalformed) {
			c.broken = nil // that was the late answer
			_, err = c.ask(ctx, "", "finalize_ack")
		}
	}
	err = errors.Join(err, c.conn.Close())
	c.conn, c.broken = nil, net.ErrClosed
	if err != nil {
		return fmt.Errorf("close PMI: %w", err)
	}
	return nil
}

// ask sends a command and reads the answer, whose command must be want. Without a command it only
// reads. A failure other than an error of the server makes the client unusable, since an answer may
// still be on its way.
func (c *Client) ask(ctx context.Context, command, want string) (answer, error) {
	if c.broken != nil {
		return answer{}, fmt.Errorf("the connection is unusable: %w", c.broken)
	}
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	done := make(chan struct{})
	_ = c.conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.conn.SetDeadline(time.Unix(1, 0)) // wakes Read and Write
		close(done)
	})
	line, err := c.exchange(command)
	if !stop() {
		<-done
		if err != nil {
			err, c.late = context.Cause(ctx), true
		}
	}
	if err != nil {
		return answer{}, c.fail(err)
	}
	a, err := parse(line)
	if err != nil {
		return answer{}, c.fail(err)
	}
	if a.command != want {
		return answer{}, c.fail(fmt.Errorf("%w: %s instead of %s", ErrMalformed, a.command, want))
	}
	return a, a.failure()
}

func (c *Client) exchange(command string) (string, error) {
	if command != "" {
		if _, err := io.WriteString(c.conn, "cmd="+command+"\n"); err != nil {
			return "", err
		}
	}
	line, err := c.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxAnswer)
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("the PMI server has closed the connection: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return "", err
	}
	return string(line[:len(line)-1]), nil
}

func (c *Client) fail(err error) error {
	c.broken = err
	return err
}
