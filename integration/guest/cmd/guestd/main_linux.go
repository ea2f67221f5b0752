// Command guestd runs inside the guest and serves the harness on virtio serial ports. It is not
// useful elsewhere.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/integration/guest/internal/guestd"
)

func main() {
	prefix := flag.String("ports", "rdmakit.", "serve the virtio serial ports whose names start with this")
	cgroup := flag.String("cgroup", "", "cgroup v2 `folder` for commands")
	flag.Parse()
	log.SetFlags(0)
	log.SetPrefix("guestd: ")
	ports, err := findPorts("/sys/class/virtio-ports", *prefix)
	if err != nil {
		log.Fatal(err)
	}
	server := &guestd.Server{CgroupDir: *cgroup}
	var wg sync.WaitGroup
	for _, name := range ports {
		wg.Go(func() { log.Print(servePort(server, "/dev/"+name)) })
	}
	wg.Wait()
	os.Exit(1)
}

// findPorts returns the device names of the ports whose names, in the file
// "name" of each folder, start with prefix.
func findPorts(dir, prefix string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "name"))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read port name: %w", err)
		}
		if strings.HasPrefix(string(name), prefix) {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find ports named %s* in %s: none", prefix, dir)
	}
	return found, nil
}

// servePort serves one client after the other and returns only on an error of the port.
func servePort(server *guestd.Server, path string) error {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	p := &port{fd: fd}
	// Edge-triggered: a port without a client reports a hang-up continuously, and only its change
	// matters.
	const edge = 1 << 31 // EPOLLET, whose sign in syscall depends on the architecture
	if p.changes, err = watch(fd, syscall.EPOLLIN|edge); err != nil {
		return fmt.Errorf("watch %s: %w", path, err)
	}
	if p.hangUp, err = watch(fd, 0); err != nil { // hang-ups are always reported
		return fmt.Errorf("watch %s: %w", path, err)
	}
	for {
		// The error means that the client has left; wait reports errors of the port.
		_ = server.Serve(p, p)
		if err := p.wait(); err != nil {
			return fmt.Errorf("wait for %s: %w", path, err)
		}
	}
}

// watch returns an epoll that reports the events of fd.
func watch(fd int, events uint32) (int, error) {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return -1, err
	}
	return epoll, syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: events})
}

// port reads and writes a virtio serial port with plain blocking calls.
type port struct {
	fd      int
	changes int // epoll: the port's state has changed
	hangUp  int // epoll: no client is connected now
}

// clientGone is how long a port must report no client before that is believed. If one client
// follows another at once, its first bytes can arrive before the event of the change, which then
// looks as if the new client had left.
const clientGone = time.Second

// wait blocks until the state of the port has changed since the last call.
func (p *port) wait() error {
	_, err := epollWait(p.changes, -1)
	return err
}

// Read implements io.Reader. It returns io.EOF when the client has left.
func (p *port) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(p.fd, b)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case n > 0:
			return n, nil
		default:
			gone, err := p.waitClient()
			if err != nil {
				return 0, err
			}
			if gone {
				return 0, io.EOF
			}
		}
	}
}

// waitClient waits a short time for the next client and reports whether none came.
func (p *port) waitClient() (gone bool, err error) {
	const step = 20 * time.Millisecond
	for waited := time.Duration(0); waited < clientGone; waited += step {
		n, err := epollWait(p.hangUp, 0)
		if err != nil || n == 0 {
			return false, err
		}
		time.Sleep(step)
	}
	return true, nil
}

// epollWait returns the number of events, 0 or 1, that come within the time.
func epollWait(epoll, milliseconds int) (int, error) {
	events := make([]syscall.EpollEvent, 1)
	for {
		n, err := syscall.EpollWait(epoll, events, milliseconds)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// Write implements io.Writer. The kernel takes at most 32 KiB at once.
func (p *port) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := syscall.Write(p.fd, b[done:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}
