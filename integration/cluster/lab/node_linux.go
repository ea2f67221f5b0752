package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Node is a machine of the lab.
type Node struct {
	Name   string
	Number int    // from 1; 0 for the switch
	Dir    string // its files, by the path that they have everywhere

	lab    *Lab
	first  *exec.Cmd
	life   *os.File // closing it ends the node
	spaces []space
	once   sync.Once
	ended  error
}

// space is a namespace of a node.
type space struct {
	kind int // CLONE_NEWNET and so on
	file *os.File
}

// The namespaces of a node by their names below /proc/PID/ns. That of mounts is entered last, for
// the files of the others are opened before.
func spaceKinds() map[string]int {
	return map[string]int{
		"net": unix.CLONE_NEWNET, "uts": unix.CLONE_NEWUTS, "ipc": unix.CLONE_NEWIPC, "pid": unix.CLONE_NEWPID,
		"mnt": unix.CLONE_NEWNS,
	}
}

// startLimit is how long a node may take to start.
const startLimit = 20 * time.Second

// startNode starts a node. Its folder has subfolders root, its /root, and etc, which has files that
// replace those of /etc.
func startNode(ctx context.Context, l *Lab, name string, number int) (n *Node, err error) {
	n = &Node{Name: name, Number: number, Dir: filepath.Join(l.opts.Dir, name), lab: l}
	settings, err := json.Marshal(initSettings{Hostname: name, Home: n.path("root"), Etc: n.path("etc")})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start %s: %w", name, err), n.close())
		}
	}()
	in, life, err := os.Pipe()
	if err != nil {
		return n, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	n.life = life
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // it lives as long as the lab
	cmd.Args[0] = "rdmakit-lab-" + name
	cmd.Env = append(environment(), nodeVariable+"="+string(settings))
	cmd.Stdin = in
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, kind := range spaceKinds() {
		cmd.SysProcAttr.Cloneflags |= uintptr(kind)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return n, err
	}
	if err := cmd.Start(); err != nil {
		return n, err
	}
	n.first = cmd
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	slow := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	defer slow.Stop()
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != ready {
		_ = cmd.Wait() // its text says more
		n.first = nil
		return n, fmt.Errorf("its first process is not ready: %s%s", line, said.String())
	}
	err = n.openSpaces()
	return n, err
}

// openSpaces opens the namespaces of the first process.
func (n *Node) openSpaces() error {
	for name, kind := range spaceKinds() {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", n.first.Process.Pid, name))
		if err != nil {
			return err
		}
		n.spaces = append(n.spaces, space{kind, f})
	}
	slices.SortFunc(n.spaces, func(a, b space) int { // the mounts last
		return boolean(a.kind == unix.CLONE_NEWNS) - boolean(b.kind == unix.CLONE_NEWNS)
	})
	return nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// path returns the path of a file of the node.
func (n *Node) path(names ...string) string {
	return filepath.Join(append([]string{n.Dir}, names...)...)
}

// PID is the number of the first process of the node on this machine.
func (n *Node) PID() int { return n.first.Process.Pid }

// close ends the processes of the node.
func (n *Node) close() error {
	n.once.Do(func() {
		if n.life != nil {
			n.ended = n.life.Close()
		}
		if n.first != nil {
			const patience = 10 * time.Second
			late := time.AfterFunc(patience, func() { _ = n.first.Process.Kill() })
			n.ended = errors.Join(n.ended, n.first.Wait())
			late.Stop()
		}
		for _, s := range n.spaces {
			n.ended = errors.Join(n.ended, s.file.Close())
		}
	})
	return n.ended
}

// In calls f on a thread that is in all namespaces of the node, and so are the files and sockets
// that it opens and the processes that it starts. Goroutines that f starts are not.
func (n *Node) In(f func() error) error { return n.in(f, -1) }

// InNetwork calls f on a thread that is in the network namespace of the node only.
func (n *Node) InNetwork(f func() error) error { return n.in(f, unix.CLONE_NEWNET) }

func (n *Node) in(f func() error, kinds int) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		done <- func() error {
			if err := unix.Unshare(unix.CLONE_FS); err != nil { // as setns of mounts demands
				return fmt.Errorf("enter %s: %w", n.Name, os.NewSyscallError("unshare", err))
			}
			for _, s := range n.spaces {
				if s.kind&kinds == 0 {
					continue
				}
				if err := unix.Setns(int(s.file.Fd()), s.kind); err != nil {
					return fmt.Errorf("enter %s: %w", n.Name, os.NewSyscallError("setns", err))
				}
			}
			if kinds&unix.CLONE_NEWPID != 0 { // of this thread, which new processes inherit
				if err := unix.Setpriority(unix.PRIO_PROCESS, 0, priority); err != nil {
					return fmt.Errorf("enter %s: %w", n.Name, os.NewSyscallError("setpriority", err))
				}
			}
			return f()
		}()
	}()
	return <-done
}

