package lab

import (
	"bufio"
	"bytes"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Forwarding is what a forwarder does to the RoCE packets of a cable, in both directions; other
// packets pass at once.
type Forwarding struct {
	Delay time.Duration // of each packet
	// Jitter is a further delay at most, another one for each packet; packets stay in order. Share
	// is the share of packets that have it; 0: all.
	Jitter time.Duration
	Share  float64
	// Reorder is the share of the packets that others overtake: they are delayed by Late.
	Reorder float64
	Late    time.Duration
	Seed    uint64 // of random choices
}

// Forward cuts the cable of a card in the switch and joins its ends by a forwarder.
func (l *Lab) Forward(ctx context.Context, c Card, f Forwarding) (Undo, error) {
	near, far := c.Port()+"a", c.Port()+"b"
	bridge := fmt.Sprintf("br%d", c.Rail)
	if err := l.Switch.ip(ctx,
		fmt.Sprintf("link add %s mtu %d type veth peer name %s mtu %d", near, l.opts.MTU, far, l.opts.MTU),
		fmt.Sprintf("link set %s up", near), fmt.Sprintf("link set %s nomaster", c.Port()),
		fmt.Sprintf("link set %s master %s up", far, bridge)); err != nil {
		return nil, err
	}
	p, err := l.Switch.join(c.Port(), near, f)
	undo := func(ctx context.Context) error {
		var closeErr error
		if p != nil {
			closeErr = p.close()
		}
		return errors.Join(closeErr, l.Switch.ip(ctx, "link del "+near,
			fmt.Sprintf("link set %s master %s", c.Port(), bridge)))
	}
	if err != nil {
		return nil, errors.Join(err, undo(ctx))
	}
	return undo, nil
}

// forwardVariable has the settings of a forwarder and makes [Init] become one.
const forwardVariable = "RDMAKIT_LAB_FORWARD"

// forwardSettings are what a forwarder process does.
type forwardSettings struct {
	Netdevs    [2]string  `json:"netdevs"`
	Forwarding Forwarding `json:"forwarding"`
}

// forwarder is a process that forwards frames between two network devices.
type forwarder struct {
	cmd  *Cmd
	life io.Closer // closing it ends the forwarder
}

// join starts a forwarder between two network devices of the node. It is a process in a session of
// its own, so that it has the priority of those on nodes.
func (n *Node) join(a, b string, f Forwarding) (*forwarder, error) {
	settings, err := json.Marshal(forwardSettings{[2]string{a, b}, f})
	if err != nil {
		return nil, err
	}
	c := n.Command(context.Background(), "/proc/self/exe")
	c.Args[0], c.SysProcAttr = "rdmakit-lab-forwarder", &syscall.SysProcAttr{Setsid: true}
	c.Env = append(c.Env, forwardVariable+"="+string(settings))
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	life, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("forward between %s and %s: %w", a, b, err)
	}
	p := &forwarder{c, life}
	if line, _ := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != ready {
		return nil, errors.Join(p.close(), fmt.Errorf("forward between %s and %s: not ready: %s", a, b, said.String()))
	}
	return p, nil
}

// close ends the forwarder.
func (p *forwarder) close() error { return errors.Join(p.life.Close(), p.cmd.Wait()) }

