package fabric

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Kind is a kind of transport.
type Kind string

// The kinds.
const (
	KindAuto  Kind = ""      // the simulator if the environment names one (WantsIBSim), else the kernel
	KindIBSim Kind = "ibsim" // a running ibsim: OpenIBSim
	KindUMAD  Kind = "umad"  // a port of this machine: OpenUMAD
)

// ibsimDevice is umad2sim's name of the adapter that a client is attached to.
const ibsimDevice = "ibsim0"

// OpenOptions selects the port for management datagrams.
type OpenOptions struct {
	Kind   Kind   // the kind of transport
	Device string // RDMA device, such as "mlx5_0"; empty: any. The simulator has one, ibsimDevice, as in umad2sim.
	Port   int    // 0: any
	// Getenv reads the environment: os.Getenv or a substitute.
	Getenv func(string) string
}

// Open opens a transport. The error names what was requested, what exists, and the remedy.
func Open(ctx context.Context, o OpenOptions) (Transport, error) {
	kind := o.Kind
	if kind == KindAuto {
		kind = KindUMAD
		if WantsIBSim(o.Getenv) {
			kind = KindIBSim
		}
	}
	switch kind {
	case KindIBSim:
		if o.Device != "" && o.Device != ibsimDevice {
			return nil, fmt.Errorf("open management port: no device %q: the simulator has one device, %s",
				o.Device, ibsimDevice)
		}
		t, err := OpenIBSim(ctx, o.Getenv)
		if err != nil {
			return nil, err // not a nil *IBSim
		}
		if err := checkPort(ctx, t, o.Port); err != nil {
			t.Close() //nolint:errcheck // no request is outstanding
			return nil, err
		}
		return t, nil
	case KindUMAD:
		t, err := OpenUMAD(ctx, UMADOptions{Device: o.Device, Port: o.Port})
		if err != nil {
			return nil, err // not a nil *UMAD
		}
		return t, nil
	}
	return nil, fmt.Errorf("open management port: transport %q is neither %q nor %q",
		string(o.Kind), KindUMAD, KindIBSim)
}

// checkPort rejects a port that the simulated node doesn't have.
func checkPort(ctx context.Context, t Transport, port int) error {
	if port == 0 {
		return nil
	}
	client := Client{Transport: t}
	data, err := client.SMP(ctx, Target{}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
	if err != nil {
		return fmt.Errorf("open management port: %w", err)
	}
	var node mad.NodeInfo
	node.Decode(data) //nolint:errcheck // the client has the length
	if port < 0 || port > int(node.NumPorts) {
		return fmt.Errorf("open management port: no port %d: the simulated node has %d", port, node.NumPorts)
	}
	return nil
}
