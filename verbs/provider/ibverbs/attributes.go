package ibverbs

import (
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// limit is the greatest value that an attribute may have.
type limit struct {
	name        string
	value, most int
}

func check(limits ...limit) error {
	for _, l := range limits {
		if l.value < 0 || l.value > l.most {
			return fmt.Errorf("%s %d is not in 0 to %d", l.name, l.value, l.most)
		}
	}
	return nil
}

const (
	max20bits = 1<<20 - 1
	max24bits = 1<<24 - 1
)

// ahAttr converts a path from a port. On Ethernet packets always have a GRH.
func (d *openDevice) ahAttr(port int, p provider.Path) (cAHAttr, error) {
	if port < 1 || port > len(d.links) {
		return cAHAttr{}, fmt.Errorf("port %d is not in 1 to %d", port, len(d.links))
	}
	ethernet := d.links[port-1] == provider.LinkLayerEthernet
	err := check(
		limit{"GID index", p.SGIDIndex, 255}, limit{"flow label", int(p.FlowLabel), max20bits},
		limit{"service level", int(p.ServiceLevel), 15},
	)
	switch {
	case err != nil:
		return cAHAttr{}, err
	case ethernet && p.DGID.IsZero():
		return cAHAttr{}, errors.New("the path has no destination (DGID)")
	case !ethernet && !p.Global && p.DLID == 0 && d.links[port-1] == provider.LinkLayerInfiniBand:
		return cAHAttr{}, errors.New("the path has no destination (DLID)")
	}
	a := cAHAttr{
		DLID: uint16(p.DLID), SL: p.ServiceLevel, SrcPathBits: p.PathBits, StaticRate: p.StaticRate,
		PortNum: uint8(port),
	}
	if ethernet || p.Global {
		a.IsGlobal = 1
		a.DGID, a.FlowLabel, a.SGIDIndex = p.DGID, p.FlowLabel, uint8(p.SGIDIndex)
		a.HopLimit, a.TrafficClass = p.HopLimit, p.TrafficClass
	}
	return a, nil
}

// qpAttr converts attributes, with the C mask. set are those that were set before, among them the
// port that a path needs.
func (d *openDevice) qpAttr(a, set *provider.QPAttributes) (c cQPAttr, mask uintptr, err error) {
	if a.State == provider.QPStateReset || a.State == provider.QPStateError {
		return cQPAttr{QPState: uint32(a.State)}, maskState, nil // whatever else is set has no effect
	}
	if err := d.checkAttributes(a); err != nil {
		return c, 0, err
	}
	c, mask = cQPAttr{QPState: uint32(a.State)}, maskState
	put := func(bit provider.QPMask, cBit uintptr, fill func()) {
		if a.Mask&bit != 0 {
			mask |= cBit
			fill()
		}
	}
	port := set.Port
	put(provider.QPAttrPort, maskPort, func() { c.PortNum, port = uint8(a.Port), a.Port })
	put(provider.QPAttrPath, maskAV, func() { c.AHAttr, err = d.ahAttr(port, a.Path) })
	put(provider.QPAttrPKeyIndex, maskPKeyIndex, func() { c.PKeyIndex = uint16(a.PKeyIndex) })
	put(provider.QPAttrAccess, maskAccess, func() { c.QPAccessFlags = uint32(a.Access) })
	put(provider.QPAttrPathMTU, maskPathMTU, func() { c.PathMTU = uint32(a.PathMTU.Code()) })
	put(provider.QPAttrDestQPN, maskDestQPN, func() { c.DestQPNum = uint32(a.DestQPN) })
	put(provider.QPAttrReceivePSN, maskRQPSN, func() { c.RQPSN = uint32(a.ReceivePSN) })
	put(provider.QPAttrMaxDestReadAtomic, maskMaxDestRDAtomic,
		func() { c.MaxDestRDAtomic = uint8(a.MaxDestReadAtomic) })
	put(provider.QPAttrMinRNRTimer, maskMinRNRTimer, func() { c.MinRNRTimer = a.MinRNRTimer })
	put(provider.QPAttrSendPSN, maskSQPSN, func() { c.SQPSN = uint32(a.SendPSN) })
	put(provider.QPAttrTimeout, maskTimeout, func() { c.Timeout = a.Timeout })
	put(provider.QPAttrRetryCount, maskRetryCnt, func() { c.RetryCnt = a.RetryCount })
	put(provider.QPAttrRNRRetry, maskRNRRetry, func() { c.RNRRetry = a.RNRRetry })
	put(provider.QPAttrMaxReadAtomic, maskMaxQPRDAtomic, func() { c.MaxRDAtomic = uint8(a.MaxReadAtomic) })
	put(provider.QPAttrQKey, maskQKey, func() { c.QKey = a.QKey })
	return c, mask, err
}

// checkAttributes returns an error if an attribute is out of range; C would truncate it.
func (d *openDevice) checkAttributes(a *provider.QPAttributes) error {
	if a.Mask&provider.QPAttrPathMTU != 0 && a.PathMTU.Code() == 0 {
		return fmt.Errorf("path MTU %d is not 256, 512, 1024, 2048 or 4096", a.PathMTU)
	}
	if a.Mask&provider.QPAttrPort != 0 && (a.Port < 1 || a.Port > len(d.links)) {
		return fmt.Errorf("port %d is not in 1 to %d", a.Port, len(d.links))
	}
	for _, l := range []struct {
		bit provider.QPMask
		limit
	}{
		{provider.QPAttrPKeyIndex, limit{"partition key index", a.PKeyIndex, 1<<16 - 1}},
		{provider.QPAttrDestQPN, limit{"destination QP number", int(a.DestQPN), max24bits}},
		{provider.QPAttrReceivePSN, limit{"receive PSN", int(a.ReceivePSN), max24bits}},
		{provider.QPAttrSendPSN, limit{"send PSN", int(a.SendPSN), max24bits}},
		{provider.QPAttrMaxDestReadAtomic, limit{
			"outstanding reads and atomics of the peer", a.MaxDestReadAtomic, most(d.attr.MaxQPReadAtomic),
		}},
		{provider.QPAttrMaxReadAtomic, limit{
			"outstanding reads and atomics", a.MaxReadAtomic, most(d.attr.MaxQPInitReadAtomic),
		}},
		{provider.QPAttrMinRNRTimer, limit{"RNR timer code", int(a.MinRNRTimer), 31}},
		{provider.QPAttrTimeout, limit{"timeout code", int(a.Timeout), 31}},
		{provider.QPAttrRetryCount, limit{"retry count", int(a.RetryCount), 7}},
		{provider.QPAttrRNRRetry, limit{"RNR retry count", int(a.RNRRetry), 7}},
	} {
		if a.Mask&l.bit != 0 {
			if err := check(l.limit); err != nil {
				return err
			}
		}
	}
	return nil
}

// most returns a limit of the device for a field of 8 bits.
func most(attr int32) int { return min(max(0, int(attr)), 255) }

// queryMask asks for everything that queried converts.
const queryMask = maskState | maskAccess | maskPKeyIndex | maskPort | maskQKey | maskAV | maskPathMTU | maskTimeout |
	maskRetryCnt | maskRNRRetry | maskRQPSN | maskMaxQPRDAtomic | maskMinRNRTimer | maskSQPSN | maskMaxDestRDAtomic |
	maskDestQPN

// queried converts what the device returned. mask are the attributes that were set; the others stay
// zero.
func queried(c *cQPAttr, mask provider.QPMask) provider.QPAttributes {
	all := provider.QPAttributes{
		Mask: mask, State: provider.QPState(c.QPState), PKeyIndex: int(c.PKeyIndex), Port: int(c.PortNum),
		Access: provider.Access(c.QPAccessFlags), Path: path(&c.AHAttr), PathMTU: ib.MTUFromCode(int(c.PathMTU)),
		DestQPN: ib.QPN(c.DestQPNum), ReceivePSN: ib.PSN(c.RQPSN), SendPSN: ib.PSN(c.SQPSN),
		MaxDestReadAtomic: int(c.MaxDestRDAtomic), MaxReadAtomic: int(c.MaxRDAtomic), MinRNRTimer: c.MinRNRTimer,
		Timeout: c.Timeout, RetryCount: c.RetryCnt, RNRRetry: c.RNRRetry, QKey: c.QKey,
	}
	var out provider.QPAttributes
	out.Merge(all)
	return out
}

// path converts the path of a queue pair.
func path(a *cAHAttr) provider.Path {
	return provider.Path{
		SGIDIndex: int(a.SGIDIndex), DGID: a.DGID, DLID: ib.LID(a.DLID), Global: a.IsGlobal != 0,
		PathBits: a.SrcPathBits, StaticRate: a.StaticRate, FlowLabel: a.FlowLabel, HopLimit: a.HopLimit,
		TrafficClass: a.TrafficClass, ServiceLevel: a.SL,
	}
}
