package classic

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/perftest"
	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Options are the parsed arguments of a command line.
type Options struct {
	Config bench.Config // everything except this end's output format
	// Host is the server to connect to; empty: run as a server.
	Host   string
	Device string
	Port   int // TCP port
	// Gbits reports in Gb/s instead of MB/s of 2^20 bytes.
	Gbits bool
	// GIDGiven reports that -x has set Config.GIDIndex.
	GIDGiven      bool
	Help, Version bool
}

// ErrUnsupported is matched by the error for an option of perftest that is not supported here.
var ErrUnsupported = errors.ErrUnsupported

// Parse reads the arguments of a program, without its name, as getopt_long does: options may be
// joined, abbreviated, and follow the host.
func Parse(test bench.Test, args []string) (Options, error) {
	o := Options{Config: bench.Config{Test: test}, Port: bench.DefaultPort}
	p := parser{o: &o, args: args}
	if err := p.run(); err != nil {
		return o, err
	}
	if len(p.operands) > 1 {
		return o, fmt.Errorf("unexpected argument %q", p.operands[1])
	}
	if len(p.operands) == 1 {
		o.Host, o.Config.Role = p.operands[0], perftest.RoleClient
	}
	return o, nil
}

// option is an option of perftest.
type option struct {
	letter byte // 0 if it has none
	name   string
	// value reports that the option takes a value.
	value bool
	set   func(o *Options, value string) error
}

// options returns the table of options; those without set are supported by perftest only.
func options() []option {
	number := func(field func(*Options) *int) func(*Options, string) error {
		return func(o *Options, s string) error { return setInt(field(o), s) }
	}
	return append(unsupported(), []option{
		{'p', "port", true, number(func(o *Options) *int { return &o.Port })},
		{'d', "ib-dev", true, func(o *Options, s string) error { o.Device = s; return nil }},
		{'i', "ib-port", true, number(func(o *Options) *int { return &o.Config.Port })},
		{'m', "mtu", true, func(o *Options, s string) error {
			var n int
			err := setInt(&n, s)
			o.Config.MTU = ib.MTU(n)
			if err == nil && o.Config.MTU.Code() == 0 {
				err = errors.New("not 256, 512, 1024, 2048 or 4096")
			}
			return err
		}},
		{'s', "size", true, func(o *Options, s string) (err error) { o.Config.Size, err = ParseSize(s); return err }},
		{'n', "iters", true, number(func(o *Options) *int { return &o.Config.Iterations })},
		{'t', "tx-depth", true, number(func(o *Options) *int { return &o.Config.TxDepth })},
		{'r', "rx-depth", true, number(func(o *Options) *int { return &o.Config.RxDepth })},
		{'u', "qp-timeout", true, func(o *Options, s string) error { return setTimeout(&o.Config.Timeout, s) }},
		{'x', "gid-index", true, number(func(o *Options) *int { o.GIDGiven = true; return &o.Config.GIDIndex })},
		{'a', "all", false, func(o *Options, _ string) error { o.Config.AllSizes = true; return nil }},
		{'F', "CPU-freq", false, func(*Options, string) error { return nil }}, // no cycle counter to check
		{'c', "connection", true, func(o *Options, s string) error {
			types := map[string]verbs.QPType{"RC": verbs.QPTypeRC, "UC": verbs.QPTypeUC, "UD": verbs.QPTypeUD}
			t, ok := types[s]
			if !ok {
				return fmt.Errorf("%w: RC, UC or UD", ErrUnsupported)
			}
			o.Config.QPType = t
			return nil
		}},
		{'q', "qp", true, number(func(o *Options) *int { return &o.Config.QueuePairs })},
		{'o', "outs", true, number(func(o *Options) *int { return &o.Config.OutstandingReads })},
		{'Q', "cq-mod", true, number(func(o *Options) *int { return &o.Config.CQModeration })},
		{'N', "noPeak", false, func(o *Options, _ string) error { o.Config.NoPeak = true; return nil }},
		{'l', "post_list", true, number(func(o *Options) *int { return &o.Config.PostList })},
		{'D', "duration", true, func(o *Options, s string) error { return setSeconds(&o.Config.Duration, s) }},
		{'f', "margin", true, func(o *Options, s string) error {
			err := setSeconds(&o.Config.Margin, s)
			if o.Config.Margin == 0 {
				o.Config.Margin = -1 // no margin; 0 would select the default
			}
			return err
		}},
		{'V', "version", false, func(o *Options, _ string) error { o.Version = true; return nil }},
		{'h', "help", false, func(o *Options, _ string) error { o.Help = true; return nil }},
		{
			0, "report_gbits", false,
			func(o *Options, _ string) error { o.Gbits, o.Config.ReportGbps = true, true; return nil },
		},
		{0, "perform_warm_up", false, func(o *Options, _ string) error { o.Config.WarmUp = true; return nil }},
		{'I', "inline_size", true, func(o *Options, s string) error {
			err := setInt(&o.Config.Inline, s)
			if o.Config.Inline == 0 {
				o.Config.Inline = -1 // no inline data; 0 would select the default
			}
			return err
		}},
		{'S', "sl", true, func(o *Options, s string) error {
			n, err := strconv.ParseUint(s, 0, 4)
			o.Config.ServiceLevel = uint8(n)
			return err
		}},
		{'z', "comm_rdma_cm", false, func(o *Options, _ string) error {
			o.Config.RDMACM = max(o.Config.RDMACM, bench.RDMACMExchange)
			return nil
		}},
		{'R', "rdma_cm", false, func(o *Options, _ string) error { o.Config.RDMACM = bench.RDMACMConnect; return nil }},
		{'T', "tos", true, func(o *Options, s string) error {
			n, err := strconv.ParseUint(s, 0, 8)
			o.Config.TrafficClass = uint8(n)
			return err
		}},
		{0, "cpu_util", false, func(o *Options, _ string) error { o.Config.CPUUtil = true; return nil }},
		{0, "ipv6", false, func(*Options, string) error { return nil }},
		{0, "mr_per_qp", false, func(o *Options, _ string) error { o.Config.MRPerQP = true; return nil }},
		{0, "use_cuda", true, func(o *Options, s string) error { return setGPU(o, bench.GPUCUDA, s) }},
		{0, "use_cuda_dmabuf", false, func(o *Options, _ string) error { return needGPU(o, bench.GPUCUDA) }},
		{0, "use_rocm", true, func(o *Options, s string) error { return setGPU(o, bench.GPUROCm, s) }},
		{0, "use_rocm_dmabuf", false, func(o *Options, _ string) error { return needGPU(o, bench.GPUROCm) }},
		{0, "use_hugepages", false, func(o *Options, _ string) error { o.Config.HugePages = true; return nil }},
	}...)
}

