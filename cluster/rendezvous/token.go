package rendezvous

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
)

// TokenVariable is the environment variable with the secret of a [Token].
const TokenVariable = "RDMAKIT_TOKEN"

// Least length of a token in bytes, and how many of its bytes must differ.
const (
	minToken     = 16
	minDifferent = 8
)

// ErrOtherProof is the error for a proof that wasn't made with the same secret, or by MUNGE for
// another job, another connection or the other end.
var ErrOtherProof = errors.New("not a proof for this job and this connection")

// WeakTokenError is the error for a token that others can guess. It doesn't contain the token.
type WeakTokenError struct{ reason string }

// Error returns the reason.
func (e *WeakTokenError) Error() string { return TokenVariable + " can be guessed: " + e.reason }

// Hints returns how to make one that can't.
func (e *WeakTokenError) Hints() []string {
	return []string{"export " + TokenVariable + `="$(openssl rand -hex 16)" where the job is started`}
}

// Token is the way with a secret that the user has given to all tasks. It never leaves them.
type Token struct {
	proven
	secret, job string
}

// NewToken returns the way for a task. The error is a *[WeakTokenError] if the secret is one.
func NewToken(t Task, secret string) (*Token, error) {
	different := map[byte]bool{}
	for _, b := range []byte(secret) {
		different[b] = true
	}
	switch {
	case len(secret) < minToken:
		return nil, &WeakTokenError{fmt.Sprintf("%d characters, of at least %d", len(secret), minToken)}
	case len(different) < minDifferent:
		reason := fmt.Sprintf("%d different characters, of at least %d", len(different), minDifferent)
		return nil, &WeakTokenError{reason}
	case t.Leader == "":
		return nil, fmt.Errorf("%s: %w", TokenVariable, errNoAddress)
	}
	return &Token{proven{t.Leader}, secret, t.Job}, nil
}

// errNoAddress is the error of the ways that carry no address.
var errNoAddress = errors.New("the launcher doesn't say at which address the leader listens")

// Trust returns t itself.
func (t *Token) Trust() Trust { return t }

// String names the way.
func (t *Token) String() string { return TokenVariable }

// Prove returns an HMAC of what the proof is about.
func (t *Token) Prove(_ context.Context, from Role, p Pair) (string, error) {
	return base64.RawURLEncoding.EncodeToString(t.sum(from, p)), nil
}

// Verify returns [ErrOtherProof] unless the other end knows the secret.
func (t *Token) Verify(_ context.Context, from Role, proof string, p Pair) error {
	got, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil || !hmac.Equal(got, t.sum(from, p)) {
		return fmt.Errorf("%s of the %s: %w", TokenVariable, from, ErrOtherProof)
	}
	return nil
}

func (t *Token) sum(from Role, p Pair) []byte {
	h := hmac.New(sha256.New, []byte(t.secret))
	_, _ = h.Write(statement(t.job, from, p)) // never fails
	return h.Sum(nil)
}