// priority is the nice value of the processes of nodes: what is measured between them should depend
// on what else the machine does as little as possible.
const priority = -20

// environment is that of commands on nodes.
func environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "USER=root",
		"LOGNAME=root", "SHELL=/bin/sh", "LANG=C.UTF-8",
	}
}

// Cmd is a command on a node. It is used like an [exec.Cmd].
type Cmd struct {
	*exec.Cmd
	node *Node
	net  bool // in the network namespace only
}

// Command returns a command that runs on the node as root, in /root. The end of ctx kills it and
// the processes that it has started in its process group.
func (n *Node) Command(ctx context.Context, name string, args ...string) *Cmd {
	c := &Cmd{Cmd: exec.CommandContext(ctx, lookUp(name), args...), node: n}
	c.Env = environment()
	c.Dir = "/root"
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	const rest = 2 * time.Second // for what others still write to its pipes
	c.WaitDelay = rest
	return c
}

// lookUp finds a program also where users other than root don't look.
func lookUp(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path
		}
	}
	return name
}

// Start starts the command.
func (c *Cmd) Start() error {
	if c.net {
		return c.node.InNetwork(c.Cmd.Start)
	}
	return c.node.In(c.Cmd.Start)
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output. The error has its standard error.
func (c *Cmd) Output() ([]byte, error) {
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("%s: %s: %w: %s", c.node.Name, strings.Join(c.Args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}

// CombinedOutput runs the command and returns its standard output and standard error.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	var both bytes.Buffer
	c.Stdout, c.Stderr = &both, &both
	err := c.Run()
	return both.Bytes(), err
}

// network runs a command in the network namespace of the node, with the machine's processes and
// files.
func (n *Node) network(ctx context.Context, input, name string, args ...string) error {
	c := n.Command(ctx, name, args...)
	c.net, c.Dir = true, "/"
	c.Stdin = strings.NewReader(input)
	_, err := c.Output()
	if err != nil && input != "" {
		err = fmt.Errorf("%w (input: %s)", err, input)
	}
	return err
}

// ip runs commands of ip(8).
func (n *Node) ip(ctx context.Context, lines ...string) error {
	return n.network(ctx, strings.Join(lines, "\n")+"\n", "ip", "-batch", "-")
}

// Processes returns the processes of the node whose command line has all the words, by their
// numbers on this machine. The first process of the node is none of them.
func (n *Node) Processes(words ...string) ([]int, error) {
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", n.first.Process.Pid))
	if err != nil {
		return nil, fmt.Errorf("list processes of %s: %w", n.Name, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes of %s: %w", n.Name, err)
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == n.first.Process.Pid {
			continue
		}
		if space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid)); err != nil || space != own {
			continue // it has ended, or belongs to others
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		args := strings.Split(string(line), "\x00")
		if err == nil && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(args, w) }) {
			out = append(out, pid)
		}
	}
	return out, nil
}

// Kill sends a signal to the processes of the node whose command line has all the words, and
// returns how many there were.
func (n *Node) Kill(signal syscall.Signal, words ...string) (int, error) {
	list, err := n.Processes(words...)
	for _, pid := range list {
		if killErr := syscall.Kill(pid, signal); killErr != nil && !errors.Is(killErr, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("kill process %d of %s: %w", pid, n.Name, killErr))
		}
	}
	return len(list), err
}

// Card is a network device of a node.
type Card struct {
	Node *Node
	Rail int
}

// Card returns the network device of a rail.
func (n *Node) Card(rail int) Card { return Card{n, rail} }

// Netdev is the name of the network device.
func (c Card) Netdev() string { return "eth" + strconv.Itoa(c.Rail) }

// Port is the name of the other end of its cable, in the network namespace of the switch.
func (c Card) Port() string { return fmt.Sprintf("n%dr%d", c.Node.Number, c.Rail) }

// Addr is its first address.
func (c Card) Addr() netip.Addr {
	return netip.AddrFrom4([4]byte{10, 77, byte(c.Rail), byte(c.Node.Number)})
}