// unsupported returns the options that only perftest has.
func unsupported() []option {
	return []option{
		{'b', "bidirectional", false, nil},
		{'e', "events", false, nil},
		{'X', "vector", true, nil},
		{'g', "mcg", false, nil},
		{'M', "MGID", true, nil},
		{'L', "hop_limit", true, nil},
		{'A', "atomic_type", true, nil},
		{'C', "report-cycles", false, nil},
		{'H', "report-histogrm", false, nil},
		{'U', "report-unsorted", false, nil},
		{'O', "dualport", false, nil},
		{'w', "limit_bw", true, nil},
		{'y', "limit_msgrate", true, nil},
		{0, "run_infinitely", false, nil},
		{0, "use-srq", false, nil},
		{0, "report-both", false, nil},
		{0, "reversed", false, nil},
		{0, "pkey_index", true, nil},
		{0, "output", true, nil},
		{0, "out_json", false, nil},
		{0, "out_json_file", true, nil},
		{0, "latency_gap", true, nil},
		{0, "flow_label", true, nil},
		{0, "retry_count", true, nil},
		{0, "dont_xchg_versions", false, nil},
		{0, "report-per-port", false, nil},
		{0, "tclass", true, nil},
		{0, "use_old_post_send", false, nil},
		{0, "recv_post_list", true, nil},
	}
}

// setGPU selects the GPU whose memory is used.
func setGPU(o *Options, kind bench.GPUKind, s string) error {
	if g := o.Config.GPU; g != nil && g.Kind != kind {
		return fmt.Errorf("memory of %v and %v exclude each other", g.Kind, kind)
	}
	g := &bench.GPU{Kind: kind}
	o.Config.GPU = g
	return setInt(&g.Index, s)
}

