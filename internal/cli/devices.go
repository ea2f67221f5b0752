package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/internal/edge/dl"
	"github.com/rdmakit/rdmakit/internal/record/sources"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/builtin"
	"github.com/rdmakit/rdmakit/verbs/provider/ibverbs"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
	"github.com/rdmakit/rdmakit/verbs/recording"
)

// engineHint explains the names of engines.
const engineHint = "roce@ADDRESS opens RoCE v2 in user space on an address of this machine, roce@NETDEV on the " +
	"address of a network device"

// iwarpHint names the commands that connect by rdma_cm.
const iwarpHint = "with -R, rdmactl bench and ib_write_bw measure over iWARP: rdma_cm connects their queue pairs, as " +
	"those of rdmactl ping, rping and cmtime"

// staticHint names the build that opens devices of the kernel.
const staticHint = "use rdmactl, the build that loads libibverbs (Linux with glibc), instead of rdmactl-static"

// OpenVerbs opens a device for data transfer: a device of the kernel (mlx5_0, rxe0) through
// libibverbs, or an engine in user space (roce@eth0). For "" it opens the first device of the
// kernel, in the order of libibverbs, that can be opened and has an active port, as perftest takes
// the first one, and otherwise the engine that reaches the peer, or the first one; why names the
// device and those that were skipped. iWARP devices are opened only if rdma_cm connects the queue
// pairs.
func OpenVerbs(ctx context.Context, name string, peer Toward) (device *verbs.Device, why string, err error) {
	o := newOpener()
	o.toward, o.connector = peer, peer.Connects
	return o.open(ctx, name)
}

// open opens a device by its name, or the first one.
func (o *opener) open(ctx context.Context, name string) (device *verbs.Device, why string, err error) {
	if strings.Contains(name, "@") {
		device, err = verbs.Open(ctx, name, o.engines...)
		if errors.Is(err, fs.ErrNotExist) {
			o.node = localNode(ctx)
			err = WithHints(err, engineHint, o.devicesHint(ctx))
		}
		return device, "", err
	}
	o.node = localNode(ctx)
	if name == "" {
		return o.first(ctx)
	}
	device, err = o.named(ctx, name)
	return device, "", err
}

func newOpener() *opener {
	o := &opener{loads: dl.Available, route: routeTo, linkLocal: roce.LinkLocalDevices}
	for _, p := range builtin.All() {
		if p.Name() == (ibverbs.Provider{}).Name() {
			o.kernel = append(o.kernel, p)
		} else {
			o.engines = append(o.engines, p)
		}
	}
	return o
}

// localNode scans this machine; what can't be read, or on systems other than Linux everything, is
// absent.
func localNode(ctx context.Context) *inventory.Snapshot {
	n, err := sources.Local()
	if err != nil {
		return &inventory.Snapshot{}
	}
	defer n.Close()
	snapshot, _ := inventory.Scan(ctx, n.Sources)
	return &snapshot
}

// opener chooses a device and opens it.
type opener struct {
	loads           bool // this build loads C libraries
	node            *inventory.Snapshot
	kernel, engines []provider.Provider
	connector       bool // for rdma_cm: iWARP devices, too, and only devices that connect by themselves
	toward          Toward
	route           func(ctx context.Context, host string) (route, error)
	linkLocal       func() []string // engines at nothing but a link-local IPv6 address
}

// named opens a device of the kernel.
func (o *opener) named(ctx context.Context, name string) (*verbs.Device, error) {
	d := o.node.Device(name)
	if d == nil {
		err := Exitf(ExitNotFound, "open device %s: no such RDMA device", name)
		hints := []string{o.devicesHint(ctx), engineHint}
		if of, _, findErr := o.node.Find(name); findErr == nil {
			hints = append([]string{"the RDMA device of " + name + " is " + of.Name}, hints...)
		} else if _, addrErr := netip.ParseAddr(name); addrErr == nil || o.node.Netdev(name) != nil {
			hints = append([]string{"RoCE v2 in user space there is roce@" + name}, hints...)
		}
		return nil, WithHints(err, hints...)
	}
	if why := refusal(d); why != "" && !o.connector {
		err := Exitf(ExitNotFound, "open device %s: %s: %w", name, why, verbs.ErrNotSupported)
		return nil, WithHints(err, iwarpHint, engineHint)
	}
	if !o.loads {
		const text = "open device %s: this build has no libibverbs, which devices of the kernel need: %w"
		return nil, WithHints(Exitf(ExitNotFound, text, name, verbs.ErrNotSupported), staticHint, engineHint)
	}
	device, err := verbs.Open(ctx, name, o.kernel...)
	if errors.Is(err, verbs.ErrNotSupported) {
		err = &ExitError{Code: ExitNotFound, Err: err}
	}
	return device, err
}

// refusal returns why a device can't be used before it is opened, "" if it can.
func refusal(d *inventory.Device) string {
	if slices.ContainsFunc(d.Ports, func(p inventory.Port) bool { return p.Transport == inventory.TransportIWARP }) {
		return "it is an iWARP device, whose queue pairs connect only by rdma_cm"
	}
	return ""
}

