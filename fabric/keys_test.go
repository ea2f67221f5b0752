package fabric_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/fabric"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// guid returns the GUID with this number.
func guid(v uint64) (g ib.GUID) {
	for i := range g {
		g[i] = byte(v >> (56 - 8*i))
	}
	return g
}

// TestKeysOfOpenSM reads the cache that OpenSM 3.3.23 wrote for the net beside it: the GUIDs are
// those of ports, as host2 shows, whose cable is at its port 2.
func TestKeysOfOpenSM(t *testing.T) {
	var keys fabric.Keys
	found, err := keys.ReadDir(os.DirFS("testdata/opensm"))
	if err != nil || strings.Join(found, " ") != "guid2mkey neighbors guid2lid" {
		t.Fatalf("ReadDir found %q: %v", found, err)
	}
	const leaf, host1, host2 = 0x200000, 0x100003, 0x100006
	for _, port := range []uint64{leaf, host1, host2, 0x100001} {
		if key, listed := keys.M.ByGUID[guid(port)]; !listed || key != 0 {
			t.Errorf("key of 0x%x: %x, %v", port, key, listed)
		}
	}
	ends := map[fabric.PortID]fabric.PortID{
		{Node: guid(leaf), Port: 3}:  {Node: guid(host2), Port: 2},
		{Node: guid(host2), Port: 2}: {Node: guid(leaf), Port: 3},
		{Node: guid(leaf), Port: 2}:  {Node: guid(host1), Port: 1},
	}
	for from, to := range ends {
		if keys.Neighbors[from] != to {
			t.Errorf("neighbor of %v is %v, want %v", from, keys.Neighbors[from], to)
		}
	}
	if len(keys.M.ByGUID) != 4 || len(keys.Neighbors) != 6 || keys.LIDs[4] != guid(host2) || len(keys.LIDs) != 4 {
		t.Errorf("keys = %+v", keys)
	}
}

// TestKeysOfIbdiagnet reads the examples of ibdiagnet's manual, "Security Keys".
func TestKeysOfIbdiagnet(t *testing.T) {
	var keys fabric.Keys
	const example = "0x0002c9000000001e 0x0000000000000111\n0x0002c9000000002a 0x0000000000000222\n" +
		"0x0002c90000000026 0x0000000000000333\n0x0002c90000000006 0x0000000000000444\n"
	found, err := keys.ReadDir(fstest.MapFS{
		"guid2mkey":  {Data: []byte(example)},
		"guid2vskey": {Data: []byte(strings.ReplaceAll(example, "\n", "\r\n"))},
		"guid2pmkey": {Data: []byte("# keys\n\n" + example)},
		"guid2cckey": {Data: []byte("not read: nothing sends it")},
		"guid2lid":   {Data: []byte("0x0002c9000000004b 0x0027 0x0027\n0x0002c9000000002a 0x001a 0x001b\n")},
		"neighbors":  {Data: []byte("0x0002c9000000004d:4 0x0002c9000000000e:1\n")},
	})
	if err != nil || len(found) != 5 {
		t.Fatalf("ReadDir found %q: %v", found, err)
	}
	for name, table := range map[string]*fabric.KeyTable{"M": &keys.M, "PM": &keys.PM, "VS": &keys.VS} {
		if key := table.Of(guid(0x2c90000000026)); key != 0x333 {
			t.Errorf("%s key = 0x%x", name, key)
		}
		table.Default = 0x77
		if a, b := table.Of(guid(1), guid(0x2c90000000006)), table.Of(guid(1)); a != 0x444 || b != 0x77 {
			t.Errorf("%s keys: of the node 0x%x, default 0x%x", name, a, b)
		}
	}
	far := fabric.PortID{Node: guid(0x2c9000000000e), Port: 1}
	if back := keys.Neighbors[far]; back.Node != guid(0x2c9000000004d) || back.Port != 4 {
		t.Errorf("neighbor of %v is %v", far, back)
	}
	if keys.LIDs[0x1a] != guid(0x2c9000000002a) || keys.LIDs[0x1b] != guid(0x2c9000000002a) || len(keys.LIDs) != 3 {
		t.Errorf("LIDs = %v", keys.LIDs)
	}
}

// TestWrongKeyFiles: each line that can't be read is named, and no key is printed.
func TestWrongKeyFiles(t *testing.T) {
	const form = "expected a GUID and a key, such as 0x0002c9000000001e 0x0000000000000111"
	const ends = "expected two ports, such as 0x0002c9000000004d:4 0x0002c9000000000e:1"
	const lids = "expected a GUID and the first and last LID, such as 0x0002c9000000002a 0x001a 0x001b"
	for _, test := range []struct{ file, text, want string }{
		{"guid2mkey", "0x1 0x2\n0x5ec4e7\n0x3 0x5ec4e7 0x5\n\n0x5ec4e7 key\n", "guid2mkey: line 2: " + form +
			"\nguid2mkey: line 3: " + form + "\nguid2mkey: line 5: " + form},
		{"guid2mkey", "0x0 0x5ec4e7", "guid2mkey: line 1: " + form},
		{"guid2pmkey", "00:02:c9:00 0x5ec4e7", "guid2pmkey: line 1: " + form},
		{"guid2vskey", "0x1 0x15ec4e7aaaaaaaaaaa", "guid2vskey: line 1: " + form},
		{
			"guid2mkey", "0x1 0x5ec4e7\n0x1 0x5ec4e7\n0x1 0x3",
			"guid2mkey: line 3: the GUID has another key in line 2: expected one for each GUID",
		},
		{
			"neighbors", "0x1:1 0x2:2\n0x1 0x2\n0x1:1 0x2:256\n",
			"neighbors: line 2: " + ends + "\nneighbors: line 3: " + ends,
		},
		{
			"guid2lid", "0x1 1\n0x1 0 2\n0x1 3 2\n0x1 1 0xc000", "guid2lid: line 1: " + lids +
				"\nguid2lid: line 2: " + lids + "\nguid2lid: line 3: " + lids + "\nguid2lid: line 4: " + lids,
		},
		{"guid2mkey", strings.Repeat("x\n", 13), "guid2mkey: 3 more lines can't be read"},
		{"guid2mkey", "0x1 0x2\n" + strings.Repeat("x", 1<<17), "guid2mkey: line 2: bufio.Scanner: token too long"},
	} {
		var keys fabric.Keys
		_, err := keys.ReadDir(fstest.MapFS{test.file: {Data: []byte(test.text)}})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, test.want) || strings.Contains(got, "5ec4e7") {
			t.Errorf("%s %.40q:\n%s\nwant\n%s", test.file, test.text, got, test.want)
		}
	}
}
