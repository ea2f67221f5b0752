package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// sshdConfig is the configuration of the OpenSSH server of a node. Its paths are those of the
// node's folder.
const sshdConfig = `Port 22
HostKey %[1]s/ssh_host_ed25519_key
PidFile none
AuthorizedKeysFile /root/.ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
MaxStartups 100
LogLevel VERBOSE
Subsystem sftp internal-sftp
`

// clientConfig is the user's configuration at the leader.
const clientConfig = `Host node-*
  User root
  IdentityFile /root/.ssh/id_ed25519
  BatchMode yes
  ConnectTimeout 10
`

// sessionStart is what sshd runs before the command of a session (sshd(8), SSHRC). With
// CONFIG_SCHED_AUTOGROUP, the nice value of a session counts, not that of its processes (sched(7)).
const sessionStart = "[ ! -e /proc/self/autogroup ] || echo -20 >/proc/self/autogroup\n"

// startSSH gives all nodes host keys and the leader's user a key, and starts the servers. The
// leader knows the host keys.
func (l *Lab) startSSH(ctx context.Context) error {
	user := l.Leader.path("root", ".ssh", "id_ed25519")
	if err := makeKey(ctx, user, "root@leader"); err != nil {
		return err
	}
	public, err := os.ReadFile(user + ".pub")
	if err != nil {
		return fmt.Errorf("read key: %w", err)
	}
	var known strings.Builder
	for _, n := range l.Nodes {
		key := n.path("ssh_host_ed25519_key")
		if err := makeKey(ctx, key, "root@"+n.Name); err != nil {
			return err
		}
		host, err := os.ReadFile(key + ".pub")
		if err != nil {
			return fmt.Errorf("read key: %w", err)
		}
		fmt.Fprintf(&known, "%s,%v %s", n.Name, n.Card(0).Addr(), host)
		if err := n.write("sshd_config", fmt.Sprintf(sshdConfig, n.Dir)); err != nil {
			return err
		}
		if err := n.write("root/.ssh/authorized_keys", string(public)); err != nil {
			return err
		}
		if err := n.write("root/.ssh/rc", sessionStart); err != nil {
			return err
		}
		if err := n.Daemon("sshd", "/usr/sbin/sshd", "-D", "-e", "-f", n.path("sshd_config")); err != nil {
			return err
		}
	}
	if err := l.Leader.write("root/.ssh/known_hosts", known.String()); err != nil {
		return err
	}
	if err := l.Leader.write("root/.ssh/config", clientConfig); err != nil {
		return err
	}
	const port = 22
	for _, n := range l.Nodes {
		if err := l.Leader.Reach(ctx, netip.AddrPortFrom(n.Card(0).Addr(), port)); err != nil {
			return errors.Join(err, n.log("sshd"))
		}
	}
	return nil
}

// write writes a file of the node that only root can read.
func (n *Node) write(name, text string) error {
	if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write file of %s: %w", n.Name, err)
	}
	return nil
}

// writeScript writes a shell script of the node.
func (n *Node) writeScript(name, text string) error {
	if err := os.WriteFile(n.path(name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		return fmt.Errorf("write file of %s: %w", n.Name, err)
	}
	return nil
}

// makeKey makes a key without a passphrase.
func makeKey(ctx context.Context, file, comment string) error {
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make key %s: %w: %s", file, err, out)
	}
	return nil
}

// Daemon starts a program on the node that runs until the lab ends, or until it is killed. What it
// writes is in the file NAME.log in the folder of the node.
func (n *Node) Daemon(name, program string, args ...string) error {
	f, err := os.OpenFile(n.path(name+".log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start %s on %s: %w", name, n.Name, err)
	}
	defer f.Close()
	c := n.Command(context.Background(), program, args...)
	c.Stdout, c.Stderr = f, f
	if err := c.Start(); err != nil {
		return fmt.Errorf("start %s on %s: %w", name, n.Name, err)
	}
	go func() { _ = c.Wait() }() // it ends with the node at the latest
	return nil
}

// log returns the end of what a daemon has written, as an error.
func (n *Node) log(name string) error {
	text, err := os.ReadFile(n.path(name + ".log"))
	if err != nil {
		return err
	}
	const most = 2000
	return fmt.Errorf("%s of %s: %s", name, n.Name, text[max(0, len(text)-most):])
}

// reachLimit is how long a server may take to listen.
const reachLimit = 20 * time.Second

// Reach waits until the address accepts connections from the node.
func (n *Node) Reach(ctx context.Context, addr netip.AddrPort) error {
	return n.until(ctx, reachLimit, func() error {
		return n.InNetwork(func() error {
			// A dialer for one address doesn't use other goroutines to connect.
			conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr.String())
			if err != nil {
				return err
			}
			return conn.Close()
		})
	})
}

// until calls f until it returns no error, or the limit has passed.
func (n *Node) until(ctx context.Context, limit time.Duration, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not ready after %v", n.Name, limit))
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(50 * time.Millisecond): //nolint:mnd // between two attempts
		}
	}
}
