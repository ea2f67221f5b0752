package lab

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"
)

// slurmConfig is slurm.conf of all nodes. Neither cgroups nor accounting are used: the kernel may
// lack the former. A node is a machine of its own, with its own host name, spool folder and port.
const slurmConfig = `ClusterName=lab
SlurmctldHost=leader(%[1]v)
SlurmUser=root
AuthType=auth/munge
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog=/root/prolog
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
StateSaveLocation=/run/slurmctld
SlurmctldPidFile=/run/slurmctld.pid
SlurmdSpoolDir=/run/slurmd
SlurmdPidFile=/run/slurmd.pid
%[2]sPartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// cgroupConfig is cgroup.conf: with a version that is given, slurmd looks for none.
const cgroupConfig = "CgroupPlugin=cgroup/v1\n"

// slurmEtc is the folder of Slurm's configuration.
const slurmEtc = "/etc/slurm"

// StartSlurm starts munged everywhere, slurmd on each node, and slurmctld on the leader, and waits
// until all nodes are idle. srun works on the leader then. Further calls do nothing.
func (l *Lab) StartSlurm(ctx context.Context) error {
	l.slurm.Do(func() { l.slurmErr = l.startSlurm(ctx) })
	return l.slurmErr
}

func (l *Lab) startSlurm(ctx context.Context) error {
	if _, err := os.Stat(slurmEtc); err != nil {
		return fmt.Errorf("start Slurm: it is not installed: %w", err)
	}
	key := make([]byte, 128) //nolint:mnd // as mungekey(8)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("start Slurm: %w", err)
	}
	var nodes strings.Builder
	for _, n := range l.Nodes {
		fmt.Fprintf(&nodes, "NodeName=%s NodeAddr=%v CPUs=2 State=UNKNOWN\n", n.Name, n.Card(0).Addr())
	}
	config := fmt.Sprintf(slurmConfig, l.Leader.Card(0).Addr(), nodes.String())
	for _, n := range l.All() {
		if err := n.startMunge(ctx, key); err != nil {
			return fmt.Errorf("start Slurm: %w", err)
		}
		if err := errors.Join(n.write("etc/slurm/slurm.conf", config),
			n.write("etc/slurm/cgroup.conf", cgroupConfig), n.writeScript("root/prolog", sessionStart)); err != nil {
			return fmt.Errorf("start Slurm: %w", err)
		}
	}
	if err := l.Leader.Daemon("slurmctld", "/usr/sbin/slurmctld", "-D"); err != nil {
		return err
	}
	for _, n := range l.Nodes {
		if err := n.Daemon("slurmd", "/usr/sbin/slurmd", "-D"); err != nil {
			return err
		}
	}
	return l.slurmReady(ctx)
}

// startMunge starts munged with the key that all nodes share.
func (n *Node) startMunge(ctx context.Context, key []byte) error {
	if err := n.write("munge.key", string(key)); err != nil {
		return err
	}
	const mode = 0o755
	if err := n.In(func() error { return os.Mkdir("/run/munge", mode) }); err != nil {
		return err
	}
	if err := n.Daemon("munged", "/usr/sbin/munged", "--foreground", "--key-file="+n.path("munge.key"),
		"--seed-file=/run/munge/seed", "--log-file=/run/munge/log", "--origin="+n.Card(0).Addr().String()); err != nil {
		return err
	}
	err := n.until(ctx, reachLimit, func() error {
		_, err := n.Command(ctx, "munge", "-n").Output()
		return err
	})
	if err != nil {
		return errors.Join(err, n.log("munged"))
	}
	return nil
}

// slurmLimit is how long Slurm may take to know its nodes.
const slurmLimit = 20 * time.Second

// slurmReady waits until all nodes are idle.
func (l *Lab) slurmReady(ctx context.Context) error {
	const port = 6817 // of slurmctld
	if err := l.Leader.Reach(ctx, netip.AddrPortFrom(l.Leader.Card(0).Addr(), port)); err != nil {
		return errors.Join(err, l.Leader.log("slurmctld"))
	}
	err := l.Leader.until(ctx, slurmLimit, func() error {
		out, err := l.Leader.Command(ctx, "sinfo", "--noheader", "--Node", "--format=%N %t").Output()
		if idle := strings.Count(string(out), " idle\n"); err == nil && idle < len(l.Nodes) {
			err = fmt.Errorf("%d of %d nodes are idle: %s", idle, len(l.Nodes), out)
		}
		return err
	})
	if err != nil {
		return errors.Join(fmt.Errorf("start Slurm: %w", err), l.Leader.log("slurmctld"), l.Nodes[0].log("slurmd"))
	}
	return nil
}
