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
	unit := uint64(s.Bsize)
	return facts.FileSystem{Size: s.Blocks * unit, Free: s.Bavail * unit}, nil
}
