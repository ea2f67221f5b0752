package fabric_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// TestAliveIsNotSilent checks that a node that does answer, but busy or with another attribute,
// isn't taken for dead or for one with an M_Key: no other key is tried, which would take 4 s each,
// and the answers to its four tries are one anomaly.
func TestAliveIsNotSilent(t *testing.T) {
	keys := fabric.Keys{M: fabric.KeyTable{ByGUID: map[ib.GUID]uint64{guid(1): 0x11, guid(2): 0x22}}}
	for _, test := range []struct {
		lie       func(*fabric.Datagram) int
		reason    string
		anomalies int
	}{
		{
			func(d *fabric.Datagram) int { d.MAD[5] |= byte(mad.StatusBusy); return 1 },
			"too busy to answer, or no answer, to 4 tries in 4s", 0,
		},
		{
			func(d *fabric.Datagram) int { d.MAD[17] = 0x33; return 1 },
			"no answer that matches the request, to 4 tries in 4s", 1,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			net := subnet.FatTree(1, 3, 0)
			net.Delay = roundTrip
			net.Node("host2").Lie = test.lie
			topology := discover(t, net.Transport("host0"), fabric.Options{Keys: keys})
			if len(topology.Unreached) != 1 || topology.Unreached[0].Why() != test.reason {
				t.Errorf("unreached = %v, want %q", topology.Unreached, test.reason)
			}
			if len(topology.Anomalies) != test.anomalies || topology.Stats.Anomalies != test.anomalies {
				t.Errorf("anomalies = %v, %d in all, want %d",
					topology.Anomalies, topology.Stats.Anomalies, test.anomalies)
			}
			if topology.Duration > 5*time.Second {
				t.Errorf("other keys were tried: the sweep took %v", topology.Duration)
			}
		})
	}
}

// TestBusyClient checks that the error of a single request to a busy node names no causes either.
func TestBusyClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		net.Delay = roundTrip
		net.Node("host2").Lie = func(d *fabric.Datagram) int { d.MAD[5] |= byte(mad.StatusBusy); return 1 }
		client := fabric.Client{Transport: net.Transport("host0"), Timeout: time.Second}
		path, err := mad.NewPath(1, 3)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.SMP(t.Context(), fabric.Target{Path: path}, mad.MethodGet, mad.AttributeNodeInfo, 0, nil)
		if !errors.Is(err, fabric.ErrNoAnswer) || fabric.Causes(err) != nil ||
			!strings.HasSuffix(err.Error(), "too busy to answer, or no answer, to 3 tries in 3s") {
			t.Errorf("error = %v, causes %v", err, fabric.Causes(err))
		}
	})
}

// TestOtherDevice checks that the text tells two devices with one node GUID apart.
func TestOtherDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(1, 3, 0)
		own := net.Node("host0").GUID
		net.Node("host2").Lie = rewrite(func(i *mad.NodeInfo) {
			i.NodeGUID, i.SystemImageGUID, i.DeviceID = own, ib.GUID{7: 0x77}, 4129
		})
		topology := discover(t, net.Transport("host0"), fabric.Options{})
		if len(topology.Anomalies) != 1 || topology.Anomalies[0].Kind != fabric.AnomalyChanged {
			t.Fatalf("anomalies = %v", topology.Anomalies)
		}
		detail := topology.Anomalies[0].Detail
		here, there, two := strings.Cut(detail, " here, ")
		if !two || !strings.Contains(here, "with 1 port, system image GUID 0x0000000000000077") ||
			!strings.Contains(here, "device 4129") || !strings.Contains(there, "by path 0: two nodes have this GUID") {
			t.Errorf("detail = %q", detail)
		}
		if strings.Contains(there, "4129") || strings.Contains(there, "77") {
			t.Errorf("the earlier node has the values of the later one: %q", detail)
		}
	})
}
