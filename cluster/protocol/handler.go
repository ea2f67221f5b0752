package protocol

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The paths of requests.
const (
	pathJoin  = "/v1/join"
	pathNext  = "/v1/next"
	pathLeave = "/v1/leave"
	pathProof = "/v1/proof"
)

const (
	// maxJoin is the largest request before admission, in bytes.
	maxJoin = 64 << 10
	// bodyLimit is how long a worker may take to send a request or to take the answer.
	bodyLimit = 30 * time.Second
)

// errorResponse is the answer to a request that is refused, whatever it is.
type errorResponse struct {
	Error string `json:"error"`
}

// leaveRequest is the last request of a worker that doesn't wait for the end.
type leaveRequest struct {
	Why string `json:"why"`
}

// handle answers a request.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	code, answer := s.answer(w, r)
	b, err := json.Marshal(answer)
	if err != nil { // no command has what JSON can't have
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(bodyLimit)) // HTTP/2 has one
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(b) // a worker that has gone doesn't need it
}

// refusal converts an error to an answer.
func refusal(err *RefusedError) (int, errorResponse) {
	return err.Status, errorResponse{Error: err.Text}
}

// answer returns the status and the answer to a request. The certificate identifies the client.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) (int, any) {
	client, err := peerHash(r.TLS)
	if err != nil || r.ProtoMajor != 2 { //nolint:mnd // HTTP/2
		return refusal(refuse(http.StatusUnauthorized, "a worker needs HTTP/2 and a certificate"))
	}
	session := s.session(client)
	if !connOf(r.Context()).welcome(session) {
		return refusal(refuse(http.StatusTooManyRequests, "too many requests"))
	}
	switch r.Method + " " + r.URL.Path {
	case "POST " + pathJoin:
		return s.answerJoin(w, r, client)
	case "GET " + pathProof:
		if s.cfg.Prove != nil {
			return s.answerProof(r.Context(), client)
		}
	case "POST " + pathNext:
		if session == nil {
			return refusal(notJoined())
		}
		var q nextRequest
		if err := decode(w, r, MaxMessage, &q); err != nil {
			return refusal(err)
		}
		return session.serve(r.Context(), q)
	case "POST " + pathLeave:
		if session == nil {
			return refusal(notJoined())
		}
		var q leaveRequest
		if err := decode(w, r, maxJoin, &q); err != nil {
			return refusal(err)
		}
		s.leave(session, q.Why)
		return http.StatusOK, struct{}{}
	}
	return refusal(refuse(http.StatusNotFound, "%.100q: unknown", r.Method+" "+r.URL.Path))
}

func notJoined() *RefusedError {
	return refuse(http.StatusUnauthorized, "the certificate is not that of a worker that has joined")
}

// answerJoin answers a request to join.
func (s *Server) answerJoin(w http.ResponseWriter, r *http.Request, client [sha256.Size]byte) (int, any) {
	var q joinRequest
	if err := decode(w, r, maxJoin, &q); err != nil {
		return refusal(err)
	}
	session, err := s.join(r.Context(), &q, client, r.RemoteAddr)
	if err != nil {
		return refusal(err)
	}
	return http.StatusOK, joinResponse{Name: session.Name()}
}

// decode reads the body of a request, within limits of length and time.
func decode(w http.ResponseWriter, r *http.Request, limit int64, q any) *RefusedError {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyLimit)) // HTTP/2 has one
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "message of more than %d bytes", limit)
	}
	if err != nil {
		return refuse(http.StatusRequestTimeout, "read the message: %v", err)
	}
	if err := json.Unmarshal(b, q); err != nil {
		return refuse(http.StatusBadRequest, "%s", fmt.Sprintf("message: %.200v", err))
	}
	return nil
}
