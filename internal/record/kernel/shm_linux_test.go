package kernel

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func TestSpace(t *testing.T) {
	s, err := space(t.TempDir())
	if err != nil || s.Size == 0 || s.Free > s.Size {
		t.Errorf("space of a folder = %+v, %v, want a size", s, err)
	}
	if _, err := space(t.TempDir() + "/none"); !errors.Is(err, facts.ErrAbsent) {
		t.Errorf("space of a folder that does not exist: %v, want an error that matches ErrAbsent", err)
	}
}

// TestSpaceWithoutLimit has what "stat -f" shows of "mount -t tmpfs -o size=0" and of ramfs on
// Linux 6.18: no blocks.
func TestSpaceWithoutLimit(t *testing.T) {
	for _, tt := range []struct {
		s    unix.Statfs_t
		want facts.FileSystem
		bad  bool
	}{
		{unix.Statfs_t{Type: 0x1021994, Bsize: 4096}, facts.FileSystem{Unlimited: true}, false},
		{unix.Statfs_t{Type: 0x858458f6, Bsize: 4096}, facts.FileSystem{Unlimited: true}, false},
		{unix.Statfs_t{Type: 0x65735546, Bsize: 4096}, facts.FileSystem{}, true}, // FUSE
		{
			unix.Statfs_t{Type: 0x1021994, Bsize: 4096, Blocks: 16, Bfree: 4, Bavail: 3},
			facts.FileSystem{Size: 65536, Free: 12288},
			false,
		},
		{unix.Statfs_t{Type: 0x1021994, Bsize: 4096, Blocks: 16}, facts.FileSystem{Size: 65536}, false}, // full
	} {
		got, err := spaceOf("/dev/shm", tt.s)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("spaceOf(%+v) = %+v, %v, want %+v", tt.s, got, err, tt.want)
		}
	}
}
