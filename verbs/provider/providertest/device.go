package providertest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rdmakit/rdmakit/verbs/provider"
)

func deviceRules() []rule {
	return []rule{
		{"attributes", 0, checkDeviceAttributes},
		{"port", 0, checkPort},
		{"gids", 0, checkGIDs},
		{"interfaces", 0, checkInterfaces},
		{"not-announced", provider.CapRC, checkNotAnnounced},
		{"foreign-objects", provider.CapRC, checkForeignObjects},
		{"capacity", provider.CapRC, checkCapacity},
		{"cq-depth", 0, checkDepth},
		{"qp-numbers", provider.CapRC, checkNumbers},
	}
}

// checkDeviceAttributes checks the limits that programs depend on (ibv_query_device).
func checkDeviceAttributes(c *check) {
	for _, d := range c.devices() {
		a := d.Attributes()
		for _, limit := range []struct {
			name  string
			value int32
		}{
			{"MaxQP", a.MaxQP},
			{"MaxQPWR", a.MaxQPWR},
			{"MaxSGE", a.MaxSGE},
			{"MaxCQE", a.MaxCQE},
			{"MaxMR", a.MaxMR},
			{"PhysPortCount", int32(a.PhysPortCount)},
			{"MaxQPReadAtomic", a.MaxQPReadAtomic},
			{"MaxQPInitReadAtomic", a.MaxQPInitReadAtomic},
		} {
			if limit.value < 1 {
				c.errorf("%s of %s is %d, want at least 1", limit.name, d.Name(), limit.value)
			}
		}
		if d.Capabilities().Has(provider.CapAtomics) && a.AtomicCap == provider.AtomicCapabilityNone {
			c.errorf("%s announces atomics, and AtomicCap is none", d.Name())
		}
		if d.Name() == "" {
			c.errorf("a device has no name")
		}
	}
}

// checkPort checks the ports (ibv_query_port): they count from 1.
func checkPort(c *check) {
	ctx, cancel := c.patience()
	defer cancel()
	for _, at := range []Endpoint{c.pair.A, c.pair.B} {
		p := c.limits(at).port
		if p.State != provider.PortStateActive {
			c.errorf("port %d of %s is %v, want ACTIVE", at.Port, at.Device.Name(), p.State)
		}
		if p.ActiveMTU.Code() == 0 || p.MaxMTU < p.ActiveMTU || p.MaxMessageSize == 0 ||
			p.GIDTableLength < 1 || p.PKeyTableLength < 1 && !c.options.ByConnector { // iWARP has no P_Keys
			c.errorf("port %d of %s: %+v", at.Port, at.Device.Name(), p)
		}
		count := int(at.Device.Attributes().PhysPortCount)
		for _, number := range []int{-1, 0, count + 1, 256} {
			_, err := at.Device.Port(ctx, number)
			c.wantError(fmt.Sprintf("Port(%d)", number), err, nil)
			_, err = at.Device.GIDs(ctx, number)
			c.wantError(fmt.Sprintf("GIDs(%d)", number), err, nil)
		}
	}
}

// checkGIDs checks that the table has the entries that the paths of the pair use, in the order of
// their indices, none empty (ibv_query_gid_table).
func checkGIDs(c *check) {
	ctx, cancel := c.patience()
	defer cancel()
	for _, e := range [][2]Endpoint{{c.pair.A, c.pair.B}, {c.pair.B, c.pair.A}} {
		list, err := e[0].Device.GIDs(ctx, e[0].Port)
		c.must(err)
		if !slices.IsSortedFunc(list, func(x, y provider.GIDEntry) int { return x.Index - y.Index }) {
			c.errorf("the indices of %s don't ascend: %v", e[0].Device.Name(), list)
		}
		found := false
		for _, g := range list {
			found = found || g.Index == e[0].Path.SGIDIndex && g.GID == e[1].Path.DGID
			if g.GID == (provider.GIDEntry{}).GID {
				c.errorf("entry %d of %s is empty", g.Index, e[0].Device.Name())
			}
		}
		if e[0].Path.Global && !found {
			c.errorf("%s doesn't list GID %v, which its peer sends to", e[0].Device.Name(), e[1].Path.DGID)
		}
	}
}

// implements reports whether v implements I.
func implements[I any](v any) bool { _, ok := v.(I); return ok }

// checkInterfaces checks that a capability is announced exactly if its interface is there.
func checkInterfaces(c *check) {
	for _, d := range c.devices() {
		pd := c.pd(d)
		mr := c.region(pd, 8, provider.AccessLocalWrite)
		for _, i := range []struct {
			capability provider.Capabilities
			has        bool
		}{
			{provider.CapChannel, implements[provider.ChannelCreator](d)},
			{provider.CapEvents, implements[provider.EventSource](d)},
			{provider.CapConnector, implements[provider.Connector](d)},
			{provider.CapSRQ, implements[provider.SRQCreator](pd)},
			{provider.CapUD, implements[provider.AddressHandleCreator](pd)},
			{provider.CapRegisterAddress, implements[provider.AddressRegistrar](pd)},
			{provider.CapDMABuf, implements[provider.DMABufRegistrar](pd)},
			{provider.CapWatch, implements[provider.MemoryWatcher](mr)},
		} {
			// A type may implement more than each of its devices has, never less.
			if d.Capabilities().Has(i.capability) && !i.has {
				c.errorf("%s announces %v and lacks the interface", d.Name(), i.capability)
			}
		}
		windows := d.Capabilities()&(provider.CapWindow1|provider.CapWindow2) != 0
		if windows && !implements[provider.WindowAllocator](pd) {
			c.errorf("%s announces memory windows and lacks WindowAllocator", d.Name())
		}
	}
}

