package bench

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

// negotiate compares the parameters of the test with the peer's, if the peer's version does so. The
// error of a difference matches [perftest.DifferenceError]. The notes are for the user.
func negotiate(
	ctx context.Context, session *perftest.Session, cfg *Config, device *verbs.Device, peer perftest.Version,
) (notes []string, err error) {
	kind, err := session.Negotiate(ctx, peer, cfg.parameters(device))
	if err != nil {
		return nil, err
	}
	if peer > perftest.VersionTried {
		notes = append(notes, fmt.Sprintf("the peer's perftest announces version %v; rdmakit was tried with versions "+
			"up to %v", peer, perftest.VersionTried))
	}
	if kind == perftest.NegotiationUnknown {
		notes = append(notes, fmt.Sprintf("the peer's perftest (%v) compares parameters in a form that is newer than "+
			"this end's: they were not compared", peer))
	}
	return notes, nil
}

// parameters returns the parameters that perftest compares.
func (c *Config) parameters(device *verbs.Device) (p perftest.Parameters) {
	p.Set(perftest.ParamTestMethod, choose(c.AllSizes, perftest.MethodAllSizes, perftest.MethodOneSize))
	p.Set(perftest.ParamConnectionType, connectionType(c.QPType))
	p.Set(perftest.ParamVerb, verb(c.Test.Op()))
	p.Set(perftest.ParamTest, choose(c.Test.IsLatency(), perftest.TestLatency, perftest.TestBandwidth))
	p.Set(perftest.ParamReportFormat, choose(c.ReportGbps, perftest.ReportGbps, perftest.ReportMBps))
	p.Set(perftest.ParamSize, uint64(c.Size))
	p.Set(perftest.ParamQueuePairs, uint64(c.QueuePairs))
	p.Set(perftest.ParamRDMACM, choose(c.RDMACM != RDMACMOff, 1, 0))
	for _, name := range []perftest.Parameter{
		perftest.ParamAESXTS, perftest.ParamWriteImmediate, perftest.ParamSignature,
		perftest.ParamDataValidation, perftest.ParamDuplex, perftest.ParamMLX5Mask,
	} {
		p.Set(name, 0) // this end has none of it
	}
	p.Set(perftest.ParamMaxReads, uint64(max(0, device.Attributes().MaxQPReadAtomic)))
	p.SetLoose(perftest.ParamAtomicType, 0)
	p.SetLoose(perftest.ParamNoEnhancedReorder, 0)
	p.SetLoose(perftest.ParamTxDepth, uint64(c.TxDepth))
	set := p.Set
	if c.Test.servesPassively() {
		set = p.SetLoose
	}
	iterations, seconds := uint64(c.Iterations), uint64(perftest.DefaultDuration)
	if c.Duration > 0 {
		iterations, seconds = 0, uint64(min(math.MaxInt32, c.Duration.Round(time.Second)/time.Second))
	}
	set(perftest.ParamTestType, choose(c.Duration > 0, perftest.TypeDuration, perftest.TypeIterations))
	set(perftest.ParamIterations, iterations)
	set(perftest.ParamDuration, seconds)
	return p
}

// servesPassively reports whether the server of the test takes no part in the measurement: it needs
// neither the number of messages nor the duration.
func (t Test) servesPassively() bool { return t == WriteBW || t == ReadBW || t == ReadLat }

func choose(condition bool, yes, no uint64) uint64 {
	if condition {
		return yes
	}
	return no
}

func connectionType(t verbs.QPType) uint64 {
	switch t {
	case verbs.QPTypeUC:
		return perftest.ConnectionUC
	case verbs.QPTypeUD:
		return perftest.ConnectionUD
	}
	return perftest.ConnectionRC
}

func verb(op verbs.SendOp) uint64 {
	switch op {
	case verbs.SendOpSend:
		return perftest.VerbSend
	case verbs.SendOpRead:
		return perftest.VerbRead
	}
	return perftest.VerbWrite
}
