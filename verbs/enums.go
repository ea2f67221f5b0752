package verbs

import "github.com/rdmakit/rdmakit/verbs/provider"

// Access flags.
const (
	AccessLocalWrite   = provider.AccessLocalWrite   // the local device may write to it
	AccessRemoteWrite  = provider.AccessRemoteWrite  // peers may RDMA WRITE
	AccessRemoteRead   = provider.AccessRemoteRead   // peers may RDMA READ
	AccessRemoteAtomic = provider.AccessRemoteAtomic // peers may execute atomics
	AccessWindowBind   = provider.AccessWindowBind   // memory windows may be bound to it
	AccessZeroBased    = provider.AccessZeroBased    // peers address the first byte as 0
	AccessOnDemand     = provider.AccessOnDemand     // not pinned: the card handles page faults
	AccessHugePages    = provider.AccessHugePages    // with AccessOnDemand: huge pages
	// writes of a message may become visible in any order
	AccessRelaxedOrdering = provider.AccessRelaxedOrdering
)

// Operations of send requests.
const (
	SendOpSend           = provider.SendOpSend           // into the peer's next receive request
	SendOpSendImmediate  = provider.SendOpSendImmediate  // the same, with four bytes of immediate data
	SendOpWrite          = provider.SendOpWrite          // into the peer's memory, without a completion there
	SendOpWriteImmediate = provider.SendOpWriteImmediate // the same, and completes a receive request there
	SendOpRead           = provider.SendOpRead           // from the peer's memory
	SendOpCompareSwap    = provider.SendOpCompareSwap    // of 8 bytes; returns the old value
	SendOpFetchAdd       = provider.SendOpFetchAdd       // to 8 bytes; returns the old value
	SendOpSendInvalidate = provider.SendOpSendInvalidate // SEND that also invalidates a key of the peer
	// invalidates a key of the own domain
	SendOpLocalInvalidate = provider.SendOpLocalInvalidate
	SendOpBindWindow      = provider.SendOpBindWindow // binds a memory window
)

// Flags of send requests.
const (
	SendSignaled  = provider.SendSignaled  // add an entry to the completion queue
	SendSolicited = provider.SendSolicited // request an event at the receiver
	SendInline    = provider.SendInline    // copy the data when posting: the buffer may be reused
	SendFence     = provider.SendFence     // wait for earlier READs and atomics
)

// Types of queue pairs.
const (
	QPTypeRC = provider.QPTypeRC // reliable connection: all operations
	QPTypeUC = provider.QPTypeUC // unreliable connection: SEND and RDMA WRITE
	QPTypeUD = provider.QPTypeUD // unreliable datagram: SEND, of one packet
)

// Outcomes of requests (C twin: enum ibv_wc_status).
const (
	WCSuccess          = provider.WCSuccess          // done
	WCLocalLengthError = provider.WCLocalLengthError // longer than buffer or limit
	WCLocalQPError     = provider.WCLocalQPError     // the queue pair is inconsistent
	WCLocalProtection  = provider.WCLocalProtection  // a segment is not in a valid region
	WCFlushed          = provider.WCFlushed          // not executed: queue pair in state ERR
	WCBadResponse      = provider.WCBadResponse      // unexpected response from the peer
	WCLocalAccessError = provider.WCLocalAccessError // local protection error of a WRITE with immediate
	WCRemoteInvalid    = provider.WCRemoteInvalid    // malformed or too long for the peer
	WCRemoteAccess     = provider.WCRemoteAccess     // the peer's region doesn't allow it
	WCRemoteOperation  = provider.WCRemoteOperation  // the peer could not complete it
	WCRetryExceeded    = provider.WCRetryExceeded    // no acknowledgement received
	WCRNRRetryExceeded = provider.WCRNRRetryExceeded // the peer had no receive request
	WCWindowBindError  = provider.WCWindowBindError  // a memory window could not be bound
	WCRemoteAborted    = provider.WCRemoteAborted    // the peer has aborted the operation
	WCFatal            = provider.WCFatal            // the device has failed
	WCResponseTimeout  = provider.WCResponseTimeout  // no response in time
	WCGeneralError     = provider.WCGeneralError     // anything else
)

// What completed (C twin: enum ibv_wc_opcode).
const (
	WCSend         = provider.WCSend         // SEND, with or without immediate
	WCWrite        = provider.WCWrite        // RDMA WRITE
	WCRead         = provider.WCRead         // RDMA READ
	WCCompareSwap  = provider.WCCompareSwap  // compare-and-swap
	WCFetchAdd     = provider.WCFetchAdd     // fetch-and-add
	WCReceive      = provider.WCReceive      // a SEND arrived
	WCReceiveWrite = provider.WCReceiveWrite // an RDMA WRITE with immediate arrived
	WCBindWindow   = provider.WCBindWindow   // a window was bound
	// a key was invalidated
	WCLocalInvalidate = provider.WCLocalInvalidate
)

// What a completion contains.
const (
	WCGRH         = provider.WCGRH         // a datagram's first 40 bytes are a Global Route Header
	WCImmediate   = provider.WCImmediate   // Immediate is valid
	WCInvalidated = provider.WCInvalidated // InvalidatedKey is valid
	WCTimestamp   = provider.WCTimestamp   // Timestamp is valid
)

