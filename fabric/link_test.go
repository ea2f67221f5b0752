package fabric_test

import (
	"testing"
	"testing/synctest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// qdr sets a port to run at QDR although it supports FDR.
func qdr(_ uint8, info *mad.PortInfo) {
	info.LinkSpeedActive, info.LinkSpeedSupported, info.LinkSpeedEnabled = 4, 7, 7
	info.LinkSpeedExtActive, info.LinkSpeedExtSupported, info.LinkSpeedExtEnabled = 0, 1, 1
}

func TestFDR10(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := subnet.FatTree(2, 4, 1)
		ext := &mad.ExtendedPortInfo{LinkSpeedSupported: 1, LinkSpeedEnabled: 1, LinkSpeedActive: 1}
		for name, device := range map[string]struct {
			id     uint16
			vendor uint32
			ext    *mad.ExtendedPortInfo
		}{
			"host1": {0x1003, 0x2c9, ext}, "host2": {0x101b, 0x2c9, nil}, "host3": {0x101c, 0x2c9, ext},
			"host4": {0x1bc6, 0x119f, ext}, "host5": {0x1bc6, 0x2c9, ext}, "host6": {0x1003, 0x2c9, ext},
		} {
			n := net.Node(name)
			n.DeviceID, n.VendorID, n.Ports[1].Mellanox = device.id, device.vendor, device.ext
			if name != "host6" { // the sweep is fast
				n.PortInfo = qdr
			}
		}
		c := &counter{net.Transport("host0"), map[asked]int{}}
		topology := discover(t, c, fabric.Options{})
		for name, want := range map[string]mad.LinkSpeed{
			"host1": mad.LinkSpeedFDR10, "host2": mad.LinkSpeedQDR, "host3": mad.LinkSpeedQDR,
			"host4": mad.LinkSpeedFDR10, "host5": mad.LinkSpeedQDR, "host6": mad.LinkSpeedNDR,
		} {
			p := topology.Port(fabric.PortID{Node: net.Node(name).GUID, Port: 1})
			if p.Speed() != want || (p.Mellanox != nil) != (want == mad.LinkSpeedFDR10) {
				t.Errorf("speed of %s = %v with %v, want %v", name, p.Speed(), p.Mellanox, want)
			}
		}
		if got := c.sent[smp(mad.AttributeExtendedPortInfo)]; got != 3 {
			t.Errorf("asked for extended port info %d times, want at host1, host2 and host4", got)
		}
		if !topology.Complete {
			t.Errorf("a device without the attribute makes the sweep incomplete: %v", topology.Unreached)
		}
		checkRoundTrip(t, topology)
	})
}

