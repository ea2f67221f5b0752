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
	connectAlone := func(name, anchor string) row { // before NCCL 2.5 without an address
		return row{
			name: "connect-old-" + name, kind: evidence.NCCLConnect, anchor: anchor, until: "2.23.4",
			source: "include/socket.h",
			parse: func(m, before string, f evidence.Fields) bool {
				parseConnect(m, before, f)
				return true
			},
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
		connectAlone("timeout", "Call to connect timeout : "),
		connectAlone("failed", "Call to connect failed : "),
		connect("poll-2.27", "PollConnect to ", "2.27", ""),
		connect("exceeded-2.27", ", exceeded error retry count after ", "2.27", ""),
		connect("exceeded-2.24", ", exceeded error retry count (", "2.24", "2.26.6"),
		connect("failed-2.27", ": connect to ", "2.27", ""),
		connect("failed-2.20", "socketPollConnect: Connect to ", "2.20", "2.23.4"),
		{
			name: "connect-failed", kind: evidence.NCCLConnect, anchor: "Connect to ", source: socket,
			parse: parseConnect, dates: datesOfConnect,
		},
		{
			name: "connect-poll", kind: evidence.NCCLConnect,
			anchor: "socketPollConnect poll() ", since: "2.16", until: "2.26.6", source: socket,
			parse: func(m, before string, f evidence.Fields) bool {
				parseConnect(m, before, f)
				return true
			},
		},
		connect("gave-up", ": exceeded retries (", "2.16", "2.23.4"),
		connect("gave-up-time", ": exceeded timeouts (", "2.16", "2.23.4"),
		{
			name: "closed", kind: evidence.NCCLPeerClosed,
			anchor: "Connection closed by remote peer", source: socket,
			parse: parsePeer,
		},
		{
			name: "reset", kind: evidence.NCCLPeerClosed, anchor: "Call to recv ", source: socket, parse: parsePeer,
		},
		{
			name: "reset-send", kind: evidence.NCCLPeerClosed,
			anchor: "Call to send to ", since: "2.24", source: socket,
			parse: parsePeer,
		},
		{
			name: "bind-ras", kind: evidence.NCCLHarmless,
			anchor: "Call to bind failed", since: "2.24", source: "ras/client_support.cc",
			parse: func(_, _ string, f evidence.Fields) bool {
				f["what"] = "ras-port" // the port of ncclras is in use; the job does without it
				return strings.Contains("/"+f["source"], "/ras/")
			},
		},
		{
			name: "family", kind: evidence.NCCLFamily,
			anchor: " is neither AF_INET", since: "2.8.3", source: socket,
			parse: func(_, before string, f evidence.Fields) bool {
				f["family"], _ = between(before, " with family ", "")
				return digits(f["family"])
			},
		},
		{
			name: "truncated", kind: evidence.NCCLTruncated, anchor: "essage truncated : receiv",
			source: "transport/net_socket.cc, src/bootstrap.cc", parse: parseTruncated,
		},
		{
			name: "socket-creation", kind: evidence.NCCLFault,
			anchor: "Socket creation failed", until: "2.23.4", source: socket,
			parse: func(m, _ string, f evidence.Fields) bool {
				f["what"], f["errno"] = "socket-creation", posix.Errno(m)
				return true
			},
		},
	}
}

// handshakeRows are connections of somebody else, or to the wrong socket.
func handshakeRows() []row {
	socket := "misc/socket.cc"
	return []row{
		{
			name: "magic", kind: evidence.NCCLMagic,
			anchor: "wrong magic ", since: "2.16", until: "2.26.6", source: socket,
			parse: parsePeer,
		},
		{
			name: "magic-2.27", kind: evidence.NCCLMagic,
			anchor: "didn't receive a valid magic", since: "2.27", until: "2.30.4",
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
			anchor: "wrong type ", since: "2.16", until: "2.30.4", source: socket,
			parse: parseType("wrong type "),
			dates: func(_, before string) (since, until string) {
				if strings.Contains(before, " from ") {
					return "2.27", "2.30.4"
				}
				return "2.16", "2.26.6"
			},
		},
		{
			name: "type-2.30.7", kind: evidence.NCCLSocketType,
			anchor: "wrong socket type (peer ", since: "2.30.7",
			source: socket, parse: parseType("wrong socket type (peer "),
		},
	}
}

// datesOfConnect returns the releases that print "Connect to" behind these words.
func datesOfConnect(_, before string) (since, until string) {
	switch before {
	case "":
		return "", "2.9.9"
	case "Net : ":
		return "2.10", "2.15.5"
	}
	return "2.16", "2.26.6"
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
	return f["address"] != "" || f["errno"] != "" || strings.HasPrefix(m, ": exceeded ")
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
