package remote

import (
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"strings"
)

// source is the script that hosts run, with comments.
//
//go:embed script.sh
var source string

// dialogVersion is the version of the dialog that the script prints first.
const dialogVersion = "1"

// newMark returns a random word that no other output of a host contains.
func newMark() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "rdmakit-" + hex.EncodeToString(b[:])
}

// command returns the command for ssh, one that all login shells understand: they replace
// themselves with a POSIX shell.
func command(mark string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			b.WriteString(line + " ")
		}
	}
	return "exec sh -c '" + strings.ReplaceAll(strings.TrimSpace(b.String()), "@MARK@", mark) + "'"
}
