package nccl

import (
	"strings"

	"github.com/rdmakit/rdmakit/explain/evidence"
	"github.com/rdmakit/rdmakit/explain/forms/posix"
)

// socketRows are TCP connections: those of the bootstrap, and of the socket network.
func socketRows() []row {
	socket := "misc/socket.cc"
	connect := func(name, anchor, since, until string) row {
		return row{
			name: "connect-" + name, kind: evidence.NCCLConnect,
			anchor: anchor, since: since, until: until, source: socket,
			parse: parseConnect,
		}
	}
	return []row{
		{
			name: "connect-retry-2.24", kind: evidence.NCCLConnectRetry,
			anchor: ", retrying (", since: "2.24", source: socket,
			parse: func(m, before string, f evidence.Fields) bool { return parseConnect(before+m, "", f) },
		},
		{
			name: "connect-retry", kind: evidence.NCCLConnectRetry,
			anchor: "Call to connect returned ", until: "2.23.4",
			source: socket, parse: parseConnect,
		},
		connect("net", "Net : Connect to ", "", "2.15.5"),
		connect("start", "socketStartConnect: Connect to ", "2.16", "2.23.4"),
		connect("poll", "socketPollConnect: Connect to ", "2.16", "2.23.4"),
		connect("poll-2.24", "socketPollConnect: connect to ", "2.24", ""),
		connect("exceeded", "connect to ", "2.24", ""),
		connect("gave-up", "exceeded retries", "2.16", "2.23.4"),
		{
			name: "closed", kind: evidence.NCCLPeerClosed,
			anchor: "Connection closed by remote peer", source: socket,
			parse: parsePeer,
		},
		{
			name:   "reset",
			kind:   evidence.NCCLPeerClosed,
			anchor: "Call to recv from ",
			source: socket,
			parse:  parsePeer,
		},
		{
			name: "reset-send", kind: evidence.NCCLPeerClosed,
			anchor: "Call to send to ", source: socket,
			parse: parsePeer,
		},
		{
			name: "magic", kind: evidence.NCCLMagic,
			anchor: "wrong magic ", until: "2.26.99", source: socket,
			parse: parsePeer,
		},
		{
			name: "magic-2.27", kind: evidence.NCCLMagic,
			anchor: "didn't receive a valid magic", since: "2.27",
			source: socket, parse: parsePeer,
		},
		{
			name: "magic-2.30.7", kind: evidence.NCCLMagic,
			anchor: "socket magic mismatch", since: "2.30.7",
			source: socket, parse: parsePeer,
		},
		{
			name: "magic-closed", kind: evidence.NCCLMagic,
			anchor: "closed before magic handshake", since: "2.30.7",
			source: socket, parse: parsePeer,
		},
		{
			name: "type", kind: evidence.NCCLSocketType,
			anchor: "wrong type ", source: socket,
			parse: parseType("wrong type "),
		},
		{
			name: "type-2.30.7", kind: evidence.NCCLSocketType,
			anchor: "wrong socket type (peer ", since: "2.30.7",
			source: socket, parse: parseType("wrong socket type (peer "),
		},
		{
			name: "family", kind: evidence.NCCLFamily,
			anchor: " with family ", source: socket,
			parse: func(m, _ string, f evidence.Fields) bool {
				f["family"] = firstWord(m[len(" with family "):])
				return digits(f["family"])
			},
		},
		{
			name: "truncated", kind: evidence.NCCLTruncated, anchor: "essage truncated : receiv",
			source: "transport/net_socket.cc", parse: parseTruncated,
		},
		{
			name: "socket-creation", kind: evidence.NCCLFault,
			anchor: "Socket creation failed", source: socket,
			parse: func(m, _ string, f evidence.Fields) bool {
				f["what"], f["errno"] = "socket-creation", posix.Errno(m)
				return true
			},
		},
	}
}

// parseConnect reads "… Connect to 10.0.0.1<40000> failed : Connection refused", "… returned 113(No
// route to host) errno 115(…)" and "… returned Connection refused, exceeded error retry count".
func parseConnect(m, before string, f evidence.Fields) bool {
	for _, mark := range [...]string{"onnect to ", "onnect: ", "to "} {
		if s, ok := between(before+m, mark, ""); ok {
			if a, p, ok := socketAddress(s); ok && strings.ContainsAny(a, ".:") {
				f["address"], f["port"] = a, p
				break
			}
		}
	}
	if n := posix.Errno(before + m); n != "" {
		f["errno"] = n
	}
	return f["address"] != "" || f["errno"] != ""
}

func parsePeer(m, before string, f evidence.Fields) bool {
	for _, mark := range [...]string{"remote peer ", "recv from ", "send to ", "from ", "peer "} {
		s, ok := between(before+m, mark, "")
		if !ok {
			continue
		}
		if a, p, ok := socketAddress(s); ok && (p != "" || strings.ContainsAny(a, ".:")) {
			f["peer"], f["peerPort"] = strings.TrimRight(a, ","), p
			break
		}
	}
	if n := posix.Errno(m); n != "" {
		f["errno"] = n
	}
	return true
}

// parseType reads "wrong type 4 != 3": the peer's type, then the one that was expected.
func parseType(anchor string) func(m, before string, f evidence.Fields) bool {
	return func(m, before string, f evidence.Fields) bool {
		peer, own, ok := strings.Cut(m[len(anchor):], " != ")
		f["peer"], f["own"] = peer, firstWord(strings.TrimPrefix(own, "expected "))
		if s, ok := between(before, "Accept from ", ":"); ok {
			f["address"], _, _ = socketAddress(s)
		}
		return ok && digits(peer) && digits(f["own"])
	}
}

func parseTruncated(m, _ string, f evidence.Fields) bool {
	for mark, field := range map[string]string{
		"receiving ": "received", "received ": "received", "instead of ": "expected",
	} {
		if s, ok := between(m, mark, ""); ok {
			f[field] = firstWord(s)
		}
	}
	return digits(f["received"])
}
