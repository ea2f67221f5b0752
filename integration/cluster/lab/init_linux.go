package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// nodeVariable has the settings of a node and makes [Init] become its first process.
const nodeVariable = "RDMAKIT_LAB_NODE"

// initSettings are what the first process of a node sets up.
type initSettings struct {
	Hostname string `json:"hostname"`
	Home     string `json:"home"` // folder that becomes /root
	Etc      string `json:"etc"`  // folder whose files replace those of /etc
}

// Init reports whether this process was started as the first process of a node or as a forwarder.
// It has done its work then, and the process must exit. Test mains call it before anything else.
func Init() (is bool, err error) {
	if text := os.Getenv(forwardVariable); text != "" {
		return true, forward(text)
	}
	text := os.Getenv(nodeVariable)
	if text == "" {
		return false, nil
	}
	var s initSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return true, fmt.Errorf("first process of a node: settings: %w", err)
	}
	if err := s.apply(); err != nil {
		return true, fmt.Errorf("first process of %s: %w", s.Hostname, err)
	}
	if _, err := fmt.Fprintln(os.Stdout, ready); err != nil {
		return true, fmt.Errorf("first process of %s: %w", s.Hostname, err)
	}
	return true, s.rest()
}

// ready is what the first process of a node prints when the node is set up.
const ready = "ready"

// apply mounts what the node has of its own. The namespaces are new.
func (s *initSettings) apply() error {
	const quiet = unix.MS_NOSUID | unix.MS_NODEV
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
		data                 string
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE, ""},
		{"proc", "/proc", "proc", quiet | unix.MS_NOEXEC, ""},
		{"sysfs", "/sys", "sysfs", quiet | unix.MS_NOEXEC, ""}, // that of the node's network namespace
		{"tmpfs", "/run", "tmpfs", quiet, "mode=755"},
		{"tmpfs", "/dev/shm", "tmpfs", quiet, "mode=1777"},
		{s.Home, "/root", "", unix.MS_BIND, ""},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.source, m.target, err)
		}
	}
	files, err := os.ReadDir(s.Etc)
	if err != nil {
		return err
	}
	for _, f := range files {
		from, to := filepath.Join(s.Etc, f.Name()), "/etc/"+f.Name()
		if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", from, to, err)
		}
	}
	// Each card answers for its own addresses only, as guides for several rails demand: otherwise a
	// card answers for the others, too (ip-sysctl, arp_ignore and arp_announce).
	for name, value := range map[string]string{"arp_ignore": "1", "arp_announce": "2"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/conf/all/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	const mode = 0o755
	for _, dir := range []string{"/run/sshd", "/run/lock"} { // sshd has no privileges there
		if err := os.Mkdir(dir, mode); err != nil {
			return err
		}
	}
	if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return nil
}

// rest waits until the other end of standard input is closed, and takes the exit status of
// processes that lost their parent.
func (s *initSettings) rest() error {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	for {
		select {
		case err := <-ended:
			return err
		case <-children:
			for {
				pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
				if pid <= 0 && !errors.Is(err, unix.EINTR) {
					break
				}
			}
		}
	}
}
