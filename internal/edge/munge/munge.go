// Package munge makes and reads credentials of MUNGE: short texts from which a daemon with the same
// key, on this or another node, learns which user made them, and when.
//
//	var d munge.Daemon
//	text, err := d.Encode(ctx, payload, munge.Options{Restricted: true, UID: os.Geteuid()})
//	c, err := d.Decode(ctx, text) // elsewhere, once: c.UID, c.Payload
//
// The package runs the programs munge and unmunge, since the protocol between the library and its
// daemon is private. A credential is encrypted, but everybody who may decode it can read it. A
// daemon decodes a credential once, and not after its time to live; other nodes have other daemons.
//
// A Daemon may be used by several goroutines at once.
package munge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/internal/edge/process"
)

// limit is how long a program may take. A healthy daemon answers at once; the library tries a few
// times to reach one that doesn't.
const limit = 10 * time.Second

// MaxCredential is the largest credential in bytes, and MaxPayload the largest payload, that is
// accepted here.
const (
	MaxCredential = 64 << 10
	MaxPayload    = 32 << 10
)

// Daemon is munged on this node.
type Daemon struct {
	// Socket is its socket, "" that of the programs.
	Socket string
	// Folder contains the programs munge and unmunge; "" searches PATH.
	Folder string
}

// Options are the restrictions of a credential. The zero value makes one that every user can decode
// for the daemon's default time (300 s).
type Options struct {
	// Restricted permits decoding only to the user with UID.
	Restricted bool
	UID        int
	// TTL is how long the credential can be decoded, in whole seconds, 0 as long as the daemon's
	// default. The daemon has a maximum, 3600 s if it isn't configured.
	TTL time.Duration
}

// Credential is a decoded credential.
type Credential struct {
	Payload  []byte
	UID, GID int        // of the process that made it
	Host     netip.Addr // IPv4 address of the node where it was made, by its daemon
	Encoded  time.Time  // by the clock there, in seconds
	TTL      time.Duration
}

// Encode returns a credential with a payload.
func (d Daemon) Encode(ctx context.Context, payload []byte, o Options) (string, error) {
	text, err := d.encode(ctx, payload, o)
	if err != nil {
		return "", fmt.Errorf("make a MUNGE credential: %w", err)
	}
	return text, nil
}

func (d Daemon) encode(ctx context.Context, payload []byte, o Options) (string, error) {
	if len(payload) > MaxPayload {
		return "", fmt.Errorf("a payload of %d bytes is longer than %d", len(payload), MaxPayload)
	}
	if o.TTL < 0 || o.TTL%time.Second != 0 {
		return "", fmt.Errorf("a time to live of %v is not whole seconds", o.TTL)
	}
	args := []string{"--ttl=" + strconv.Itoa(int(o.TTL/time.Second))}
	if o.Restricted {
		args = append(args, "--restrict-uid="+strconv.Itoa(o.UID))
	}
	out, err := d.run(ctx, "munge", args, payload)
	if err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(out))
	if !plausible(text) {
		return "", fmt.Errorf("munge printed no credential: %.40q", text)
	}
	return text, nil
}

// Decode has the daemon verify and decode a credential. The error matches a sentinel of this
// package if the daemon rejects it.
func (d Daemon) Decode(ctx context.Context, credential string) (Credential, error) {
	c, err := d.decode(ctx, credential)
	if err != nil {
		return Credential{}, fmt.Errorf("read a MUNGE credential: %w", err)
	}
	return c, nil
}

func (d Daemon) decode(ctx context.Context, credential string) (Credential, error) {
	if !plausible(credential) {
		return Credential{}, fmt.Errorf("%w: %.20q … of %d bytes", ErrBadCredential, credential, len(credential))
	}
	args := []string{"--numeric", "--keys=ENCODE_HOST,ENCODE_TIME,TTL,UID,GID,LENGTH"}
	out, err := d.run(ctx, "unmunge", args, []byte(credential))
	if err != nil {
		return Credential{}, err
	}
	return parse(string(out))
}

// plausible reports whether a text may be a credential: MUNGE: BASE64 : on one line.
func plausible(text string) bool {
	middle, ok := strings.CutPrefix(text, "MUNGE:")
	middle, end := strings.CutSuffix(middle, ":")
	return ok && end && middle != "" && len(text) <= MaxCredential && !strings.ContainsFunc(middle, func(r rune) bool {
		return r >= 0x7f || !strings.ContainsRune("+/=", r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
}

func (d Daemon) run(ctx context.Context, program string, args []string, input []byte) ([]byte, error) {
	if d.Socket != "" {
		args = append(args, "--socket="+d.Socket)
	}
	file := program
	if d.Folder != "" {
		file = d.Folder + "/" + program
	}
	out, err := process.Command{
		File: file, Args: args, Input: input, Limit: limit, MaxOutput: MaxCredential + MaxPayload,
	}.Output(ctx)
	if exit, ok := errors.AsType[*process.ExitError](err); ok {
		return nil, refusal(program, exit)
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", ErrNoDaemon, err)
	}
	return out, err
}

// parse decodes the output of unmunge: lines NAME: VALUE, an empty line, and the payload.
func parse(out string) (Credential, error) {
	var c Credential
	head, payload, ok := strings.Cut(out, "\n\n")
	if !ok {
		return c, fmt.Errorf("unmunge printed no payload: %.40q", out)
	}
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(line, ":")
		fields[name] = strings.TrimSpace(value)
	}
	numbers := map[string]int64{}
	for _, name := range []string{"UID", "GID", "ENCODE_TIME", "TTL", "LENGTH"} {
		n, err := strconv.ParseInt(fields[name], 10, 64)
		if err != nil || n < 0 {
			return c, fmt.Errorf("unmunge printed %s as %q, not as a number", name, fields[name])
		}
		numbers[name] = n
	}
	host, err := netip.ParseAddr(fields["ENCODE_HOST"])
	if err != nil {
		return c, fmt.Errorf("unmunge printed ENCODE_HOST: %w", err)
	}
	if int64(len(payload)) != numbers["LENGTH"] {
		return c, fmt.Errorf("unmunge printed %d bytes of %d", len(payload), numbers["LENGTH"])
	}
	return Credential{
		Payload: []byte(payload), UID: int(numbers["UID"]), GID: int(numbers["GID"]), Host: host,
		Encoded: time.Unix(numbers["ENCODE_TIME"], 0), TTL: time.Duration(numbers["TTL"]) * time.Second,
	}, nil
}
