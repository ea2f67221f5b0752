//go:build !linux

package guest

import (
	"context"
	"io"
	"os"
	"runtime"
)

func unsupported() error { return hostFacts{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}.checkBoot() }

// Build returns an error: this system can't run a guest.
func Build(context.Context, Options) (Image, error) { return Image{}, unsupported() }

// Start returns an error: this system can't run a guest.
func Start(context.Context, Options) (*Guest, error) { return nil, unsupported() }

// Attach returns an error: this system can't run a guest.
func Attach(string) (*Guest, error) { return nil, unsupported() }

// Stop returns an error: this system can't run a guest.
func Stop(string) error { return unsupported() }

// ClearDead does nothing on this system.
func ClearDead(context.Context, io.Writer) error { return nil }

// FindDetached returns an error: this system can't run a guest.
func FindDetached() (string, error) { return "", unsupported() }

func (g *Guest) open(context.Context) (*session, error) { return nil, unsupported() }

func (g *Guest) lockExclusive(context.Context) (*os.File, error) { return nil, unsupported() }

func (g *Guest) lockSteady(context.Context) (*os.File, error) { return nil, unsupported() }
