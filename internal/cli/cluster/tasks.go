package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/rdmakit/rdmakit/cluster/launcher"
	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/rendezvous"
	"github.com/rdmakit/rdmakit/cluster/worker"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/english"
)

// launched returns the task that this process is in a launcher's job, unless a flag selects the
// workers. A shell that a launcher has started is not a job: its size is 1.
func (f *verifyFlags) launched(app *cli.App) (launcher.Task, bool, error) {
	if f.local > 0 || f.workers > 0 || f.hosts.list != "" {
		return launcher.Task{}, false, nil
	}
	t, ok, err := launcher.Detect(app.Getenv)
	switch {
	case err != nil:
		return t, false, cli.Exitf(cli.ExitUsage, "%w", err)
	case !ok || t.Size == 1:
		return t, false, nil
	case t.LocalRank < 0 || t.Size == 0:
		return t, false, cli.WithHints(cli.Exitf(cli.ExitUsage,
			"%s doesn't say which task of its node this is, and there is one worker on a node", t.Launcher),
			"--hosts starts workers by ssh; srun, mpirun, mpiexec and torchrun provide it")
	}
	f.tasks = t.Nodes
	if f.tasks == 0 {
		f.tasks = max(2, t.Size/max(1, t.LocalSize)) //nolint:mnd // nodes of a verification at least
	}
	return t, true, nil
}

// runTask does the part of a task of a job: the first one leads, the first one of each other node
// is a worker, and all others have nothing to do.
func (f *verifyFlags) runTask(ctx context.Context, app *cli.App, t launcher.Task) (err error) {
	at := ""
	if t.LeaderHost != "" {
		at = net.JoinHostPort(t.LeaderHost, strconv.Itoa(agreedPort(t.Job)))
	}
	way, err := rendezvous.Choose(ctx, rendezvous.Task{Launcher: t.Launcher, Job: t.Job, Leader: at}, app.Getenv)
	if err != nil {
		return cli.Exitf(cli.ExitUsage, "%w", err)
	}
	defer func() { err = errors.Join(err, way.Close()) }()
	app.Log.Debug("task of a job", "launcher", t.Launcher, "rank", t.Rank, "of", t.Size, "trust", way.String())
	switch {
	case t.Rank == 0:
		return f.lead(ctx, app, t, way, at)
	case t.First():
		return f.follow(ctx, app, t, way)
	}
	return f.pass(ctx, way)
}

// meeting limits the time in which the tasks of a job find each other.
func (f *verifyFlags) meeting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.wait,
		fmt.Errorf("not all tasks of the job have met within %v (--wait)", f.wait))
}

// pass is the part of a task that doesn't take part.
func (f *verifyFlags) pass(ctx context.Context, way rendezvous.Way) error {
	ctx, cancel := f.meeting(ctx)
	defer cancel()
	return way.Pass(ctx)
}

// The range of ports from which the tasks of a job choose the same one. It is below Linux's
// ephemeral ports. The port is not a secret.
const (
	firstPort  = 20000
	agreePorts = 10000
)

// agreedPort is the port at which the leader of a job listens if no way carries it to the workers.
func agreedPort(job string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(job)) // never fails
	return firstPort + int(h.Sum32()%agreePorts)
}

// lead leads the other tasks, with a worker of its own node.
func (f *verifyFlags) lead(ctx context.Context, app *cli.App, t launcher.Task, way rendezvous.Way, at string) error {
	cert, hash, err := protocol.NewIdentity(time.Now())
	if err != nil {
		return err
	}
	cfg := protocol.ServerConfig{Certificate: cert, Workers: f.tasks}
	trust := way.Trust()
	if trust != nil {
		cfg.Verify, cfg.Prove = rendezvous.AtLeader(trust, hash)
	}
	published := false
	err = f.run(ctx, app, nil, cfg, func(ctx context.Context, h *host) ([]leader.Link, []string, error) {
		i, err := f.invite(ctx, h, t, at, trust != nil)
		if err == nil {
			published = true
			meeting, cancel := f.meeting(ctx)
			err = way.Publish(meeting, i)
			cancel()
		}
		if err != nil {
			return nil, nil, err
		}
		node, err := thisNode(ctx, app, "")
		if err != nil {
			app.Out.Note("warning: %v", err) // the leader reports it as for any worker
		}
		if err := h.start(ctx, node, t.LocalSize); err != nil {
			return nil, nil, err
		}
		links, err := h.join(ctx, func(joined []*protocol.Session) (string, bool) { return haveAll(joined, t) }, f.wait)
		return links, nil, err
	})
	if !published { // the others may wait for this task
		err = errors.Join(err, f.pass(ctx, way))
	}
	return err
}

