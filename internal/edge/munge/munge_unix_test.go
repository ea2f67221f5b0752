//go:build unix

package munge_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/munge"
	"github.com/rdmakit/rdmakit/internal/testkit/mungetest"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// nobody is the second user of these tests.
const nobody = 65534

// encode makes a credential or ends the test.
func encode(t *testing.T, d munge.Daemon, payload string, o munge.Options) string {
	t.Helper()
	text, err := d.Encode(t.Context(), []byte(payload), o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDaemon makes credentials with a real daemon, and decodes them there and by one with another
// key.
func TestDaemon(t *testing.T) {
	d, other := munge.Daemon{Socket: mungetest.Start(t)}, munge.Daemon{Socket: mungetest.Start(t)}
	before := time.Now().Truncate(time.Second)
	// What expires is made first, so that the rest of the test passes the time.
	old := encode(t, d, "", munge.Options{TTL: time.Second})
	own := munge.Options{Restricted: true, UID: os.Geteuid(), TTL: 5 * time.Minute}
	for _, payload := range []string{"", "\n\nUID: 0\n\n", "x\x00\xff", strings.Repeat("p", munge.MaxPayload)} {
		text := encode(t, d, payload, own)
		c, err := d.Decode(t.Context(), text)
		if err != nil || string(c.Payload) != payload {
			t.Errorf("Decode = %.40q, %v, want %.40q", c.Payload, err, payload)
		}
		if c.UID != os.Geteuid() || c.GID != os.Getegid() || c.TTL != own.TTL ||
			c.Host != netip.MustParseAddr("127.0.0.1") || c.Encoded.Before(before) || c.Encoded.After(time.Now()) {
			t.Errorf("Decode = %+v", c)
		}
		if _, err := d.Decode(t.Context(), text); !errors.Is(err, munge.ErrReplayed) {
			t.Errorf("a second time: %v", err)
		}
	}
	if _, err := other.Decode(t.Context(), encode(t, d, "x", own)); !errors.Is(err, munge.ErrBadCredential) {
		t.Errorf("a credential of another key: %v", err)
	}
	stranger := encode(t, d, "x", munge.Options{Restricted: true, UID: os.Geteuid() + 1})
	_, err := d.Decode(t.Context(), stranger)
	if !errors.Is(err, munge.ErrUnauthorized) || !strings.Contains(err.Error(), "Unauthorized credential for client") {
		t.Errorf("a credential for another user: %v", err)
	}
	text := []byte(encode(t, d, "x", own))
	text[len(text)/2] ^= 1 // still a letter or digit of base64, or it isn't plausible
	if _, err := d.Decode(t.Context(), string(text)); !errors.Is(err, munge.ErrBadCredential) {
		t.Errorf("a changed credential: %v", err)
	}
	time.Sleep(time.Until(before.Add(3100 * time.Millisecond))) // two whole seconds of the daemon's clock later
	if _, err := d.Decode(t.Context(), old); !errors.Is(err, munge.ErrExpired) {
		t.Errorf("an old credential: %v", err)
	}
}

// TestOtherUser makes and decodes credentials as another user of this node.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user; TestPrograms has the output of such a one")
	}
	d := munge.Daemon{Socket: mungetest.Start(t)}
	as := func(input, program string, args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--socket="+d.Socket)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Stdin, cmd.Dir = strings.NewReader(input), "/"
		out, err := cmd.Output()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
	}
	text, _ := as("", "munge", "--string=hello")
	if c, err := d.Decode(t.Context(), text); err != nil || c.UID != nobody || c.GID != nobody {
		t.Errorf("a credential of nobody: %+v, %v", c, err)
	}
	if text, code := as("", "munge", "--uid=0", "--no-input"); text != "" || code == 0 {
		t.Errorf("nobody has made a credential of root: %s", text)
	}
	const unauthorized = 18
	own := encode(t, d, "x", munge.Options{Restricted: true, UID: 0})
	if out, code := as(own, "unmunge"); code != unauthorized {
		t.Errorf("nobody decodes a credential for root: %d, %s", code, out)
	}
}

// fake returns a daemon whose programs are a script.
func fake(t *testing.T, body string) munge.Daemon {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"munge", "unmunge"} {
		script.Write(t, filepath.Join(dir, name), body)
	}
	return munge.Daemon{Folder: dir, Socket: "/nowhere/socket"}
}

// credential is one that a daemon made.
const credential = "MUNGE:AwQFAABn96920DlJw0XLvKmIE7QkP//h5pArqqJ8r1/CQe+18feqORb/gkNRlXk/n0MgDzzSq1sHYvRG2TbEN:"

// output is that of unmunge 0.5.15, of the user nobody.
const output = `ENCODE_HOST:     192.0.2.1
ENCODE_TIME:     1795729423
TTL:             5
UID:             65534
GID:             65534
LENGTH:          5

hello`

