package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
)

// engineHint explains the names of devices that this version can open.
const engineHint = "roce@ADDRESS opens RoCE v2 in user space on an address of this machine, roce@NETDEV on the " +
	"address of a network device"

// OpenVerbs opens a device for data transfer: an engine in user space. Devices of the kernel need
// the data path of libibverbs, which this version does not have. For "" it opens the first device
// that can be opened, as perftest takes the first of libibverbs; why names the device and those
// that were skipped.
func OpenVerbs(ctx context.Context, name string) (device *verbs.Device, why string, err error) {
	root := os.DirFS("/")
	if name == "" {
		names, err := engineNames(ctx)
		if err != nil {
			return nil, "", WithHints(Exitf(ExitNotFound, "list network devices: %w", err), engineHint)
		}
		return openFirst(names, kernelDevices(root), func(name string) (*verbs.Device, error) {
			return verbs.Open(ctx, name, builtin.All()...)
		})
	}
	if strings.Contains(name, "@") {
		device, err = verbs.Open(ctx, name, builtin.All()...)
		if errors.Is(err, fs.ErrNotExist) {
			err = WithHints(err, engineHint, deviceHint(ctx))
		}
		return device, "", err
	}
	if _, err := fs.Stat(root, sysfs.ClassInfiniBand+"/"+name); err == nil {
		err := Exitf(ExitNotFound,
			"open device %s: this version can't transfer data through devices of the kernel: %w",
			name, verbs.ErrNotSupported)
		return nil, "", WithHints(err, engineHint)
	}
	return nil, "", WithHints(Exitf(ExitNotFound, "open device %s: no such RDMA device", name), engineHint)
}

// engineNames returns the names of the devices that OpenVerbs may open.
func engineNames(ctx context.Context) ([]string, error) {
	list, err := verbs.Devices(ctx, builtin.All()...)
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	return names, err
}

// deviceHint lists the devices that may be opened.
func deviceHint(ctx context.Context) string {
	names, err := engineNames(ctx)
	if err != nil || len(names) == 0 {
		return "no network device that is up has an IP address"
	}
	return "devices here: " + SomeNames(names, false)
}

// kernelDevices returns the names of the RDMA devices of the kernel.
func kernelDevices(root fs.FS) []string {
	entries, _ := fs.ReadDir(root, sysfs.ClassInfiniBand) // without RDMA there is none
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// openFirst opens the first of names that can be opened.
func openFirst(
	names, kernel []string, open func(string) (*verbs.Device, error),
) (device *verbs.Device, why string, err error) {
	var errs []error
	for _, name := range names {
		device, err := open(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		why = "no device was given: using " + name + ", the first one that can be opened"
		if len(kernel) > 0 {
			why += "; this version can't transfer data through " + SomeNames(kernel, false)
		}
		return device, why, nil
	}
	if len(errs) == 0 {
		errs = append(errs, errors.New("no network device that is up has an IP address"))
	}
	err = Exitf(ExitNotFound, "no device was given, and none can be opened: %w", errors.Join(errs...))
	return nil, "", WithHints(err, engineHint)
}
