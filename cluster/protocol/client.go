package protocol

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Client is a worker's end.
type Client struct {
	URL   string // of the leader: https://HOST:PORT
	Token string
	HTTP  *http.Client // with the TLS configuration of the invitation
	// Patience is how long requests are repeated when the leader can't be reached; 0: 30 s.
	Patience time.Duration
}

// RefusedError is the error of a leader that doesn't want this worker.
type RefusedError struct {
	Status int // of HTTP
	Text   string
}

// Error says what the leader said.
func (e *RefusedError) Error() string { return "the leader refuses this worker: " + e.Text }

const (
	defaultPatience = 30 * time.Second
	pause           = 200 * time.Millisecond
)

// Work asks for commands and does them until the command to end, or until the leader is gone. It
// returns nil after the command to end.
func (c *Client) Work(ctx context.Context, do func(context.Context, Command) Reply) error {
	q := request{Version: Version, Session: rand.Text()}
	for {
		r, err := c.post(ctx, q)
		if err != nil {
			return fmt.Errorf("ask the leader for work: %w", err)
		}
		if r.Command == nil {
			q.Reply = nil
			continue
		}
		reply := do(ctx, *r.Command)
		q.Seq, q.Reply = r.Seq, &reply
		if r.Command.Kind == KindEnd {
			c.sendLast(ctx, q)
			return nil
		}
	}
}

// sendLast sends the reply to the command to end. The leader may be gone already.
func (c *Client) sendLast(ctx context.Context, q request) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, _ = c.send(ctx, q)
}

// post sends a request, again and again while the leader can't be reached.
func (c *Client) post(ctx context.Context, q request) (response, error) {
	patience := c.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	limit := time.Now().Add(patience)
	for {
		r, err := c.send(ctx, q)
		if err == nil || ctx.Err() != nil || time.Now().After(limit) {
			return r, err
		}
		if _, ok := errors.AsType[*RefusedError](err); ok {
			return r, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return r, context.Cause(ctx)
		}
	}
}

// send sends a request once.
func (c *Client) send(ctx context.Context, q request) (response, error) {
	b, err := json.Marshal(q)
	if err != nil {
		return response{}, err
	}
	if len(b) > MaxMessage {
		return response{}, &RefusedError{Text: fmt.Sprintf("a reply of %d bytes is longer than %d", len(b), MaxMessage)}
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+pathNext, bytes.NewReader(b))
	if err != nil {
		return response{}, err
	}
	post.Header.Set("Authorization", "Bearer "+c.Token)
	answer, err := c.HTTP.Do(post)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	var r response
	decodeErr := json.NewDecoder(io.LimitReader(answer.Body, MaxMessage)).Decode(&r)
	if answer.StatusCode != http.StatusOK {
		return r, &RefusedError{Status: answer.StatusCode, Text: cmp.Or(r.Error, answer.Status)}
	}
	if decodeErr != nil {
		return r, fmt.Errorf("answer of the leader: %w", decodeErr)
	}
	return r, nil
}
