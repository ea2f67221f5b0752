package protocol

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"
)

// proofResponse is the leader's proof.
type proofResponse struct {
	Proof string `json:"proof"`
}

// turn waits until one more proof may be made or verified. Without an error, done must be called.
func (s *Server) turn(ctx context.Context) (done func(), refused *RefusedError) {
	timer := time.NewTimer(proofLimit)
	defer timer.Stop()
	select {
	case s.proofs <- struct{}{}:
		return func() { <-s.proofs }, nil
	case <-ctx.Done():
	case <-timer.C:
	case <-s.closed:
	}
	return nil, refuse(http.StatusTooManyRequests, "too many workers need a proof at the same time")
}

// answerProof answers a request for the leader's proof.
func (s *Server) answerProof(ctx context.Context, client [sha256.Size]byte) (int, any) {
	done, refused := s.turn(ctx)
	if refused != nil {
		return refusal(refused)
	}
	defer done()
	proof, err := s.cfg.Prove(ctx, client)
	if err != nil { // its text is not for strangers
		return refusal(refuse(http.StatusInternalServerError, "the leader has no proof"))
	}
	return http.StatusOK, proofResponse{Proof: proof}
}

// verify returns the grant for a request with a proof that [ServerConfig.Verify] accepts, or the
// reason for a refusal. The worker receives a reason only if it is a RefusedError: other errors may
// reveal too much to a stranger.
func (s *Server) verify(
	ctx context.Context, q *joinRequest, client [sha256.Size]byte, remote string,
) (*grant, *RefusedError) {
	done, busy := s.turn(ctx)
	if busy != nil {
		return nil, busy
	}
	defer done()
	name, err := s.cfg.Verify(ctx, q.Proof, client)
	if err == nil && name != "" && !printable(name) {
		err = errors.New("the proof has a name that isn't printable")
	}
	if err == nil {
		return &grant{host: name}, nil
	}
	if s.heard.Add(1) <= maxHeard {
		s.refused(q, remote, refuse(http.StatusUnauthorized, "%v", err))
	}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return nil, refuse(http.StatusUnauthorized, "%s", refused.Text)
	}
	return nil, refuse(http.StatusUnauthorized, "the proof of the worker is not valid")
}
