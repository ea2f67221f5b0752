package protocol

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Ticket admits workers. The leader issues it; workers that present its secret in time may join.
type Ticket struct {
	// Secret is at least [MinSecret] bytes that can't be guessed; "": one is made.
	Secret string
	// Expires is when it stops admitting workers; those that have joined stay. Zero: in 10 minutes.
	Expires time.Time
	// Workers is how many it admits; 0: one.
	Workers int
	// Host is the name of the machine that it was made for; the worker then has that name. ""
	// leaves the name to the worker.
	Host string
}

// MinSecret is the length of the shortest secret in bytes.
const MinSecret = 16

// ticketLife is how long a ticket admits workers.
const ticketLife = 10 * time.Minute

// grant is a right to join. The server guards it by its mutex, once it was found.
type grant struct {
	host    string
	expires time.Time // zero: never
	limit   int       // of workers; 0: any number
	used    int
}

// check returns an error if the grant has expired or is used up.
func (g *grant) check(now time.Time) *RefusedError {
	switch {
	case !g.expires.IsZero() && !now.Before(g.expires):
		return refuse(http.StatusForbidden, "the invitation has expired at %s", g.expires.Format(time.RFC3339))
	case g.limit == 1 && g.used >= g.limit:
		return refuse(http.StatusForbidden, "the invitation has been used by the one worker that it was for")
	case g.limit > 0 && g.used >= g.limit:
		return refuse(http.StatusForbidden, "the invitation has been used by all %d workers that it was for", g.limit)
	}
	return nil
}

// refuse returns an error for a worker.
func refuse(status int, format string, args ...any) *RefusedError {
	return &RefusedError{Status: status, Text: fmt.Sprintf(format, args...)}
}

// tickets admits by the secrets of tickets, of which it has the hashes only.
type tickets struct {
	mu  sync.Mutex
	all []ticketGrant
}

type ticketGrant struct {
	secret [sha256.Size]byte
	grant  *grant
}

// issue adds a ticket and returns it with its defaults filled in.
func (t *tickets) issue(k Ticket, now time.Time) (Ticket, error) {
	k.Secret, k.Workers = cmp.Or(k.Secret, rand.Text()), cmp.Or(k.Workers, 1)
	if k.Expires.IsZero() {
		k.Expires = now.Add(ticketLife)
	}
	switch {
	case len(k.Secret) < MinSecret || len(k.Secret) > maxText:
		return k, fmt.Errorf("issue ticket: a secret of %d bytes: not %d to %d", len(k.Secret), MinSecret, maxText)
	case k.Workers < 0 || k.Workers > maxSessions:
		return k, fmt.Errorf("issue ticket: for %d workers: not 1 to %d", k.Workers, maxSessions)
	case k.Host != "" && !printable(k.Host):
		return k, fmt.Errorf("issue ticket: for host %q: not a name", k.Host)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= maxSessions {
		return k, fmt.Errorf("issue ticket: more than %d tickets", maxSessions)
	}
	secret := sha256.Sum256([]byte(k.Secret))
	if t.find(secret) != nil {
		return k, errors.New("issue ticket: another one has the same secret")
	}
	t.all = append(t.all, ticketGrant{secret, &grant{host: k.Host, expires: k.Expires, limit: k.Workers}})
	return k, nil
}

// find returns the grant of a secret's hash, nil if there is none. Its time doesn't depend on which
// one it is, nor on what the others are. t.mu is held.
func (t *tickets) find(secret [sha256.Size]byte) (found *grant) {
	for i := range t.all {
		if equal(t.all[i].secret, secret) {
			found = t.all[i].grant
		}
	}
	return found
}

// admit returns the grant for a request, or the reason for a refusal. Both are nil for a request
// without a secret.
func (t *tickets) admit(q *joinRequest) (*grant, *RefusedError) {
	if q.Secret == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if g := t.find(sha256.Sum256([]byte(q.Secret))); g != nil {
		return g, nil
	}
	return nil, refuse(http.StatusUnauthorized, "the invitation is unknown")
}
