package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// failed returns a failure with the cause err, and with its hints as remedies.
func failed(code Code, operation, object string, err error) *Failure {
	return &Failure{
		Operation: operation, Object: object, Code: code, Cause: err.Error(), Remedies: hintsOf(err), err: err,
	}
}

// hintsOf returns the hints of the first error in a chain that has some.
func hintsOf(err error) []string {
	if h, ok := errors.AsType[interface {
		error
		Hints() []string
	}](err); ok {
		return h.Hints()
	}
	return nil
}

func unreachable(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH)
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

func ackTimeout(code uint8) time.Duration { return ib.AckTimeout(code) }

// exchangeFailure explains an error of the connection or of a message.
func exchangeFailure(err error, peer string) *Failure {
	f := failed(CodeExchange, "exchange with", peer, err)
	f.Stage = StageExchange
	dns, isDNS := errors.AsType[*net.DNSError](err)
	foreign, isForeign := errors.AsType[*foreignError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS:
		f.Stage, f.Code, f.Operation, f.Object = StageResolve, CodeName, "resolve", dns.Name
		f.Cause = dns.Err
		f.Remedies = []string{"PEER is the name or address of the machine that runs rdmactl connect --listen, " +
			"and not that of a device there"}
	case isForeign:
		f.Code, f.Cause = CodeProtocol, foreign.Error()
		f.Remedies = []string{"run rdmactl connect --listen there, and use its TCP port (-p) at both ends"}
	case errors.Is(err, errTooLong):
		f.Code = CodeProtocol
	case errors.Is(err, errVersion), errors.Is(err, errTurn), errors.Is(err, errNoFigures):
		f.Code = CodeProtocol
		f.Remedies = []string{"install the same version of rdmactl at both ends"}
	case errors.Is(err, syscall.ECONNREFUSED):
		f.Code = CodeRefused
		f.Cause = "connection refused: the machine answers, and nothing listens on this TCP port"
		f.Possible = []string{
			"rdmactl connect --listen doesn't run there, or with another -p", "a firewall rejects the port",
		}
		f.Remedies = []string{"start rdmactl connect --listen there first, with the same -p at both ends"}
	case unreachable(err):
		f.Stage, f.Code = StageResolve, CodeNoRoute
		f.Remedies = []string{"ip route get ADDRESS shows the route of this machine; ping ADDRESS"}
	case gone(err):
		f.Code = CodePeerEnded
		f.Cause = fmt.Sprintf("the peer's program ended, or its machine closed the connection (%v)", err)
		f.Remedies = []string{"see what rdmactl connect printed at the other end"}
	case errors.Is(err, context.Canceled):
		f.Code = CodeInterrupted
	case errors.Is(err, os.ErrDeadlineExceeded), isNet && timeout.Timeout():
		f.Code = CodeExchangeSilent
		f.Possible = []string{
			"a firewall drops the packets of this TCP port, at either end or between",
			"the machine is down, or the address is another one's",
			"the peer's program is stopped",
		}
		f.Remedies = []string{"ping ADDRESS; nft list ruleset or iptables -S at both ends; -p selects another port"}
	}
	return f
}

// interrupted notes that a failure is the end of ctx, which explains it: by a signal, or by a time
// limit.
func (f *Failure) interrupted(ctx context.Context) {
	if ctx.Err() != nil && errors.Is(f.err, context.Cause(ctx)) {
		f.Code, f.Possible, f.Remedies = CodeInterrupted, nil, hintsOf(f.err)
	}
}

// helloFailure explains an error of the first message of the peer, whose TCP connection is
// established.
func helloFailure(err error, peer net.Addr) *Failure {
	f := exchangeFailure(err, peer.String())
	other := "another program listens on TCP port " + portOf(peer)
	switch {
	case errors.Is(err, errVersion):
	case f.Code == CodeExchangeSilent:
		f.Possible = []string{
			other, "the listener is busy with another client, or stopped",
			"a firewall drops the packets of an established connection, at either end or between",
		}
		f.Remedies = []string{
			"ss -ltnp at the other end shows the program that listens; -p selects another port, the same at both ends",
		}
	case f.Code == CodeProtocol, f.Code == CodePeerEnded, f.Code == CodeExchange:
		f.Possible = append(f.Possible, other)
	}
	return f
}

