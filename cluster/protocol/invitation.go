package protocol

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Invitation is what a worker needs to join: where the leader is, the hash of its certificate, and
// the secret of a [Ticket]. Its text is HOST:PORT#HASH.SECRET.
type Invitation struct {
	Addr string // HOST:PORT
	// Hash is that of the leader's certificate. Zero stands for one that isn't known: see
	// [Client.Trust].
	Hash   [sha256.Size]byte
	Secret string
}

// ErrInvitation is the error for a text that is no invitation.
var ErrInvitation = errors.New("not HOST:PORT#HASH.SECRET, as the leader prints it")

// ParseInvitation parses the text of an invitation.
func ParseInvitation(s string) (Invitation, error) {
	var i Invitation
	addr, token, ok := strings.Cut(s, "#")
	hash, secret, dot := strings.Cut(token, ".")
	if !ok || !dot || secret == "" {
		return i, ErrInvitation
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return i, fmt.Errorf("%w: %w", ErrInvitation, err)
	}
	b, err := base64.RawURLEncoding.DecodeString(hash)
	if err != nil || len(b) != len(i.Hash) {
		return i, fmt.Errorf("%w: the hash is not that of a certificate", ErrInvitation)
	}
	i.Addr, i.Secret = addr, secret
	copy(i.Hash[:], b)
	return i, nil
}

// String returns the text.
func (i Invitation) String() string {
	return i.Addr + "#" + base64.RawURLEncoding.EncodeToString(i.Hash[:]) + "." + i.Secret
}
