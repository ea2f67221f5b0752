package guestd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
)

// upload is a file that is being copied into the guest. It becomes visible under its name only when
// it is complete.
type upload struct {
	session string
	info    frame.FileInfo
	f       *os.File
	n       int64
	err     error // the first error; returned by commit
}

func newUpload(session string, info frame.FileInfo) (*upload, error) {
	if !filepath.IsAbs(info.Path) {
		return nil, fmt.Errorf("put %q: path is not absolute", info.Path)
	}
	dir := filepath.Dir(info.Path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("put %s: %w", info.Path, err)
	}
	f, err := os.CreateTemp(dir, ".put-*")
	if err != nil {
		return nil, fmt.Errorf("put %s: %w", info.Path, err)
	}
	return &upload{session: session, info: info, f: f}, nil
}

func (u *upload) write(b []byte) {
	if u.err != nil {
		return
	}
	n, err := u.f.Write(b)
	u.n += int64(n)
	u.err = err
}

func (u *upload) commit() error {
	if u.err == nil && u.n != u.info.Size {
		u.err = fmt.Errorf("got %d bytes of %d", u.n, u.info.Size)
	}
	if u.err == nil {
		u.err = errors.Join(u.f.Chmod(fs.FileMode(u.info.Mode).Perm()), u.f.Close())
	}
	if u.err == nil {
		u.err = os.Rename(u.f.Name(), u.info.Path)
	}
	if u.err != nil {
		u.discard()
		return fmt.Errorf("put %s: %w", u.info.Path, u.err)
	}
	return nil
}

func (u *upload) discard() {
	_ = u.f.Close()
	_ = os.Remove(u.f.Name())
}

// startDownload sends the file in the background, because a slow client must not block reading of
// the stream.
func (c *conn) startDownload(session, path string) *job {
	// Nothing to kill: quiet stops it between two frames.
	j := &job{session: session, kill: func() {}, quiet: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(j.done)
		if err := c.download(j, path); err != nil {
			c.end(session, frame.End{Error: fmt.Sprintf("get %s: %v", path, err)})
			return
		}
		select {
		case <-j.quiet:
		default:
			c.end(session, frame.End{})
		}
	}()
	return j
}

// download reads to the end of the file, not to its reported size, which is meaningless in proc and
// sysfs.
func (c *conn) download(j *job, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("is a directory")
	}
	head, err := json.Marshal(frame.FileInfo{Path: path, Mode: uint32(info.Mode().Perm()), Size: info.Size()})
	if err != nil {
		return err
	}
	if err := c.send(j.session, frame.KindHead, head); err != nil {
		return err
	}
	return c.copyFrames(j, frame.KindData, f)
}
