package rdmacm

import (
	"context"
	"net"
	"net/netip"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

func cmtimeProgram() Program {
	return Program{
		Name: "cmtime", Summary: "Measure how long connections through rdma_cm take, as server or client",
		Usage: "[-s SERVER] [-b ADDRESS] [-c CONNECTIONS] [-p PORT] [-r RETRIES] [-t TIMEOUT]",
		Long: `Without -s the program is the server: it accepts connections until Ctrl-C, and prints nothing. The
client establishes all connections at once, ends them, and prints the times. The other end may be the C
program. The device is the one with the address of -b, or with the address that the route to the server
begins at: one of the kernel, otherwise an engine in user space.

The rows "create id", "bind addr", "resolve addr" and "resolve route" have no figures: here these steps
are part of "connect". To compare with the C program, add them to its "connect". If a connection fails,
the exit code is 1, where the C program's is 0. Failures add lines with "hint: ".`,
		Example: "-b 192.0.2.1",
		Options: []Option{
			{"-s SERVER", "name or address of the server: client"},
			{"-b ADDRESS", "address to listen at, or to connect from"},
			{"-c CONNECTIONS", "number of connections (default 100)"},
			{"-p PORT", "port (default 7471)"},
			{"-r RETRIES", "retry count of the queue pairs, 0 to 7 (default 2)"},
			{"-t TIMEOUT", "accepted: the time to resolve an address is limited by the device here"},
		},
		run: func(ctx context.Context, r *run) int { return (&stopwatch{run: r}).main(ctx) },
	}
}

// Defaults of cmtime.
const (
	cmtimeConnections = 100
	cmtimeRetries     = 2
	cmtimeTimeout     = 2000
)

// stopwatch is cmtime.
type stopwatch struct {
	*run

	server, bind string
	port         string
	connections  int32
	retries      int32
	timeout      int32 // milliseconds; not used
}

// main runs the program.
func (s *stopwatch) main(ctx context.Context) int {
	s.port, s.connections, s.retries, s.timeout = cmatosePort, cmtimeConnections, cmtimeRetries, cmtimeTimeout
	if !s.parse() {
		s.usage()
		return 1
	}
	if s.Open == nil {
		s.noDevices()
		return 1
	}
	t := &timing{stopwatch: s, conns: make([]timed, max(0, s.connections))}
	defer t.close()
	if s.server == "" {
		return t.serve(ctx)
	}
	return t.client(ctx)
}

// parse reads the options, or reports false if one is wrong.
func (s *stopwatch) parse() bool {
	var options []clib.Option
	for _, letter := range []byte("sbcprt") {
		options = append(options, clib.Value("", letter))
	}
	g := clib.NewGetopt(s.Args, options)
	g.Name, g.ErrOut, g.ShortOnly, g.Ordered = s.Name, s.Stderr, true, s.Ordered
	numbers := map[byte]*int32{'c': &s.connections, 'r': &s.retries, 't': &s.timeout}
	texts := map[byte]*string{'s': &s.server, 'b': &s.bind, 'p': &s.port}
	for {
		letter, arg, ok := g.Next()
		switch {
		case !ok:
			return true
		case numbers[letter] != nil:
			*numbers[letter] = clib.Strtol(arg, 10)
		case texts[letter] != nil:
			*texts[letter] = arg
		default:
			return false
		}
	}
}

func (s *stopwatch) usage() {
	s.printf(`usage: %s
	[-s server_address]
	[-b bind_address]
	[-c connections]
	[-p port_number]
	[-r retries]
	[-t timeout_ms]
`, s.Name)
}

// addresses returns the addresses of -s and -b, each the zero Addr if it isn't given, and the port.
// who is the name of the function in the C program's message; ret is getaddrinfo's error.
func (s *stopwatch) addresses(ctx context.Context, who string) (server, bind netip.Addr, port uint16, ret int) {
	ret, text := 0, ""
	for _, one := range []struct {
		name string
		addr *netip.Addr
	}{{s.bind, &bind}, {s.server, &server}} {
		if one.name == "" || ret != 0 {
			continue
		}
		var err error
		if *one.addr, err = s.lookup(ctx, one.name); err != nil {
			ret, text = gaiError(err)
		}
	}
	if ret == 0 {
		n, err := net.DefaultResolver.LookupPort(ctx, "tcp", s.port)
		if err != nil {
			ret, text = eaiService, "Servname not supported for ai_socktype"
		}
		port = uint16(n) //nolint:gosec // a port
	}
	if ret != 0 {
		s.printf("%s error: %s\n", who, text)
	}
	if bind.IsValid() && bind.IsUnspecified() {
		bind = netip.Addr{}
	}
	return server, bind, port, ret
}
