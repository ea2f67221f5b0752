package dcbnl

// State is what the kernel reports about a network device. A part that the driver doesn't implement
// is nil.
type State struct {
	Netdev   string
	DCBX     *uint8 // DCB_CAP_DCBX_*
	PFC      *PFC
	ETS      *ETS
	Apps     []App // the kernel's table, in its order
	Buffer   *Buffer
	PeerPFC  *PFC
	PeerETS  *ETS
	PeerApps []App
}

// PFC is priority flow control (struct ieee_pfc). Arrays are indexed by priority.
type PFC struct {
	Capacity    uint8 // number of traffic classes that can have PFC
	Enabled     uint8 // bit n: priority n is lossless
	MBC         uint8 // MACsec bypass capability
	Delay       uint16
	Requests    [8]uint64 // pause frames sent
	Indications [8]uint64 // pause frames received
}

// ETS is enhanced transmission selection (struct ieee_ets). Arrays are indexed by traffic class,
// those with the name of a priority by priority.
type ETS struct {
	Willing             uint8 // the port takes over the peer's settings
	Classes             uint8 // number of traffic classes
	CBS                 uint8 // credit based shaper
	TxBandwidth         [8]uint8
	RxBandwidth         [8]uint8
	Algorithm           [8]uint8 // 0 strict, 1 credit based, 2 ETS, 255 vendor
	PriorityClass       [8]uint8
	RecommendedTx       [8]uint8
	RecommendedAlgo     [8]uint8
	RecommendedPriority [8]uint8
}

// App maps a protocol to a priority (struct dcb_app).
type App struct {
	Selector uint8 // IEEE_8021QAZ_APP_SEL_*
	Priority uint8
	Protocol uint16 // the DSCP for IEEE_8021QAZ_APP_SEL_DSCP
}

// Buffer are the receive buffers of a port (struct dcbnl_buffer).
type Buffer struct {
	Priority [8]uint8  // buffer of each priority
	Bytes    [8]uint32 // size of each buffer
	Total    uint32
}
