package guestd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/integration/guest/internal/frame"
)

// peer is the client's side of a served stream.
type peer struct {
	t    *testing.T
	conn net.Conn
	w    *frame.Writer
	r    *frame.Reader
	done chan error
}

func serve(t *testing.T) *peer {
	t.Helper()
	client, server := net.Pipe()
	s := &Server{TempDir: t.TempDir()}
	p := &peer{t: t, conn: client, w: frame.NewWriter(client), r: frame.NewReader(client), done: make(chan error, 1)}
	go func() { p.done <- s.Serve(server, server) }()
	t.Cleanup(func() {
		_ = client.Close() // some tests have closed it already
		if err := <-p.done; !errors.Is(err, io.EOF) {
			t.Errorf("Serve = %v, want EOF", err)
		}
	})
	if err := client.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *peer) send(session, kind string, v any) {
	p.t.Helper()
	payload, isBytes := v.([]byte)
	if !isBytes {
		var err error
		if payload, err = json.Marshal(v); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := p.w.Write(frame.Frame{Session: session, Kind: kind, Payload: payload}); err != nil {
		p.t.Fatal(err)
	}
}

type answer struct {
	Out, Err, Data string
	Mode           uint32
	End            frame.End
}

// answer reads up to the end of the session.
func (p *peer) answer(session string) answer {
	p.t.Helper()
	var a answer
	for {
		f, err := p.r.Next()
		if err != nil {
			p.t.Fatalf("read the answer of %s: %v", session, err)
		}
		if f.Session != session {
			continue
		}
		switch f.Kind {
		case frame.KindOut:
			a.Out += string(f.Payload)
		case frame.KindErr:
			a.Err += string(f.Payload)
		case frame.KindData:
			a.Data += string(f.Payload)
		case frame.KindHead:
			var info frame.FileInfo
			if err := json.Unmarshal(f.Payload, &info); err != nil {
				p.t.Fatal(err)
			}
			a.Mode = info.Mode
		case frame.KindEnd:
			if err := json.Unmarshal(f.Payload, &a.End); err != nil {
				p.t.Fatal(err)
			}
			return a
		}
	}
}

func TestServeRun(t *testing.T) {
	big := strings.Repeat("0123456789abcdef", 3*frame.MaxPayload/16) + "\n"
	tests := []struct {
		name, script string
		want         answer
	}{
		{"nothing", "true", answer{}},
		{"separate outputs and status", "echo out; echo err >&2; exit 7", answer{
			Out: "out\n", Err: "err\n", End: frame.End{Code: 7},
		}},
		{"several lines and quotes", "a=\"x y\"\nprintf '%s|' \"$a\" 'b'", answer{Out: "x y|b|"}},
		{"no standard input", "cat; echo $?", answer{Out: "0\n"}},
		{"death by signal", "kill -TERM $$", answer{End: frame.End{Code: 128 + int(syscall.SIGTERM)}}},
		{
			"several frames",
			"for i in $(seq " + strconv.Itoa(len(big)/16) + "); do printf 0123456789abcdef; done; echo",
			answer{Out: big},
		},
		{"a background process does not hold it", "sleep 5 & echo now", answer{Out: "now\n"}},
	}
	p := serve(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			session := "s" + strconv.Itoa(i)
			p.send(session, frame.KindRun, frame.RunRequest{Script: tt.script})
			if diff := cmp.Diff(tt.want, p.answer(session)); diff != "" {
				t.Errorf("run %q differs (-want +got):\n%s", tt.script, diff)
			}
		})
	}
}

func TestServeKill(t *testing.T) {
	p := serve(t)
	p.send("s1", frame.KindRun, frame.RunRequest{Script: "echo before; sleep 100; echo after"})
	p.send("other", frame.KindKill, []byte(nil)) // another session: ignored
	time.Sleep(200 * time.Millisecond)
	p.send("s1", frame.KindKill, []byte(nil))
	want := answer{Out: "before\n", End: frame.End{Code: 128 + int(syscall.SIGKILL), Killed: true}}
	if diff := cmp.Diff(want, p.answer("s1")); diff != "" {
		t.Errorf("killed run differs (-want +got):\n%s", diff)
	}
}

