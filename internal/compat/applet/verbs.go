package applet

import (
	"cmp"
	"context"
	"math"
	"slices"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// VerbsSource provides the answers of libibverbs. Failed queries are part of the recording too, so
// the returned errors add nothing, with one exception: the library is not installed
// ([recording.QueryLoad] in the recording).
type VerbsSource interface {
	// List lists the devices without opening them: names and GUIDs.
	List(ctx context.Context) (recording.Recording, error)
	// Describe opens and describes the devices with these names, or all without names. It may leave
	// out the others.
	Describe(ctx context.Context, names ...string) (recording.Recording, error)
}

// Live is the [VerbsSource] of this machine: its libibverbs.
func Live() VerbsSource { return live{} }

type live struct{}

// List implements [VerbsSource].
func (live) List(ctx context.Context) (recording.Recording, error) { return ibverbs.List(ctx) }

// Describe implements [VerbsSource].
func (live) Describe(ctx context.Context, names ...string) (recording.Recording, error) {
	return ibverbs.Describe(ctx, names...)
}

// Recorded is a [VerbsSource] that replays a recording.
func Recorded(rec recording.Recording) VerbsSource { return recorded{rec} }

type recorded struct{ rec recording.Recording }

// List implements VerbsSource.
func (r recorded) List(context.Context) (recording.Recording, error) { return r.rec, nil }

// Describe implements VerbsSource.
func (r recorded) Describe(context.Context, ...string) (recording.Recording, error) {
	return r.rec, nil
}

// askVerbs queries libibverbs; nil if it is not available, for the reason in why.
func (env *Env) askVerbs(ask func(VerbsSource) (recording.Recording, error)) (rec *recording.Recording, why string) {
	if env.Node.Verbs == nil {
		return nil, cmp.Or(env.Node.WhyNoVerbs, "libibverbs is not available")
	}
	answer, err := ask(env.Node.Verbs)
	for _, e := range answer.Errors {
		if e.Query == recording.QueryLoad {
			return nil, e.Text
		}
	}
	if err != nil && answer.Schema == 0 {
		return nil, err.Error()
	}
	return &answer, ""
}

// listError is the error of ibv_get_device_list in a recording, 0 if there is none.
func listError(rec *recording.Recording) syscall.Errno {
	for _, e := range rec.Errors {
		if e.Query == recording.QueryDeviceList {
			return syscall.Errno(cmp.Or(e.Errno, int(syscall.EIO))) //nolint:gosec // error numbers are small
		}
	}
	return 0
}

// visibleDevices returns the devices that libibverbs would list, in its order, derived from files
// and netlink: by the kernel's index (the library reverses netlink's order twice), and only those
// whose uverbs device has a node in /dev, if /dev is visible. errno is the error of
// ibv_get_device_list.
func visibleDevices(snap *inventory.Snapshot, t *sysTree) (devices []inventory.Device, errno syscall.Errno) {
	verbs := t.isDir(sysfs.ClassInfiniBandVerbs)
	if !verbs && !t.isDir(sysfs.ClassInfiniBand) {
		return nil, syscall.ENOSYS
	}
	for _, d := range snap.Devices {
		i := slices.IndexFunc(d.Chars,
			func(c inventory.CharDevice) bool { return len(c.Name) > 6 && c.Name[:6] == "uverbs" })
		// Without ib_uverbs no device has one; opening one makes the kernel load ib_uverbs.
		if verbs && (i < 0 || snap.Host.DevVisible && !d.Chars[i].Node) {
			continue
		}
		devices = append(devices, d)
	}
	index := func(d inventory.Device) uint32 {
		if d.Index == nil {
			return math.MaxUint32
		}
		return *d.Index
	}
	slices.SortStableFunc(devices, func(a, b inventory.Device) int { return cmp.Compare(index(a), index(b)) })
	return devices, 0
}
