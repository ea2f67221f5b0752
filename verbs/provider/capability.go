package provider

import "strings"

// Capabilities are the optional features of a device, as its provider offers them: a feature that
// the device has and the provider doesn't implement isn't set. A program checks them before it
// creates objects; using a feature that isn't set returns [ErrNotSupported].
type Capabilities uint64

// The features, with the interfaces that implement them.
const (
	CapRC              Capabilities = 1 << iota // queue pairs of type RC
	CapUC                                       // of type UC
	CapUD                                       // of type UD, and [AddressHandleCreator]
	CapAtomics                                  // SendOpCompareSwap, SendOpFetchAdd
	CapImmediate                                // immediate data; iWARP has none
	CapInline                                   // SendInline and Data of a request
	CapSendInvalidate                           // SendOpSendInvalidate
	CapLocalInvalidate                          // SendOpLocalInvalidate
	CapWindow1                                  // [WindowAllocator] for type 1
	CapWindow2                                  // [WindowAllocator] for type 2
	CapSRQ                                      // [SRQCreator]
	CapDrain                                    // state SQD
	CapMemoryAddress                            // Address of [MemoryOptions], AccessZeroBased
	CapRegisterAddress                          // [AddressRegistrar]
	CapDMABuf                                   // [DMABufRegistrar]
	CapOnDemand                                 // AccessOnDemand
	CapRelaxedOrdering                          // AccessRelaxedOrdering has an effect
	CapWatch                                    // [MemoryWatcher]
	CapChannel                                  // [ChannelCreator]
	CapTimestamps                               // Timestamps of [CQConfig]
	CapEvents                                   // [EventSource]
	CapConnector                                // [Connector]
)

var capabilityNames = [...]string{
	"RC", "UC", "UD", "atomics", "immediate data", "inline", "send with invalidate", "local invalidate",
	"memory windows type 1", "memory windows type 2", "shared receive queues", "send queue drain", "memory address",
	"register address", "dma-buf", "on-demand paging", "relaxed ordering", "memory watch", "completion channels",
	"timestamps", "asynchronous events", "connection manager",
}

// Has reports whether all of want are set.
func (c Capabilities) Has(want Capabilities) bool { return c&want == want }

// String returns the names, separated by commas.
func (c Capabilities) String() string { return bitNames(capabilityNames[:], uint64(c)) }

// bitNames returns the names of the bits that are set, separated by commas.
func bitNames(names []string, bits uint64) string {
	var set []string
	for i, name := range names {
		if bits&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}
