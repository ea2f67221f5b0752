package bench

import (
	"github.com/spf13/pflag"

	"github.com/rdmakit/rdmakit/bench"
)

// addRDMACM adds the flags that choose how the ends meet.
func addRDMACM(f *pflag.FlagSet, b *benchFlags) {
	f.BoolVarP(&b.rdmaCM, "rdma-cm", "R", false, "connect the queue pairs by rdma_cm (RC, or UD for SEND), and "+
		"exchange over it; both ends need it, and iWARP devices")
	f.Uint8VarP(&b.tos, "tos", "T", 0, "traffic `CLASS` of the packets of -R's queue pairs, 0 to 255: DSCP times 4, "+
		"and ECN; the client's counts")
	f.BoolVarP(&b.commCM, "comm-rdma-cm", "z", false, "exchange over a connection of rdma_cm, not over TCP; both ends "+
		"need it")
}

// meeting is how the ends meet.
func (b *benchFlags) meeting() bench.RDMACM {
	switch {
	case b.rdmaCM:
		return bench.RDMACMConnect
	case b.commCM:
		return bench.RDMACMExchange
	}
	return bench.RDMACMOff
}

// network names where a server waits.
func network(m bench.RDMACM) string {
	if m == bench.RDMACMOff {
		return "TCP"
	}
	return "rdma_cm"
}