// sendFailure explains the error of a stage that uses the queue pair; nil if there is none, or if
// the peer reports it.
func (t *trial) sendFailure(ctx context.Context, err error, stage Stage, flow *flow) *Failure {
	_, ofPeer := errors.AsType[*peerFailedError](err)
	_, found := errors.AsType[*foundByPeerError](err)
	if err == nil || ofPeer || found {
		return nil
	}
	operation, object := "send 64 B from", t.p.name()+" to "+t.peerName()
	if flow.writing {
		operation = "write 8 MiB from"
	}
	completion, isCompletion := errors.AsType[*verbs.CompletionError](err)
	if !isCompletion && !flow.writing {
		operation, object = "receive 64 B at", t.p.name()+" from "+t.peerName()
	}
	f := failed(CodeTransfer, operation, object, err)
	_, wrong := errors.AsType[*dataError](err)
	_, stalled := errors.AsType[*stalledError](err)
	switch {
	case ctx.Err() != nil:
		f.Code = CodeInterrupted
	case wrong:
		f.Code = CodeData
		f.Possible = []string{"memory, PCIe or the device damages data after its checksum was verified"}
		f.Remedies = []string{"repeat with other ports to find the machine; " +
			"check dmesg for PCIe (AER) and memory (EDAC) errors"}
	case isCompletion && completion.Cause != nil:
		t.explainUnsent(f, completion.Cause)
	case isCompletion:
		t.explainStatus(f, completion, flow)
	case gone(err):
		f.Code, f.Cause = CodePeerEnded, "the peer's program ended: it closed the TCP connection"
		f.Remedies = []string{"see what rdmactl connect printed at the other end, and dmesg there for an OOM kill"}
	case stalled:
		f.Code = CodeStalled
		f.Possible = []string{"the peer's program is stopped, or its device doesn't report completions"}
	}
	f.Stage, f.End = stage, t.p.name()
	return f
}

// explainStatus explains the status of a completion.
func (t *trial) explainStatus(f *Failure, e *verbs.CompletionError, flow *flow) {
	f.Cause = e.Status.String()
	switch e.Status {
	case verbs.WCRetryExceeded, verbs.WCResponseTimeout:
		t.explainSilence(f, flow)
	case verbs.WCRNRRetryExceeded:
		f.Code = CodeRNR
		f.Cause = fmt.Sprintf("the queue pair of %s has no receive request (RNR): "+
			"it answered, and rejected the message until the %d retries were used up", t.peerName(), rnrRetry)
		f.Possible = []string{"its program is stopped or overloaded, or posts no receive requests"}
		f.Remedies = []string{"packets pass in both directions: look at the program that rejects them"}
	case verbs.WCRemoteAccess, verbs.WCRemoteInvalid, verbs.WCRemoteOperation:
		f.Code = CodeRejected
		f.Cause = "the peer's device rejected the request: " + f.Cause
	case verbs.WCFlushed:
		f.Cause = "the queue pair went to state ERR: this device rejected a request of the peer, or has failed"
		f.Remedies = []string{"dmesg shows whether the device has failed"}
	}
}

// explainSilence explains a request that was never acknowledged.
func (t *trial) explainSilence(f *Failure, flow *flow) {
	tries := fmt.Sprintf("%d times", retryCount+1)
	if limit := timeoutOf(t.cfg); limit > 0 {
		tries += fmt.Sprintf(" with a timeout of %v", limit.Round(time.Millisecond))
	}
	f.Code = CodeUnacknowledged
	f.Cause = "no acknowledgement from the peer: sent " + tries
	f.Observed = append(f.Observed, "the TCP connection to the peer works")
	if flow.writing && flow.received > 0 {
		f.Code = CodeLargeLost
		f.Cause += fmt.Sprintf("; messages of %d bytes were acknowledged", PingSize)
		f.Possible = []string{
			fmt.Sprintf("a switch or network device on the path "+
				"has an MTU below the %d bytes that packets of path MTU %d need (jumbo frames)",
				t.out.PathMTU.NetdevMTU(), t.out.PathMTU),
			"packets are lost under load: flow control (PFC, ECN) is off, or a queue overflows",
		}
		f.Remedies = append(largeRemedies(t), "--mtu 1024 at either end shows whether smaller packets pass")
		return
	}
	f.Possible, f.Remedies = t.silentPath()
}

func largeRemedies(t *trial) []string {
	const icmp = 28 // headers of IPv4 and ICMP
	g := t.out.Remote.GID
	if g == nil || g.Kind.version() != 2 {
		return []string{"check the MTU of all switches on the path"}
	}
	return []string{fmt.Sprintf("ping -M do -s %d %v tries a packet of that size; "+
		"raise the MTU of the switch ports and network devices on the path to %d or more",
		t.out.PathMTU.NetdevMTU()-icmp, g.GID.Addr(), t.out.PathMTU.NetdevMTU())}
}

