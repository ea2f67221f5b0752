package verbs

import "github.com/rdmakit/rdmakit/verbs/provider"

// Access flags.
const (
	AccessLocalWrite   = provider.AccessLocalWrite   // the own device may write into it
	AccessRemoteWrite  = provider.AccessRemoteWrite  // peers may RDMA WRITE
	AccessRemoteRead   = provider.AccessRemoteRead   // peers may RDMA READ
	AccessRemoteAtomic = provider.AccessRemoteAtomic // peers may do atomics
)

// Operations of send requests.
const (
	SendOpSend           = provider.SendOpSend           // into the peer's next receive request
	SendOpSendImmediate  = provider.SendOpSendImmediate  // the same, with four bytes beside it
	SendOpWrite          = provider.SendOpWrite          // into the peer's memory, unseen by it
	SendOpWriteImmediate = provider.SendOpWriteImmediate // the same, and four bytes to its program
	SendOpRead           = provider.SendOpRead           // from the peer's memory
	SendOpCompareSwap    = provider.SendOpCompareSwap    // of 8 bytes; returns the old value
	SendOpFetchAdd       = provider.SendOpFetchAdd       // to 8 bytes; returns the old value
)

// Flags of send requests.
const (
	SendSignaled  = provider.SendSignaled  // make an entry in the completion queue
	SendSolicited = provider.SendSolicited // ask for an event at the receiver
	SendInline    = provider.SendInline    // copy the data now: the buffer is free at once
	SendFence     = provider.SendFence     // wait for READs and atomics before it
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
	WCLocalProtection  = provider.WCLocalProtection  // a segment is in no valid region
	WCFlushed          = provider.WCFlushed          // not tried: queue pair in state ERR
	WCBadResponse      = provider.WCBadResponse      // an answer that doesn't fit
	WCLocalAccessError = provider.WCLocalAccessError // WRITE with immediate refused here
	WCRemoteInvalid    = provider.WCRemoteInvalid    // malformed or too long for the peer
	WCRemoteAccess     = provider.WCRemoteAccess     // the peer's region doesn't allow it
	WCRemoteOperation  = provider.WCRemoteOperation  // the peer could not carry it out
	WCRetryExceeded    = provider.WCRetryExceeded    // no acknowledgement came
	WCRNRRetryExceeded = provider.WCRNRRetryExceeded // the peer had no receive request
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
)

// States of a port.
const (
	PortStateDown = provider.PortStateDown // the link is down
	// the link is up, and no subnet manager has configured the port
	PortStateInit        = provider.PortStateInit
	PortStateArmed       = provider.PortStateArmed       // configured, and not yet open for data
	PortStateActive      = provider.PortStateActive      // packets pass
	PortStateActiveDefer = provider.PortStateActiveDefer // the link failed and is being repaired
)

// Link layers.
const (
	LinkLayerUnspecified = provider.LinkLayerUnspecified // the driver does not say
	LinkLayerInfiniBand  = provider.LinkLayerInfiniBand  // InfiniBand
	LinkLayerEthernet    = provider.LinkLayerEthernet    // Ethernet: RoCE or iWARP
)

// Types of GIDs.
const (
	GIDTypeUnknown = provider.GIDTypeUnknown // the kernel does not say
	GIDTypeIB      = provider.GIDTypeIB      // InfiniBand
	GIDTypeRoCEv1  = provider.GIDTypeRoCEv1  // RoCE v1: Ethernet frames without IP
	GIDTypeRoCEv2  = provider.GIDTypeRoCEv2  // RoCE v2: UDP over IP
)

// Ways to wait.
const (
	WaitHybrid = provider.WaitHybrid // poll for a while, then sleep
	WaitEvent  = provider.WaitEvent  // sleep at once: no processor time, more latency
	WaitBusy   = provider.WaitBusy   // poll only: least latency, a whole processor
)
