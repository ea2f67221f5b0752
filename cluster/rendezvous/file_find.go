package rendezvous

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
)

// maxFile is the largest file in bytes.
const maxFile = 4096

// fileFormat is the format and version of the file.
const fileFormat = "rdmakit.cluster-invitation/v1"

// content is what is in the file, as JSON.
type content struct {
	Format     string    `json:"format"`
	Job        string    `json:"job"`
	Started    time.Time `json:"started"` // by the leader's clock
	Expires    time.Time `json:"expires"`
	Invitation string    `json:"invitation"`
}

func (f *File) encode(i protocol.Invitation, now time.Time) ([]byte, error) {
	b, err := json.Marshal(content{
		fileFormat, f.job, now.UTC(), now.UTC().Add(cmp.Or(f.Validity, fileValidity)), i.String(),
	})
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%d bytes are more than %d", len(b), maxFile)
	}
	return b, err
}

// notYetError is the reason why there is no invitation so far.
type notYetError struct{ reason string }

func (e *notYetError) Error() string { return e.reason }

// decode returns the invitation of a file that only this user can have written.
func (f *File) decode(text []byte, now time.Time) (protocol.Invitation, error) {
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		return protocol.Invitation{}, err
	}
	switch {
	case c.Format != fileFormat:
		return protocol.Invitation{}, fmt.Errorf("its format is %.40q, not %q: use the same rdmactl on all nodes",
			c.Format, fileFormat)
	case c.Job != f.job:
		return protocol.Invitation{}, &notYetError{fmt.Sprintf("it is of the job %.80q, not %q", c.Job, f.job)}
	case !now.Before(c.Expires):
		return protocol.Invitation{}, &notYetError{fmt.Sprintf("it has expired %v ago, by the clock of this node",
			now.Sub(c.Expires).Round(time.Second))}
	}
	return protocol.ParseInvitation(c.Invitation)
}

// Find waits for the file. It returns an *[UntrustedError] at once for one that must not be
// believed.
func (f *File) Find(ctx context.Context, try Try) (protocol.Invitation, error) {
	patience := cmp.Or(f.Patience, filePatience)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no invitation within %v: is the folder, "+
		"%s, shared by all nodes, and does the leader run?", patience, f.folder))
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		i, err := f.look(time.Now())
		if err == nil {
			if try == nil {
				return i, nil
			}
			if err = try(ctx, i); err == nil {
				return i, nil
			}
			err = &notYetError{fmt.Sprintf("its leader, %s: %v", i.Addr, err)}
		}
		if _, ok := errors.AsType[*notYetError](err); !ok {
			return protocol.Invitation{}, fmt.Errorf("read the invitation: %w", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return protocol.Invitation{}, fmt.Errorf("wait for the invitation: %w (%w)", context.Cause(ctx), err)
		}
	}
}

// look looks once. It opens the folder again and lists it, which makes NFS ask its server.
func (f *File) look(now time.Time) (protocol.Invitation, error) {
	text, err := f.read()
	// The leader may replace the file at any time, and NFS then has a stale handle.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE) {
		return protocol.Invitation{}, &notYetError{"there is no file yet"}
	}
	if err != nil {
		return protocol.Invitation{}, err
	}
	i, err := f.decode(text, now)
	if err != nil {
		return i, fmt.Errorf("%s: %w", filepath.Join(f.folder, fileName), err)
	}
	return i, nil
}

// refresh opens the folders above that of the job, the highest one first. NFS asks its server at
// each open; otherwise it takes a folder for missing for up to a minute (acdirmax in nfs(5)).
func (f *File) refresh() {
	rdmakit := filepath.Dir(f.folder)
	cache := filepath.Dir(rdmakit)
	for _, name := range []string{filepath.Dir(cache), cache, rdmakit} {
		if folder, err := os.Open(name); err == nil { // else the job's can't be opened either
			_ = folder.Close() // nothing was written
		}
	}
}

func (f *File) read() (text []byte, err error) {
	f.refresh()
	root, err := f.open(false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	if !slices.Contains(names, fileName) {
		return nil, fs.ErrNotExist
	}
	name := filepath.Join(f.folder, fileName)
	info, err := root.Lstat(fileName)
	if err == nil {
		err = f.check(name, info, 0)
	}
	if err != nil {
		return nil, err
	}
	file, err := root.Open(fileName)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	opened, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, opened) {
		return nil, fs.ErrNotExist // replaced in between: look again
	}
	text, err = io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = &UntrustedError{name, fmt.Sprintf("it has more than %d bytes", maxFile)}
	}
	return text, err
}
