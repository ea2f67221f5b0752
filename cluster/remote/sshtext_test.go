package remote

import (
	"strings"
	"testing"
)

// stderrs are what ssh prints, by the sources of OpenSSH, a text after each blank line. It begins
// with its kind; "=" marks the line that names the cause.
const stderrs = `unknown-host
=ssh: Could not resolve hostname x: Name or service not known

unknown-host
=ssh: Could not resolve hostname x: Temporary failure in name resolution

ssh-config
=hostname contains invalid characters

refused
=ssh: connect to host x port 22: Connection refused

timeout
=ssh: connect to host x port 22: Connection timed out

timeout
=ssh: connect to host x port 22: Operation timed out

no-route
=ssh: connect to host x port 22: No route to host

no-route
=ssh: connect to host x port 22: Network is unreachable

timeout
=Connection timed out during banner exchange
Connection to 10.0.0.1 port 22 timed out

timeout
=Connection to 10.0.0.1 port 22 timed out

jump
=Connection to UNKNOWN port 65535 timed out

host-key-changed
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
=Host key for x has changed and you have requested strict checking.
Host key verification failed.

host-key-changed
=ED25519 host key for x was revoked and you have requested strict checking.
Host key verification failed.

host-key-unknown
=No RSA host key is known for x and you have requested strict checking.
Host key verification failed.

host-key-unknown
=Host key verification failed.

denied
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
=me@x: Permission denied (publickey,password).

denied
=Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures
Disconnected from 10.0.0.1 port 22

negotiation
=Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa

negotiation
=Server host key ssh-rsa not in HostKeyAlgorithms

negotiation
=Bad server host key: Invalid key length

ssh-config
=/home/me/.ssh/config: line 1: Bad configuration option: nosuch
/home/me/.ssh/config: terminating, 1 bad configuration options

ssh-config
=x: terminating, 2 bad configuration options

ssh-config
=Bad owner or permissions on /home/me/.ssh/config

ssh-config
=Can't open user config file x: No such file or directory

closed
=kex_exchange_identification: read: Connection reset by peer
Connection reset by 10.0.0.1 port 22

closed
=kex_exchange_identification: banner line contains invalid characters
banner exchange: Connection to 10.0.0.1 port 80: invalid format

closed
=banner exchange: Connection to 10.0.0.1 port 22: Broken pipe

closed
=Connection closed by 10.0.0.1 port 22

closed
=Connection reset by 10.0.0.1 port 22

closed
=Connection closed by UNKNOWN port 65535

jump
=channel 0: open failed: connect failed: No route to host
stdio forwarding failed
Connection closed by UNKNOWN port 65535

jump
=stdio forwarding failed
Connection closed by UNKNOWN port 65535

jump
=me@jump: Permission denied (publickey).
Connection closed by UNKNOWN port 65535

ssh
  something
=else`

// TestExplainSSH explains what ssh prints.
func TestExplainSSH(t *testing.T) {
	for text := range strings.SplitSeq(stderrs, "\n\n") {
		kind, marked, _ := strings.Cut(text, "\n")
		_, want, _ := strings.Cut("\n"+marked, "\n=")
		want, _, _ = strings.Cut(want, "\n")
		stderr := strings.Replace("\n"+marked, "\n=", "\n", 1) + " \n"
		if got, line := explainSSH(stderr); string(got) != kind || line != want {
			t.Errorf("explainSSH(%q) = %s, %q, want %s, %q", stderr, got, line, kind, want)
		}
	}
	if kind, line := explainSSH(""); kind != KindSSH || line != "" {
		t.Errorf("explainSSH of nothing = %s, %q", kind, line)
	}
}

// TestKinds checks that each kind has a text.
func TestKinds(t *testing.T) {
	for _, kind := range []Kind{
		KindCanceled, KindNoSSH, KindConfig, KindUnknownHost, KindNoRoute, KindRefused, KindTimeout, KindClosed,
		KindNegotiation, KindHostKeyUnknown, KindHostKeyChanged, KindDenied, KindJump, KindSSH, KindSilent, KindLost,
		KindNotLinux, KindNoBuild, KindNoLoader, KindNoCache, KindNoSpace, KindCopy, KindNoExec, KindCannotRun,
		KindNoRemotePath, KindOtherVersion, KindEnded,
	} {
		e := &Error{Host: "gpu-07", Kind: kind, Step: StepConnect, Status: 1}
		if text := kind.text(); text.what == "" || !strings.HasPrefix(e.Error(), "start worker on gpu-07: "+text.what) {
			t.Errorf("%s: %q", kind, e)
		}
		hints := strings.Join(e.Hints(), "; ")
		if none := kind == KindCanceled || kind == KindEnded; (hints == "") != none || strings.Contains(hints, "HOST") {
			t.Errorf("%s: hints %q", kind, hints)
		}
	}
}

// TestCommand checks what makes the command survive login shells: in csh and fish quotes protect
// neither ! nor \, and none of them allows a line end in an argument.
func TestCommand(t *testing.T) {
	mark := newMark()
	got := command(mark)
	script, ok := strings.CutPrefix(got, "exec sh -c '")
	script, ok2 := strings.CutSuffix(script, "'")
	if !ok || !ok2 || strings.ContainsAny(script, "'!\\\n\t") || strings.Contains(script, " # ") {
		t.Errorf("command = %s", got)
	}
	if !strings.HasPrefix(script, "m="+mark+"; ") || strings.Contains(script, mark+" ") || len(got) > 8<<10 {
		t.Errorf("script of %d bytes begins %.80s, want the mark, not followed by a blank", len(got), script)
	}
	if other := newMark(); other == mark || len(mark) != len("rdmakit-")+16 {
		t.Errorf("marks %q and %q", mark, other)
	}
}

func TestWords(t *testing.T) {
	t.Setenv("CONF", "a b")
	got, err := Words(`ssh -F "$CONF" -o 'Port 1'`)
	if strings.Join(got, "|") != "ssh|-F|a b|-o|Port 1" || err != nil {
		t.Errorf("Words = %q, %v", got, err)
	}
	for _, line := range []string{"", "  ", "ssh 'x", "ssh $(true)"} {
		if got, err := Words(line); err == nil {
			t.Errorf("Words(%q) = %q, want an error", line, got)
		}
	}
}
