//go:build unix

package rendezvous_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/rendezvous"
	"github.com/rdmakit/rdmakit/internal/edge/munge"
	"github.com/rdmakit/rdmakit/internal/testkit/mungetest"
	"github.com/rdmakit/rdmakit/internal/testkit/script"
)

// nobody is the second user of these tests.
const nobody = 65534

func newMunge(t *testing.T, task rendezvous.Task, socket string) *rendezvous.Munge {
	t.Helper()
	way, err := rendezvous.NewMunge(t.Context(), task, munge.Daemon{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// TestMunge checks proofs by a real daemon.
func TestMunge(t *testing.T) {
	socket := mungetest.Start(t)
	other := slurm
	other.Job = "123.1"
	a, b := newMunge(t, slurm, socket), newMunge(t, slurm, socket)
	checkTrust(t, a.Trust(), b.Trust(), newMunge(t, other, socket))
	proof, err := a.Prove(t.Context(), rendezvous.RoleWorker, pair)
	if err := errors.Join(err, b.Verify(t.Context(), rendezvous.RoleWorker, proof, pair)); err != nil {
		t.Error(err)
	}
	err = b.Verify(t.Context(), rendezvous.RoleWorker, proof, pair)
	if !errors.Is(err, munge.ErrReplayed) || !strings.HasPrefix(err.Error(), "MUNGE credential of the worker: ") {
		t.Errorf("the proof of somebody else, seen on the way: %v", err)
	}
	proof, err = newMunge(t, slurm, mungetest.Start(t)).Prove(t.Context(), rendezvous.RoleWorker, pair)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context(), rendezvous.RoleWorker, proof, pair); !errors.Is(err, munge.ErrBadCredential) {
		t.Errorf("a proof by a daemon with another key: %v", err)
	}
	// A credential that everybody may decode is one that the user has made, too.
	text, err := munge.Daemon{Socket: socket}.Encode(t.Context(), []byte("hello"), munge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context(), rendezvous.RoleWorker, text, pair); !errors.Is(err, rendezvous.ErrOtherProof) {
		t.Errorf("a credential for another purpose: %v", err)
	}
	_, err = rendezvous.NewMunge(t.Context(), slurm, munge.Daemon{Socket: socket + ".none"})
	if !errors.Is(err, munge.ErrNoDaemon) {
		t.Errorf("no daemon: %v", err)
	}
	_, err = rendezvous.NewMunge(t.Context(), rendezvous.Task{}, munge.Daemon{Socket: socket})
	if err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("without the address of the leader: %v", err)
	}
}

// stranger is what the process of the second user does, with a socket and a credential of root. It
// proves that it is a worker of the job to a leader who runs as root, in a credential that root may
// decode, and reports whether root may join as a worker of its own.
func stranger(argument string) error {
	socket, root, _ := strings.Cut(argument, " ")
	ctx, d := limit(), munge.Daemon{Socket: socket}
	way, err := rendezvous.NewMunge(ctx, slurm, d)
	if err != nil {
		return err
	}
	own, err := way.Prove(ctx, rendezvous.RoleWorker, pair)
	if err != nil {
		return err
	}
	c, err := d.Decode(ctx, own)
	if err != nil {
		return err
	}
	forged, err := d.Encode(ctx, c.Payload, munge.Options{Restricted: true, UID: 0})
	if err != nil {
		return err
	}
	another, err := way.Prove(ctx, rendezvous.RoleWorker, pair)
	fmt.Println(forged, another, way.Verify(ctx, rendezvous.RoleWorker, root, pair))
	return err
}

// TestSecondUser tries to join as another user of this node, who knows all that isn't secret.
func TestSecondUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user; TestOtherUser has what MUNGE says of such a one")
	}
	socket := mungetest.Start(t)
	program := filepath.Join(mungetest.Folder(t), "task")
	binary, err := os.ReadFile(os.Args[0]) // in a folder that others can't enter
	if err := errors.Join(err, os.WriteFile(program, binary, 0o755)); err != nil {
		t.Fatal(err)
	}
	leader, d := newMunge(t, slurm, socket), munge.Daemon{Socket: socket}
	own, err := leader.Prove(t.Context(), rendezvous.RoleWorker, pair)
	c, err2 := d.Decode(t.Context(), own)
	root, err3 := d.Encode(t.Context(), c.Payload, munge.Options{Restricted: true, UID: nobody})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), taskVariable+"=stranger "+socket+" "+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir, cmd.Stderr = "/", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	proofs := strings.SplitN(strings.TrimSpace(string(out)), " ", 3)
	if len(proofs) != 3 || !strings.Contains(proofs[2], rendezvous.ErrOtherUser.Error()+": user 0 on ") {
		t.Fatalf("the second user, whom root asks to join, printed %q", out)
	}
	for i, want := range []error{rendezvous.ErrOtherUser, munge.ErrUnauthorized} {
		err := leader.Verify(t.Context(), rendezvous.RoleWorker, proofs[i], pair)
		if !errors.Is(err, want) {
			t.Errorf("proof %d of the second user: %v, want %v", i, err, want)
		}
		if i == 0 && !strings.Contains(err.Error(), "user 65534 on 127.0.0.1, not 0") {
			t.Errorf("the error doesn't name the user: %v", err)
		}
	}
}

// TestOtherUser checks what becomes of a credential of another user, and of root, by programs that
// print one.
func TestOtherUser(t *testing.T) {
	dir := t.TempDir()
	say := func(uid int, payload string) {
		text := fmt.Sprintf("printf '%%s' 'ENCODE_HOST: 192.0.2.1\nENCODE_TIME: 1\nTTL: 1\nUID: %d\nGID: 0\n"+
			"LENGTH: %d\n\n%s'", uid, len(payload), payload)
		script.Write(t, filepath.Join(dir, "unmunge"), text)
	}
	script.Write(t, filepath.Join(dir, "munge"), "cat > "+dir+"/payload; echo MUNGE:abc:")
	say(os.Geteuid(), "")
	way, err := rendezvous.NewMunge(t.Context(), slurm, munge.Daemon{Folder: dir})
	if err != nil {
		t.Fatal(err)
	}
	proof, err := way.Prove(t.Context(), rendezvous.RoleWorker, pair)
	payload, err2 := os.ReadFile(filepath.Join(dir, "payload"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct {
		uid  int
		want error
	}{{os.Geteuid(), nil}, {os.Geteuid() + 1, rendezvous.ErrOtherUser}, {os.Geteuid() + 2, rendezvous.ErrOtherUser}} {
		say(q.uid, string(payload))
		if err := way.Verify(t.Context(), rendezvous.RoleWorker, proof, pair); !errors.Is(err, q.want) {
			t.Errorf("a proof of user %d: %v, want %v", q.uid, err, q.want)
		}
	}
	say(os.Geteuid()+1, "")
	_, err = rendezvous.NewMunge(t.Context(), slurm, munge.Daemon{Folder: dir})
	if err == nil || !strings.Contains(err.Error(), "user namespace") {
		t.Errorf("munged sees another user: %v", err)
	}
}
