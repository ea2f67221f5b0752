package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/rendezvous"
	"github.com/rdmakit/rdmakit/internal/edge/munge"
)

// secret is a token that nobody can guess.
const secret = "correct horse battery staple"

// slurm is a task of a job of Slurm.
var slurm = rendezvous.Task{Launcher: rendezvous.Slurm, Job: "123.0", Leader: "node1:7700"}

// pair are two certificates.
var pair = rendezvous.Pair{Leader: rendezvous.Hash{1}, Worker: rendezvous.Hash{2}}

// checkTrust checks that proofs of a are accepted by b for what they were made for, and for nothing
// else. It makes a new proof for each check: those of MUNGE can be used once.
func checkTrust(t *testing.T, a, b, otherJob rendezvous.Trust) {
	t.Helper()
	const leader, worker = rendezvous.RoleLeader, rendezvous.RoleWorker
	swapped := rendezvous.Pair{Leader: pair.Worker, Worker: pair.Leader}
	for _, q := range []struct {
		name     string
		trust    rendezvous.Trust
		from     rendezvous.Role
		as       rendezvous.Role
		pair     rendezvous.Pair
		accepted bool
	}{
		{name: "worker", trust: a, from: worker, as: worker, pair: pair, accepted: true},
		{name: "leader", trust: a, from: leader, as: leader, pair: pair, accepted: true},
		{name: "sent back to the leader", trust: a, from: leader, as: worker, pair: pair},
		{name: "sent back to the worker", trust: a, from: worker, as: leader, pair: pair},
		{name: "another leader", trust: a, from: worker, as: worker, pair: rendezvous.Pair{Worker: pair.Worker}},
		{name: "another worker", trust: a, from: worker, as: worker, pair: rendezvous.Pair{Leader: pair.Leader}},
		{name: "swapped", trust: a, from: worker, as: worker, pair: swapped},
		{name: "another job", trust: otherJob, from: worker, as: worker, pair: pair},
	} {
		proof, err := q.trust.Prove(t.Context(), q.from, q.pair)
		if err != nil {
			t.Fatal(err)
		}
		err = b.Verify(t.Context(), q.as, proof, pair)
		if (err == nil) != q.accepted || err != nil && !errors.Is(err, rendezvous.ErrOtherProof) {
			t.Errorf("%s: %v, want accepted %t", q.name, err, q.accepted)
		}
	}
	for _, proof := range []string{"", "x", "ä", strings.Repeat("A", 43), strings.Repeat("A", 1<<20)} {
		if err := b.Verify(t.Context(), worker, proof, pair); err == nil {
			t.Errorf("the proof %.10q was accepted", proof)
		}
	}
}

func newToken(t *testing.T, task rendezvous.Task, secret string) *rendezvous.Token {
	t.Helper()
	way, err := rendezvous.NewToken(task, secret)
	if err != nil {
		t.Fatal(err)
	}
	return way
}

// TestToken checks proofs with a secret.
func TestToken(t *testing.T) {
	other := slurm
	other.Job = "123.1"
	a, b := newToken(t, slurm, secret), newToken(t, slurm, secret)
	checkTrust(t, a.Trust(), b.Trust(), newToken(t, other, secret))
	proof, err := newToken(t, slurm, secret+".").Prove(t.Context(), rendezvous.RoleWorker, pair)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Verify(t.Context(), rendezvous.RoleWorker, proof, pair); !errors.Is(err, rendezvous.ErrOtherProof) {
		t.Errorf("a proof with another secret: %v", err)
	}
	if strings.Contains(proof, secret) {
		t.Errorf("the proof %s contains the secret", proof)
	}
	// By Python: base64.urlsafe_b64encode(hmac.new(secret, statement, 'sha256').digest()).
	const want = "tI9W1gPw_fgqS8O0TBp9SYsWMOn2F4Xcf13oHoLSsv8"
	if proof, _ = a.Prove(t.Context(), rendezvous.RoleWorker, pair); proof != want {
		t.Errorf("Prove = %s, want %s", proof, want)
	}
}

// TestWeakToken checks secrets that can be guessed.
func TestWeakToken(t *testing.T) {
	for secret, want := range map[string]string{
		"":                        "0 characters, of at least 16",
		"123456":                  "6 characters, of at least 16",
		"123456789abcdef":         "15 characters, of at least 16",
		"0000000000123456":        "7 different characters, of at least 8",
		strings.Repeat("ab", 100): "2 different characters, of at least 8",
	} {
		_, err := rendezvous.NewToken(slurm, secret)
		weak, ok := errors.AsType[*rendezvous.WeakTokenError](err)
		if !ok || !strings.Contains(err.Error(), want) || !strings.Contains(weak.Hints()[0], "openssl rand -hex 16") {
			t.Errorf("NewToken(%.20q) = %v, want %q", secret, err, want)
		}
		if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the token: %v", err)
		}
	}
	for _, secret := range []string{"0123456789abcdef", "0123456701234567"} {
		if _, err := rendezvous.NewToken(slurm, secret); err != nil {
			t.Errorf("NewToken(%q) = %v", secret, err)
		}
	}
	_, err := rendezvous.NewToken(rendezvous.Task{}, secret)
	if err == nil || !strings.Contains(err.Error(), "address") {
		t.Errorf("without the address of the leader: %v", err)
	}
}

