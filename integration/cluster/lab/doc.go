// Package lab makes a cluster of this machine for tests of real processes: nodes in namespaces of
// their own, joined by bridges, each with an OpenSSH server, and a further node for the leader.
//
//	func TestMain(m *testing.M) {
//		if is, err := lab.Init(); is { // this process is the first one of a node
//			…
//		}
//	}
//
//	l, err := lab.New(ctx, lab.Options{Size: 4, Rails: 2})
//	defer l.Close()
//	out, err := l.Leader.Command(ctx, "ssh", "node-1", "hostname").Output()
//	undo, err := l.Loss(ctx, l.Nodes[1].Card(0), lab.Receives, 0.01)
//
// A node has namespaces for network, mounts, processes, host name and IPC; its own /root, /run,
// /proc, /sys, /dev/shm, /etc/hosts and /etc/shadow; and shares all other files with the machine.
// Node N has the address 10.77.R.N/24 on the network device ethR of rail R, the leader
// 10.77.R.100. The switch of a rail is the bridge brR in a further network namespace, which has no
// address. Nothing is visible from the machine's own network.
//
// The processes of a node end with its first process, and that one ends with the process that
// called [New], however this ends: it reads from a pipe whose other end nobody else has. There are
// no files outside of [Options].Dir and no named namespaces.
//
// Faults are methods that return a function which takes them back ([Undo]). They need tc (tbf), nft
// and iptables; delay and reordering are the work of a process of the lab ([Lab.Forward]): they
// need no netem.
//
// It needs root on Linux. The methods of a [Lab] and its nodes may be called concurrently.
package lab