// haveAll reports whether the workers of all nodes of a job have joined, and how many there are.
func haveAll(joined []*protocol.Session, t launcher.Task) (string, bool) {
	if t.Nodes > 0 {
		return fmt.Sprintf("%d of %s", len(joined), english.Count(t.Nodes, "node")), len(joined) >= t.Nodes
	}
	tasks := 0
	for _, s := range joined {
		tasks += s.Tasks()
	}
	return fmt.Sprintf("%d of %s", tasks, english.Count(t.Size, "task")), tasks >= t.Size
}

// invite listens for the other tasks and returns where. If both ends have a way to prove who they
// are, the port is the agreed one, and the invitation has neither hash nor secret.
func (f *verifyFlags) invite(
	ctx context.Context, h *host, t launcher.Task, at string, proofs bool,
) (protocol.Invitation, error) {
	listen := f.listen
	if proofs && listen == "" {
		_, port, err := net.SplitHostPort(at)
		if err != nil {
			const text = "listen for the tasks: the launcher provides no host for the first task"
			return protocol.Invitation{}, errors.New(text)
		}
		listen = ":" + port
	}
	addr, err := h.listen(ctx, listen)
	if err != nil {
		return protocol.Invitation{}, err
	}
	if f.listen == "" {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return protocol.Invitation{}, fmt.Errorf("listen for the tasks: %w", err)
		}
		addr = net.JoinHostPort(ownHost(ctx, t.LeaderHost), port)
	}
	if proofs {
		return protocol.Invitation{Addr: addr}, nil
	}
	return h.server.Invite(addr, protocol.Ticket{Workers: f.tasks, Expires: time.Now().Add(f.wait)})
}

// ownHost returns the name or address at which other nodes reach this one: that of the launcher,
// the host name if it stands for an address of a network, or else such an address.
func ownHost(ctx context.Context, launched string) string {
	hostname, _ := os.Hostname() // "" is no host
	for _, name := range []string{launched, hostname} {
		if name == "" {
			continue
		}
		addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		if err == nil && len(addrs) > 0 && !addrs[0].Unmap().IsLoopback() {
			return name
		}
	}
	addrs, _ := net.InterfaceAddrs() // none: the host name, as it is
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			return p.Addr().String()
		}
	}
	return hostname
}

// follow is the worker of a node.
func (f *verifyFlags) follow(ctx context.Context, app *cli.App, t launcher.Task, way rendezvous.Way) error {
	node, nodeErr := thisNode(ctx, app, "") // joins without cards too: the leader reports it
	meeting, cancel := f.meeting(ctx)
	i, err := way.Find(meeting, reachable)
	cancel()
	if err != nil {
		return errors.Join(nodeErr, err)
	}
	c := &protocol.Client{Invitation: i, Name: node.Name, Tasks: t.LocalSize}
	if trust := way.Trust(); trust != nil {
		var hash [sha256.Size]byte
		if c.Certificate, hash, err = protocol.NewIdentity(time.Now()); err != nil {
			return err
		}
		c.Trust, c.Prove = rendezvous.AtWorker(trust, hash)
	}
	w := worker.New(worker.Config{Node: node})
	return errors.Join(nodeErr, c.Work(ctx, w.Do), w.Close())
}

// reachable returns an error unless the address of an invitation accepts connections.
func reachable(ctx context.Context, i protocol.Invitation) error {
	const limit = 5 * time.Second
	d := net.Dialer{Timeout: limit}
	conn, err := d.DialContext(ctx, "tcp", i.Addr)
	if err == nil {
		err = conn.Close()
	}
	return err
}