// checkNotAnnounced checks that using a feature that isn't announced returns ErrNotSupported.
func checkNotAnnounced(c *check) {
	for _, at := range []Endpoint{c.pair.A, c.pair.B} {
		d, has := at.Device, at.Device.Capabilities()
		e, _ := c.connected(shape{})
		cq := c.cq(d, provider.CQConfig{})
		pd := c.pd(d)
		createQP := func(config provider.QPConfig) error {
			config.SendCQ, config.RecvCQ = cq, cq
			qp, err := pd.CreateQP(config)
			if err == nil {
				c.closeLater("queue pair", qp)
			}
			return err
		}
		post := func(wr provider.SendRequest) error {
			_, err := e.qp.PostSend([]provider.SendRequest{wr})
			return err
		}
		operand := e.part(0, 8)
		for _, use := range []struct {
			capability provider.Capabilities
			try        func() error
		}{
			{provider.CapUC, func() error { return createQP(provider.QPConfig{Type: provider.QPTypeUC}) }},
			{provider.CapUD, func() error { return createQP(provider.QPConfig{Type: provider.QPTypeUD}) }},
			{provider.CapSRQ, func() error { return createQP(provider.QPConfig{SRQ: noSRQ{}}) }},
			{provider.CapAtomics, func() error {
				return post(provider.SendRequest{Op: provider.SendOpFetchAdd, Segments: operand})
			}},
			{provider.CapAtomics, func() error {
				return post(provider.SendRequest{Op: provider.SendOpCompareSwap, Segments: operand})
			}},
			{provider.CapSendInvalidate, func() error {
				return post(provider.SendRequest{Op: provider.SendOpSendInvalidate})
			}},
			{provider.CapLocalInvalidate, func() error {
				return post(provider.SendRequest{Op: provider.SendOpLocalInvalidate})
			}},
			{provider.CapWindow1 | provider.CapWindow2, func() error {
				return post(provider.SendRequest{Op: provider.SendOpBindWindow, Bind: &provider.WindowBind{}})
			}},
			{provider.CapImmediate, func() error {
				return post(provider.SendRequest{Op: provider.SendOpSendImmediate})
			}},
			{provider.CapInline, func() error {
				return post(provider.SendRequest{Flags: provider.SendInline, Segments: operand})
			}},
			{provider.CapDrain, func() error {
				return e.qp.Modify(provider.QPAttributes{State: provider.QPStateSQD})
			}},
			{provider.CapTimestamps, func() error { return tryCQ(c, d, provider.CQConfig{Timestamps: true}) }},
			{provider.CapOnDemand, func() error { return tryRegion(c, pd, provider.AccessOnDemand) }},
			{provider.CapMemoryAddress, func() error { return tryRegion(c, pd, provider.AccessZeroBased) }},
		} {
			if has&use.capability != 0 {
				continue
			}
			c.wantError(fmt.Sprintf("a use of %v, which isn't announced,", use.capability), use.try(),
				provider.ErrNotSupported)
		}
	}
}

// noSRQ stands for a shared receive queue where a device has none.
type noSRQ struct{ provider.SharedReceiveQueue }

func tryCQ(c *check, d provider.Device, config provider.CQConfig) error {
	cq, err := d.CreateCQ(config)
	if err == nil {
		c.closeLater("completion queue", cq)
	}
	return err
}

func tryRegion(c *check, pd provider.ProtectionDomain, access provider.Access) error {
	mr, err := pd.RegisterMemory(make([]byte, 64), provider.MemoryOptions{Access: access | provider.AccessLocalWrite})
	if err == nil {
		c.closeLater("region", mr)
	}
	return err
}

// Objects of another provider, which every device must reject.
type (
	foreignCQ      struct{ provider.CompletionQueue }
	foreignRegion  struct{ provider.MemoryRegion }
	foreignChannel struct{ provider.CompletionChannel }
)