// Types of memory windows.
const (
	WindowType1 = provider.WindowType1 // the device chooses the key of a binding
	WindowType2 = provider.WindowType2 // the program chooses it
)

// Optional features of a device.
const (
	CapRC              = provider.CapRC              // queue pairs of type RC
	CapUC              = provider.CapUC              // queue pairs of type UC
	CapUD              = provider.CapUD              // queue pairs of type UD, address handles
	CapAtomics         = provider.CapAtomics         // compare-and-swap, fetch-and-add
	CapImmediate       = provider.CapImmediate       // immediate data
	CapInline          = provider.CapInline          // SendInline, and Data of a request
	CapSendInvalidate  = provider.CapSendInvalidate  // SendOpSendInvalidate
	CapLocalInvalidate = provider.CapLocalInvalidate // SendOpLocalInvalidate
	CapWindow1         = provider.CapWindow1         // memory windows of type 1
	CapWindow2         = provider.CapWindow2         // memory windows of type 2
	CapSRQ             = provider.CapSRQ             // shared receive queues
	CapDrain           = provider.CapDrain           // state SQD
	CapMemoryAddress   = provider.CapMemoryAddress   // Address of MemoryOptions, AccessZeroBased
	CapRegisterAddress = provider.CapRegisterAddress // RegisterAddress of a protection domain
	CapDMABuf          = provider.CapDMABuf          // RegisterDMABuf of a protection domain
	CapOnDemand        = provider.CapOnDemand        // AccessOnDemand
	CapRelaxedOrdering = provider.CapRelaxedOrdering // AccessRelaxedOrdering has an effect
	CapWatch           = provider.CapWatch           // WaitByte without polling
	CapChannel         = provider.CapChannel         // completion channels
	CapTimestamps      = provider.CapTimestamps      // Timestamps of CQConfig
	CapEvents          = provider.CapEvents          // NextEvent
	CapConnector       = provider.CapConnector       // Listen and Dial of a device
)

// Asynchronous events.
const (
	EventCQError            = provider.EventCQError            // a completion queue has overrun
	EventQPFatal            = provider.EventQPFatal            // a queue pair has failed
	EventQPRequestError     = provider.EventQPRequestError     // the same: invalid request from the peer
	EventQPAccessError      = provider.EventQPAccessError      // the same: request without permission
	EventCommEstablished    = provider.EventCommEstablished    // the first packet has come in state RTR
	EventSendQueueDrained   = provider.EventSendQueueDrained   // state SQD is reached
	EventPathMigrated       = provider.EventPathMigrated       // packets take the alternate path
	EventPathMigrationError = provider.EventPathMigrationError // they can't
	EventDeviceFatal        = provider.EventDeviceFatal        // the device has failed or is gone
	EventPortActive         = provider.EventPortActive         // a port is active
	EventPortError          = provider.EventPortError          // a port is no longer active
	EventLIDChange          = provider.EventLIDChange          // a port has another LID
	EventPKeyChange         = provider.EventPKeyChange         // the P_Key table of a port has changed
	EventSMChange           = provider.EventSMChange           // another subnet manager
	EventSRQError           = provider.EventSRQError           // a shared receive queue has failed
	EventSRQLimit           = provider.EventSRQLimit           // few requests are left in it
	EventQPLastRequest      = provider.EventQPLastRequest      // a failed queue pair takes no more from it
	EventClientReregister   = provider.EventClientReregister   // the subnet manager wants subscriptions again
	EventGIDChange          = provider.EventGIDChange          // the GID table of a port has changed
	EventMTUChange          = provider.EventMTUChange          // the largest path MTU has changed
)

// States of a port.
const (
	PortStateDown = provider.PortStateDown // the link is down
	// the link is up, and no subnet manager has configured the port
	PortStateInit        = provider.PortStateInit
	PortStateArmed       = provider.PortStateArmed       // configured, but not yet enabled for data
	PortStateActive      = provider.PortStateActive      // enabled for data
	PortStateActiveDefer = provider.PortStateActiveDefer // the link failed and is being repaired
)

// Link layers.
const (
	LinkLayerUnspecified = provider.LinkLayerUnspecified // not reported by the driver
	LinkLayerInfiniBand  = provider.LinkLayerInfiniBand  // InfiniBand
	LinkLayerEthernet    = provider.LinkLayerEthernet    // Ethernet: RoCE or iWARP
)

// Types of GIDs.
const (
	GIDTypeUnknown = provider.GIDTypeUnknown // not reported by the kernel
	GIDTypeIB      = provider.GIDTypeIB      // InfiniBand
	GIDTypeRoCEv1  = provider.GIDTypeRoCEv1  // RoCE v1: Ethernet frames without IP
	GIDTypeRoCEv2  = provider.GIDTypeRoCEv2  // RoCE v2: UDP over IP
)

// Wait modes.
const (
	WaitHybrid = provider.WaitHybrid // poll for a while, then sleep
	WaitEvent  = provider.WaitEvent  // sleep at once: no CPU time, higher latency
	WaitBusy   = provider.WaitBusy   // poll only: lowest latency, occupies a whole CPU
)
