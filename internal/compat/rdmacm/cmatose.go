package rdmacm

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/verbs"
)

func cmatoseProgram() Program {
	return Program{
		Name: "ucmatose", Summary: "Connect queue pairs and send messages over them, as server or client",
		Usage: "[-s SERVER] [-b ADDRESS] [-P tcp|ib] [-c CONNECTIONS] [-C MESSAGES] [-S SIZE] [-t TOS] [-p PORT] [-a " +
			"TIMEOUT] [-m]",
		Long: `Without -s the program is the server and waits for all connections of one client. Both ends need the
same -c, -C, -S, -P and -p. The device is the one with the address of -b, or with the address that the
route to the server begins at: one of the kernel, otherwise an engine in user space.

The C program takes failed requests for completed ones; this one ends with status -1. Failures add
lines with "hint: ".`,
		Example: "-b 192.0.2.1",
		Options: []Option{
			{"-s SERVER", "name or address of the server: client"},
			{"-b ADDRESS", "address to listen at, or to connect from"},
			{"-f FORMAT", "form of addresses: name, ip, ipv6 or gid; all are accepted as addresses of IP"},
			{"-P SPACE", "port space: tcp or ib (default tcp)"},
			{"-c CONNECTIONS", "number of connections (default 1)"},
			{"-C MESSAGES", "number of messages in each direction (default 10)"},
			{"-S SIZE", "bytes of a message (default 100)"},
			{"-t TOS", "type of service: DSCP and ECN"},
			{"-p PORT", "port (default 7471)"},
			{"-m", "print the line about another event channel: there is none here"},
			{"-a TIMEOUT", "code of the acknowledgement timeout, 4.096 us times 2^code"},
		},
		run: func(ctx context.Context, r *run) int { return (&tosser{run: r}).main(ctx) },
	}
}

// Defaults of ucmatose.
const (
	cmatosePort     = "7471"
	cmatoseMessages = 10
	cmatoseSize     = 100
)

// tosser is ucmatose.
type tosser struct {
	*run

	server, bind string
	port         string
	space        verbs.PortSpace
	connections  int32
	messages     int32
	size         int32
	tos          uint8
	timeout      uint8 // code; 0 is the default
	migrate      bool
}

// main runs the program.
func (c *tosser) main(ctx context.Context) int {
	c.port, c.space = cmatosePort, verbs.PortSpaceTCP
	c.connections, c.messages, c.size = 1, cmatoseMessages, cmatoseSize
	if !c.parse() {
		c.usage()
		return 1
	}
	if c.Open == nil {
		c.noDevices()
		return 1
	}
	if c.connections < 0 {
		c.printf("cmatose: unable to allocate memory for test nodes\n")
		return 1
	}
	if c.size == 0 {
		c.messages = 0
	}
	t := &toss{tosser: c}
	var ret int
	if c.server != "" {
		ret = t.client(ctx)
	} else {
		ret = t.serve(ctx)
	}
	t.close()
	if ctx.Err() != nil {
		return exitMinusOne
	}
	c.printf("test complete\nreturn status %d\n", ret)
	return ret & 0xff
}

// parse reads the options, or reports false if one is wrong.
func (c *tosser) parse() bool {
	options := []clib.Option{clib.Flag("", 'm')}
	for _, letter := range []byte("sbfPcCStpa") {
		options = append(options, clib.Value("", letter))
	}
	g := clib.NewGetopt(c.Args, options)
	g.Name, g.ErrOut, g.ShortOnly, g.Ordered = c.Name, c.Stderr, true, c.Ordered
	numbers := map[byte]*int32{'c': &c.connections, 'C': &c.messages, 'S': &c.size}
	texts := map[byte]*string{'s': &c.server, 'b': &c.bind, 'p': &c.port}
	codes := map[byte]*uint8{'t': &c.tos, 'a': &c.timeout}
	for {
		letter, arg, ok := g.Next()
		switch {
		case !ok:
			return true
		case numbers[letter] != nil:
			*numbers[letter] = clib.Strtol(arg, 10)
		case texts[letter] != nil:
			*texts[letter] = arg
		case codes[letter] != nil:
			v, _ := clib.Strtoul(arg, 0)
			*codes[letter] = uint8(v) //nolint:gosec // C cuts it too
		case letter == 'f':
			if !hasPrefix(arg, "ip") && !hasPrefix(arg, "gid") && !hasPrefix(arg, "name") {
				c.errorf("Warning: unknown address format\n")
			}
		case letter == 'P' && hasPrefix(arg, "ib"):
			c.space = verbs.PortSpaceIB
		case letter == 'P':
			if !hasPrefix(arg, "tcp") {
				c.errorf("Warning: unknown port space format\n")
			}
		case letter == 'm':
			c.migrate = true
		default:
			return false
		}
	}
}

// hasPrefix reports whether s begins with a prefix, in any case, as strncasecmp does.
func hasPrefix(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (c *tosser) usage() {
	c.printf(`usage: %s
	[-s server_address]
	[-b bind_address]
	[-f address_format]
	    name, ip, ipv6, or gid
	[-P port_space]
	    tcp or ib
	[-c connections]
	[-C message_count]
	[-S message_size]
	[-t type_of_service]
	[-p port_number]
	[-m(igrate)]
	[-a ack_timeout]
`, c.Name)
}

// addresses returns the addresses of -s and -b, each the zero Addr if it isn't given, and the port.
// who is the name of the function in the C program's message.
func (c *tosser) addresses(ctx context.Context, who string) (server, bind netip.Addr, port uint16, ret int) {
	fail := func(number int, text string) (_, _ netip.Addr, _ uint16, ret int) {
		c.printf("cmatose: %s error: %s\n", who, text)
		return netip.Addr{}, netip.Addr{}, 0, number
	}
	for _, one := range []struct {
		name string
		addr *netip.Addr
	}{{c.bind, &bind}, {c.server, &server}} {
		if one.name == "" {
			continue
		}
		var err error
		if *one.addr, err = c.lookup(ctx, one.name); err != nil {
			return fail(gaiError(err))
		}
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", c.port)
	if err != nil {
		return fail(eaiService, "Servname not supported for ai_socktype")
	}
	return server, bind, uint16(n), 0 //nolint:gosec // a port
}

const eaiService = -8