// checkForeignObjects checks that objects of another device or provider, and missing ones, are
// errors and not panics.
func checkForeignObjects(c *check) {
	a, b := c.connected(shape{})
	queues := map[string]provider.CompletionQueue{"no": nil, "another provider's": foreignCQ{}}
	regions := map[string]provider.MemoryRegion{"no": nil, "another provider's": foreignRegion{}}
	if len(c.devices()) == 2 {
		queues["another device's"], regions["another device's"] = b.sends, b.mr
	}
	for name, q := range queues {
		for _, config := range []provider.QPConfig{
			{SendCQ: q, RecvCQ: a.receives}, {SendCQ: a.sends, RecvCQ: q},
		} {
			qp, err := a.pd.CreateQP(config)
			c.wantError("CreateQP with "+name+" completion queue", err, nil)
			if err == nil {
				_ = qp.Close()
			}
		}
	}
	for name, mr := range regions {
		segments := []provider.Segment{{Region: mr, Length: 8}}
		_, err := a.qp.PostSend([]provider.SendRequest{{Segments: segments}})
		c.wantError("PostSend with "+name+" region", err, nil)
		_, err = a.qp.PostReceive([]provider.ReceiveRequest{{Segments: segments}})
		c.wantError("PostReceive with "+name+" region", err, nil)
	}
	if c.has(provider.CapChannel) {
		c.wantError("CreateCQ with another provider's channel",
			tryCQ(c, a.at.Device, provider.CQConfig{Channel: foreignChannel{}}), nil)
	}
	a.post(a.request(1, provider.SendOpWrite, 8, b))
	c.expect("request after the errors", a.sent(1), success(1, 1)...)
}

// checkCapacity checks that at least the wanted limits are granted, that 0 is a default, and that
// more than the device's limits is an error (ibv_create_qp).
func checkCapacity(c *check) {
	a := c.end(c.pair.A, shape{})
	limit := a.at.Device.Attributes()
	if got := a.qp.Capacity(); got.MaxSendWR < 128 || got.MaxRecvWR < 128 || got.MaxSendSegments < 1 ||
		got.MaxRecvSegments < 1 {
		c.errorf("Capacity by default = %+v, want at least 128 requests of a segment", got)
	}
	want := provider.QPCapacity{MaxSendWR: 17, MaxRecvWR: 33, MaxSendSegments: 2, MaxRecvSegments: 2}
	if c.has(provider.CapInline) {
		want.MaxInline = 16
	}
	got := c.end(c.pair.A, shape{capacity: want}).qp.Capacity()
	if got.MaxSendWR < 17 || got.MaxRecvWR < 33 || got.MaxSendSegments < 2 || got.MaxRecvSegments < 2 ||
		got.MaxInline < want.MaxInline {
		c.errorf("Capacity = %+v, want at least %+v", got, want)
	}
	for _, bad := range []provider.QPCapacity{
		{MaxSendWR: int(limit.MaxQPWR) + 1},
		{MaxRecvWR: int(limit.MaxQPWR) + 1},
		{MaxSendSegments: int(limit.MaxSGE) + 1},
		{MaxRecvSegments: int(limit.MaxSGE) + 1},
		{MaxSendWR: -1},
		{MaxRecvWR: -1},
		{MaxSendSegments: -1},
		{MaxRecvSegments: -1},
		{MaxInline: -1},
		{MaxInline: 1 << 30},
	} {
		qp, err := a.pd.CreateQP(provider.QPConfig{SendCQ: a.sends, RecvCQ: a.receives, Capacity: bad})
		c.wantError(fmt.Sprintf("CreateQP with %+v", bad), err, nil)
		if err == nil {
			_ = qp.Close()
		}
	}
}

// checkDepth checks the depth of completion queues (ibv_create_cq: at least what was asked for).
func checkDepth(c *check) {
	d := c.pair.A.Device
	for _, want := range []int{0, 1, 100} {
		if got := c.cq(d, provider.CQConfig{Depth: want}).Depth(); got < want || want == 0 && got < 1024 {
			c.errorf("Depth = %d, want at least %d", got, max(want, 1024*(1-min(1, want))))
		}
	}
	for _, bad := range []provider.CQConfig{
		{Depth: -1},
		{Depth: int(d.Attributes().MaxCQE) + 1},
		{Vector: -1},
		{Vector: int(max(1, d.Attributes().CompletionVectors))},
	} {
		c.wantError(fmt.Sprintf("CreateCQ with %+v", bad), tryCQ(c, d, bad), nil)
	}
}

// checkNumbers checks that the numbers of queue pairs are unique, and not those of the special
// ones (section 10.2.4.1 and 9.2.6), and that the type is reported.
func checkNumbers(c *check) {
	a := c.end(c.pair.A, shape{})
	seen := map[uint32]bool{}
	for range 50 {
		qp := c.qp(a.pd, provider.QPConfig{SendCQ: a.sends, RecvCQ: a.receives})
		n := uint32(qp.QPN())
		if n < 2 || n >= 0xffffff || seen[n] || qp.Type() != provider.QPTypeRC {
			c.errorf("queue pair %v of type %v: reserved, or the number of another one", qp.QPN(), qp.Type())
		}
		seen[n] = true
	}
	_, err := a.pd.CreateQP(provider.QPConfig{Type: 77, SendCQ: a.sends, RecvCQ: a.receives})
	if err == nil || errors.Is(err, provider.ErrClosed) {
		c.errorf("CreateQP of an unknown type = %v", err)
	}
}
