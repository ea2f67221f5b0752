package fabric_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/mad"
)

// exactly compares whole topologies.
func exactly() gocmp.Options {
	return gocmp.Options{
		cmpopts.IgnoreUnexported(fabric.Topology{}), gocmp.Comparer(func(a, b mad.Path) bool { return a == b }),
	}
}

// everything requests all optional data.
func everything() fabric.Options {
	return fabric.Options{Routes: true, Counters: true, SubnetManagers: true, Multicast: true}
}

// rich returns a small subnet with an example of everything.
func rich() *subnet.Subnet {
	net := subnet.FatTree(3, 3, 2)
	net.Delay = roundTrip
	net.Node("host4").Description = "a \x01\xff name"
	net.Node("host4").Ports[1].Counters = mad.PortCountersExtended{SymbolErrorCounter: 1 << 20, PortXmitData: 1<<64 - 1}
	net.Node("host1").Manager = &mad.SMInfo{
		GUID: ib.GUID{1, 2}, SMKey: 1 << 63, ActCount: 77, Priority: 14, State: mad.SMStateMaster,
	}
	net.MasterLID = net.Node("host1").LIDs[1]
	net.Node("host2").Manager = &mad.SMInfo{GUID: ib.GUID{3}, Priority: 1, State: mad.SMStateStandby}
	net.Node("host5").LIDs[1] = 0
	net.Node("host7").Dead = true
	net.Disconnect(net.Node("leaf2"), 3)
	var set fabric.PortSet
	set.Add(0)
	set.Add(5)
	net.Node("leaf0").Multicast = map[ib.LID]fabric.PortSet{0xc000: set, 0xc041: set}
	return net
}

func save(t testing.TB, topology *fabric.Topology) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := topology.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkRoundTrip fails unless the topology is read as it was saved, and saved again as the same
// bytes.
func checkRoundTrip(t testing.TB, topology *fabric.Topology) {
	t.Helper()
	saved := save(t, topology)
	got, err := fabric.ReadTopology(iotest.HalfReader(bytes.NewReader(saved)))
	if err != nil {
		t.Fatalf("ReadTopology of what was saved: %v", err)
	}
	if diff := gocmp.Diff(topology, got, exactly()); diff != "" {
		t.Errorf("round trip (-saved +read):\n%s", diff)
	}
	if again := save(t, got); !bytes.Equal(saved, again) {
		t.Error("saved twice in different bytes")
	}
	for _, n := range topology.Nodes {
		if read := got.Node(n.GUID()); read == nil || read.GUID() != n.GUID() {
			t.Errorf("node %s is not found by its GUID", n.GUID())
		}
	}
}

func TestSaveAndRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topology := discover(t, rich().Transport("host0"), everything())
		if len(topology.Unreached) == 0 || len(topology.SubnetManagers) != 2 || len(topology.Nodes[1].Multicast) != 2 {
			t.Fatalf("the sweep saw too little to test: %+v", topology)
		}
		checkRoundTrip(t, topology)
		document, err := json.Marshal(topology.Document())
		if err != nil {
			t.Fatal(err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, save(t, topology)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(document, compact.Bytes()) {
			t.Error("Document and WriteJSON differ")
		}
		text := string(document)
		for _, want := range []string{
			`"state":"ACTIVE","physicalState":"LinkUp","width":"4X","speed":"NDR","lid":`, `"type":"switch"`,
			`"lid":49217,"ports":[0,5]`, `"state":"SMINFO_MASTER"`, `"PortXmitData":18446744073709551615`,
			`"state":"DOWN","physicalState":"Polling"`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the document has no %s", want)
			}
		}
	})
	t.Run("empty", func(t *testing.T) { checkRoundTrip(t, &fabric.Topology{}) })
}

