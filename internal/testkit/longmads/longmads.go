// Package longmads carries messages that are longer than a management datagram through ibsim, which
// has no RMPP, so that tests see the whole tables of OpenSM. The C tools get them as from the
// kernel; tests get them by Message.
//
//	relay := longmads.New(t)
//	sim.Preload(relay.Library, relay.Env) // an ibsimtest.Simulator, before its programs start
//	sim.PreloadAfter(relay.After)         // for tables in segments, as package ibsimd sends them
package longmads

import (
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/longmads.c testdata/wholemads.c
var sources embed.FS

// Relay is the way of long messages of one test.
type Relay struct {
	Library string // to be preloaded by C programs
	After   string // to be preloaded after umad2sim, which otherwise loses the last 32 bytes of datagrams
	Env     string // their environment
	dir     string
}

// New compiles the libraries. Without gcc the test fails; make deps installs it.
func New(t testing.TB) *Relay {
	t.Helper()
	dir := t.TempDir()
	r := &Relay{
		Library: filepath.Join(dir, "longmads.so"), After: filepath.Join(dir, "wholemads.so"),
		dir: filepath.Join(dir, "messages"),
	}
	r.Env = "LONG_MADS=" + r.dir
	if err := errors.Join(os.Mkdir(r.dir, 0o700), os.CopyFS(dir, sources)); err != nil {
		t.Fatal(err)
	}
	for _, library := range []string{r.Library, r.After} {
		file := filepath.Join(dir, "testdata", strings.TrimSuffix(filepath.Base(library), ".so")+".c")
		cmd := exec.CommandContext(t.Context(), "gcc", "-Wall", "-shared", "-fPIC", "-o", library, file, "-ldl")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v (scripts/deps.sh test installs gcc and libc6-dev)\n%s", cmd, err, out)
		}
	}
	return r
}

// Plant makes the C programs get the message in place of each answer to GetTable, except for its
// transaction ID; nil ends that.
func (r *Relay) Plant(t testing.TB, message []byte) {
	t.Helper()
	name := filepath.Join(r.dir, "answer")
	err := os.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if message != nil && err == nil {
		err = os.WriteFile(name, message, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Query returns the last query that a C program has sent, 256 bytes.
func (r *Relay) Query(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, "query"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Message returns the message of which a datagram of subnet administration is the beginning, and
// removes it; nil if the datagram is all of it.
func (r *Relay) Message(datagram []byte) ([]byte, error) {
	const transactionID, end = 12, 16 // its low half
	name := filepath.Join(r.dir, hex.EncodeToString(datagram[transactionID:end]))
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, errors.Join(err, os.Remove(name))
}
