package guestd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
)

// Server holds the configuration of all streams. The zero value is valid.
type Server struct {
	// TempDir is the folder for running scripts and their output; empty means os.TempDir.
	TempDir string
	// CgroupDir is a cgroup v2 folder in which each command gets its own group, so that killing the
	// command reaches processes that left its session. Empty means that only the process group is
	// killed.
	CgroupDir string
}

// Serve answers requests from r on w until r ends, then kills the client's running command and
// returns r's error ([io.EOF] if the client has left). Background processes of finished scripts
// keep running.
func (s *Server) Serve(r io.Reader, w io.Writer) error {
	c := &conn{server: s, w: frame.NewWriter(w)}
	frames := frame.NewReader(r)
	for {
		f, err := frames.Next()
		if err != nil {
			c.abandon()
			return err
		}
		c.handle(f)
	}
}

// conn is one stream. Its fields belong to the goroutine of Serve, except w.
type conn struct {
	server *Server
	job    *job
	upload *upload

	mu sync.Mutex
	w  *frame.Writer
}

// job is work that outlasts its request frame.
type job struct {
	session string
	kill    func()        // may be called at any time, more than once
	quiet   chan struct{} // closed when the result is no longer needed
	done    chan struct{} // closed when the work has ended
}

func (c *conn) handle(f frame.Frame) {
	switch f.Kind {
	case frame.KindData:
		if c.upload != nil && c.upload.session == f.Session {
			c.upload.write(f.Payload)
		}
	case frame.KindDone:
		if c.upload != nil && c.upload.session == f.Session {
			c.end(f.Session, frame.End{Error: errorText(c.upload.commit())})
			c.upload = nil
		}
	case frame.KindAlive:
		c.alive(f.Session)
	case frame.KindKill:
		if c.job != nil && c.job.session == f.Session {
			c.job.kill()
		}
	default:
		// A new request: the previous client has left, or is done.
		c.abandon()
		c.request(f)
	}
}

func (c *conn) request(f frame.Frame) {
	var err error
	switch f.Kind {
	case frame.KindPing:
		c.end(f.Session, frame.End{})
	case frame.KindRun:
		var req frame.RunRequest
		if err = json.Unmarshal(f.Payload, &req); err == nil {
			c.job, err = c.startCommand(f.Session, req)
		}
	case frame.KindPut:
		var info frame.FileInfo
		if err = json.Unmarshal(f.Payload, &info); err == nil {
			c.upload, err = newUpload(f.Session, info)
		}
	case frame.KindGet:
		var info frame.FileInfo
		if err = json.Unmarshal(f.Payload, &info); err == nil {
			c.job = c.startDownload(f.Session, info.Path)
		}
	default:
		err = fmt.Errorf("unknown request %q", f.Kind)
	}
	if err != nil {
		c.end(f.Session, frame.End{Error: err.Error()})
	}
}

func (c *conn) alive(session string) {
	if (c.job != nil && c.job.session == session) || (c.upload != nil && c.upload.session == session) {
		_ = c.send(session, frame.KindAlive, nil)
		return
	}
	c.end(session, frame.End{Error: "the guest lost the request"})
}

// abandon ends the job of the previous client and waits for its end.
func (c *conn) abandon() {
	if c.job != nil {
		close(c.job.quiet)
		c.job.kill()
		<-c.job.done
		c.job = nil
	}
	if c.upload != nil {
		c.upload.discard()
		c.upload = nil
	}
}

// send writes one frame. If the stream can't be written, its client has left, which the reading
// side notices too: the error only stops jobs.
func (c *conn) send(session, kind string, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.Write(frame.Frame{Session: session, Kind: kind, Payload: payload})
}

func (c *conn) end(session string, e frame.End) {
	payload, err := json.Marshal(e)
	if err != nil {
		return // an End always marshals
	}
	_ = c.send(session, frame.KindEnd, payload)
}

// copyFrames sends r as frames of one kind until r ends or the client has left.
func (c *conn) copyFrames(j *job, kind string, r io.Reader) error {
	buf := make([]byte, frame.MaxPayload)
	for {
		select {
		case <-j.quiet:
			return nil
		default:
		}
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if err := c.send(j.session, kind, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
