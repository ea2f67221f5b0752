package fabric_test

import (
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/internal/testkit/dot"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// narrow sets a node's port to run at 1X although it supports 1X and 4X.
func narrow(n *subnet.Node, at uint8) {
	n.PortInfo = func(port uint8, info *mad.PortInfo) {
		if port == at {
			info.LinkWidthSupported, info.LinkWidthEnabled, info.LinkWidthActive = 3, 3, mad.LinkWidth1X
		}
	}
}

func TestWriteDot(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("host1").Description = `a "quoted\" name`
	narrow(net.Node("leaf1"), 2)
	narrow(net.Node("host3"), 1)
	var b strings.Builder
	if err := swept(t, net).WriteDot(&b); err != nil {
		t.Fatal(err)
	}
	dot.Check(t, b.String(), 7, 6)
	if !strings.Contains(b.String(), `label="a \"quoted\\\" name\nLID`) {
		t.Errorf("the name of host1 is not quoted:\n%s", b.String())
	}
	if n := strings.Count(b.String(), "color=red"); n != 1 {
		t.Errorf("%d links in red, want the one that is down-trained", n)
	}
}
