package fabric

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/wire/mad"
)

// Kind says by which way a transport goes.
type Kind string

// The ways.
const (
	KindAuto  Kind = ""      // the simulator if the environment names one (WantsIBSim), else the kernel
	KindIBSim Kind = "ibsim" // a running ibsim: OpenIBSim
	KindUMAD  Kind = "umad"  // a port of this machine: OpenUMAD
)

// ibsimDevice is what umad2sim calls the adapter that a client sits at.
const ibsimDevice = "ibsim0"

// OpenOptions chooses the port that management datagrams go through.
type OpenOptions struct {
	Kind   Kind   // by which way
	Device string // of RDMA, as "mlx5_0"; empty: any. The simulator shows one, ibsimDevice, as umad2sim does.
	Port   int    // 0: any
	// Getenv reads the environment: os.Getenv or its like.
	Getenv func(string) string
}

// Open opens a transport. The error says what was looked for, what there is, and what to do.
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
			return nil, fmt.Errorf("open management port: no device %q: the simulator shows one, %s",
				o.Device, ibsimDevice)
		}
		t, err := OpenIBSim(ctx, o.Getenv)
		if err != nil {
			return nil, err // not a nil *IBSim
		}
		if err := checkPort(ctx, t, o.Port); err != nil {
			t.Close() //nolint:errcheck // nothing is under way
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

// checkPort refuses a port that the simulated node doesn't have.
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
