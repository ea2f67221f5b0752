package applet

import (
	"cmp"
	"context"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// ibvDevinfo prints the attributes of opened devices.
func ibvDevinfo() Applet {
	return Applet{
		Name: "ibv_devinfo", Summary: "Print attributes of devices and ports, as reported by libibverbs",
		Usage: "[-d DEVICE] [-i PORT] [-l] [-v]", Like: "ibv_devinfo of rdma-core 44", Example: "-d mlx5_0 -v",
		Long: `Most lines need the device opened through libibverbs. Without libibverbs (a static build, an image
without the library, a recorded node without verbs.json), the lines that sysfs and netlink provide
are printed in the same layout, and standard error lists the missing lines and the reason; the exit
code stays 0.

The exit code is 255 for a wrong option, an unknown device or a node without devices; 1 if a device
can't be opened, 2 if it can't be queried, 4 for a port that it doesn't have. The codes of several
devices are combined by a bitwise or.`,
		Options: []Option{
			{"-d, --ib-dev=DEVICE", "print only this device"},
			{"-i, --ib-port=PORT", "print only this port"},
			{"-l, --list", "list the names only"},
			{"-v, --verbose", "print all attributes"},
		},
		run: runIbvDevinfo,
	}
}

const ibvDevinfoUsage = `Usage: %s             print the ca attributes

Options:
  -d, --ib-dev=<dev>     use IB device <dev> (default first device found)
  -i, --ib-port=<port>   use port <port> of IB device (default all ports)
  -l, --list             print only the IB devices names
  -v, --verbose          print all the attributes of the IB device(s)
`

// devinfo is one run.
type devinfo struct {
	*Env
	device  string
	given   bool  // -d was given
	port    uint8 // 0: all; C truncates the number to 8 bits
	verbose bool
}

func runIbvDevinfo(ctx context.Context, env *Env) int {
	r := &devinfo{Env: env}
	opts := env.getopt([]clib.Option{
		clib.Value("ib-dev", 'd'), clib.Value("ib-port", 'i'), clib.Flag("list", 'l'), clib.Flag("verbose", 'v'),
	})
	for {
		letter, arg, ok := opts.Next()
		if !ok {
			break
		}
		switch letter {
		case 'd':
			r.device, r.given = arg, true
		case 'i':
			port := clib.Strtol(arg, 0)
			if port <= 0 {
				env.printf(ibvDevinfoUsage, env.Name)
				return 1
			}
			r.port = uint8(port & 0xff) //nolint:gosec // as in C
		case 'v':
			r.verbose = true
		case 'l':
			return r.list(ctx) // at once: later arguments are ignored
		default:
			env.printf(ibvDevinfoUsage, env.Name)
			return exitMinusOne
		}
	}
	var names []string
	if r.given {
		names = []string{r.device}
	}
	rec, why := env.askVerbs(func(v VerbsSource) (recording.Recording, error) { return v.Describe(ctx, names...) })
	if rec == nil {
		return r.withoutVerbs(ctx, why)
	}
	if errno := listError(rec); errno != 0 {
		return env.perrorList(errno, exitMinusOne)
	}
	return each(r, rec.Devices, func(d *recording.Device) (string, func() int) {
		return d.Name, func() int { return r.describe(d) }
	})
}

func (r *devinfo) list(ctx context.Context) int {
	names, _, errno := r.deviceList(ctx)
	if errno != 0 {
		return r.perrorList(errno, exitMinusOne)
	}
	plural := "s"
	if len(names) == 1 {
		plural = ""
	}
	r.printf("%d HCA%s found:\n", len(names), plural)
	for _, name := range names {
		r.printf("\t%s\n", name)
	}
	r.printf("\n")
	return 0
}

// each prints the requested devices and combines the exit codes.
func each[T any](r *devinfo, devices []T, show func(*T) (name string, run func() int)) int {
	code := 0
	for i := range devices {
		name, run := show(&devices[i])
		switch {
		case !r.given:
			code |= run()
		case name == r.device:
			return run() & 0xff
		}
	}
	switch {
	case r.given:
		r.errorf("IB device '%s' wasn't found\n", r.device)
		return exitMinusOne
	case len(devices) == 0:
		r.errorf("No IB devices found\n")
		return exitMinusOne
	}
	return code & 0xff
}

// describe prints a device, and returns what print_hca_cap of C returns.
func (r *devinfo) describe(d *recording.Device) int {
	a := d.Attributes
	switch {
	case d.Failed(recording.QueryOpen, -1, -1) != nil:
		r.errorf("Failed to open device\n")
		return 1
	case a == nil:
		r.errorf("Failed to query device props\n")
		return r.closed(d, 2)
	case r.port > a.PhysPortCount:
		r.errorf("Invalid port requested for device\n")
		return r.closed(d, 4)
	}
	r.deviceLines(d, a)
	for n := 1; n <= int(a.PhysPortCount); n++ {
		if r.port != 0 && n != int(r.port) {
			continue
		}
		if code := r.portLines(d, n); code != 0 {
			return r.closed(d, code)
		}
	}
	return r.closed(d, 0)
}

// closed returns the exit code of closing the device.
func (r *devinfo) closed(d *recording.Device, code int) int {
	if d.Failed(recording.QueryClose, -1, -1) != nil {
		r.errorf("Failed to close device") // without a line feed, as in C
		return 3
	}
	return code
}

// portLines prints a port; a code other than 0 ends the device.
func (r *devinfo) portLines(d *recording.Device, number int) int {
	var port *recording.Port
	for i := range d.Ports {
		if d.Ports[i].Number == number {
			port = &d.Ports[i]
		}
	}
	if port == nil || port.Attributes == nil {
		r.errorf("Failed to query port %d props\n", number)
		if e := d.Failed(recording.QueryPort, number, -1); e != nil {
			return cmp.Or(e.Errno, exitMinusOne)
		}
		return exitMinusOne
	}
	r.portAttributes(d, port)
	if r.verbose {
		for _, g := range port.GIDs {
			r.gidLine(g.Index, g.GID, gidFormat(g.Type), port.Attributes.LinkLayer == provider.LinkLayerEthernet)
		}
		if e := d.Failed(recording.QueryGID, number, -1); e != nil {
			index := 0
			if e.Index != nil {
				index = *e.Index
			}
			r.errorf("Failed to query gid to port %d, index %d\n", number, index)
			return exitMinusOne
		}
	}
	r.printf("\n")
	return 0
}

// gidFormat is the format of a GID: in groups, as an IPv6 address, or not printed.
func gidFormat(t provider.GIDType) inventory.GIDType {
	switch t {
	case provider.GIDTypeIB, provider.GIDTypeRoCEv1:
		return inventory.GIDTypeRoCEv1
	case provider.GIDTypeRoCEv2:
		return inventory.GIDTypeRoCEv2
	}
	return inventory.GIDTypeUnknown
}
