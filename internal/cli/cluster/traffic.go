package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/cluster/leader"
	"github.com/rdmakit/rdmakit/cluster/result"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
)

// look is how long a worker looks at the traffic of its cards.
const look = time.Second

// errNoCounter is the error for a card whose traffic can't be seen.
var errNoCounter = errors.New("no counter of data")

// cardTraffic looks at the data counters of a port of the kernel, below root.
func cardTraffic(ctx context.Context, root fs.FS, device string, port int) (t result.Traffic, err error) {
	before, err := inventory.ReadCounters(ctx, root, device, port)
	if len(before) == 0 {
		return t, err
	}
	took, err := wait(ctx, look)
	if err != nil {
		return t, err
	}
	after, _ := inventory.ReadCounters(ctx, root, device, port) // those that are missing are not compared
	found := false
	for _, c := range inventory.Changes(before, after, took) {
		if c.PerSecond == nil {
			continue
		}
		n, ok := c.Counter.Bytes(*c.PerSecond)
		switch {
		case !ok:
			continue
		case strings.Contains(c.Counter.Name, "xmit"):
			t.Sent = gigabits(n)
		default:
			t.Received = gigabits(n)
		}
		found = true
	}
	if !found {
		return t, errNoCounter
	}
	return t, nil
}

// netdevTraffic looks at the statistics of network devices, below root: of a bond, those of its
// members.
func netdevTraffic(ctx context.Context, root fs.FS, netdevs []string) (t result.Traffic, err error) {
	sent, received, err := netdevBytes(root, netdevs)
	if err != nil {
		return t, err
	}
	took, err := wait(ctx, look)
	if err != nil {
		return t, err
	}
	sentLater, receivedLater, err := netdevBytes(root, netdevs)
	if err != nil || sentLater < sent || receivedLater < received { // a device that was replaced
		return t, errors.Join(err, errNoCounter)
	}
	t.Sent = gigabits(float64(sentLater-sent) / took.Seconds())
	t.Received = gigabits(float64(receivedLater-received) / took.Seconds())
	return t, nil
}

// netdevBytes returns how much network devices have sent and received, in bytes.
func netdevBytes(root fs.FS, netdevs []string) (sent, received uint64, err error) {
	for _, name := range netdevs {
		for file, sum := range map[string]*uint64{"tx_bytes": &sent, "rx_bytes": &received} {
			name := path.Join(sysfs.ClassNet, name, "statistics", file)
			text, err := fs.ReadFile(root, name)
			if err != nil {
				return 0, 0, err
			}
			n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %w", name, err)
			}
			*sum += n
		}
	}
	if len(netdevs) == 0 {
		return 0, 0, errNoCounter
	}
	return sent, received, nil
}

func gigabits(bytes float64) float64 { return bytes * 8 / giga }

// wait waits, and returns how long it was.
func wait(ctx context.Context, d time.Duration) (time.Duration, error) {
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return time.Since(began), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// netdevRate returns the speed of a network device in Gb/s, as text; "" if it is unknown.
func netdevRate(root fs.FS, netdev string) string {
	text, err := fs.ReadFile(root, path.Join(sysfs.ClassNet, netdev, "speed"))
	if err != nil {
		return ""
	}
	mbps, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || mbps <= 0 { // -1: unknown
		return ""
	}
	const mega = 1e3
	return strconv.FormatFloat(float64(mbps)/mega, 'g', -1, 64)
}

// hostRoot is the file system of this machine.
func hostRoot() fs.FS { return os.DirFS("/") }

// checkUse returns an error for a fabric that is in use, unless the user insists.
func (f *verifyFlags) checkUse(app *cli.App, fleet *leader.Fleet) error {
	use := fleet.Use()
	const shown = 3
	text := strings.Join(use.Busy[:min(shown, len(use.Busy))], "; ")
	if n := len(use.Busy) - shown; n > 0 {
		text += fmt.Sprintf("; and %d more cards", n)
	}
	if use.Unseen > 0 {
		app.Log.Debug("traffic before the run is unknown", "cards", use.Unseen)
	}
	if len(use.Busy) == 0 {
		return nil
	}
	if f.force {
		app.Out.Note("warning: the fabric is in use: %s", text)
		return nil
	}
	return cli.WithHints(cli.Exitf(cli.ExitPartial, "nothing was measured: the fabric is in use: %s", text),
		"wait until the jobs have ended, or leave their nodes out",
		"--force measures beside them: it slows them down, and the figures are those of a shared fabric",
		"--gentle 10 with it uses a tenth of each card's rate")
}