// silentPath returns what may keep packets from arriving, and what to look at.
func (t *trial) silentPath() (possible, remedies []string) {
	g := t.out.Remote.GID
	if g == nil || g.Kind == KindInfiniBand {
		return []string{"the subnet manager has not programmed the path (LID, SL), " +
				"or the P_Keys of a switch port filter it"},
			[]string{"rdmactl fabric ping LID, rdmactl fabric trace; ibqueryerrors shows discards"}
	}
	if g.Kind.version() == 1 {
		return []string{"RoCE v1 doesn't pass routers: the ports are in different VLANs or subnets"},
			[]string{"use GIDs of RoCE v2 at both ends"}
	}
	possible = []string{
		"a firewall drops UDP port 4791, at either end or between: a rule for TCP doesn't cover it, " +
			"and a card's packets pass only the network's firewalls",
		"the route or VLAN of the GIDs isn't that of the TCP connection",
		"the address is also that of another machine, " +
			"or the peer's device doesn't receive (state, GID in another namespace)",
	}
	remedies = []string{
		"nft list ruleset or iptables -S at both ends, and access lists of switches: allow UDP port 4791",
		fmt.Sprintf("ip route get %v from %v at %s, and the reverse at the other end", g.GID.Addr(),
			t.out.Local.GID.GID.Addr(), t.p.name()),
		"rdmactl status --watch at both ends: do the counters of packets received grow while this runs?",
	}
	return possible, remedies
}

// explainUnsent explains packets that this machine didn't send.
func (t *trial) explainUnsent(f *Failure, cause error) {
	f.Code = CodeBlockedHere
	switch {
	case errors.Is(cause, syscall.EMSGSIZE):
		f.Code = CodeLargeLost
		f.Cause = fmt.Sprintf("the route has an MTU below the packets of path MTU %d: %v", t.out.PathMTU, cause)
		f.Remedies = append(largeRemedies(t), "--mtu selects a smaller path MTU")
	case errors.Is(cause, syscall.EPERM):
		f.Cause = fmt.Sprintf("a firewall of %s drops UDP port 4791: %v", t.host(), cause)
		f.Remedies = []string{"nft list ruleset, or iptables -S OUTPUT, there: allow UDP port 4791"}
	case unreachable(cause), errors.Is(cause, syscall.EACCES):
		f.Code, f.Cause = CodeNoRoute, "no route leads to the peer, or a rule forbids it: "+cause.Error()
		f.Remedies = []string{"ip route get ADDRESS; ip rule"}
	default:
		f.Cause = fmt.Sprintf("%s didn't send the packets: %v", t.host(), cause)
	}
}

// host names this machine, for texts that both ends print.
func (t *trial) host() string { return cmp.Or(t.p.own.Host, "the machine of "+t.p.own.Port) }

// amend adds what both ends have observed. It returns the same at both.
func (t *trial) amend(f *Failure, own, peer Status) *Failure {
	if f == nil || t.peer == nil {
		return f
	}
	client, listener := own, peer
	c, l := t.p.name(), t.peerName()
	if !t.s.client {
		client, listener, c, l = listener, client, l, c
	}
	if f.Code != CodeUnacknowledged && f.Code != CodeStalled {
		return f
	}
	switch {
	case client.Received == 0 && listener.Received == 0:
		f.Observed = append(f.Observed, fmt.Sprintf("no message of %s has arrived at %s", c, l))
	case client.Received == 0:
		f.Observed = append(f.Observed, fmt.Sprintf("messages of %s have arrived at %s, and nothing came back: "+
			"packets are lost in the direction from %s to %s", c, l, l, c))
	default:
		f.Observed = append(f.Observed, fmt.Sprintf("%d messages have arrived at %s, %d at %s",
			client.Received, c, listener.Received, l))
	}
	for _, end := range []struct {
		name string
		s    *Status
	}{{c, &client}, {l, &listener}} {
		for _, name := range sortedKeys(end.s.Arrived) {
			const text = "packets that arrived at %s since its device was opened: %d (%s)"
			f.Observed = append(f.Observed, fmt.Sprintf(text, end.name, end.s.Arrived[name], name))
		}
	}
	if text := countersText(t.out.Retries); text != "" {
		f.Observed = append(f.Observed, "counters that grew: "+text)
	}
	return f
}

func countersText(ends map[string]map[string]uint64) string {
	var parts []string
	for _, end := range sortedKeys(ends) {
		for _, name := range sortedKeys(ends[end]) {
			parts = append(parts, fmt.Sprintf("%s %d (%s)", name, ends[end][name], end))
		}
	}
	return strings.Join(parts, ", ")
}