func TestLinkSpeeds(t *testing.T) {
	for _, test := range []struct {
		name        string
		near, far   func(*mad.PortInfo)
		rate        float64
		width       mad.LinkWidth
		speed       mad.LinkSpeed
		supported   mad.LinkSpeed
		downtrained bool
	}{
		{"as good as it gets", nil, nil, 425, mad.LinkWidth4X, mad.LinkSpeedNDR, mad.LinkSpeedNDR, false},
		{
			"one lane of four",
			func(i *mad.PortInfo) { i.LinkWidthSupported = 3; i.LinkWidthEnabled = 3; i.LinkWidthActive = 1 },
			func(i *mad.PortInfo) {
				i.LinkWidthSupported = 3
				i.LinkWidthEnabled = 3
				i.LinkWidthActive = 1
			}, 106.25, mad.LinkWidth4X, mad.LinkSpeedNDR, mad.LinkSpeedNDR, true,
		},
		{
			"slower than both may", func(i *mad.PortInfo) { i.LinkSpeedExtActive = 4 },
			func(i *mad.PortInfo) { i.LinkSpeedExtActive = 4 }, 212.5, mad.LinkWidth4X, mad.LinkSpeedNDR,
			mad.LinkSpeedNDR, true,
		},
		{"slower, but the far end can't", func(i *mad.PortInfo) { i.LinkSpeedExtActive = 4 }, func(i *mad.PortInfo) {
			i.LinkSpeedExtActive, i.LinkSpeedExtSupported = 4, 7
		}, 212.5, mad.LinkWidth4X, mad.LinkSpeedHDR, mad.LinkSpeedHDR, false},
		{"slower, but the far end may not", func(i *mad.PortInfo) { i.LinkSpeedExtActive = 4 }, func(i *mad.PortInfo) {
			i.LinkSpeedExtActive, i.LinkSpeedExtEnabled = 4, 7
		}, 212.5, mad.LinkWidth4X, mad.LinkSpeedHDR, mad.LinkSpeedNDR, false},
		{"extended speeds switched off", func(i *mad.PortInfo) {
			i.LinkSpeedExtActive, i.LinkSpeedExtEnabled, i.LinkSpeedActive, i.LinkSpeedSupported,
				i.LinkSpeedEnabled = 0, 30, 4, 7, 7
		}, func(i *mad.PortInfo) {
			i.LinkSpeedExtActive, i.LinkSpeedActive, i.LinkSpeedSupported, i.LinkSpeedEnabled = 0, 4, 7, 7
		}, 40, mad.LinkWidth4X, mad.LinkSpeedQDR, mad.LinkSpeedNDR, false},
		{"XDR", func(i *mad.PortInfo) {
			i.LinkSpeedExt2Active, i.LinkSpeedExt2Supported, i.LinkSpeedExt2Enabled = 1, 1, 1
		}, func(i *mad.PortInfo) {
			i.LinkSpeedExt2Active, i.LinkSpeedExt2Supported, i.LinkSpeedExt2Enabled = 1, 1, 1
		}, 850, mad.LinkWidth4X, mad.LinkSpeedXDR, mad.LinkSpeedXDR, false},
		{
			"2X and 4X", func(i *mad.PortInfo) { i.LinkWidthActive = mad.LinkWidth2X },
			func(i *mad.PortInfo) { i.LinkWidthActive = mad.LinkWidth2X }, 212.5, mad.LinkWidth4X, mad.LinkSpeedNDR,
			mad.LinkSpeedNDR, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := subnet.FatTree(1, 2, 1)
				change := func(f func(*mad.PortInfo), only uint8) func(uint8, *mad.PortInfo) {
					return func(port uint8, info *mad.PortInfo) {
						if f != nil && port == only {
							f(info)
						}
					}
				}
				net.Node("host1").PortInfo = change(test.near, 1)
				net.Node("leaf0").PortInfo = change(test.far, 2)
				topology := discover(t, net.Transport("host0"), fabric.Options{})
				link := fabric.Link{
					A: fabric.PortID{Node: net.Node("host1").GUID, Port: 1},
					B: fabric.PortID{Node: net.Node("leaf0").GUID, Port: 2},
				}
				if got := topology.Port(link.A).Rate(); got != test.rate {
					t.Errorf("Rate() = %v, want %v", got, test.rate)
				}
				if width, speed := topology.Best(link, false); width != test.width || speed != test.speed {
					t.Errorf("Best() = %v %v, want %v %v", width, speed, test.width, test.speed)
				}
				if _, speed := topology.Best(link, true); speed != test.supported {
					t.Errorf("Best(), supported only = %v, want %v", speed, test.supported)
				}
				if got := topology.IsDowntrained(link); got != test.downtrained {
					t.Errorf("IsDowntrained() = %v, want %v", got, test.downtrained)
				}
				down := fabric.Link{A: link.A, B: fabric.PortID{Node: link.B.Node, Port: 77}}
				if width, speed := topology.Best(down, false); width != 0 || speed != 0 ||
					topology.IsDowntrained(down) {
					t.Errorf("a link without far end: Best() = %v %v", width, speed)
				}
			})
		})
	}
}