// devicesHint lists the devices of this machine.
func (o *opener) devicesHint(ctx context.Context) string {
	names := o.kernelNames()
	list, _ := verbs.Devices(ctx, o.engines...) // a hint has what can be listed
	for _, d := range list {
		names = append(names, d.Name)
	}
	if len(names) == 0 {
		return "this machine has no RDMA device, and no network device that is up has an IP address"
	}
	return "devices here: " + SomeNames(names, false)
}

// KernelDevicesHint lists the devices of the kernel on this machine.
func KernelDevicesHint(ctx context.Context) string {
	o := opener{node: localNode(ctx)}
	names := o.kernelNames()
	if len(names) == 0 {
		return "this machine has no RDMA device of the kernel"
	}
	return "devices of the kernel here: " + SomeNames(names, false)
}

// kernelNames returns the names of the devices of the kernel.
func (o *opener) kernelNames() (names []string) {
	for _, d := range o.node.Devices {
		names = append(names, d.Name)
	}
	return names
}

// first opens the first device that can be opened.
func (o *opener) first(ctx context.Context) (device *verbs.Device, why string, err error) {
	var skipped skips
	device, err = o.firstKernel(ctx, &skipped)
	first := "the first RDMA device that can be opened and has an active port"
	if device == nil && err == nil {
		device, first, err = o.firstEngine(ctx, &skipped)
	}
	if err == nil && device == nil {
		err = skipped.err()
	}
	if err != nil {
		text := "no device was given, and none can be opened: %w"
		if _, several := errors.AsType[severalError](err); several {
			text = "no device was given, and %w"
		}
		err = Exitf(ExitNotFound, text, err)
		return nil, "", WithHints(err, engineHint)
	}
	return device, "no device was given: using " + device.Name() + ", " + first + skipped.String(), nil
}

// firstKernel opens the first device of the kernel; nil if none can be used.
func (o *opener) firstKernel(ctx context.Context, skipped *skips) (*verbs.Device, error) {
	names := o.kernelNames()
	if len(names) == 0 {
		return nil, nil
	}
	if !o.loads {
		skipped.add("rdmactl-static has no libibverbs", nil, names...)
		return nil, nil
	}
	list, err := verbs.Devices(ctx, o.kernel...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		skipped.add(cause(err), err, names...)
	}
	for _, info := range list {
		if d := o.node.Device(info.Name); d != nil && refusal(d) != "" && !o.connector {
			skipped.add("iWARP needs rdma_cm to connect", nil, info.Name)
			continue
		}
		device, err := verbs.Open(ctx, info.Name, o.kernel...)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			skipped.add(cause(err), err, info.Name)
			continue
		}
		switch {
		case !hasActivePort(ctx, device):
			skipped.add("no active port", device.Close(), info.Name)
		case o.connector && !connects(device):
			skipped.add(noConnector, device.Close(), info.Name)
		default:
			return device, nil
		}
	}
	return nil, nil
}

// hasActivePort reports whether a port of a device is active.
func hasActivePort(ctx context.Context, device *verbs.Device) bool {
	for number := 1; number <= int(device.Attributes().PhysPortCount); number++ {
		if port, err := device.Port(ctx, number); err == nil && port.State == provider.PortStateActive {
			return true
		}
	}
	return false
}

// firstEngine opens the first engine, and reports why it is that one; nil if none can be opened.
func (o *opener) firstEngine(ctx context.Context, skipped *skips) (device *verbs.Device, why string, err error) {
	names, best, err := o.engineNames(ctx)
	if err != nil {
		return nil, "", err
	}
	for i, name := range names {
		device, err := verbs.Open(ctx, name, o.engines...)
		switch {
		case err != nil:
			skipped.errs = append(skipped.errs, err)
		case i > 0:
			return device, "the first one that can be opened", nil
		default:
			return device, best, nil
		}
	}
	if len(names) == 0 {
		skipped.errs = append(skipped.errs, errors.New("no network device that is up has an IP address"))
	}
	return nil, "", nil
}

// skips collects devices that can't be used, by the reason.
type skips struct {
	reasons []string
	names   map[string][]string
	errs    []error // for the case that no device can be used
}

// add adds devices; err is nil for a reason that is no error.
func (s *skips) add(reason string, err error, names ...string) {
	if s.names == nil {
		s.names = map[string][]string{}
	}
	if s.names[reason] == nil {
		s.reasons = append(s.reasons, reason)
	}
	s.names[reason] = append(s.names[reason], names...)
	if err == nil {
		err = fmt.Errorf("open device %s: %s", SomeNames(names, false), reason)
	}
	s.errs = append(s.errs, err)
}

// err joins the errors.
func (s *skips) err() error { return errors.Join(s.errs...) }

// String returns the devices of the kernel that were skipped, as the end of a sentence: "; skipped
// siw0 (iWARP needs rdma_cm to connect)".
func (s *skips) String() string {
	var list []string
	for _, reason := range s.reasons {
		list = append(list, fmt.Sprintf("%s (%s)", SomeNames(s.names[reason], false), reason))
	}
	if len(list) == 0 {
		return ""
	}
	return "; skipped " + strings.Join(list, ", ")
}

// cause returns the cause of an error of libibverbs without the operation, which the context shows.
func cause(err error) string {
	if e, ok := errors.AsType[*recording.QueryError](err); ok {
		return e.Text
	}
	return err.Error()
}
