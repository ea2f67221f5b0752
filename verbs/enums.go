package verbs

import "github.com/rdmakit/rdmakit/verbs/provider"

// Access flags.
const (
	AccessLocalWrite   = provider.AccessLocalWrite
	AccessRemoteWrite  = provider.AccessRemoteWrite
	AccessRemoteRead   = provider.AccessRemoteRead
	AccessRemoteAtomic = provider.AccessRemoteAtomic
)

// Operations of send requests.
const (
	SendOpSend           = provider.SendOpSend
	SendOpSendImmediate  = provider.SendOpSendImmediate
	SendOpWrite          = provider.SendOpWrite
	SendOpWriteImmediate = provider.SendOpWriteImmediate
	SendOpRead           = provider.SendOpRead
	SendOpCompareSwap    = provider.SendOpCompareSwap
	SendOpFetchAdd       = provider.SendOpFetchAdd
)

// Flags of send requests.
const (
	SendSignaled  = provider.SendSignaled
	SendSolicited = provider.SendSolicited
	SendInline    = provider.SendInline
	SendFence     = provider.SendFence
)

// Types of queue pairs.
const (
	QPTypeRC = provider.QPTypeRC
	QPTypeUC = provider.QPTypeUC
	QPTypeUD = provider.QPTypeUD
)

// Outcomes of requests (C twin: enum ibv_wc_status).
const (
	WCSuccess          = provider.WCSuccess
	WCLocalLengthError = provider.WCLocalLengthError
	WCLocalQPError     = provider.WCLocalQPError
	WCLocalProtection  = provider.WCLocalProtection
	WCFlushed          = provider.WCFlushed
	WCBadResponse      = provider.WCBadResponse
	WCLocalAccessError = provider.WCLocalAccessError
	WCRemoteInvalid    = provider.WCRemoteInvalid
	WCRemoteAccess     = provider.WCRemoteAccess
	WCRemoteOperation  = provider.WCRemoteOperation
	WCRetryExceeded    = provider.WCRetryExceeded
	WCRNRRetryExceeded = provider.WCRNRRetryExceeded
	WCGeneralError     = provider.WCGeneralError
)

// What completed (C twin: enum ibv_wc_opcode).
const (
	WCSend         = provider.WCSend
	WCWrite        = provider.WCWrite
	WCRead         = provider.WCRead
	WCCompareSwap  = provider.WCCompareSwap
	WCFetchAdd     = provider.WCFetchAdd
	WCReceive      = provider.WCReceive
	WCReceiveWrite = provider.WCReceiveWrite
)

// Ways to wait.
const (
	WaitHybrid = provider.WaitHybrid
	WaitEvent  = provider.WaitEvent
	WaitBusy   = provider.WaitBusy
)
