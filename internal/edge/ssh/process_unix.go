//go:build unix

package ssh

import (
	"os"
	"syscall"
)

// detached returns the attributes of a process in a session of its own: without a terminal it can't
// ask, and keys that send signals to this program don't reach it.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// terminateGroup sends SIGTERM to ssh and to the programs that it has started to connect, such as
// that of a jump host, which may outlive it.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

// killGroup kills ssh and the programs that it has started.
func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
