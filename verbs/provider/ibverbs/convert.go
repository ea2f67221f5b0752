package ibverbs

import (
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// deviceAttributes copies the C struct, field by field.
func deviceAttributes(a *cDeviceAttrEx, extended bool) provider.DeviceAttributes {
	o := &a.Orig
	return provider.DeviceAttributes{
		Firmware: text(o.FWVer[:]), NodeGUID: ib.GUID(o.NodeGUID), SystemGUID: ib.GUID(o.SysImageGUID),
		MaxMRSize: o.MaxMRSize, PageSizeCap: o.PageSizeCap,
		VendorID: o.VendorID, VendorPartID: o.VendorPartID, HWVersion: o.HWVer,
		MaxQP: o.MaxQP, MaxQPWR: o.MaxQPWR, CapFlags: o.DeviceCapFlags,
		MaxSGE: o.MaxSGE, MaxSGERead: o.MaxSGERd, MaxCQ: o.MaxCQ, MaxCQE: o.MaxCQE, MaxMR: o.MaxMR, MaxPD: o.MaxPD,
		MaxQPReadAtomic: o.MaxQPRdAtom, MaxEEReadAtomic: o.MaxEERdAtom, MaxResReadAtomic: o.MaxResRdAtom,
		MaxQPInitReadAtomic: o.MaxQPInitRdAtom, MaxEEInitReadAtomic: o.MaxEEInitRdAtom,
		AtomicCap: provider.AtomicCapability(o.AtomicCap),
		MaxEE:     o.MaxEE, MaxRDD: o.MaxRDD, MaxMW: o.MaxMW,
		MaxRawIPv6QP: o.MaxRawIPv6QP, MaxRawEthertypeQP: o.MaxRawEthyQP,
		MaxMulticastGroups: o.MaxMcastGrp, MaxMulticastQPAttach: o.MaxMcastQPAttach,
		MaxTotalMulticastQPs: o.MaxTotalMcastQPAttach,
		MaxAH:                o.MaxAH, MaxFMR: o.MaxFMR, MaxMapPerFMR: o.MaxMapPerFMR,
		MaxSRQ: o.MaxSRQ, MaxSRQWR: o.MaxSRQWR, MaxSRQSGE: o.MaxSRQSGE,
		MaxPKeys: o.MaxPKeys, LocalCAAckDelay: o.LocalCAAckDelay, PhysPortCount: o.PhysPortCnt,
		Extended: extended,
		ODP: provider.ODPCapabilities{
			General: a.ODPGeneral, RC: a.ODPRC, UC: a.ODPUC, UD: a.ODPUD, XRC: a.ODPXRC,
		},
		CompletionTimestampMask: a.CompletionTimestampMask, HCACoreClock: a.HCACoreClock,
		CapFlagsExtended: a.DeviceCapFlagsEx,
		TSO:              provider.TSOCapabilities{Max: a.TSOMax, SupportedQPs: a.TSOQPTs},
		RSS: provider.RSSCapabilities{
			SupportedQPs: a.RSSQPTs, MaxRWQIndirectionTables: a.RSSMaxTables,
			MaxRWQIndirectionTableSize: a.RSSMaxTableSize,
			RXHashFieldsMask:           a.RSSHashFieldsMask, RXHashFunction: a.RSSHashFunction,
		},
		MaxWQTypeRQ: a.MaxWQTypeRQ,
		PacketPacing: provider.PacketPacingCapabilities{
			RateLimitMin: a.PacketPacingRateLimitMin, RateLimitMax: a.PacketPacingRateLimitMax,
			SupportedQPs: a.PacketPacingQPTs,
		},
		RawPacketCaps: a.RawPacketCaps,
		TagMatching: provider.TagMatchingCapabilities{
			MaxRendezvousHeader: a.TMMaxRndvHdrSize, MaxTags: a.TMMaxNumTags, Flags: a.TMFlags, MaxOps: a.TMMaxOps,
			MaxSGE: a.TMMaxSGE,
		},
		CQModeration: provider.CQModerationCapabilities{
			MaxCount: a.CQModMaxCount, MaxPeriod: a.CQModMaxPeriod,
		},
		MaxDMSize: a.MaxDMSize,
		PCIAtomic: provider.PCIAtomicCapabilities{
			FetchAdd: a.PCIAtomicFetchAdd, Swap: a.PCIAtomicSwap, CompareSwap: a.PCIAtomicCompareSwap,
		},
		PhysPortCountExtended: a.PhysPortCntEx,
	}
}

// portAttributes copies the C struct, field by field.
func portAttributes(a *cPortAttr) provider.PortAttributes {
	return provider.PortAttributes{
		State:  provider.PortState(a.State),
		MaxMTU: provider.DriverMTU(int(a.MaxMTU)), ActiveMTU: provider.DriverMTU(int(a.ActiveMTU)),
		GIDTableLength: a.GIDTblLen, CapFlags: a.PortCapFlags, MaxMessageSize: a.MaxMsgSz,
		BadPKeyCounter: a.BadPKeyCntr, QKeyViolations: a.QKeyViolCntr, PKeyTableLength: a.PKeyTblLen,
		LID: ib.LID(a.LID), SMLID: ib.LID(a.SMLID), LMC: a.LMC, MaxVLs: a.MaxVLNum, SMSL: a.SMSL,
		SubnetTimeout: a.SubnetTimeout, InitTypeReply: a.InitTypeReply,
		ActiveWidth: a.ActiveWidth, ActiveSpeed: a.ActiveSpeed, PhysState: a.PhysState,
		LinkLayer: provider.LinkLayer(a.LinkLayer), Flags: a.Flags, CapFlags2: a.PortCapFlags2,
		ActiveSpeedExtended: a.ActiveSpeedEx,
	}
}
