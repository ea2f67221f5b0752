package cli

import (
	"context"
	"io/fs"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// OpenVerbs opens a device that moves data: an engine in user space. Devices of the kernel need
// libibverbs's data path, which this version does not have.
func OpenVerbs(ctx context.Context, name string) (*verbs.Device, error) {
	if strings.Contains(name, "@") {
		return verbs.Open(ctx, name, builtin.All()...)
	}
	const hint = "roce@ADDRESS is RDMA in user space on that address of this machine, roce@NETDEV on " +
		"that of a network device"
	if _, err := fs.Stat(os.DirFS("/"), sysfs.ClassInfiniBand+"/"+name); err == nil {
		err := Exitf(ExitNotFound,
			"open device %s: it is a device of the kernel, which this version does not open for data: %w",
			name, verbs.ErrNotSupported)
		return nil, WithHints(err, hint)
	}
	return nil, WithHints(Exitf(ExitNotFound, "open device %s: %w", name, fs.ErrNotExist), hint)
}
