package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/ssh"
)

// Kind is what kept a program from running on a host, or how it ended.
type Kind string

// The kinds, in the order of the steps of a start.
const (
	KindCanceled       Kind = "canceled"         // the context ended
	KindNoSSH          Kind = "no-ssh"           // the ssh program can't be started
	KindConfig         Kind = "ssh-config"       // ssh rejects its configuration or the host's name
	KindUnknownHost    Kind = "unknown-host"     // the name can't be resolved
	KindNoRoute        Kind = "no-route"         // no route to the host, or a network that is down
	KindRefused        Kind = "refused"          // nothing listens at the port
	KindTimeout        Kind = "timeout"          // no answer in time
	KindClosed         Kind = "closed"           // the server closed the connection before the login
	KindNegotiation    Kind = "negotiation"      // both ends have no algorithm in common
	KindHostKeyUnknown Kind = "host-key-unknown" // the user has not accepted the host's key
	KindHostKeyChanged Kind = "host-key-changed" // the host has another key than before, or a revoked one
	KindDenied         Kind = "denied"           // the server accepts none of the user's keys
	KindJump           Kind = "jump"             // a jump host or ProxyCommand failed
	KindSSH            Kind = "ssh"              // another error of ssh
	KindSilent         Kind = "silent"           // the login ended without running the command
	KindLost           Kind = "lost"             // the connection ended, during the start or later
	KindNotLinux       Kind = "not-linux"        // the host has another system
	KindNoBuild        Kind = "no-build"         // no executable for the host's architecture
	KindNoLoader       Kind = "no-loader"        // not the C library of the executable, and no static build
	KindNoCache        Kind = "no-cache"         // the cache folder can't be written
	KindNoSpace        Kind = "no-space"         // the file system or the quota is full
	KindCopy           Kind = "copy"             // the copy is not what was sent
	KindNoExec         Kind = "no-exec"          // the file may not be executed
	KindCannotRun      Kind = "cannot-run"       // the executable fails on the host
	KindNoRemotePath   Kind = "no-remote-path"   // the host doesn't have the program of RemotePath
	KindOtherVersion   Kind = "other-version"    // that program has another version
	KindEnded          Kind = "ended"            // the program ran, and ended with an exit status
)

// kindText describes a kind: what is wrong, and the next step; HOST stands for the host.
type kindText struct{ what, next string }

// text returns the description of a kind.
func (k Kind) text() kindText {
	switch k {
	case KindCanceled:
		return kindText{"canceled", ""}
	case KindNoSSH:
		return kindText{"the ssh program can't be started", "install the OpenSSH client, or name another program"}
	case KindConfig:
		return kindText{"ssh rejects its configuration", "ssh -G HOST shows the same error"}
	case KindUnknownHost:
		return kindText{
			"unknown host name",
			"check the spelling; \"getent hosts HOST\" must find it, or ~/.ssh/config have a HostName for it",
		}
	case KindNoRoute:
		return kindText{"no route", "check the address of HOST and the network: ip route get ADDRESS"}
	case KindRefused:
		return kindText{"connection refused", "start sshd on HOST, or set its Port in ~/.ssh/config"}
	case KindTimeout:
		return kindText{
			"no answer",
			"ssh -v HOST shows how far it gets; check that the host is up, and firewalls on the way",
		}
	case KindClosed:
		return kindText{
			"the server closed the connection before the login",
			"the log of its sshd has the reason; with many hosts behind one server, raise MaxStartups there",
		}
	case KindNegotiation:
		return kindText{"no algorithm in common", "ssh -v HOST shows what both ends offer"}
	case KindHostKeyUnknown:
		return kindText{
			"its host key is not known",
			"log in once with \"ssh HOST\" and compare the key, or add it to known_hosts",
		}
	case KindHostKeyChanged:
		return kindText{
			"its host key is not the known one",
			"find out why; if the host was installed anew: ssh-keygen -R HOST",
		}
	case KindDenied:
		return kindText{
			"login denied",
			"\"ssh -o BatchMode=yes HOST true\" must work: load a key into the agent (ssh-add -l lists them), or add " +
				"it to authorized_keys there",
		}
	case KindJump:
		return kindText{
			"the jump host or ProxyCommand failed",
			"ssh -v HOST shows the way; log in to the jump host by itself",
		}
	case KindSSH:
		return kindText{"ssh failed", "ssh -v HOST shows more"}
	case KindSilent:
		return kindText{
			"the login ended without running the command",
			"\"ssh HOST true\" must work: check the login shell and what it reads first",
		}
	case KindLost:
		return kindText{"connection lost", "check the network and the host: ssh HOST uptime"}
	case KindNotLinux:
		return kindText{"not Linux", "leave this host out"}
	case KindNoBuild:
		return kindText{
			"no build for this host",
			"put one there under such a name: \"GOARCH=ARCHITECTURE make build\" makes bin/rdmactl-static",
		}
	case KindNoLoader:
		return kindText{
			"no C library for the executable",
			"put bin/rdmactl-static of \"make build\" beside the executable",
		}
	case KindNoCache:
		return kindText{
			"no cache folder",
			"set XDG_CACHE_HOME on HOST to a folder that can be written (SetEnv in ~/.ssh/config, if sshd accepts " +
				"it), or install rdmactl there",
		}
	case KindNoSpace:
		return kindText{"no space for the executable", "df and quota on HOST show what is full; 40 MB are enough"}
	case KindCopy:
		return kindText{"the copy failed", "head, gzip and wc must work on HOST"}
	case KindNoExec:
		return kindText{
			"the executable may not be executed",
			"the file system is mounted noexec, or a policy forbids it: set XDG_CACHE_HOME on HOST to a folder on " +
				"another one, or install rdmactl there",
		}
	case KindCannotRun:
		return kindText{"the executable fails there", "the text after it says why; another build may run"}
	case KindNoRemotePath:
		return kindText{"the program is not there", "check the path on HOST: ssh HOST ls -l PATH"}
	case KindOtherVersion:
		return kindText{"another version", "install the same version on all hosts, or have it copied to them"}
	case KindEnded:
		return kindText{"the program ended", ""}
	}
	return kindText{}
}

