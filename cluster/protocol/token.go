package protocol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// Invitation is what a worker needs to join: where the leader is, the hash of its certificate, and
// the secret that it wants to see. Its text is HOST:PORT#HASH.SECRET.
type Invitation struct {
	Addr   string // HOST:PORT
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

// TLS returns the configuration with which a worker accepts the certificate of the invitation, and
// no other one.
func (i Invitation) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{"h2"},
		// The certificate is signed by itself; VerifyConnection compares its hash.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(c tls.ConnectionState) error {
			if len(c.PeerCertificates) == 0 {
				return errors.New("the leader has no certificate")
			}
			got := sha256.Sum256(c.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare(got[:], i.Hash[:]) != 1 {
				return errors.New("the certificate is not that of the leader who sent the invitation")
			}
			return nil
		},
	}
}

// validity is how long the certificate of a leader is valid: longer than any verification.
const validity = 7 * 24 * time.Hour

// serialBits is the length of a serial number.
const serialBits = 120

// NewIdentity returns a certificate for a leader, signed by itself, and its hash.
func NewIdentity(now time.Time) (tls.Certificate, [sha256.Size]byte, error) {
	var none [sha256.Size]byte
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, none, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return tls.Certificate{}, none, fmt.Errorf("make a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "rdmactl cluster verify"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), // clocks differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, none, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der), nil
}
