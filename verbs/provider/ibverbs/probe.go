package ibverbs

import (
	"syscall"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

// The bits of enum ibv_device_cap_flags that matter here.
const (
	flagMemWindow         = 1 << 17
	flagMemMgtExtensions  = 1 << 21
	flagMemWindowType2A   = 1 << 23
	flagMemWindowType2B   = 1 << 24
	odpSupported          = 1 << 0   // IBV_ODP_SUPPORT of general_caps
	vendorSIW             = 0x626d74 // which ignores the address of a region (siw_reg_user_mr)
	alwaysCapabilities    = provider.CapRegisterAddress | provider.CapChannel | provider.CapEvents
	connectedCapabilities = provider.CapRC | provider.CapInline
)

// transportCapabilities returns what every device of a transport has.
func transportCapabilities(t provider.TransportType) provider.Capabilities {
	switch t {
	case provider.TransportTypeInfiniBand:
		return alwaysCapabilities | connectedCapabilities | provider.CapUD | provider.CapImmediate | provider.CapDrain
	case provider.TransportTypeIWARP:
		return alwaysCapabilities | connectedCapabilities
	}
	return alwaysCapabilities
}

// probe returns the capabilities of the device. UC and dma-buf are optional, and no attribute
// reports them: probe tries them.
func (d *openDevice) probe() provider.Capabilities {
	caps := transportCapabilities(d.transport)
	set := func(bit provider.Capabilities, has bool) {
		if has {
			caps |= bit
		}
	}
	flags := d.attr.CapFlags
	infiniband := d.transport == provider.TransportTypeInfiniBand
	set(provider.CapAtomics, infiniband && d.attr.AtomicCap != provider.AtomicCapabilityNone)
	set(provider.CapSendInvalidate|provider.CapLocalInvalidate, flags&flagMemMgtExtensions != 0)
	set(provider.CapWindow2, flags&(flagMemWindowType2A|flagMemWindowType2B) != 0 && d.inline.allocMW.OK())
	set(provider.CapSRQ, d.attr.MaxSRQ > 0)
	set(provider.CapMemoryAddress, d.attr.VendorID != vendorSIW &&
		(d.calls.regMRIova.OK() || d.calls.regMRIova2.OK()))
	set(provider.CapOnDemand, d.attr.ODP.General&odpSupported != 0)
	set(provider.CapConnector, d.cm != nil)
	pd, _ := d.calls.allocPD.CallErrno(d.c.addr)
	if pd == 0 {
		return caps // nothing can be created, and AllocatePD returns why
	}
	set(provider.CapDMABuf, d.hasDMABuf(pd))
	set(provider.CapUC, infiniband && d.hasUC(pd))
	_, _ = d.calls.deallocPD.CallErrno(pd)
	return caps
}

// hasDMABuf registers a descriptor that isn't open: only a driver that knows dma-buf looks at it.
func (d *openDevice) hasDMABuf(pd uintptr) bool {
	if !d.calls.regDMABufMR.OK() {
		return false
	}
	const noFile = ^uintptr(0)
	mr, errno := d.calls.regDMABufMR.CallErrno(pd, 0, 4096, 0, noFile, uintptr(provider.AccessLocalWrite))
	if mr != 0 {
		_, _ = d.calls.deregMR.CallErrno(mr)
	}
	return errno == syscall.EBADF
}

// hasUC creates a queue pair.
func (d *openDevice) hasUC(pd uintptr) bool {
	cq, _ := d.calls.createCQ.CallErrno(d.c.addr, 1, 0, 0, 0)
	if cq == 0 {
		return false
	}
	attr := &cQPInitAttr{
		SendCQ: cq, RecvCQ: cq, QPType: qpTypeCode(provider.QPTypeUC),
		Cap: cQPCap{MaxSendWR: 1, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1},
	}
	qp, _ := callWith(d.calls.createQP, pd, attr, 0)
	if qp != 0 {
		_, _ = d.calls.destroyQP.CallErrno(qp)
	}
	_, _ = d.calls.destroyCQ.CallErrno(cq)
	return qp != 0
}