// Error is the reason why a program doesn't run on a host, or how it ended.
type Error struct {
	Host string
	Kind Kind
	// Step is the one that failed; StepRunning if the program ran.
	Step Step
	// Text is the cause as reported by ssh or the host; it may be empty.
	Text string
	// Stderr is the end of what ssh and the host wrote to standard error, at most 8 KiB.
	Stderr string
	// Status is the exit status of ssh, which is that of the program if one ran; -1 for a signal, 0
	// if it is unknown.
	Status int
	// Err is the cause, such as that of the context.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	text := "start worker on " + e.Host + ": " + e.Kind.text().what
	if e.Step == StepRunning {
		text = "worker on " + e.Host + ": " + e.Kind.text().what
	}
	if e.Kind == KindEnded || e.Kind == KindSilent {
		text += fmt.Sprintf(" (exit status %d)", e.Status)
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Hints returns the next step.
func (e *Error) Hints() []string {
	next := e.Kind.text().next
	if next == "" {
		return nil
	}
	return []string{strings.ReplaceAll(next, "HOST", e.Host)}
}

// failure returns the error for a start that ended with err. The stream, if there is one, is
// closed.
func (d *dialog) failure(ctx context.Context, err error) *Error {
	e := &Error{Host: d.host, Step: d.step, Err: err, Text: err.Error()}
	status := 0
	if d.stream != nil {
		if exit, ok := errors.AsType[*ssh.ExitError](d.stream.Wait()); ok {
			status = exit.Status
		}
		e.Stderr = d.stream.Stderr()
	}
	refused, isRefused := errors.AsType[*refusalError](err)
	_, isLate := errors.AsType[*lateError](err)
	switch {
	case isRefused:
		e.Kind = refused.kind
	case isLate:
		e.Kind = KindTimeout
	case errors.Is(err, ssh.ErrHost):
		e.Kind = KindConfig
	case ctx.Err() != nil:
		e.Kind, e.Err, e.Text = KindCanceled, context.Cause(ctx), context.Cause(ctx).Error()
	case d.stream == nil:
		e.Kind = KindNoSSH
	default:
		d.explainEnd(e, status)
	}
	return e
}

// explainEnd sets the kind and the text for a stream that has ended by itself.
func (d *dialog) explainEnd(e *Error, status int) {
	e.Status = status
	e.Text = lastLine(e.Stderr)
	switch {
	case d.heard:
		e.Kind = KindLost
	case status == statusSSH:
		e.Kind, e.Text = explainSSH(e.Stderr)
	default:
		e.Kind = KindSilent
		if e.Text == "" {
			e.Text = d.noise
		}
	}
}

// refused returns the error for a failure that the script reports: a step and a text.
func (d *dialog) refused(report string) error {
	step, text, _ := strings.Cut(report, " ")
	full := strings.Contains(text, "No space left on device") || strings.Contains(text, "Disk quota exceeded")
	switch {
	case full:
		return refuse(KindNoSpace, "%s", text)
	case step == "cache":
		return refuse(KindNoCache, "%s", text)
	case step == "copy":
		return refuse(KindCopy, "%s", text)
	case step != "run":
		return refuse(KindLost, "unexpected failure %q", step)
	}
	status, text, _ := strings.Cut(text, " ")
	switch {
	case status == "126" && strings.Contains(text, "Permission denied"):
		return refuse(KindNoExec, "%s", text)
	case status == "127" && d.cfg.RemotePath != "":
		return refuse(KindNoRemotePath, "%s", text)
	case status == "127", strings.Contains(text, "version `GLIBC_"):
		return refuse(KindNoLoader, "%s", text) // the loader, or a library that it didn't find
	}
	return refuse(KindCannotRun, "exit status %s: %s", status, text)
}

// lastLine returns the last line of a text without blanks at its ends.
func lastLine(text string) string {
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
