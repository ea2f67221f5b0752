package classic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
)

// Env is the environment of a program.
type Env struct {
	// Name is the program's name in messages: argv[0]. Empty: the test's name in perftest.
	Name           string
	Stdout, Stderr io.Writer
	// Open opens the device that -d names, or Device without -d; for "" the first that there is.
	// connects says that rdma_cm connects the queue pairs (-R), as it must on iWARP. A nil Open
	// opens none.
	Open   func(ctx context.Context, name string, connects bool) (*verbs.Device, error)
	Device string
	// ChooseGID returns the index of a port's GID when -x doesn't give one; nil chooses 0.
	ChooseGID func(ctx context.Context, device *verbs.Device, port int) (int, error)
	// Hints returns hints for an error; it may be nil.
	Hints func(error) []string
}

// exitCoder is a cause of the context's end that has an exit code.
type exitCoder interface {
	error
	ExitCode() int
}

// Main runs the program of a test with its arguments and returns its exit code: 0, or 1 for every
// failure and for -V, as in perftest. A signal kills the C program: if the cause of the end of ctx
// has a method ExitCode() int, Main returns its result, such as 130.
func Main(ctx context.Context, test bench.Test, args []string, env Env) int {
	if env.Name == "" {
		env.Name = "ib_" + test.String()
	}
	o, err := Parse(test, args)
	switch {
	case err == nil && o.Help:
		_, err = io.WriteString(env.Stdout, Usage(test))
	case err == nil && o.Version:
		_, _ = fmt.Fprintf(env.Stdout, "Version: %v\n", perftest.VersionAnnounced)
		return 1
	case err == nil:
		err = measure(ctx, o, env)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(env.Stderr, "%s: %v\n", env.Name, err)
	if env.Hints != nil {
		for _, hint := range env.Hints(err) {
			_, _ = fmt.Fprintf(env.Stderr, "hint: %s\n", hint)
		}
	}
	if cause, ok := errors.AsType[exitCoder](context.Cause(ctx)); ok {
		return cause.ExitCode()
	}
	return 1
}

func measure(ctx context.Context, o Options, env Env) (err error) {
	name := o.Device
	if name == "" {
		name = env.Device
	}
	if err := o.Config.Validate(); err != nil {
		return err
	}
	if env.Open == nil {
		return errors.New("open device: there are no devices to open on a recorded node")
	}
	device, err := env.Open(ctx, name, o.Config.RDMACM == bench.RDMACMConnect)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	if env.ChooseGID != nil && !o.GIDGiven {
		port := cmp.Or(o.Config.Port, 1)
		if o.Config.GIDIndex, err = env.ChooseGID(ctx, device, port); err != nil {
			return err
		}
	}
	if err := bench.Check(ctx, device, o.Config); err != nil {
		return err
	}
	p := &Printer{W: env.Stdout, Gbits: o.Gbits, CPUUtil: o.Config.CPUUtil}
	observer := p.Observer()
	o.Config.Observer = observer
	o.Config.Observer.Prepared = func(s *bench.Setup) {
		if s.Scale != "" {
			_, _ = fmt.Fprintf(env.Stderr, "%s: %s\n", s.Device, s.Scale)
		}
		for _, note := range s.Notes {
			_, _ = fmt.Fprintf(env.Stderr, "note: %s\n", note)
		}
		observer.Prepared(s)
	}
	conn, err := bench.Meet(ctx, device, o.Host, o.Port, o.Config, p.Waiting)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := bench.Run(ctx, device, conn, o.Config); err != nil {
		return err
	}
	p.Finish()
	return p.Err
}

// HelpLine describes an option: Flags such as "-o, --outs=N", and Help.
type HelpLine struct{ Flags, Help string }

// Help returns the options of a program in alphabetical order.
func Help(test bench.Test) []HelpLine {
	list := []HelpLine{
		{"-a, --all", "sizes from 2 to 2^23"},
		{"-c, --connection=TYPE", connectionHelp(test)},
		{"-d, --ib-dev=DEV", "device: mlx5_0, roce@ADDRESS or roce@NETDEV (default: the first)"},
		{"-D, --duration=S", "duration of the test in seconds"},
		{"-f, --margin=S", "seconds at the start and at the end of the duration that are not measured"},
		{"-F, --CPU-freq", "accepted and ignored"},
		{"-h, --help", "print this help"},
		{"-i, --ib-port=PORT", "port of the device (default 1)"},
		{"-m, --mtu=MTU", "256 to 4096 (default: that of the port)"},
		{"-n, --iters=N", "number of exchanges, at least 5"},
		{"-p, --port=PORT", fmt.Sprintf("port, of TCP or rdma_cm (default %d)", bench.DefaultPort)},
		{"-r, --rx-depth=N", "receive requests per queue pair"},
		{"-s, --size=BYTES", "size of messages; K and M may follow"},
		{"-t, --tx-depth=N", "send requests per queue pair"},
		{"-u, --qp-timeout=CODE", "acknowledgement timeout 4.096 us * 2^code, 0 none (default 14)"},
		{"-R, --rdma_cm", "connect queue pairs by rdma_cm, and exchange over it; RC, or UD for SEND"},
		{"-T, --tos=CLASS", "traffic class (DSCP and ECN) of the queue pairs, 0 to 255; only with -R"},
		{"-z, --comm_rdma_cm", "exchange over rdma_cm, not over TCP"},
		{"-S, --sl=SL", "service level, 0 to 15 (InfiniBand)"},
		{"-V, --version", "print the version of the protocol"},
		{"-x, --gid-index=N", "index of the port's GID (default: the one that fits, none on InfiniBand)"},
		{"--cpu_util", "measure how busy the CPUs are; needs -D"},
		{"--report_gbits", "Gb/s instead of MB/s"},
		{"--use_cuda=INDEX", "take the memory from an NVIDIA GPU, counted from 0"},
		{"--use_cuda_dmabuf", "accepted: dma-buf is used wherever the GPU has it"},
		{"--use_rocm=INDEX", "take the memory from an AMD GPU, counted from 0"},
		{"--use_rocm_dmabuf", "accepted: dma-buf is used wherever the GPU has it"},
		{"--use_hugepages", "take the memory from huge pages of 2 MiB"},
	}
	if test.Op() != verbs.SendOpRead {
		list = append(list, HelpLine{"-I, --inline_size=BYTES", "copy messages up to this size when posting"})
	}
	if test.Op() == verbs.SendOpRead {
		list = append(list, HelpLine{"-o, --outs=N", "outstanding reads"})
	}
	if !test.IsLatency() {
		list = append(
			list, HelpLine{"-l, --post_list=N", "post N requests in one call"},
			HelpLine{"-N, --noPeak", "don't compute the peak bandwidth"},
			HelpLine{"-q, --qp=N", "number of queue pairs"},
			HelpLine{"-Q, --cq-mod=N", "request one completion for N requests"},
			HelpLine{"--mr_per_qp", "a memory region for each queue pair"},
			HelpLine{"--perform_warm_up", "send some messages before measuring"},
		)
	}
	key := func(h HelpLine) string { return strings.TrimLeft(h.Flags, "-") }
	slices.SortStableFunc(list, func(a, b HelpLine) int {
		return cmp.Or(cmp.Compare(strings.ToLower(key(a)), strings.ToLower(key(b))), cmp.Compare(key(a), key(b)))
	})
	return list
}

func connectionHelp(test bench.Test) string {
	switch test.Op() {
	case verbs.SendOpRead:
		return "connection type: RC"
	case verbs.SendOpSend:
		return "connection type: RC, UC or UD (default RC)"
	}
	return "connection type: RC or UC (default RC)"
}

// Usage returns the help of a program.
func Usage(test bench.Test) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  ib_%[1]v            start a server and wait for connection\n"+
		"  ib_%[1]v <host>     connect to server at <host>\n\nOptions:\n", test)
	for _, h := range Help(test) {
		fmt.Fprintf(&b, "  %-24s %s\n", h.Flags, h.Help)
	}
	return b.String()
}