// needGPU accepts an option to register as dma-buf, which is the default here; as in perftest, it
// follows that of the GPU.
func needGPU(o *Options, kind bench.GPUKind) error {
	if g := o.Config.GPU; g == nil || g.Kind != kind {
		return fmt.Errorf("no --use_%s before it", strings.ToLower(kind.String()))
	}
	return nil
}

func setInt(field *int, s string) error {
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil || n < 0 {
		return errors.New("not a number")
	}
	*field = int(n)
	return nil
}

func setTimeout(field *uint8, s string) error {
	n, err := strconv.ParseUint(s, 0, 5)
	if err != nil {
		return err
	}
	if *field = uint8(n); n == 0 {
		*field = verbs.TimeoutInfinite // 0 is the default there
	}
	return nil
}

func setSeconds(field *time.Duration, s string) error {
	var n int
	err := setInt(&n, s)
	*field = time.Duration(n) * time.Second
	return err
}

// ParseSize parses a number of bytes, with an optional suffix K or M for 2^10 and 2^20, up to
// [bench.MaxSize].
func ParseSize(s string) (int, error) {
	factor, digits := 1, s
	if rest, ok := strings.CutSuffix(s, "K"); ok {
		factor, digits = 1<<10, rest
	} else if rest, ok := strings.CutSuffix(s, "M"); ok {
		factor, digits = 1<<20, rest
	}
	n, err := strconv.ParseInt(digits, 0, 32)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("size %q is not a number of bytes, KiB (K) or MiB (M)", s)
	case err != nil || n < 1 || n > bench.MaxSize/int64(factor):
		return 0, fmt.Errorf("size %q is not 1 to %d bytes", s, bench.MaxSize)
	}
	return int(n) * factor, nil
}

// FormatSize formats a number of bytes in the shortest form that [ParseSize] accepts.
func FormatSize(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + "M"
	case n > 0 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + "K"
	}
	return strconv.Itoa(n)
}

// parser walks through arguments.
type parser struct {
	o        *Options
	args     []string
	operands []string
}

func (p *parser) run() error {
	for len(p.args) > 0 {
		arg := p.args[0]
		p.args = p.args[1:]
		var err error
		switch {
		case arg == "--":
			p.operands, p.args = append(p.operands, p.args...), nil
		case strings.HasPrefix(arg, "--"):
			err = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			err = p.short(arg[1:])
		default:
			p.operands = append(p.operands, arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// short parses the letters after one hyphen.
func (p *parser) short(letters string) error {
	for letters != "" {
		letter := letters[0]
		letters = letters[1:]
		opt := find(func(o option) bool { return o.letter == letter })
		if len(opt) == 0 {
			return fmt.Errorf("unknown option -%c", letter)
		}
		value, inline := letters, letters != ""
		if opt[0].value {
			letters = ""
		}
		if err := p.apply("-"+string(letter), opt[0], value, opt[0].value && inline); err != nil {
			return err
		}
	}
	return nil
}

// long parses a name, which may be abbreviated as long as it is unique.
func (p *parser) long(text string) error {
	name, value, inline := strings.Cut(text, "=")
	opt := find(func(o option) bool { return o.name == name })
	if len(opt) == 0 {
		opt = find(func(o option) bool { return name != "" && strings.HasPrefix(o.name, name) })
	}
	switch {
	case len(opt) == 0:
		return fmt.Errorf("unknown option --%s", name)
	case len(opt) > 1:
		return fmt.Errorf("option --%s may be --%s or --%s", name, opt[0].name, opt[1].name)
	case inline && !opt[0].value:
		return fmt.Errorf("option --%s has no value", opt[0].name)
	}
	return p.apply("--"+opt[0].name, opt[0], value, inline)
}

func find(is func(option) bool) (found []option) {
	for _, o := range options() {
		if is(o) {
			found = append(found, o)
		}
	}
	return found
}

func (p *parser) apply(shown string, opt option, value string, inline bool) error {
	if opt.value && !inline {
		if len(p.args) == 0 {
			return fmt.Errorf("option %s needs a value", shown)
		}
		value, p.args = p.args[0], p.args[1:]
	}
	if opt.set == nil {
		return fmt.Errorf("option %s: %w", shown, ErrUnsupported)
	}
	if err := opt.set(p.o, value); err != nil {
		return fmt.Errorf("option %s %q: %w", shown, value, err)
	}
	return nil
}
