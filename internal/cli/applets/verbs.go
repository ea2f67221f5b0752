package applets

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/compat/applet"
	"github.com/rdmakit/rdmakit/internal/record/bundle"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// verbsSource returns the source of the attributes that only an opened device has: libibverbs on
// this machine, or the recording in a bundle. If there is neither, why says what is missing.
func verbsSource(n *sources.Node) (source applet.VerbsSource, why string, err error) {
	if n.Local {
		return applet.Live(), "", nil
	}
	data, err := fs.ReadFile(n.Root, bundle.VerbsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "the recorded node has no " + bundle.VerbsFile, nil
	}
	var rec recording.Recording
	if err == nil {
		rec, err = recording.Decode(data)
	}
	if err != nil {
		return nil, "", &cli.ExitError{
			Code: cli.ExitUsage, Err: fmt.Errorf("read %s of the node: %w", bundle.VerbsFile, err),
		}
	}
	return applet.Recorded(rec), "", nil
}
