package perftest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of the protocol in hundredths: 606 is "6.06".
type Version uint16

// The versions that this package distinguishes.
const (
	VersionAnnounced Version = 630 // announced by a Session
	VersionOldest    Version = 570 // oldest version of a peer that is supported
	VersionStruct    Version = 628 // from here on, the ends exchange their parameters as a C struct
	VersionList      Version = 630 // from here on, as a list of names and values
	// VersionCM is announced over rdma_cm: perftest up to 6.29 exchanges its parameters in one
	// message there, and a list of 6.30 would be longer than the receive requests of its peers.
	VersionCM Version = 629
	// VersionTried is the newest version that this package was tried with: 6.29 with the
	// negotiation of 6.30 put into it.
	VersionTried Version = 630
)

// versionLen is the length of the version on the wire, padded with zeros.
const versionLen = 16

// ErrVersion is matched by the error for a peer with an unsupported version.
var ErrVersion = errors.New("incompatible version")

// ErrNeedsCM is the error for a server that waits for a client over rdma_cm, unlike this end.
var ErrNeedsCM = errors.New("the server connects by rdma_cm (-R or -z), and this end doesn't")

// ParseVersion parses "6.06". The fraction is decimal, as for C's atof: "6.1" is 6.10.
func ParseVersion(s string) (Version, error) {
	whole, fraction, _ := strings.Cut(s, ".")
	major, err := strconv.ParseUint(whole, 10, 8)
	if err == nil && fraction != "" {
		_, err = strconv.ParseUint(fraction, 10, 32)
	}
	if err != nil {
		return 0, fmt.Errorf("parse version %q: not of the form 6.06", s)
	}
	minor := (fraction + "00")[:2]
	hundredths, err := strconv.ParseUint(minor, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("parse version %q: not of the form 6.06", s)
	}
	return Version(major*100 + hundredths), nil
}

// String returns the form used on the wire, such as 6.06.
func (v Version) String() string { return fmt.Sprintf("%d.%02d", v/100, v%100) }

// Check returns an error that matches [ErrVersion] for a peer of a version that is too old.
func (v Version) Check() error {
	if v < VersionOldest {
		return fmt.Errorf("peer has version %v, which is older than %v: %w", v, VersionOldest, ErrVersion)
	}
	return nil
}

// Decode decodes the 16 bytes of a version message.
func (v *Version) Decode(b []byte) (n int, err error) {
	if len(b) < versionLen {
		return 0, fmt.Errorf("decode version: %w", ErrShort)
	}
	text, _, _ := bytes.Cut(b[:versionLen], []byte{0})
	if string(text) == noticeCM {
		return 0, ErrNeedsCM
	}
	got, err := ParseVersion(string(text))
	if err != nil {
		return 0, err
	}
	*v = got
	return versionLen, nil
}

// Append appends the 16 bytes of a version message to b.
func (v Version) Append(b []byte) []byte {
	text := v.String()
	b = append(b, text...)
	return append(b, make([]byte, versionLen-len(text))...)
}
