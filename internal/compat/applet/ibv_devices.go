package applet

import (
	"context"
	"encoding/binary"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/verbs/recording"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// ibvDevices lists what libibverbs lists.
func ibvDevices() Applet {
	return Applet{
		Name: "ibv_devices", Summary: "List the devices that libibverbs offers, with their node GUIDs",
		Like: "ibv_devices of rdma-core 44",
		Long: `Takes no options and ignores arguments. Without libibverbs the list comes from sysfs and netlink, in
libibverbs's order. A device without a device node below /dev/infiniband is not listed, as in C.`,
		run: runIbvDevices,
	}
}

func runIbvDevices(ctx context.Context, env *Env) int {
	names, guids, errno := env.deviceList(ctx)
	if errno != 0 {
		return env.perrorList(errno, 1)
	}
	env.printf("    %-16s\t   node GUID\n", "device")
	env.printf("    %-16s\t----------------\n", "------")
	for i, name := range names {
		env.printf("    %-16s\t%016x\n", name, binary.BigEndian.Uint64(guids[i][:]))
	}
	return 0
}

// perrorList prints the error that the list of devices is not available.
func (env *Env) perrorList(errno syscall.Errno, code int) int {
	env.errorf("Failed to get IB devices list: %s\n", clib.Strerror(errno))
	return code
}

// deviceList is ibv_get_device_list, with or without the library.
func (env *Env) deviceList(ctx context.Context) (names []string, guids []ib.GUID, errno syscall.Errno) {
	rec, _ := env.askVerbs(func(v VerbsSource) (recording.Recording, error) { return v.List(ctx) })
	if rec != nil {
		for _, d := range rec.Devices {
			names, guids = append(names, d.Name), append(guids, d.GUID)
		}
		return names, guids, listError(rec)
	}
	snap := env.scan(ctx)
	devices, errno := visibleDevices(&snap, env.tree())
	for _, d := range devices {
		var guid ib.GUID
		if d.NodeGUID != nil {
			guid = *d.NodeGUID
		}
		names, guids = append(names, d.Name), append(guids, guid)
	}
	return names, guids, errno
}
