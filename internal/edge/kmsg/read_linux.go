package kmsg

import (
	"context"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

const device = "/dev/kmsg"

// A record with its properties fits into longest (CONSOLE_EXT_LOG_MAX in kernel/printk/printk.c).
const longest = 8192

// Read returns all messages of the kernel that are in its buffer, the oldest first. What could be
// read until an error is returned with the error.
func Read(ctx context.Context) ([]Record, error) {
	// Not os.Open: it would wait for more at the end, as the device can be polled.
	fd, err := unix.Open(device, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: device, Err: err}
	}
	records, err := readAll(ctx, func(b []byte) (int, error) { return unix.Read(fd, b) })
	return records, errors.Join(err, unix.Close(fd))
}

// readAll reads records until there are no more.
func readAll(ctx context.Context, read func([]byte) (int, error)) ([]Record, error) {
	var records []Record
	var bad []error
	buf := make([]byte, longest)
	for ctx.Err() == nil {
		n, err := read(buf)
		switch {
		case errors.Is(err, unix.EPIPE): // records were overwritten; the next read has the oldest
			continue
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN), err == nil && n == 0:
			return records, errors.Join(bad...)
		case err != nil:
			return records, &fs.PathError{Op: "read", Path: device, Err: err}
		}
		r, err := Parse(string(buf[:n]))
		switch {
		case err != nil && len(bad) == 0:
			bad = append(bad, err)
		case err == nil && r.Facility == 0:
			records = append(records, r)
		}
	}
	return records, &fs.PathError{Op: "read", Path: device, Err: ctx.Err()}
}