func TestReadTopologyRefuses(t *testing.T) {
	var saved string
	synctest.Test(t,
		func(t *testing.T) { saved = string(save(t, discover(t, rich().Transport("host0"), everything()))) })
	if _, err := fabric.ReadTopology(strings.NewReader(saved)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, to, want string }{
		{`rdmakit.fabric/v1`, `rdmakit.fabric/v9`, `not a saved topology: the schema is "rdmakit.fabric/v9"`},
		{`"schema":"rdmakit.fabric/v1",`, ``, `the field schema is missing`},
		{`"guid":"0010:0000:0000:0200"`, `"guid":"0010:0000"`, `nodes: node 0: `},
		{
			`"guid":"0010:0000:0000:0200"`, `"guid":"0010:0000:0000:0201"`,
			`node 0, 0010:0000:0000:0201: nodeInfo has GUID 0010:0000:0000:0200`,
		},
		{`"type":"switch"`, `"type":"hca"`, `contradict nodeInfo`},
		{`"number":1,`, `"number":9,`, `port 9: the node has 1 ports`},
		{`"number":2,`, `"number":1,`, `port 1: the node has 5 ports, which must be in ascending order`},
		{
			`"peer":{"node":"0020:0000:0000:0100","port":1}`, `"peer":{"node":"0020:0000:0000:ff00","port":1}`,
			`0x0010000000000200[1]: the cable ends at 0x002000000000ff00[1], which does not exist`,
		},
		{
			`"peer":{"node":"0020:0000:0000:0100","port":1}`, `"peer":{"node":"0020:0000:0000:0100","port":77}`,
			`which does not exist`,
		},
		{
			`"peer":{"node":"0020:0000:0000:0100","port":1}`, `"peer":{"node":"0020:0000:0000:0100","port":2}`,
			`whose cable ends at`,
		},
		{
			`"peer":{"node":"0020:0000:0000:0100","port":1}`, `"peer":{"node":"0020:0000:0000:0100","port":256}`,
			`nodes: node 0: ports.peer.port: number 256 where a number from 0 to 255 is expected`,
		},
		{
			`"state":"ACTIVE"`, `"state":"DOWN"`,
			`port 1: state, width, speed or LID contradict portInfo, which has "ACTIVE", "LinkUp", "4X", "NDR", 2`,
		},
		{`"portInfo":"`, `"portInfo":"AA`, `node 0: invalid base64 at byte`},
		{`"portInfo":"`, `"portInfo":"AAAA`, `port 1: portInfo: 67 bytes, want 64`},
		{`"PortXmitData"`, `"later"`, ``},
		{
			`"SymbolErrorCounter":65535`, `"SymbolErrorCounter":65536`,
			`counter SymbolErrorCounter: 65536 does not fit in 16 bits`,
		},
		{`"lid":49217,"ports":[0,5]`, `"lid":49217,"ports":[0,6]`, `multicast LID 0xc041 goes to port 6 of 5`},
		{`"lid":49217,"ports":[0,5]`, `"lid":49152,"ports":[0,5]`, `multicast LID 0xc000: twice`},
		{`"path":"0,1"`, `"path":"0,x"`, `parse directed route`},
		{`"state":"SMINFO_MASTER"`, `"state":"SMINFO_STANDBY"`, `state "SMINFO_STANDBY" is not number 3`},
		{`"number":1,`, `"number":"1",`, `ports.number: string where a number from 0 to 255 is expected`},
		{`"description":"host0"`, `"description":true`, `description: true or false where a string is expected`},
		{`"guid":"0010:0000:0000:0200"`, `"guid":7`, `guid: number where a string is expected`},
		{`"ports":[{`, `"ports":{"a":[{`, `not JSON: invalid character`},
		{`"started":"`, `"started":"x`, ` is not a time such as`},
		{
			`"origin":{"node":"0010:0000:0000:0200"`, `"origin":{"node":"0010:0000:0000:ff00"`,
			`origin 0x001000000000ff00[1] does not exist`,
		},
		{"\n]}\n", "\n]", `the file is truncated`},
		{"\n]}\n", "\n]} {}", `extra data after the end`},
		{"\n]}\n", "\n],\"nodes\":[]}", `duplicate list`},
		{"\n]}\n", "\n],\"later\":{\"a\":[1,2]}}", ``},
		{`"description":"host0"`, `"description":"` + strings.Repeat("x", 65) + `"`, `longer than 64 bytes`},
		{`"description":"host0"`, `"description":"` + strings.Repeat("x", 33<<20) + `"`, `one element is too long`},
	} {
		if !strings.Contains(saved, test.from) {
			t.Errorf("the file has no %s", test.from)
			continue
		}
		_, err := fabric.ReadTopology(strings.NewReader(strings.Replace(saved, test.from, test.to, 1)))
		if test.want == "" {
			if err != nil {
				t.Errorf("%.80s: %v", test.to, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %.80s: %v, want %q", test.to, err, test.want)
		}
		if schema := strings.Contains(test.want, "schema") ||
			strings.Contains(test.want, "v9"); errors.Is(err, fabric.ErrSchema) != schema {
			t.Errorf("with %.80s: %v, matches ErrSchema: %v", test.to, err, !schema)
		}
	}
}

// TestReadTopologyOther reads files that are not topologies.
func TestReadTopologyOther(t *testing.T) {
	for text, want := range map[string]string{
		"": "the file is empty", "null": "null where { is expected", "[]": "[ where { is expected",
		`"a"`: `"a" where { is expected`, "5": "5 where { is expected", "{": "the file is truncated",
		"{5:1}": "not JSON: invalid character '5'", "no": "not JSON: invalid character 'o' in literal null",
		`{"started":5}`:          "started: not a time such as 2026-01-02T15:04:05Z",
		`{"nodes":5}`:            "nodes: 5 where [ is expected",
		`{"nodes":[5]}`:          "nodes: node 0: number where an object is expected",
		`{"complete":1}`:         "complete: number where true or false is expected",
		`{"anomalies":{}}`:       "anomalies: object where an array is expected",
		`{"stats":{"sent":"1"}}`: "stats: sent: string where a whole number is expected",
	} {
		if _, err := fabric.ReadTopology(strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "read topology: "+want) {
			t.Errorf("ReadTopology(%q) = %v, want %s", text, err, want)
		}
	}
}

func FuzzReadTopology(f *testing.F) {
	net := subnet.FatTree(1, 2, 1)
	net.Node("host1").Manager = &mad.SMInfo{State: mad.SMStateMaster}
	net.MasterLID = net.Node("host1").LIDs[1]
	f.Add(save(f, discover(f, net.Transport("host0"), everything())))
	f.Add([]byte(`{"schema":"rdmakit.fabric/v1","nodes":[]}`))
	f.Add([]byte(`{"nodes":[{"ports":[{}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := fabric.ReadTopology(bytes.NewReader(data))
		if err != nil {
			return
		}
		checkRoundTrip(t, read)
	})
}

// BenchmarkSave saves and reads a fabric of 10,000 hosts.
func BenchmarkSave(b *testing.B) {
	net := subnet.FatTree(200, 50, 100)
	topology := discover(b, net.Transport("host0"), fabric.Options{})
	saved := save(b, topology)
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(len(saved)))
		for b.Loop() {
			save(b, topology)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(saved)))
		for b.Loop() {
			if _, err := fabric.ReadTopology(bytes.NewReader(saved)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(topology.Nodes)), "nodes")
	})
}

func TestIsSaved(t *testing.T) {
	for text, want := range map[string]bool{
		"{\"schema\":\"" + fabric.Schema + "\",\"started\"": true, "{\n  \"schema\": \"" + fabric.Schema + "\",": true,
		"{\"schema\":\"rdmakit.detect/v1\"": false, "": false, "H4": false,
	} {
		if got := fabric.IsSaved([]byte(text)); got != want {
			t.Errorf("IsSaved(%q) = %v, want %v", text, got, want)
		}
	}
}
