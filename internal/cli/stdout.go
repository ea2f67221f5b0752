package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// stickyWriter is standard output. It remembers the first error, so that a full disk ends a run
// with a message even if a library ignores the error of Write.
type stickyWriter struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (s *stickyWriter) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(data)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			// "write /dev/stdout: …" names a file that the user didn't
			err = path.Err
		}
		s.err = fmt.Errorf("write standard output: %w", err)
	}
	return n, s.err
}

func (s *stickyWriter) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Data returns standard output for commands that write to it directly. Its first error is
// remembered and ends the run.
func (app *App) Data() io.Writer { return app.stdout }
