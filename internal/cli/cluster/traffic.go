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
	"github.com/rdmakit/rdmakit/internal/edge/clock"
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
	r := sysfs.NewReader(root, toTheEnd)
	sent, received, err := netdevBytes(r, netdevs)
	if err != nil {
		return t, err
	}
	took, err := wait(ctx, look)
	if err != nil {
		return t, err
	}
	sentLater, receivedLater, err := netdevBytes(r, netdevs)
	if err != nil || sentLater < sent || receivedLater < received { // a device that was replaced
		return t, errors.Join(err, errNoCounter)
	}
	t.Sent = gigabits(float64(sentLater-sent) / took.Seconds())
	t.Received = gigabits(float64(receivedLater-received) / took.Seconds())
	return t, nil
}

// netdevBytes returns how much network devices have sent and received, in bytes.
func netdevBytes(r *sysfs.Reader, netdevs []string) (sent, received uint64, err error) {
	for _, name := range netdevs {
		statistics := path.Join(sysfs.ClassNet, name, "statistics")
		tx, rx := r.Uint(path.Join(statistics, "tx_bytes"), 64), r.Uint(path.Join(statistics, "rx_bytes"), 64)
		if tx == nil || rx == nil {
			return 0, 0, fmt.Errorf("%s: %w", name, errNoCounter)
		}
		sent, received = sent+*tx, received+*rx
	}
	if len(netdevs) == 0 {
		return 0, 0, errNoCounter
	}
	return sent, received, nil
}

func gigabits(bytes float64) float64 { return bytes * 8 / giga }

// wait sleeps for d and returns how long it took.
func wait(ctx context.Context, d time.Duration) (time.Duration, error) {
	began := time.Now()
	err := clock.Sleep(ctx, clock.System, d)
	return time.Since(began), err
}

// netdevRate returns the speed of a network device in Gb/s, as text; "" if it is unknown.
func netdevRate(root fs.FS, netdev string) string {
	mbps := sysfs.NewReader(root, toTheEnd).Int(path.Join(sysfs.ClassNet, netdev, "speed"))
	if mbps == nil || *mbps <= 0 { // -1: unknown
		return ""
	}
	const mega = 1e3
	return strconv.FormatFloat(float64(*mbps)/mega, 'g', -1, 64)
}

// toTheEnd doesn't stop a reader: a few files are read at once.
func toTheEnd() error { return nil }

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
