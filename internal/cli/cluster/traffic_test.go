package cluster

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

// moving is a tree whose files with a number grow by it each second.
type moving struct {
	files map[string]uint64 // growth each second
	began time.Time
	lost  string // file that vanishes after the first second
}

func (m moving) Open(name string) (fs.File, error) {
	tree := fstest.MapFS{}
	passed := time.Since(m.began)
	for file, growth := range m.files {
		if file == m.lost && passed > 0 {
			continue
		}
		value := strconv.FormatUint(1000+growth*uint64(passed/time.Second), 10)
		tree[file] = &fstest.MapFile{Data: []byte(value + "\n")}
	}
	return tree.Open(name)
}

const (
	portCounters = "sys/class/infiniband/mlx5_0/ports/1/counters/"
	ethStats     = "sys/class/net/eth0/statistics/"
)

// TestTraffic looks at counters of known growth. The data counters of a port are in units of four
// bytes (specification volume 1, section 16.1.4.4), those of network devices in bytes.
func TestTraffic(t *testing.T) {
	for _, tt := range []struct {
		name           string
		files          map[string]uint64
		lost           string
		netdevs        []string
		sent, received float64
		fails          bool
	}{
		{
			name: "port", sent: 80, received: 4,
			files: map[string]uint64{portCounters + "port_xmit_data": 25e8, portCounters + "port_rcv_data": 125e6},
		},
		{name: "port that only receives", files: map[string]uint64{portCounters + "port_rcv_data": 125e6}, received: 4},
		{name: "port without data counters", files: map[string]uint64{portCounters + "symbol_error": 1}, fails: true},
		{name: "no counters", files: map[string]uint64{"sys/class/infiniband/mlx5_0/fw_ver": 1}, fails: true},
		{
			name: "network device", netdevs: []string{"eth0"}, sent: 8, received: 0.08,
			files: map[string]uint64{ethStats + "tx_bytes": 1e9, ethStats + "rx_bytes": 1e7},
		},
		{
			name: "bond", netdevs: []string{"eth0", "eth1"}, sent: 16, received: 0,
			files: map[string]uint64{
				ethStats + "tx_bytes": 1e9, ethStats + "rx_bytes": 0,
				"sys/class/net/eth1/statistics/tx_bytes": 1e9, "sys/class/net/eth1/statistics/rx_bytes": 0,
			},
		},
		{
			name: "network device that vanishes", netdevs: []string{"eth0"}, lost: ethStats + "rx_bytes", fails: true,
			files: map[string]uint64{ethStats + "tx_bytes": 1e9, ethStats + "rx_bytes": 0},
		},
		{name: "no network device", netdevs: []string{}, fails: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				root := moving{tt.files, time.Now(), tt.lost}
				traffic, err := cardTraffic(t.Context(), root, "mlx5_0", 1)
				if tt.netdevs != nil {
					traffic, err = netdevTraffic(t.Context(), root, tt.netdevs)
				}
				if traffic.Sent != tt.sent || traffic.Received != tt.received || (err != nil) != tt.fails {
					t.Errorf("traffic = %+v, %v, want %v and %v Gb/s, fails %v", traffic, err, tt.sent, tt.received,
						tt.fails)
				}
			})
		})
	}
}

// TestTrafficStopped ends the look by a signal.
func TestTrafficStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended by signal")
	cancel(ended)
	root := moving{map[string]uint64{ethStats + "tx_bytes": 1, ethStats + "rx_bytes": 1}, time.Now(), ""}
	if _, err := netdevTraffic(ctx, root, []string{"eth0"}); !errors.Is(err, ended) {
		t.Errorf("netdevTraffic = %v, want %v", err, ended)
	}
}

func TestNetdevRate(t *testing.T) {
	for text, want := range map[string]string{"100000\n": "100", "2500": "2.5", "-1\n": "", "0": "", "fast": ""} {
		tree := fstest.MapFS{"sys/class/net/eth0/speed": &fstest.MapFile{Data: []byte(text)}}
		if got := netdevRate(tree, "eth0"); got != want {
			t.Errorf("netdevRate of %q = %q, want %q", strings.TrimSpace(text), got, want)
		}
	}
	if got := netdevRate(fstest.MapFS{}, "eth0"); got != "" {
		t.Errorf("netdevRate of no device = %q", got)
	}
}
