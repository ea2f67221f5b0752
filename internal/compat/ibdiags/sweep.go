package ibdiags

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// Letters of options without a short form, as C numbers them in each program.
const (
	long1 byte = iota + 1
	long2
	long3
	long4
	long5
	long6
	long7
	long8
	long9
	long10
)

const (
	loadCacheHelp   = "filename of ibnetdiscover cache to load"
	diffHelp        = "filename of ibnetdiscover cache to diff"
	diffCheckHelp   = "specify checks to execute for --diff"
	outstandingHelp = "specify the number of outstanding SMP's \nwhich should be issued during the scan"
)

// cacheLong describes the files of the programs that sweep.
const cacheLong = `Files of --cache, --load-cache and --diff are sweeps in the format
rdmakit.fabric/v1, as saved by rdmactl fabric. The C program's format, which depends on its version,
is not supported. `

// sweepLong is the description that all programs that sweep have in common.
const sweepLong = sweepOnce + `-o limits the number of outstanding requests; the default is the
transport's limit. `

// sweepOnce describes the sweep.
const sweepOnce = `The subnet is swept once, with requests to many nodes at the same time: a dead node
doesn't delay the others, and nodes that did not answer are listed on standard error. `

// sweepSettings are the options of a sweep.
type sweepSettings struct {
	window  int // -o; 0: the transport's default
	remarks func(line string)
}

// setWindow parses the argument of -o.
func (o *sweepSettings) setWindow(arg string) {
	v, _ := clib.Strtoul(arg, 0)
	o.window = int(min(v, 4096))
}

// join opens the port like open, but prints no message.
func (r *run) join(ctx context.Context) error {
	if r.transport != nil {
		return nil
	}
	transport, err := r.Open(ctx, r.device, r.port)
	if err != nil {
		return err
	}
	if r.mkey != 0 {
		transport = &keyedTransport{transport, r.mkey}
	}
	r.transport = transport
	r.client = fabric.Client{Transport: transport, Timeout: r.timeout, Plain: true}
	r.client.Keys.M.Default = r.mkey
	return nil
}

// deviceName returns the device of -C as C prints it.
func (r *run) deviceName() string {
	if r.device == "" {
		return "(null)"
	}
	return r.device
}

// sweepBudget is the time limit of a sweep, which the C programs don't have: it is longer than any
// timeout that -t can set, 24.8 days for each try.
const sweepBudget = 365 * 24 * time.Hour

// sweepTopology sweeps the whole subnet, and lists unreached nodes and anomalies on standard error.
func (r *run) sweepTopology(ctx context.Context, settings sweepSettings) (*fabric.Topology, error) {
	options := fabric.Options{MaxWindow: settings.window, Timeout: r.timeout, Budget: sweepBudget}
	t, err := fabric.Discover(ctx, r.transport, options)
	if err != nil {
		return nil, err
	}
	for _, u := range t.Unreached {
		u.Causes = nil // as C
		r.errorf("%s: %s\n", r.Name, u)
	}
	for _, a := range t.Anomalies {
		r.errorf("%s: %s\n", r.Name, a)
	}
	return t, nil
}

// neighbourhood is the part of the subnet that a program queries, and C's message if that fails.
type neighbourhood struct {
	at     place
	hops   int // distance from it; 0: the whole subnet, unless at was found
	failed string
}

// subnet sweeps, or reads a saved sweep from a file; nil after an error message.
func (r *run) subnet(ctx context.Context, file string, part neighbourhood, settings sweepSettings) *subnet {
	if file != "" {
		t, err := r.loadTopology(file)
		if err != nil {
			r.errorf("loading cached fabric failed\n")
			r.cause(err)
			return nil
		}
		return fromTopology(t, nil)
	}
	if part.at.found || part.hops > 0 {
		s, err := r.part(ctx, part.at.path, max(1, part.hops))
		if err == nil {
			return s
		}
		r.warn("main", "%s", part.failed)
		r.cause(err)
	}
	t, err := r.sweepTopology(ctx, settings)
	if err != nil {
		r.errorf("discover failed\n")
		r.cause(err)
		return nil
	}
	return fromTopology(t, nil)
}

// loadTopology reads a sweep from a file.
func (r *run) loadTopology(file string) (*fabric.Topology, error) {
	text, err := r.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := fabric.ReadTopology(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w (the C program's cache format is not supported)", file, err)
	}
	return t, nil
}

// saveTopology writes a sweep to a file.
func (r *run) saveTopology(file string, t *fabric.Topology) error {
	var b bytes.Buffer
	if err := t.WriteJSON(&b); err != nil {
		return err
	}
	return r.WriteFile(file, b.Bytes())
}

// keyedTransport writes the M_Key of -y into the sweep's requests.
type keyedTransport struct {
	fabric.Transport
	key uint64
}

const mkeyOffset = 24 // in packets of subnet management

// Send implements fabric.Transport.
func (k *keyedTransport) Send(batch []fabric.Datagram) (int, error) {
	for i := range batch {
		var h mad.Header
		h.Decode(batch[i].MAD[:]) //nolint:errcheck // a MAD is long enough
		if h.MgmtClass == mad.ClassSubnetDirected || h.MgmtClass == mad.ClassSubnet {
			binary.BigEndian.PutUint64(batch[i].MAD[mkeyOffset:], k.key)
		}
	}
	return k.Transport.Send(batch)
}

// Window implements the optional method by which a transport limits the outstanding requests of
// fabric.Discover.
func (k *keyedTransport) Window() int {
	if w, ok := k.Transport.(interface{ Window() int }); ok {
		return w.Window()
	}
	return defaultWindow
}

// defaultWindow is the number of outstanding requests if the transport has no limit.
const defaultWindow = 32