// forward is the forwarder process. It ends when its standard input does.
func forward(text string) error {
	var s forwardSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("forwarder: settings: %w", err)
	}
	const name = "/proc/self/autogroup" // see sessionStart
	if err := os.WriteFile(name, []byte(strconv.Itoa(priority)), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("forwarder: %w", err)
	}
	var ends [2]*os.File // open until the process ends
	for i, netdev := range s.Netdevs {
		f, err := openPacket(netdev)
		if err != nil {
			return fmt.Errorf("forwarder: %s: %w", netdev, err)
		}
		ends[i] = f
	}
	for i := range ends {
		q := newDelayQueue(s.Forwarding, s.Forwarding.Seed+uint64(i))
		go q.read(ends[i]) // both end with the process
		go q.write(ends[1-i])
	}
	if _, err := fmt.Fprintln(os.Stdout, ready); err != nil {
		return fmt.Errorf("forwarder: %w", err)
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// openPacket opens a packet socket (packet(7)) for all frames that arrive at a network device, each
// with the header of virtio: what is to be segmented, and whose checksum is still to be made, stays
// so.
func openPacket(netdev string) (*os.File, error) {
	dev, err := net.InterfaceByName(netdev)
	if err != nil {
		return nil, err
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in network byte order
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	const buffer = 32 << 20
	for _, o := range []struct{ level, option, value int }{
		{unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1},
		{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
		{unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, buffer},
		{unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, buffer},
	} {
		if err := unix.SetsockoptInt(s, o.level, o.option, o.value); err != nil {
			return nil, errors.Join(os.NewSyscallError("setsockopt", err), unix.Close(s))
		}
	}
	if err := unix.Bind(s, &unix.SockaddrLinklayer{Protocol: all, Ifindex: dev.Index}); err != nil {
		return nil, errors.Join(os.NewSyscallError("bind", err), unix.Close(s))
	}
	return os.NewFile(uintptr(s), netdev), nil
}

// frame is a frame with its header of virtio, and when it is to be sent.
type frame struct {
	at    time.Time
	order int
	data  []byte
}

// delayQueue has the frames of a direction that wait. Its writer sleeps until the first of them is
// due.
type delayQueue struct {
	f   Forwarding
	rng *rand.Rand

	mu     sync.Mutex
	frames frameHeap
	last   time.Time // when the last one in order is due
	count  int
	more   chan struct{}
	ended  chan struct{}
}

func newDelayQueue(f Forwarding, seed uint64) *delayQueue {
	return &delayQueue{
		f: f, rng: rand.New(rand.NewPCG(seed, 0)), more: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// Lengths of headers: virtio's, and Ethernet with IPv4 and UDP.
const (
	virtioHeader = 10
	etherHeader  = 14
)

// isRoCE reports whether a frame is one of IPv4 to the UDP port of RoCE.
func isRoCE(b []byte) bool {
	const udp, ports = 17, 4
	if len(b) < virtioHeader+etherHeader+28 {
		return false
	}
	ip := b[virtioHeader+etherHeader:]
	if b[virtioHeader+12] != 0x08 || b[virtioHeader+13] != 0 || ip[9] != udp {
		return false
	}
	at := int(ip[0]&0xf) * 4 //nolint:mnd // of 32-bit words
	return len(ip) >= at+ports && int(ip[at+2])<<8|int(ip[at+3]) == rocePort
}

// read takes frames until the socket is closed.
func (q *delayQueue) read(from *os.File) {
	defer close(q.ended)
	b := make([]byte, virtioHeader+etherHeader+1<<16)
	for {
		n, err := from.Read(b)
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil || n < virtioHeader+etherHeader {
			continue // the network device was down
		}
		q.add(append([]byte(nil), b[:n]...), time.Now())
	}
}

// add plans when a frame is sent.
func (q *delayQueue) add(data []byte, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	x := frame{at: now, order: q.count, data: data}
	q.count++
	if isRoCE(data) {
		x.at = now.Add(q.f.Delay)
		if q.f.Jitter > 0 && (q.f.Share == 0 || q.rng.Float64() < q.f.Share) {
			x.at = x.at.Add(time.Duration(q.rng.Int64N(int64(q.f.Jitter))))
		}
		if x.at.Before(q.last) {
			x.at = q.last
		}
		q.last = x.at
		if q.f.Reorder > 0 && q.rng.Float64() < q.f.Reorder {
			x.at = x.at.Add(q.f.Late)
		}
	}
	heap.Push(&q.frames, x)
	if q.frames[0].order == x.order {
		select {
		case q.more <- struct{}{}:
		default:
		}
	}
}

// due takes the first frame if it is due. Otherwise wait is the time until then, negative if there
// is none.
func (q *delayQueue) due(now time.Time) (data []byte, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.frames) == 0 {
		return nil, -1
	}
	if wait := q.frames[0].at.Sub(now); wait > 0 {
		return nil, wait
	}
	x, _ := heap.Pop(&q.frames).(frame) // it has nothing else
	return x.data, 0
}

// write sends the frames until the queue has ended. What can't be sent is lost, as in a cable.
func (q *delayQueue) write(to *os.File) {
	for {
		data, wait := q.due(time.Now())
		if data != nil {
			if _, err := to.Write(data); errors.Is(err, os.ErrClosed) {
				return
			}
			continue
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-timer:
		case <-q.more:
		case <-q.ended:
			return
		}
	}
}

// frameHeap has the frame that is due next at its top.
type frameHeap []frame

func (h frameHeap) Len() int { return len(h) }
func (h frameHeap) Less(i, j int) bool {
	return h[i].at.Before(h[j].at) || h[i].at.Equal(h[j].at) && h[i].order < h[j].order
}
func (h frameHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push implements [heap.Interface].
func (h *frameHeap) Push(x any) {
	if f, ok := x.(frame); ok {
		*h = append(*h, f)
	}
}

// Pop implements [heap.Interface].
func (h *frameHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