func TestServeAlive(t *testing.T) {
	p := serve(t)
	p.send("s1", frame.KindRun, frame.RunRequest{Script: "sleep 100"})
	p.send("s1", frame.KindAlive, []byte(nil))
	if f, err := p.r.Next(); err != nil || f.Session != "s1" || f.Kind != frame.KindAlive {
		t.Errorf("sign of life during a command = %+v, %v, want the same back", f, err)
	}
	p.send("lost", frame.KindAlive, []byte(nil))
	if got := p.answer("lost"); got.End.Error == "" {
		t.Errorf("sign of life without a request = %+v, want an error", got)
	}
}

// The command of a client that left is killed, whether the stream ended or the next client came
// first.
func TestServeAbandon(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := "echo $$ >" + pidFile + ".part; mv " + pidFile + ".part " + pidFile + "; sleep 100"
	p := serve(t)
	p.send("s1", frame.KindRun, frame.RunRequest{Script: script})
	pid := readPid(t, pidFile)
	p.send("s2", frame.KindPing, []byte(nil))
	if diff := cmp.Diff(answer{}, p.answer("s2")); diff != "" {
		t.Errorf("ping differs (-want +got):\n%s", diff)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("command %d after the next request: kill = %v, want ESRCH", pid, err)
	}

	p = serve(t)
	p.send("s1", frame.KindRun, frame.RunRequest{Script: script})
	pid = readPid(t, pidFile)
	if err := p.conn.Close(); err != nil {
		t.Fatal(err)
	}
	err := <-p.done // the cleanup receives from it too
	p.done <- err
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("command %d after the stream's end: kill = %v, want ESRCH", pid, err)
	}
}

func readPid(t *testing.T, file string) int {
	t.Helper()
	for range 1000 {
		text, err := os.ReadFile(file)
		if err == nil {
			if err := os.Remove(file); err != nil { // for the next use
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the command did not start")
	return 0
}

func TestServeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file")
	content := bytes.Repeat([]byte{0, '\n', 0xff, ' '}, frame.MaxPayload/3)
	p := serve(t)
	put := func(session string, size int64) frame.End {
		p.send(session, frame.KindPut, frame.FileInfo{Path: path, Mode: 0o754, Size: size})
		for chunk := content; len(chunk) > 0; {
			n := min(len(chunk), frame.MaxPayload)
			p.send(session, frame.KindData, chunk[:n])
			chunk = chunk[n:]
		}
		p.send(session, frame.KindDone, []byte(nil))
		return p.answer(session).End
	}
	if got := put("s1", 1); got.Error == "" {
		t.Errorf("put with the wrong size = %+v, want an error", got)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("after a failed put: %v, %v, want an empty folder", entries, err)
	}
	if got := put("s2", int64(len(content))); got != (frame.End{}) {
		t.Fatalf("put = %+v, want no error", got)
	}
	p.send("s3", frame.KindGet, frame.FileInfo{Path: path})
	if diff := cmp.Diff(answer{Data: string(content), Mode: 0o754}, p.answer("s3")); diff != "" {
		t.Errorf("get differs (-want +got):\n%.300s", diff)
	}
	p.send("s4", frame.KindGet, frame.FileInfo{Path: "/proc/sys/kernel/ostype"})
	if got := p.answer("s4").Data; got != "Linux\n" {
		t.Errorf("get of a proc file = %q, want Linux", got)
	}
	for i, bad := range []string{filepath.Dir(path), path + ".none"} {
		session := "bad" + strconv.Itoa(i)
		p.send(session, frame.KindGet, frame.FileInfo{Path: bad})
		if got := p.answer(session); got.End.Error == "" {
			t.Errorf("get %s = %+v, want an error", bad, got.End)
		}
	}
}

func TestServeRefuses(t *testing.T) {
	p := serve(t)
	for i, f := range []frame.Frame{
		{Kind: "unknown"},
		{Kind: frame.KindRun, Payload: []byte("{")},
		{Kind: frame.KindPut, Payload: []byte(`{"path":"relative"}`)},
	} {
		session := "s" + strconv.Itoa(i)
		p.send(session, f.Kind, append([]byte{}, f.Payload...))
		if got := p.answer(session); got.End.Error == "" {
			t.Errorf("request %s %s = %+v, want an error", f.Kind, f.Payload, got)
		}
	}
}
