//go:build capture

package rdmanl

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var capture = flag.String("capture", "", "folder for the recorded responses of the kernel")

// TestCapture records the bodies of the kernel's responses, one message per line, in the form
// that readVector reads. testdata was recorded with it in the guest, after testdata/guest.sh.
func TestCapture(t *testing.T) {
	if *capture == "" {
		t.Fatal("-capture DIR is required")
	}
	version, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	index := func(n uint32) []byte { return appendAttrU32(nil, RDMA_NLDEV_ATTR_DEV_INDEX, n) }
	kind := func(b []byte, k CharKind) []byte {
		return appendAttr(b, RDMA_NLDEV_ATTR_CHARDEV_TYPE, append([]byte(k), 0))
	}
	get := func(dst string) []byte {
		a := netip.MustParseAddr(dst)
		f := families[map[bool]int{false: 0, true: 1}[a.Is6()]]
		b := make([]byte, rtmsgLen)
		b[0], b[1] = f.number, uint8(a.BitLen())
		return appendAttr(b, RTA_DST, a.AsSlice())
	}
	route := func(family uint8) []byte { return append([]byte{family, 0, 0, 0, RT_TABLE_MAIN}, make([]byte, 7)...) }
	mask := appendAttrU32(make([]byte, ifinfomsgLen), IFLA_EXT_MASK, RTEXT_FILTER_VF|RTEXT_FILTER_SKIP_STATS)
	record(t, version, "testdata/guest.sh", []recording{
		{"devices", "rdma dev show", nldevRequest("device dump", "", RDMA_NLDEV_CMD_GET, nil)},
		{"ports-rxe0", "rdma link show rxe0", nldevRequest("port dump", "rxe0", RDMA_NLDEV_CMD_PORT_GET, index(0))},
		{"ports-siw0", "rdma link show siw0", nldevRequest("port dump", "siw0", RDMA_NLDEV_CMD_PORT_GET, index(1))},
		{"system", "rdma system show", nldevRequest("system get", "", RDMA_NLDEV_CMD_SYS_GET, nil)},
		{"char-uverbs-rxe0", "ls -l /dev/infiniband/uverbs0", nldevRequest("chardev get", "uverbs rxe0",
			RDMA_NLDEV_CMD_GET_CHARDEV, kind(index(0), CharUverbs))},
		{"char-uverbs-siw0", "ls -l /dev/infiniband/uverbs1", nldevRequest("chardev get", "uverbs siw0",
			RDMA_NLDEV_CMD_GET_CHARDEV, kind(index(1), CharUverbs))},
		{"char-umad-rxe0", "ls -l /dev/infiniband/umad0", nldevRequest("chardev get", "umad rxe0/1",
			RDMA_NLDEV_CMD_GET_CHARDEV, kind(appendAttrU32(index(0), RDMA_NLDEV_ATTR_PORT_INDEX, 1), CharUMAD))},
		{"char-cm", "ls -l /dev/infiniband/rdma_cm", nldevRequest("chardev get", "rdma_cm", RDMA_NLDEV_CMD_GET_CHARDEV,
			kind(nil, CharCM))},
		{"links", "ip -d link show", rtnlRequest("link dump", "", RTM_GETLINK, mask)},
		{"addresses", "ip addr show", rtnlRequest("address dump", "", RTM_GETADDR, make([]byte, ifaddrmsgLen))},
		{"routes-ipv4", "ip -4 route show table main", rtnlRequest("route dump", "ipv4", RTM_GETROUTE, route(2))},
		{"routes-ipv6", "ip -6 route show table main", rtnlRequest("route dump", "ipv6", RTM_GETROUTE, route(10))},
		{"route-gateway", "ip route get 203.0.113.9", rtnlRequest("route get", "203.0.113.9", RTM_GETROUTE,
			get("203.0.113.9"))},
		{"route-local", "ip route get 192.0.2.1", rtnlRequest("route get", "192.0.2.1", RTM_GETROUTE,
			get("192.0.2.1"))},
		{"route-ipv6", "ip route get 2001:db8::5", rtnlRequest("route get", "2001:db8::5", RTM_GETROUTE,
			get("2001:db8::5"))},
	})
}

// TestCaptureTables records what the namespace of TestKernelRules has.
func TestCaptureTables(t *testing.T) {
	version, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	newNamespace(t, rails...)
	header := func(size int, family uint8) []byte { return append([]byte{family}, make([]byte, size-1)...) }
	record(t, version, "the commands of rails (tables_linux_test.go)", []recording{
		{"rules-ipv4", "ip -4 rule", rtnlRequest("rule dump", "ipv4", RTM_GETRULE, header(fibRuleHdrLen, 2))},
		{"rules-ipv6", "ip -6 rule", rtnlRequest("rule dump", "ipv6", RTM_GETRULE, header(fibRuleHdrLen, 10))},
		{"neighbours-ipv4", "ip -4 neigh", rtnlRequest("neighbour dump", "ipv4", RTM_GETNEIGH, header(ndmsgLen, 2))},
		{"neighbours-ipv6", "ip -6 neigh", rtnlRequest("neighbour dump", "ipv6", RTM_GETNEIGH, header(ndmsgLen, 10))},
		{"tables-ipv4", "ip -4 route show table all", rtnlRequest("route dump", "ipv4", RTM_GETROUTE,
			header(rtmsgLen, 2))},
	})
}

// TestCaptureFilter records rules of nft.
func TestCaptureFilter(t *testing.T) {
	version, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	newNamespace(t)
	cmd := exec.CommandContext(t.Context(), "nft", "-f", "testdata/filter.nft")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s", err, out)
	}
	elements := appendAttr(nil, NFTA_SET_ELEM_LIST_TABLE, []byte("t\x00"))
	elements = appendAttr(elements, NFTA_SET_ELEM_LIST_SET, []byte("ports\x00"))
	record(t, version, "nft -f testdata/filter.nft", []recording{
		{"filter-chains", "nft list ruleset", nftRequest("chain dump", NFT_MSG_GETCHAIN, 0, nil)},
		{"filter-rules", "nft list ruleset", nftRequest("rule dump", NFT_MSG_GETRULE, 0, nil)},
		{"filter-sets", "nft list ruleset", nftRequest("set dump", NFT_MSG_GETSET, 0, nil)},
		{"filter-elements", "nft list ruleset", nftRequest("element dump", NFT_MSG_GETSETELEM, NFPROTO_INET, elements)},
	})
}

// recording is a request and the file for its answer; like is a command that shows the same data.
type recording struct {
	file, like string
	q          request
}

func record(t *testing.T, version []byte, after string, recordings []recording) {
	for _, c := range recordings {
		ask := Client{}.exchange
		if strings.HasSuffix(c.q.op, "dump") {
			ask = Client{}.dump
		}
		msgs, err := ask(testContext(t), c.q)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		var b bytes.Buffer
		fmt.Fprintf(&b,
			"# kernel: %s# request: %s %s (what %q shows), after %s\n"+
				"# each line: the body of a message, in hexadecimal, little-endian\n",
			version, c.q.op, c.q.object, c.like, after)
		for _, m := range msgs {
			b.WriteString(hex.EncodeToString(m.Data) + "\n")
		}
		if err := os.WriteFile(filepath.Join(*capture, c.file+".hex"), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
