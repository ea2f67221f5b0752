package wholefile

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Free returns how many bytes a user who isn't root can still write in a folder, statfs(2).
func Free(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", folder, err)
	}
	if s.Blocks == 0 { // a file system without a size
		return math.MaxUint64, nil
	}
	return s.Bavail * uint64(s.Bsize), nil
}
