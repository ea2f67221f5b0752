package kernel

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

func space(dir string) (facts.FileSystem, error) {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	if errors.Is(err, unix.ENOENT) {
		return facts.FileSystem{}, facts.Absent("%s does not exist", dir)
	}
	if err != nil {
		return facts.FileSystem{}, fmt.Errorf("statfs %s: %w", dir, err)
	}
	return spaceOf(dir, s)
}

// spaceOf converts the answer of statfs. A tmpfs or ramfs without a limit has no blocks
// (shmem_statfs in mm/shmem.c, simple_statfs in fs/libfs.c).
func spaceOf(dir string, s unix.Statfs_t) (facts.FileSystem, error) {
	switch {
	case s.Blocks > 0:
		unit := uint64(s.Bsize)
		return facts.FileSystem{Size: s.Blocks * unit, Free: s.Bavail * unit}, nil
	case s.Type == unix.TMPFS_MAGIC || s.Type == unix.RAMFS_MAGIC:
		return facts.FileSystem{Unlimited: true}, nil
	}
	return facts.FileSystem{}, fmt.Errorf("statfs %s: file system of type 0x%x reports no size", dir, s.Type)
}
