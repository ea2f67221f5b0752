// Package ssh runs commands on other hosts by the user's ssh program, OpenSSH or one with the same
// options, with the configuration, keys, agent and jump hosts that the user has.
//
//	client := ssh.Client{}
//	settings, _ := client.Settings(ctx, "gpu-01") // ssh -G
//	s, err := client.Start(ctx, "gpu-01", settings.Options(10*time.Second), "exec cat")
//	defer s.Close()
//
// A [Session] is the standard input and output of the command, as a [net.Conn]. It never asks for a
// password or whether to trust a host: the program runs in a session without a terminal. Ending a
// session closes the command's standard input; a command must end then. So it does when this
// process is killed, as the pipes to ssh close.
package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Client starts sessions.
type Client struct {
	// Command is the program and its first arguments; nil is ssh.
	Command []string
}

// words returns the program and its arguments.
func (c Client) words(more ...string) []string {
	words := c.Command
	if len(words) == 0 {
		words = []string{"ssh"}
	}
	return append(append([]string(nil), words...), more...)
}

// ErrHost is the error for names that ssh would take for something else.
var ErrHost = errors.New("not the name of a host")

// CheckHost returns an error if a name can't be given to ssh: it is empty, begins with a hyphen, or
// has blanks or control characters. [user@]host and ssh://[user@]host[:port] are names.
func CheckHost(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("%q: %w", name, ErrHost)
	}
	return nil
}

// Settings are the user's settings for a host, by their names in lower case.
type Settings map[string]string

// settingsLimit is how long ssh may take to print settings: its configuration may run commands and
// resolve names.
const settingsLimit = 10 * time.Second

// Settings returns what ssh -G prints for a host, which opens no connection. The error has the
// first line that ssh wrote to standard error.
func (c Client) Settings(ctx context.Context, host string) (Settings, error) {
	if err := CheckHost(host); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, settingsLimit, fmt.Errorf("no answer within %v", settingsLimit))
	defer cancel()
	words := c.words("-G", "--", host)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // the user's program
	cmd.SysProcAttr = detached()
	cmd.Cancel = func() error { return killGroup(cmd.Process) } // also what Match exec has started
	cmd.WaitDelay = lingerTime
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s -G %s: %w", words[0], host, context.Cause(ctx))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%s -G %s: %w: %s", words[0], host, err, line)
	}
	return parseSettings(out), nil
}

// parseSettings parses lines of a name and a value. The first of several values is kept.
func parseSettings(out []byte) Settings {
	s := Settings{}
	for line := range bytes.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if _, ok := s[name]; !ok && name != "" {
			s[name] = value
		}
	}
	return s
}

// keepAlive is how often ssh asks a silent server for a sign of life, in seconds. It gives up after
// three questions, so a host that has vanished is noticed within a minute.
const keepAlive = 10

// Options returns the options for running a command that talks over standard input and output. They
// replace settings that are for people at terminals, such as a RemoteCommand, and forward nothing.
// ssh uses a connection that is shared already (ControlPath), but doesn't become one: then it would
// stay in the background. connect is the limit for connecting, unless the user has set one. Nil
// settings stand for those of ssh.
func (s Settings) Options(connect time.Duration) []string {
	out := []string{
		"-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "ControlMaster=no",
	}
	set := func(name, value string) { out = append(out, "-o", name+"="+value) }
	if v := s["connecttimeout"]; v == "" || v == "none" {
		set("ConnectTimeout", strconv.Itoa(max(1, int((connect+time.Second-1)/time.Second))))
	}
	if v := s["serveraliveinterval"]; v == "" || v == "0" {
		set("ServerAliveInterval", strconv.Itoa(keepAlive))
		set("ServerAliveCountMax", "3")
	}
	switch s["loglevel"] {
	case "SILENT", "QUIET", "FATAL", "ERROR": // they hide why a connection failed
		set("LogLevel", "INFO")
	}
	// Older versions don't have these settings and don't print them.
	for _, o := range []struct{ name, neutral string }{
		{"RemoteCommand", "none"}, {"SessionType", "default"}, {"StdinNull", "no"}, {"ForkAfterAuthentication", "no"},
	} {
		if v := s[strings.ToLower(o.name)]; v != "" && v != o.neutral {
			set(o.name, o.neutral)
		}
	}
	return out
}

// environ returns the environment of ssh: that of this process, and no window that asks for a
// password.
func environ() []string { return append(os.Environ(), "SSH_ASKPASS_REQUIRE=never") }
