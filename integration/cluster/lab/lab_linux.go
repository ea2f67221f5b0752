package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Options are the options of [New]. Zero values mean the defaults.
type Options struct {
	Size  int    // number of nodes, without the leader; 0: 4
	Rails int    // 0: 1
	MTU   int    // of all network devices; 0: 2200, for which RoCE has packets of 2048
	Rate  int    // of all cards and both directions, in Mbit/s; 0: unlimited
	Dir   string // existing folder for the files of the lab; it needs a short path for sockets
	Log   io.Writer
}

// The limits of [Options], and the number of the leader.
const (
	maxNodes   = 90
	maxRails   = 8
	leaderNode = 100
	defaultMTU = 2200
)

func (o Options) complete() (Options, error) {
	if o.Size == 0 {
		o.Size = 4
	}
	if o.Rails == 0 {
		o.Rails = 1
	}
	if o.MTU == 0 {
		o.MTU = defaultMTU
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	switch {
	case o.Size < 1 || o.Size > maxNodes:
		return o, fmt.Errorf("options of a lab: %d nodes: not 1 to %d", o.Size, maxNodes)
	case o.Rails < 1 || o.Rails > maxRails:
		return o, fmt.Errorf("options of a lab: %d rails: not 1 to %d", o.Rails, maxRails)
	case os.Geteuid() != 0:
		return o, errors.New("a lab needs root")
	}
	return o, nil
}

// Lab is a running cluster.
type Lab struct {
	Switch *Node // has the bridges brR; it runs no programs
	Leader *Node
	Nodes  []*Node // node-1 and so on

	opts     Options
	slurm    sync.Once
	slurmErr error
}

// New starts a lab: nodes, network, and OpenSSH servers.
func New(ctx context.Context, o Options) (l *Lab, err error) {
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	l = &Lab{opts: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
			l = nil
		}
	}()
	if l.Switch, err = l.start(ctx, "switch", 0); err != nil {
		return l, err
	}
	for i := range o.Size {
		n, err := l.start(ctx, fmt.Sprintf("node-%d", i+1), i+1)
		if err != nil {
			return l, err
		}
		l.Nodes = append(l.Nodes, n)
	}
	if l.Leader, err = l.start(ctx, "leader", leaderNode); err != nil {
		return l, err
	}
	if err := l.connect(ctx); err != nil {
		return l, err
	}
	err = l.startSSH(ctx)
	return l, err
}

// All returns the nodes and the leader.
func (l *Lab) All() []*Node { return append([]*Node{l.Leader}, l.Nodes...) }

// start makes the folder of a node and starts it.
func (l *Lab) start(ctx context.Context, name string, number int) (*Node, error) {
	dir := filepath.Join(l.opts.Dir, name)
	const private, readable = 0o700, 0o644
	folders := []string{"root/.ssh", "etc"}
	if _, err := os.Stat(slurmEtc); err == nil {
		folders = append(folders, "etc/slurm")
	}
	for _, d := range folders {
		if err := os.MkdirAll(filepath.Join(dir, d), private); err != nil {
			return nil, fmt.Errorf("start %s: %w", name, err)
		}
	}
	// A locked password of root would make sshd refuse it.
	const shadow = "root:*:19000:0:99999:7:::\n"
	if err := os.WriteFile(filepath.Join(dir, "etc", "shadow"), []byte(shadow), 0o600); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc", "hosts"), []byte(l.hosts()), readable); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return startNode(ctx, l, name, number)
}

// hosts is the file /etc/hosts of all nodes: their names stand for their addresses of rail 0.
func (l *Lab) hosts() string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for i := range l.opts.Size {
		fmt.Fprintf(&b, "10.77.0.%d node-%d\n", i+1, i+1)
	}
	fmt.Fprintf(&b, "10.77.0.%d leader\n", leaderNode)
	return b.String()
}

// Close ends all processes of the lab and removes its network. The folder with its files stays.
func (l *Lab) Close() error {
	var errs []error
	nodes := append([]*Node{l.Leader, l.Switch}, l.Nodes...)
	for _, n := range nodes {
		if n != nil {
			errs = append(errs, n.close())
		}
	}
	return errors.Join(errs...)
}
