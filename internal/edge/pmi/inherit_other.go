//go:build !unix

package pmi

import (
	"errors"
	"net"
)

func inherit(int) (net.Conn, error) { return nil, errors.ErrUnsupported }

func closeInherited(int) error { return nil }
