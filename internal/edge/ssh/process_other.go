//go:build !unix

package ssh

import (
	"os"
	"syscall"
)

func detached() *syscall.SysProcAttr { return nil }

func terminateGroup(p *os.Process) { _ = p.Kill() }

func killGroup(p *os.Process) error { return p.Kill() }
