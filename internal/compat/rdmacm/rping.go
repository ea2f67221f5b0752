package rdmacm

import (
	"context"
	"net/netip"

	"github.com/rdmakit/rdmakit/bench/rping"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
)

func rpingProgram() Program {
	return Program{
		Name: "rping", Summary: "Ping a peer by RDMA, or answer pings", Usage: "-s|-c [-vVdPq] [-S SIZE] [-C COUNT] " +
			"[-I ADDRESS] [-a ADDRESS] [-p PORT]",
		Long: `The other end may be the C program. The server listens at the address of -a, without it on the first
device; the client needs -a. The device is the one with that address, or with the address that the route
to the server begins at: one of the kernel, otherwise an engine in user space. There is no option for a
device: -d is the debug output, and a word behind it is ignored, as the C program does.

A server accepts pings of any size, not only up to its own -S. The lines of -d have other pointers than
the C program's, and "created channel" is missing. Failures add lines with "hint: ". "rdmactl ping"
has percentiles and explains failures.`,
		Example: "-s",
		Options: []Option{
			{"-s", "server"},
			{"-c", "client"},
			{"-a ADDRESS", "address of the server; at the server, address to listen at"},
			{"-p PORT", "port (default 7174)"},
			{"-I ADDRESS", "address to connect from"},
			{"-C COUNT", "number of pings of a client (default: until Ctrl-C)"},
			{"-S SIZE", "bytes of a ping, 23 to 65535 (default 64)"},
			{"-v", "print the data of pings"},
			{"-V", "compare the data of pings"},
			{"-P", "server for any number of clients"},
			{"-d", "print what is done"},
			{"-q", "accepted: a queue pair without rdma_cm makes no difference here"},
		},
		run: func(ctx context.Context, r *run) int { return (&pinger{run: r}).main(ctx) },
	}
}

// pinger is rping.
type pinger struct {
	*run

	debug, verbose, validate bool
	server, client           bool
	persistent               bool
	addr, source             netip.Addr
	port                     uint16
	size, count              int32
}

// main runs the program.
func (p *pinger) main(ctx context.Context) int {
	p.size, p.port = rping.DefaultSize, rping.DefaultPort
	ret, usage := p.parse(ctx)
	if ctx.Err() != nil {
		return exitMinusOne
	}
	if usage || ret == 0 && !p.server && !p.client {
		p.usage()
		return exitInvalid
	}
	if ret == 0 && p.size >= 0 && p.size < rping.MinSize {
		ret = exitInvalid // the C program goes on with a size that it has rejected, if -a follows
	}
	if ret != 0 {
		return ret & 0xff
	}
	if p.Open == nil {
		p.noDevices()
		return exitNoDevice
	}
	p.debugf("created cm_id %p\n", p)
	var code int
	switch {
	case p.size < 0:
		p.errorf("rdma_buf malloc failed\n")
		code = exitMinusOne
	case p.server:
		code = p.serve(ctx)
	default:
		code = p.dial(ctx)
	}
	if ctx.Err() == nil {
		p.debugf("destroy cm_id %p\n", p)
	}
	return code
}

// parse reads the options. ret is what the C program exits with; an address that is found resets
// it, as there.
func (p *pinger) parse(ctx context.Context) (ret int, usage bool) {
	var options []clib.Option
	for _, letter := range []byte("aIpCSt") {
		options = append(options, clib.Value("", letter))
	}
	for _, letter := range []byte("PscvVdq") {
		options = append(options, clib.Flag("", letter))
	}
	g := clib.NewGetopt(p.Args, options)
	g.ShortOnly, g.Ordered = true, p.Ordered
	for {
		letter, arg, ok := g.Next()
		if !ok {
			return ret, false
		}
		switch letter {
		case 'a':
			ret = p.address(ctx, arg, &p.addr)
		case 'I':
			ret = p.address(ctx, arg, &p.source)
		case 'S', 'C':
			if !p.number(letter, clib.Strtol(arg, 10)) {
				ret = exitInvalid
			}
		case 'p':
			port := clib.Strtol(arg, 10)
			p.port = uint16(port) //nolint:gosec // C cuts it too
			p.debugf("port %d\n", port)
		default:
			if !p.flag(letter) {
				return ret, true
			}
		}
	}
}

// address sets an address and returns getaddrinfo's error number.
func (p *pinger) address(ctx context.Context, name string, addr *netip.Addr) int {
	found, err := p.lookup(ctx, name)
	if err != nil {
		number, text := gaiError(err)
		p.printf("getaddrinfo failed (%s) - invalid hostname or IP address\n", text)
		return number
	}
	*addr = found
	return 0
}

// number sets the size or the count, or reports false if it is invalid. A negative size passes this
// test, as in the C program.
func (p *pinger) number(letter byte, n int32) bool {
	if letter == 'C' {
		if p.count = n; n < 0 {
			p.errorf("Invalid count %d\n", n)
			return false
		}
		p.debugf("count %d\n", n)
		return true
	}
	if p.size = n; n >= 0 && n < rping.MinSize || n > rping.MaxSize {
		p.errorf("Invalid size %d (valid range is %d to %d)\n", n, rping.MinSize, rping.MaxSize+1)
		return false
	}
	p.debugf("size %d\n", n)
	return true
}

// flag handles an option without argument, or reports false if there is none of that letter.
func (p *pinger) flag(letter byte) bool {
	switch letter {
	case 's':
		p.server, p.client = true, false
		p.debugf("server\n")
	case 'c':
		p.server, p.client = false, true
		p.debugf("client\n")
	case 'P':
		p.persistent = true
	case 'v':
		p.verbose = true
		p.debugf("verbose\n")
	case 'V':
		p.validate = true
		p.debugf("validate data\n")
	case 'd':
		p.debug = true
	case 'q':
	default:
		return false
	}
	return true
}

// debugf prints a line of -d.
func (p *pinger) debugf(format string, args ...any) {
	if p.debug {
		p.printf(format, args...)
	}
}

//nolint:dupword // "port port" in the C program's words
func (p *pinger) usage() {
	p.printf(`rping -s [-vVd] [-S size] [-C count] [-a addr] [-p port]
rping -c [-vVd] [-S size] [-C count] [-I addr] -a addr [-p port]
	-c		client side
	-I		Source address to bind to for client.
	-s		server side.  To bind to any address with IPv6 use -a ::0
	-v		display ping data to stdout
	-V		validate ping data
	-d		debug printfs
	-S size 	ping data size
	-C count	ping count times
	-a addr		address
	-p port		port
	-P		persistent server mode allowing multiple connections
	-q		use self-created, self-modified QP
`)
}
