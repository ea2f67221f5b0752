package fabric

import (
	"context"
	"fmt"
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
	Kind   Kind
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
			return nil, fmt.Errorf("open management port: no device %q: the simulator shows one, %s", o.Device, ibsimDevice)
		}
		t, err := OpenIBSim(ctx, o.Getenv)
		if err != nil {
			return nil, err // not a nil *IBSim
		}
		return t, nil
	case KindUMAD:
		t, err := OpenUMAD(ctx, UMADOptions{Device: o.Device, Port: o.Port})
		if err != nil {
			return nil, err // not a nil *UMAD
		}
		return t, nil
	}
	return nil, fmt.Errorf("open management port: transport %q is neither %q nor %q", string(o.Kind), KindUMAD, KindIBSim)
}
