package applets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
)

// verbsSource returns what applets ask about opened devices: the library on this machine, the recording of a recorded
// node. Without either, why tells what is missing.
func verbsSource(n *sources.Node) (source applet.VerbsSource, why string, err error) {
	if n.Local {
		return liveVerbs{}, "", nil
	}
	data, err := fs.ReadFile(n.Root, bundle.VerbsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the recorded node has no " + bundle.VerbsFile, nil
	}
	var rec provider.Recording
	if err == nil {
		rec, err = provider.DecodeRecording(data)
	}
	if err != nil {
		return nil, "", &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("read %s of the node: %w", bundle.VerbsFile, err)}
	}
	return applet.Recorded(rec), "", nil
}

// liveVerbs is the libibverbs of this machine.
type liveVerbs struct{}

// List implements applet.VerbsSource.
func (liveVerbs) List(ctx context.Context) (provider.Recording, error) {
	library, err := ibverbs.Load()
	if err != nil {
		return ibverbs.Describe(ctx) // says the same, in the form of a recording
	}
	defer library.Close()
	rec := provider.Recording{Schema: provider.RecordingSchema}
	list, err := library.Devices(ctx)
	if err != nil {
		if e, ok := errors.AsType[*provider.QueryError](err); ok {
			rec.Errors = append(rec.Errors, e)
		}
		return rec, err
	}
	defer list.Close()
	for _, d := range list.Devices() {
		rec.Devices = append(rec.Devices, provider.DeviceDescription{
			Name: d.Name, DevName: d.DevName, GUID: d.GUID, NodeType: d.NodeType, Transport: d.Transport,
		})
	}
	return rec, nil
}

// Describe implements applet.VerbsSource.
func (liveVerbs) Describe(ctx context.Context, names ...string) (provider.Recording, error) {
	return ibverbs.Describe(ctx, names...)
}
