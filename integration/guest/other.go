//go:build !linux

package guest

import (
	"context"
	"io"
	"os"
	"runtime"
)

func unsupported() error { return hostFacts{GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}.checkBoot() }

// Build answers that there is no guest on this system.
func Build(context.Context, Options) (Image, error) { return Image{}, unsupported() }

// Start answers that there is no guest on this system.
func Start(context.Context, Options) (*Guest, error) { return nil, unsupported() }

// Attach answers that there is no guest on this system.
func Attach(string) (*Guest, error) { return nil, unsupported() }

// Stop answers that there is no guest on this system.
func Stop(string) error { return unsupported() }

// ClearDead does nothing on this system.
func ClearDead(context.Context, io.Writer) error { return nil }

// FindDetached answers that there is no guest on this system.
func FindDetached() (string, error) { return "", unsupported() }

func (g *Guest) open(context.Context) (*session, error) { return nil, unsupported() }

func (g *Guest) lockExclusive(context.Context) (*os.File, error) { return nil, unsupported() }

func (g *Guest) lockSteady(context.Context) (*os.File, error) { return nil, unsupported() }
