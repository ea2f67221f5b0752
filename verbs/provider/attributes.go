package provider

import (
	"encoding/json"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// DeviceAttributes are the capabilities and limits of a device: struct ibv_device_attr, and from
// Extended on the fields that struct ibv_device_attr_ex adds. Numbers of objects are the
// driver's limits; 0 or -1 often means that the driver doesn't report one.
type DeviceAttributes struct {
	Firmware             string           `json:"firmware"`             // fw_ver; "" if the driver has none
	NodeGUID             ib.GUID          `json:"nodeGUID"`             // node_guid
	SystemGUID           ib.GUID          `json:"systemGUID"`           // sys_image_guid
	MaxMRSize            uint64           `json:"maxMRSize"`            // max_mr_size, bytes
	PageSizeCap          uint64           `json:"pageSizeCap"`          // page_size_cap, one bit for each size
	VendorID             uint32           `json:"vendorID"`             // vendor_id, an OUI
	VendorPartID         uint32           `json:"vendorPartID"`         // vendor_part_id
	HWVersion            uint32           `json:"hwVersion"`            // hw_ver
	MaxQP                int32            `json:"maxQP"`                // max_qp, queue pairs
	MaxQPWR              int32            `json:"maxQPWR"`              // max_qp_wr, requests in a queue
	CapFlags             uint32           `json:"capFlags"`             // device_cap_flags, enum ibv_device_cap_flags
	MaxSGE               int32            `json:"maxSGE"`               // max_sge, segments of a request
	MaxSGERead           int32            `json:"maxSGERead"`           // max_sge_rd
	MaxCQ                int32            `json:"maxCQ"`                // max_cq
	MaxCQE               int32            `json:"maxCQE"`               // max_cqe, completions in a queue
	MaxMR                int32            `json:"maxMR"`                // max_mr, memory regions
	MaxPD                int32            `json:"maxPD"`                // max_pd
	MaxQPReadAtomic      int32            `json:"maxQPReadAtomic"`      // max_qp_rd_atom, of the peer at a time
	MaxEEReadAtomic      int32            `json:"maxEEReadAtomic"`      // max_ee_rd_atom
	MaxResReadAtomic     int32            `json:"maxResReadAtomic"`     // max_res_rd_atom
	MaxQPInitReadAtomic  int32            `json:"maxQPInitReadAtomic"`  // max_qp_init_rd_atom, of ours
	MaxEEInitReadAtomic  int32            `json:"maxEEInitReadAtomic"`  // max_ee_init_rd_atom
	AtomicCap            AtomicCapability `json:"atomicCap"`            // atomic_cap
	MaxEE                int32            `json:"maxEE"`                // max_ee
	MaxRDD               int32            `json:"maxRDD"`               // max_rdd
	MaxMW                int32            `json:"maxMW"`                // max_mw
	MaxRawIPv6QP         int32            `json:"maxRawIPv6QP"`         // max_raw_ipv6_qp
	MaxRawEthertypeQP    int32            `json:"maxRawEthertypeQP"`    // max_raw_ethy_qp
	MaxMulticastGroups   int32            `json:"maxMulticastGroups"`   // max_mcast_grp
	MaxMulticastQPAttach int32            `json:"maxMulticastQPAttach"` // max_mcast_qp_attach
	// max_total_mcast_qp_attach
	//nolint:staticcheck // QPs is the plural of QP
	MaxTotalMulticastQPs int32  `json:"maxTotalMulticastQPs"`
	MaxAH                int32  `json:"maxAH"`        // max_ah
	MaxFMR               int32  `json:"maxFMR"`       // max_fmr
	MaxMapPerFMR         int32  `json:"maxMapPerFMR"` // max_map_per_fmr
	MaxSRQ               int32  `json:"maxSRQ"`       // max_srq
	MaxSRQWR             int32  `json:"maxSRQWR"`     // max_srq_wr
	MaxSRQSGE            int32  `json:"maxSRQSGE"`    // max_srq_sge
	MaxPKeys             uint16 `json:"maxPKeys"`     // max_pkeys
	// local_ca_ack_delay, 4.096 µs × 2^n
	LocalCAAckDelay uint8 `json:"localCAAckDelay"`
	PhysPortCount   uint8 `json:"physPortCount"` // phys_port_cnt
	// the library has ibv_query_device_ex; otherwise all fields below are 0
	Extended bool            `json:"extended"`
	ODP      ODPCapabilities `json:"odp"` // odp_caps, xrc_odp_caps
	// completion_timestamp_mask; 0: not supported
	CompletionTimestampMask uint64 `json:"completionTimestampMask"`
	// hca_core_clock, kHz; 0: not supported
	HCACoreClock     uint64                   `json:"hcaCoreClock"`
	CapFlagsExtended uint64                   `json:"capFlagsExtended"` // device_cap_flags_ex
	TSO              TSOCapabilities          `json:"tso"`              // tso_caps
	RSS              RSSCapabilities          `json:"rss"`              // rss_caps
	MaxWQTypeRQ      uint32                   `json:"maxWQTypeRQ"`      // max_wq_type_rq
	PacketPacing     PacketPacingCapabilities `json:"packetPacing"`     // packet_pacing_caps
	// raw_packet_caps, enum ibv_raw_packet_caps
	RawPacketCaps uint32                   `json:"rawPacketCaps"`
	TagMatching   TagMatchingCapabilities  `json:"tagMatching"`  // tm_caps
	CQModeration  CQModerationCapabilities `json:"cqModeration"` // cq_mod_caps
	// max_dm_size, bytes of device memory
	MaxDMSize uint64                `json:"maxDMSize"`
	PCIAtomic PCIAtomicCapabilities `json:"pciAtomic"` // pci_atomic_caps
	// phys_port_cnt_ex; 0 from older drivers
	PhysPortCountExtended uint32 `json:"physPortCountExtended"`
	// MaxInline is the maximum number of bytes of an inline request; 0 from libibverbs, which
	// reports it for each queue pair (max_inline_data of struct ibv_qp_cap).
	MaxInline int32 `json:"maxInline,omitempty"`
	// CompletionVectors is num_comp_vectors of struct ibv_context: interrupts for completion
	// queues.
	CompletionVectors int32 `json:"completionVectors,omitempty"`
}

// ODPCapabilities are the capabilities of on-demand paging: struct ibv_odp_caps, and those of XRC
// from struct ibv_device_attr_ex.
type ODPCapabilities struct {
	General uint64 `json:"general"` // general_caps, enum ibv_odp_general_caps
	RC      uint32 `json:"rc"`      // rc_odp_caps, enum ibv_odp_transport_cap_bits; so are the others
	UC      uint32 `json:"uc"`      // uc_odp_caps
	UD      uint32 `json:"ud"`      // ud_odp_caps
	XRC     uint32 `json:"xrc"`     // xrc_odp_caps
}

// TSOCapabilities is struct ibv_tso_caps.
type TSOCapabilities struct {
	Max uint32 `json:"max"` // max_tso, bytes; 0: not supported
	// supported_qpts: bit n for enum ibv_qp_type n
	SupportedQPs uint32 `json:"supportedQPs"` //nolint:staticcheck // QPs is the plural of QP
}

// RSSCapabilities is struct ibv_rss_caps.
type RSSCapabilities struct {
	// supported_qpts: bit n for enum ibv_qp_type n
	//nolint:staticcheck // QPs is the plural of QP
	SupportedQPs               uint32 `json:"supportedQPs"`
	MaxRWQIndirectionTables    uint32 `json:"maxRWQIndirectionTables"`    // max_rwq_indirection_tables
	MaxRWQIndirectionTableSize uint32 `json:"maxRWQIndirectionTableSize"` // max_rwq_indirection_table_size
	// rx_hash_fields_mask, enum ibv_rx_hash_fields
	RXHashFieldsMask uint64 `json:"rxHashFieldsMask"`
	// rx_hash_function, enum ibv_rx_hash_function_flags
	RXHashFunction uint8 `json:"rxHashFunction"`
}

// PacketPacingCapabilities is struct ibv_packet_pacing_caps.
type PacketPacingCapabilities struct {
	RateLimitMin uint32 `json:"rateLimitMin"` // qp_rate_limit_min, kbit/s
	RateLimitMax uint32 `json:"rateLimitMax"` // qp_rate_limit_max, kbit/s; 0: not supported
	// supported_qpts: bit n for enum ibv_qp_type n
	SupportedQPs uint32 `json:"supportedQPs"` //nolint:staticcheck // QPs is the plural of QP
}

// TagMatchingCapabilities is struct ibv_tm_caps.
type TagMatchingCapabilities struct {
	MaxRendezvousHeader uint32 `json:"maxRendezvousHeader"` // max_rndv_hdr_size, bytes
	MaxTags             uint32 `json:"maxTags"`             // max_num_tags; 0: not supported
	Flags               uint32 `json:"flags"`               // flags, enum ibv_tm_cap_flags
	MaxOps              uint32 `json:"maxOps"`              // max_ops
	MaxSGE              uint32 `json:"maxSGE"`              // max_sge
}

// CQModerationCapabilities is struct ibv_cq_moderation_caps.
type CQModerationCapabilities struct {
	MaxCount  uint16 `json:"maxCount"`  // max_cq_count
	MaxPeriod uint16 `json:"maxPeriod"` // max_cq_period, µs
}

// PCIAtomicCapabilities is struct ibv_pci_atomic_caps: bits of enum ibv_pci_atomic_op_size.
type PCIAtomicCapabilities struct {
	FetchAdd    uint16 `json:"fetchAdd"`    // fetch_add
	Swap        uint16 `json:"swap"`        // swap
	CompareSwap uint16 `json:"compareSwap"` // compare_swap
}

// PortAttributes are the attributes of one port: struct ibv_port_attr. In JSON all numbers are the
// driver's.
type PortAttributes struct {
	State PortState `json:"state"` // state
	// MaxMTU and ActiveMTU are in bytes, and codes in JSON: see DriverMTU.
	MaxMTU          ib.MTU `json:"maxMTU"`          // max_mtu
	ActiveMTU       ib.MTU `json:"activeMTU"`       // active_mtu
	GIDTableLength  int32  `json:"gidTableLength"`  // gid_tbl_len
	CapFlags        uint32 `json:"capFlags"`        // port_cap_flags, enum ibv_port_cap_flags
	MaxMessageSize  uint32 `json:"maxMessageSize"`  // max_msg_sz, bytes
	BadPKeyCounter  uint32 `json:"badPKeyCounter"`  // bad_pkey_cntr
	QKeyViolations  uint32 `json:"qkeyViolations"`  // qkey_viol_cntr
	PKeyTableLength uint16 `json:"pkeyTableLength"` // pkey_tbl_len
	LID             ib.LID `json:"lid"`             // lid
	SMLID           ib.LID `json:"smLID"`           // sm_lid
	LMC             uint8  `json:"lmc"`             // lmc
	// max_vl_num, a code: 1, 2, 3, 4, 5 for 1, 2, 4, 8, 15 lanes
	MaxVLs        uint8 `json:"maxVLs"`
	SMSL          uint8 `json:"smSL"`          // sm_sl
	SubnetTimeout uint8 `json:"subnetTimeout"` // subnet_timeout, 4.096 µs × 2^n
	InitTypeReply uint8 `json:"initTypeReply"` // init_type_reply
	// active_width, a code: 1, 2, 4, 8, 16 for 1X, 4X, 8X, 12X, 2X
	ActiveWidth uint8 `json:"activeWidth"`
	// active_speed, a code: 1 SDR … 32 EDR, 64 HDR, 128 NDR
	ActiveSpeed uint8 `json:"activeSpeed"`
	// phys_state, a code: 2 polling, 3 disabled, 5 link up
	PhysState uint8     `json:"physState"`
	LinkLayer LinkLayer `json:"linkLayer"` // link_layer
	Flags     uint8     `json:"flags"`     // flags: 1 when a GRH is required
	CapFlags2 uint16    `json:"capFlags2"` // port_cap_flags2, enum ibv_port_cap_flags2
	// active_speed_ex, which covers XDR; 0 from libraries that don't have it
	ActiveSpeedExtended uint32 `json:"activeSpeedExtended,omitempty"`
}

// MarshalJSON implements json.Marshaler: MTUs are codes.
func (a PortAttributes) MarshalJSON() ([]byte, error) {
	type plain PortAttributes // without this method
	out := plain(a)
	out.MaxMTU, out.ActiveMTU = ib.MTU(DriverMTUCode(a.MaxMTU)), ib.MTU(DriverMTUCode(a.ActiveMTU))
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler; see MarshalJSON.
func (a *PortAttributes) UnmarshalJSON(b []byte) error {
	type plain PortAttributes
	in := plain{}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	in.MaxMTU, in.ActiveMTU = DriverMTU(int(in.MaxMTU)), DriverMTU(int(in.ActiveMTU))
	*a = PortAttributes(in)
	return nil
}

// DriverMTU returns the MTU for a driver's code (C twin: enum ibv_mtu). For an unknown code it
// returns the negative code, -9 for 9, so that a report can show what the driver reported.
// Negative codes, which are invalid, are treated as 0 (unknown).
func DriverMTU(code int) ib.MTU {
	if m := ib.MTUFromCode(code); m != 0 {
		return m
	}
	return ib.MTU(-max(0, code))
}

// DriverMTUCode is the inverse of [DriverMTU]: it returns the code for m.
func DriverMTUCode(m ib.MTU) int {
	if m <= 0 {
		return int(-m)
	}
	return m.Code()
}

// GIDEntry is a non-empty entry of a port's GID table: struct ibv_gid_entry.
type GIDEntry struct {
	Index int     `json:"index"` // gid_index
	GID   ib.GID  `json:"gid"`   // gid
	Type  GIDType `json:"type"`  // gid_type; GIDTypeUnknown if the query failed
	// Ifindex of the network device, ndev_ifindex; 0 if there is none or it is unknown.
	Ifindex uint32 `json:"ifindex,omitempty"`
}
