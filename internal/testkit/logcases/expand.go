package logcases

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expander turns the text of a case into a log. Lines that begin with "@" or "!" are directives;
// all others stay as they are.
type expander struct {
	session *session // nil if the case has none
	clock   clock
	out     []string
	gids    []netip.Addr // addresses that lines of failures name
}

// args are the arguments of a directive: words "key=value", and the text after " | ".
type args struct {
	words map[string]string
	text  string
}

func parseArgs(s string) args {
	a := args{words: map[string]string{}}
	s, a.text, _ = strings.Cut(" "+s, " | ")
	for word := range strings.FieldsSeq(s) {
		key, value, _ := strings.Cut(word, "=")
		a.words[key] = value
	}
	return a
}

func (a args) get(key, fallback string) string {
	if v, ok := a.words[key]; ok {
		return v
	}
	return fallback
}

func (a args) number(key string, fallback int) (int, error) {
	v, ok := a.words[key]
	if !ok {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, fmt.Errorf("%s=%s: not a number", key, v)
	}
	return n, nil
}

func (a args) numbers(key string, fallback []int) (list []int, err error) {
	v, ok := a.words[key]
	if !ok {
		return fallback, nil
	}
	for part := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: not a list of numbers", key, v)
		}
		list = append(list, n)
	}
	return list, nil
}

// expand returns the log; its last line ends with a line feed.
func (x *expander) expand(text string) (string, error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case strings.HasPrefix(line, "!"):
			err = x.rankLine(line[1:])
		case strings.HasPrefix(line, "@"):
			name, rest, _ := strings.Cut(line[1:], " ")
			err = x.directive(name, parseArgs(rest))
		default:
			line, err = x.addresses(line)
			x.add(line)
		}
		if err != nil {
			return "", fmt.Errorf("line %d, %q: %w", number, line, err)
		}
	}
	return strings.Join(x.out, "\n") + "\n", nil
}

// placeholder is an address of the session in a line: {gid:NODE:DEVICE}, or {gidlong:NODE:DEVICE}
// for the form with all zeros, {ip:NODE:DEVICE} for the IPv4 address in it.
var placeholder = regexp.MustCompile(`\{(gid|gidlong|ip):(\d):(\d)\}`)

// addresses replaces the placeholders of a line.
func (x *expander) addresses(line string) (string, error) {
	for _, m := range placeholder.FindAllStringSubmatch(line, -1) {
		n, device := int(m[2][0]-'0'), int(m[3][0]-'0')
		if x.session == nil || n >= len(x.session.nodes) {
			return "", fmt.Errorf("%s: no such node", m[0])
		}
		gid := x.session.gidOf(n, device)
		text := gid.String()
		switch m[1] {
		case "gidlong":
			text = gid.StringExpanded()
		case "ip":
			text = gid.Unmap().String()
		}
		line = strings.ReplaceAll(line, m[0], text)
	}
	return line, nil
}

func (x *expander) add(lines ...string) { x.out = append(x.out, lines...) }

// rankLine expands a line of one rank: a letter, the rank, and what the letter needs.
//
//	!I0 TEXT                 an INFO line
//	!W0 FILE:LINE TEXT       a WARN line; "FILE:LINE (FUNCTION)" for 2.30.7
//	!B0 CODE PLACE…          a backtrace
//	!C0 status=12 …          a completion with error
//	!M0 errno=110 …          a failed ibv_modify_qp
//	!A0 dev=mlx5_0 | EVENT   an asynchronous event
func (x *expander) rankLine(line string) error {
	if x.session == nil {
		return fmt.Errorf("the case has no session (header nodes)")
	}
	head, rest, _ := strings.Cut(line, " ")
	rank, err := strconv.Atoi(head[min(1, len(head)):])
	if err != nil || rank < 0 || rank >= x.session.ranks() {
		return fmt.Errorf("want a letter and a rank below %d", x.session.ranks())
	}
	s := x.session
	switch head[0] {
	case 'I':
		x.add(s.info(rank, "%s", rest))
	case 'W':
		where, message, _ := strings.Cut(rest, " ")
		if function, after, ok := strings.Cut(message, ") "); ok && strings.HasPrefix(function, "(") {
			where, message = where+" "+function+")", after
		}
		x.add(s.warn(rank, x.clock, where, message))
	case 'B':
		words := strings.Fields(rest)
		if len(words) < 2 {
			return fmt.Errorf("want a code and places")
		}
		x.add(s.chain(rank, words[0], words[1:])...)
	case 'C':
		return x.completion(rank, parseArgs(rest))
	case 'M':
		return x.modify(rank, parseArgs(rest))
	case 'A':
		x.add(s.asyncEvent(rank, x.clock, parseArgs(rest)))
	default:
		return fmt.Errorf("unknown letter %q", head[0])
	}
	return nil
}

// directive expands a block.
func (x *expander) directive(name string, a args) error {
	blocks := map[string]func(args) error{
		"init": x.initBlock, "wait": x.wait, "closed": x.closed, "abort": x.abort, "train": x.train,
		"torch-start": x.torchStart, "torch-timeout": x.torchTimeout, "torch-error": x.torchError,
		"elastic": x.elastic, "nccl-tests": x.ncclTests, "perf": x.perf, "vllm": x.vllm, "ray-died": x.rayDied,
		"ucx": x.ucx, "perftest": x.perftest, "devinfo": x.devinfo, "boot": x.boot, "mpirun": x.mpirun,
		"shm-broadcast": x.shmBroadcast, "pod-start": x.podStart, "ucx-start": x.ucxStart, "backtrace": x.backtrace,
		"osu": x.osu, "nvshmem-start": x.nvshmemStart, "mooncake-start": x.mooncakeStart, "kernel-noise": x.kernelNoise,
	}
	block, ok := blocks[name]
	if !ok {
		return fmt.Errorf("unknown directive @%s", name)
	}
	if x.session == nil && slices.Contains([]string{
		"init", "closed", "abort", "torch-timeout", "torch-error", "torch-start", "nccl-tests", "elastic", "ray-died",
	}, name) {
		return fmt.Errorf("@%s needs a session (header nodes)", name)
	}
	return block(a)
}

func (x *expander) initBlock(a args) error {
	var nodes []int
	for i := range x.session.nodes {
		nodes = append(nodes, i)
	}
	nodes, err := a.numbers("nodes", nodes)
	if err != nil {
		return err
	}
	lines, err := x.session.initLines(nodes, a.get("from", "bootstrap"), a.get("upto", "complete"))
	x.add(lines...)
	return err
}

// wait moves the time of the log.
func (x *expander) wait(a args) error {
	n, err := a.number("s", 1)
	x.clock.seconds += n
	return err
}

func (s *session) at(c clock) time.Time { return s.start.Add(time.Duration(c.seconds) * time.Second) }