// TestFunctions checks the functions for the two ends of the protocol: each accepts the other, and
// the worker is told why it is refused.
func TestFunctions(t *testing.T) {
	way := newToken(t, slurm, secret)
	verify, prove := rendezvous.AtLeader(way, pair.Leader)
	trust, proveWorker := rendezvous.AtWorker(way, pair.Worker)
	fromLeader, err := prove(t.Context(), pair.Worker)
	if err := errors.Join(err, trust(t.Context(), fromLeader, pair.Leader)); err != nil {
		t.Errorf("the worker refuses the leader: %v", err)
	}
	if err := trust(t.Context(), fromLeader, rendezvous.Hash{3}); !errors.Is(err, rendezvous.ErrOtherProof) {
		t.Errorf("the worker trusts another leader: %v", err)
	}
	fromWorker, err := proveWorker(t.Context(), pair.Worker, pair.Leader)
	if err != nil {
		t.Fatal(err)
	}
	if name, err := verify(t.Context(), fromWorker, pair.Worker); name != "" || err != nil {
		t.Errorf("the leader refuses the worker: %s, %v", name, err)
	}
	_, err = verify(t.Context(), fromLeader, pair.Worker)
	if refused, ok := errors.AsType[*protocol.RefusedError](err); !ok || refused.Status != http.StatusUnauthorized ||
		refused.Text != rendezvous.ErrOtherProof.Error() ||
		err.Error() != "RDMAKIT_TOKEN of the worker: "+refused.Text {
		t.Errorf("its own proof: %v", err)
	}
	i, err := way.Find(t.Context(), nil)
	if want := (protocol.Invitation{Addr: slurm.Leader}); i != want || err != nil {
		t.Errorf("Find = %v, %v, want %v", i, err, want)
	}
}

// failing is a way whose proofs are refused.
type failing struct{ err error }

func (f failing) Prove(context.Context, rendezvous.Role, rendezvous.Pair) (string, error) {
	return "", f.err
}

func (f failing) Verify(context.Context, rendezvous.Role, string, rendezvous.Pair) error {
	return f.err
}

// TestPassedOn checks which part of a reason a refused worker receives: none that reveals users,
// files or the daemon to a stranger, while the leader has all of it.
func TestPassedOn(t *testing.T) {
	for _, q := range []struct {
		cause error
		known bool
	}{
		{rendezvous.ErrOtherUser, true},
		{rendezvous.ErrOtherProof, true},
		{munge.ErrExpired, true},
		{munge.ErrRewound, true},
		{munge.ErrReplayed, false},
		{munge.ErrUnauthorized, false},
		{munge.ErrBadCredential, false},
		{munge.ErrNoDaemon, false},
		{errors.New("exit status 1"), false},
	} {
		secret := fmt.Errorf("user 1001 on node7, /run/munge/munge.socket.2: %w: details", q.cause)
		verify, _ := rendezvous.AtLeader(failing{secret}, pair.Leader)
		_, err := verify(t.Context(), "x", pair.Worker)
		if !errors.Is(err, q.cause) || err.Error() != secret.Error() {
			t.Errorf("%v: the leader has %v", q.cause, err)
		}
		refused, ok := errors.AsType[*protocol.RefusedError](err)
		if ok != q.known || ok && (refused.Text != q.cause.Error() || refused.Status != http.StatusUnauthorized) {
			t.Errorf("%v: the worker receives %+v", q.cause, refused)
		}
	}
}

// TestLateLeader finds a leader that begins to listen after the worker, and one that never does.
func TestLateLeader(t *testing.T) {
	way := newToken(t, slurm, secret)
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("connection refused")
		begin := time.Now()
		late := func(context.Context, protocol.Invitation) error {
			if time.Since(begin) < 10*time.Second {
				return failed
			}
			return nil
		}
		i, err := way.Find(t.Context(), late)
		if took := time.Since(begin); i.Addr != slurm.Leader || err != nil || took > 12*time.Second {
			t.Errorf("Find = %v, %v after %v", i, err, took)
		}
		begin = time.Now()
		_, err = way.Find(t.Context(), func(context.Context, protocol.Invitation) error { return failed })
		if took := time.Since(begin); !errors.Is(err, failed) || took != time.Minute {
			t.Errorf("Find with a leader that never listens: %v after %v", err, took)
		}
		ended := errors.New("ended by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(ended) })
		_, err = way.Find(ctx, func(context.Context, protocol.Invitation) error { return failed })
		if !errors.Is(err, ended) {
			t.Errorf("Find that was ended: %v", err)
		}
	})
}