// TestPrograms checks arguments, output that a daemon doesn't give here, and exit codes of
// munge.h.
func TestPrograms(t *testing.T) {
	args := filepath.Join(t.TempDir(), "args")
	d := fake(t, `echo "$@" > `+args+`; cat > `+args+`.in; echo " `+credential+` "`)
	text, err := d.Encode(t.Context(), []byte("payload"), munge.Options{Restricted: true, UID: 7, TTL: time.Minute})
	if err != nil || text != credential {
		t.Errorf("Encode = %q, %v", text, err)
	}
	got, _ := os.ReadFile(args)
	in, _ := os.ReadFile(args + ".in")
	if string(got) != "--ttl=60 --restrict-uid=7 --socket=/nowhere/socket\n" || string(in) != "payload" {
		t.Errorf("munge was called with %q and %q", got, in)
	}
	for _, o := range []munge.Options{{TTL: time.Millisecond}, {TTL: -time.Second}} {
		if _, err := d.Encode(t.Context(), nil, o); err == nil || !strings.Contains(err.Error(), "whole seconds") {
			t.Errorf("%v: %v", o.TTL, err)
		}
	}
	if _, err := d.Encode(t.Context(), make([]byte, munge.MaxPayload+1), munge.Options{}); err == nil {
		t.Error("a payload that is too long was accepted")
	}
	if _, err := fake(t, "echo hello").Encode(t.Context(), nil, munge.Options{}); err == nil ||
		!strings.Contains(err.Error(), `no credential: "hello"`) {
		t.Errorf("munge prints nonsense: %v", err)
	}
	c, err := fake(t, "cat <<'E'\n"+output+"\nE").Decode(t.Context(), credential)
	if err == nil { // a here-document ends with a newline, which is a sixth byte
		t.Errorf("a longer payload: %+v", c)
	}
	c, err = fake(t, "printf '%s' '"+output+"'").Decode(t.Context(), credential)
	if err != nil || c.UID != nobody || c.GID != nobody || c.Host.String() != "192.0.2.1" ||
		c.Encoded.Unix() != 1795729423 || c.TTL != 5*time.Second || string(c.Payload) != "hello" {
		t.Errorf("Decode = %+v, %v", c, err)
	}
	for _, name := range []string{"ENCODE_HOST", "ENCODE_TIME", "TTL", "UID", "GID", "LENGTH"} {
		before, after, _ := strings.Cut(output, name+":")
		for _, value := range []string{"X:", name + ":-"} {
			wrong := before + value + strings.TrimLeft(after, " ")
			if c, err := fake(t, "printf '%s' '"+wrong+"'").Decode(t.Context(), credential); err == nil ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("without %s: %+v, %v", name, c, err)
			}
		}
	}
	if _, err := fake(t, "echo UID: 0").Decode(t.Context(), credential); err == nil {
		t.Error("output without a payload was accepted")
	}
}

// TestCodes checks the errors of the exit codes of munge.h.
func TestCodes(t *testing.T) {
	for _, q := range []struct {
		code string
		want error
	}{
		{"6", munge.ErrNoDaemon},
		{"7", munge.ErrNoDaemon},
		{"8", munge.ErrBadCredential},
		{"9", munge.ErrBadCredential},
		{"12", munge.ErrBadCredential},
		{"13", munge.ErrForeignRealm},
		{"14", munge.ErrBadCredential},
		{"15", munge.ErrExpired},
		{"16", munge.ErrRewound},
		{"17", munge.ErrReplayed},
		{"18", munge.ErrUnauthorized},
	} {
		_, err := fake(t, "echo 'unmunge: Error: the text' >&2; exit "+q.code).Decode(t.Context(), credential)
		if !errors.Is(err, q.want) || !strings.HasSuffix(err.Error(), "(unmunge: the text)") {
			t.Errorf("code %s: %v, want %v", q.code, err, q.want)
		}
	}
	_, err := fake(t, "echo 'unmunge: Error: Invalid option' >&2; exit 1").Decode(t.Context(), credential)
	if e, ok := errors.AsType[*munge.Error](err); !ok || e.Code != 1 ||
		!strings.HasSuffix(err.Error(), "exit status 1: unmunge: Error: Invalid option") {
		t.Errorf("code 1: %v", err)
	}
}

// TestNoDaemon checks the errors without programs, without a daemon, and of texts that no daemon is
// asked about.
func TestNoDaemon(t *testing.T) {
	absent := munge.Daemon{Folder: t.TempDir()}
	if _, err := absent.Encode(t.Context(), nil, munge.Options{}); !errors.Is(err, munge.ErrNoDaemon) {
		t.Errorf("no program: %v", err)
	}
	if _, err := exec.LookPath("munge"); err == nil {
		d := munge.Daemon{Socket: filepath.Join(t.TempDir(), "none")}
		if _, err := d.Encode(t.Context(), nil, munge.Options{}); !errors.Is(err, munge.ErrNoDaemon) {
			t.Errorf("no daemon: %v", err)
		}
	}
	for _, text := range []string{
		"", "MUNGE:", "MUNGE::", "hello", "MUNGE:abc", "abc:", "MUNGE:a b:", "MUNGE:ab\n:", "MUNGE:é:", "MUNGE:[:",
		"MUNGE:" + strings.Repeat("a", munge.MaxCredential) + ":",
	} {
		if _, err := absent.Decode(t.Context(), text); !errors.Is(err, munge.ErrBadCredential) {
			t.Errorf("Decode(%.20q): %v", text, err)
		}
	}
	ended := errors.New("ended")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, ended)
	defer cancel()
	if _, err := fake(t, "exec sleep 60").Decode(ctx, credential); !errors.Is(err, ended) {
		t.Errorf("a daemon that doesn't answer: %v", err)
	}
}
