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
	"errors"
	"fmt"
	"math/big"
	"time"
)

// validity is how long a certificate is valid: longer than any verification.
const validity = 7 * 24 * time.Hour

// serialBits is the length of a serial number.
const serialBits = 120

// NewIdentity makes a key and a certificate of it, signed by itself, for a leader or a worker, and
// returns it with its hash. The key is nowhere but in this process.
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
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, none, fmt.Errorf("make a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, sha256.Sum256(der), nil
}

// protocolName is what both ends negotiate over TLS (RFC 9113, section 3.2).
const protocolName = "h2"

// peerHash returns the hash of the certificate whose key the peer has proved to have.
func peerHash(c *tls.ConnectionState) ([sha256.Size]byte, error) {
	if c == nil || len(c.PeerCertificates) == 0 {
		return [sha256.Size]byte{}, errors.New("the peer has no certificate")
	}
	return sha256.Sum256(c.PeerCertificates[0].Raw), nil
}

// checkConnection returns an error for a peer without a certificate or HTTP/2.
func checkConnection(c tls.ConnectionState) error {
	if _, err := peerHash(&c); err != nil {
		return err
	}
	if c.NegotiatedProtocol != protocolName {
		return fmt.Errorf("the peer speaks %q and not HTTP/2", c.NegotiatedProtocol)
	}
	return nil
}

// leaderTLS is the configuration of a leader: workers need a certificate, any one, since their
// requests are bound to it.
func leaderTLS(own tls.Certificate) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocolName}, Certificates: []tls.Certificate{own},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true, VerifyConnection: checkConnection,
	}
}

// workerTLS is the configuration of a worker that asks accept about the leader's certificate.
func workerTLS(own tls.Certificate, accept func(hash [sha256.Size]byte) error) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{protocolName}, Certificates: []tls.Certificate{own},
		// The certificate is signed by itself; VerifyConnection compares its hash.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(c tls.ConnectionState) error {
			if err := checkConnection(c); err != nil {
				return err
			}
			hash, err := peerHash(&c)
			if err != nil {
				return err
			}
			return accept(hash)
		},
	}
}

// equal compares hashes in constant time.
func equal(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }
