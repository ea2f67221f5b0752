package protocol

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// TestFinal checks after which errors a worker tries again.
func TestFinal(t *testing.T) {
	for _, q := range []struct {
		err  error
		want bool
	}{
		{io.EOF, false},
		{errors.New("connection refused"), false},
		{refuse(http.StatusRequestTimeout, "slow"), false},
		{refuse(http.StatusTooManyRequests, "busy"), false},
		{refuse(http.StatusInternalServerError, "no proof"), false},
		{refuse(http.StatusServiceUnavailable, "full"), false},
		{refuse(http.StatusUnauthorized, "no"), true},
		{refuse(http.StatusForbidden, "no"), true},
		{refuse(http.StatusConflict, "no"), true},
		{refuse(http.StatusGone, "over"), true},
		{refuse(http.StatusBadRequest, "what?"), true},
		{refuse(http.StatusRequestEntityTooLarge, "long"), true},
		{&ReplyError{1}, true},
		{&TLSError{"a:1", io.EOF}, true},
		{&WrongLeaderError{}, true},
		{&proveError{io.EOF}, true},
		{ErrBroken, true},
	} {
		if got := final(fmt.Errorf("send: %w", q.err)); got != q.want {
			t.Errorf("final(%v) = %t", q.err, got)
		}
	}
}
