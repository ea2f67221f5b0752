package bundle

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/netip"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

var testSecret = []byte("0123456789abcdef of a test")

func testRedactor(t testing.TB) *Redactor {
	t.Helper()
	r, err := NewRedactor(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	r.node = identifiers{macs: map[[6]byte]bool{}}
	return r
}

// recordTree records a test node.
func recordTree(t testing.TB, name string, redact *Redactor) *Bundle {
	t.Helper()
	tree, err := testtrees.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	from, err := FromTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Record(t.Context(), Options{Sources: from.Sources(), Origin: OriginBundle, Redact: redact})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unpacked returns all bytes of a bundle: names, links and contents.
func unpacked(t testing.TB, b *Bundle) []byte {
	t.Helper()
	var packed bytes.Buffer
	if err := b.Encode(&packed); err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(&packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The test finds identifiers by patterns and exclusions of its own.
var (
	anyColons = regexp.MustCompile(`[0-9a-f]{2,4}(:[0-9a-f]{2,4}){3,19}`)
	anyIPv4   = regexp.MustCompile(`\b[0-9]{1,3}(\.[0-9]{1,3}){3}\b`)
	anyIPv6   = regexp.MustCompile(`[0-9a-f:]*::[0-9a-f:]+`)
	any32     = regexp.MustCompile(`\b[0-9a-f]{32}\b`)
	anyRoute  = regexp.MustCompile(`\\t([0-9A-F]{8})\\t([0-9A-F]{8})\\t[0-9]{4}\\t`)
	anyUUID   = regexp.MustCompile(`[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}`)
)

// namesNobody tells identifiers that stay: zero, broadcast, multicast, loopback, made of
// small numbers.
func namesNobody(id string) bool {
	digits := strings.NewReplacer(":", "", ".", "", "\t", "").Replace(id)
	if a, err := netip.ParseAddr(id); err == nil {
		a = a.Unmap()
		small := a.Is6() && a.IsLinkLocalUnicast() && a.As16()[8] == 0 &&
			hex.EncodeToString(a.AsSlice()[8:14]) == "000000000000"
		return a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() ||
			a.Is4() && (a.As4()[0] == 0 || a.As4()[0] >= 224) || small
	}
	return strings.Trim(digits, "0f") == "" || strings.TrimLeft(digits, "0") == "" || digits == "fe80000000000000" ||
		strings.TrimRight(digits, "0") == "fe8" || strings.TrimRight(digits, "0") == "ff" ||
		strings.HasPrefix(id, "00:ff:ff:ff:ff:12") || strings.HasPrefix(id, "ff:ff:ff") ||
		len(strings.TrimLeft(digits, "0")) <= 4
}

// identifiersOf collects whatever identifies a node in its text form.
func identifiersOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, pattern := range []*regexp.Regexp{anyColons, anyIPv6, any32, anyUUID} {
		for _, id := range pattern.FindAllString(text, -1) {
			out[strings.Trim(id, ":")] = true
		}
	}
	for _, m := range anyRoute.FindAllStringSubmatch(text, -1) { // /proc/net/route
		for _, word := range m[1:] {
			if v := strings.ToLower(word); v != "00000000" {
				out["\t"+v+"\t"] = true
			}
		}
	}
	for _, m := range anyIPv4.FindAllStringIndex(text, -1) {
		line := text[strings.LastIndexByte(text[:m[0]], '\n')+1 : m[0]]
		if !strings.Contains(line, "fw_ver") && !strings.Contains(line, "version") && !strings.HasSuffix(line, ".") {
			out[text[m[0]:m[1]]] = true
		}
	}
	return out
}

// TestNothingIsLeft collects the identifiers of all test nodes and looks for them in every byte of
// the redacted bundles.
func TestNothingIsLeft(t *testing.T) {
	collected := 0
	for _, name := range testtrees.Names() {
		tree, err := testtrees.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(tree.Text())
		// A random key would map some prefix to itself now and then.
		redactor, err := NewRedactor([]byte("the key of TestNothingIsLeft: 32+"))
		if err != nil {
			t.Fatal(err)
		}
		data := strings.ToLower(string(unpacked(t, recordTree(t, name, redactor))))
		ids := identifiersOf(text)
		if snap, _ := inventory.Scan(t.Context(), inventory.Sources{Root: tree.FS()}); snap.Host.Name != "" &&
			snap.Host.Name != "(none)" {
			ids[snap.Host.Name] = true
		}
		for id := range ids {
			if namesNobody(id) || strings.Contains(id, "0000:") && !strings.Contains(id, "::") && len(id) < 14 {
				continue
			}
			collected++
			if strings.Contains(data, strings.ToLower(id)) {
				at := strings.Index(data, strings.ToLower(id))
				t.Errorf("%s: %s is left: %q", name, id, data[max(0, at-80):min(len(data), at+60)])
			}
		}
	}
	if collected < 1000 {
		t.Errorf("%d identifiers collected, want more: the patterns no longer find them", collected)
	}
	t.Logf("%d identifiers of %d nodes", collected, len(testtrees.Names()))
}

func addr(t *testing.T, r *Redactor, s string) netip.Addr {
	t.Helper()
	a, err := netip.ParseAddr(r.Text(s))
	if err != nil {
		t.Fatalf("Text(%s): %v", s, err)
	}
	return a
}

// common returns how many leading bits two addresses share.
func common(a, b netip.Addr) int {
	n := 0
	for n < a.BitLen() && netip.PrefixFrom(a, n+1).Masked() == netip.PrefixFrom(b, n+1).Masked() {
		n++
	}
	return n
}

func TestPrefixesArePreserved(t *testing.T) {
	r := testRedactor(t)
	pairs := [][2]string{
		{"10.1.2.3", "10.1.2.4"},
		{"10.1.2.3", "10.1.200.4"},
		{"10.1.2.3", "10.9.2.4"},
		{"172.16.5.1", "172.31.5.1"},
		{"192.168.7.1", "192.168.7.254"},
		{"100.64.1.1", "100.127.1.1"},
		{"8.8.8.8", "8.8.4.4"},
		{"203.0.113.7", "203.0.113.9"},
		{"192.0.2.1", "192.0.2.77"},
		{"2001:db8:7::1", "2001:db8:7::2"},
		{"2001:db8:7::1", "2001:db8:8::1"},
		{"fd00:1:2:3:ba3f:d2ff:fea5:1000", "fd00:1:2:3:ba3f:d2ff:fea5:1001"},
		{"fe80::ba3f:d2ff:fea5:1000", "fe80::ba3f:d2ff:fea5:1081"},
		{"2001:db8::aaaa:bbbb:cccc:dddd", "2001:db8::aaaa:bbbb:cccc:ddde"},
	}
	for _, p := range pairs {
		x, y := netip.MustParseAddr(p[0]), netip.MustParseAddr(p[1])
		gx, gy := addr(t, r, p[0]), addr(t, r, p[1])
		if gx == x || gy == y || gx == gy {
			t.Errorf("%s, %s become %s, %s: want others, and different", x, y, gx, gy)
		}
		if got, want := common(gx, gy), common(x, y); got != want {
			t.Errorf("%s, %s share %d bits; %s, %s share %d", x, y, want, gx, gy, got)
		}
		for _, a := range [][2]netip.Addr{{x, gx}, {y, gy}} {
			if a[0].IsPrivate() != a[1].IsPrivate() || a[0].IsLinkLocalUnicast() != a[1].IsLinkLocalUnicast() ||
				a[0].IsMulticast() != a[1].IsMulticast() || a[0].IsLoopback() != a[1].IsLoopback() {
				t.Errorf("%s becomes %s, of another kind", a[0], a[1])
			}
		}
	}
}

// TestIPv4IsOneToOne goes through the addresses of whole networks.
func TestIPv4IsOneToOne(t *testing.T) {
	r := testRedactor(t)
	seen := map[[4]byte]string{}
	for first := range 256 {
		for _, rest := range [][3]byte{
			{0, 0, 1}, {16, 0, 1}, {31, 9, 9}, {64, 1, 2}, {168, 1, 1}, {168, 1, 2}, {254, 3, 4},
		} {
			a := [4]byte{byte(first), rest[0], rest[1], rest[2]}
			got := r.addr4(a)
			x, y := netip.AddrFrom4(a), netip.AddrFrom4(got)
			if was, ok := seen[got]; ok {
				t.Fatalf("%s and %s both become %s", was, x, y)
			}
			seen[got] = x.String()
			if x.IsPrivate() != y.IsPrivate() || x.IsLinkLocalUnicast() != y.IsLinkLocalUnicast() ||
				x.IsGlobalUnicast() != y.IsGlobalUnicast() {
				t.Errorf("%s becomes %s, of another kind", x, y)
			}
		}
	}
}

func TestRelationsAreKept(t *testing.T) {
	r := testRedactor(t)
	const mac = "b8:3f:d2:a5:10:00"
	got := r.Text(mac)
	hw := strings.ReplaceAll(got, ":", "")
	if got == mac || !strings.HasPrefix(got, "b8:3f:d2:") {
		t.Errorf("%s becomes %s", mac, got)
	}
	low := hw[6:]
	tests := []struct{ in, want string }{
		// GUID of the same card
		{"b83f:d203:00a5:1000", "b83f:d203:00" + low[:2] + ":" + low[2:]},
		// its link-local GID
		{"fe80:0000:0000:0000:ba3f:d2ff:fea5:1000", "fe80:0000:0000:0000:ba3f:d2ff:fe" + low[:2] + ":" + low[2:]},
		{"enxb83fd2a51000", "enx" + hw},
		{"00:00:00:00:00:00", "00:00:00:00:00:00"},
		{"ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:ff"},
		{"33:33:00:00:00:01", "33:33:00:00:00:01"},
		{"127.0.0.1", "127.0.0.1"},
		{"0.0.0.0", "0.0.0.0"},
		{"255.255.255.0", "255.255.255.0"},
		{"224.0.0.1", "224.0.0.1"},
		{"::1", "::1"},
		{"fe80:0000:0000:0000", "fe80:0000:0000:0000"},
		{"0000:0000:0000:0000", "0000:0000:0000:0000"},
		{"0000:13:00.0", "0000:13:00.0"},
		{"mlx5_0:1 at 12:30:45", "mlx5_0:1 at 12:30:45"},
		{"libibverbs.so.1.14.44.0", "libibverbs.so.1.14.44.0"},
		{"fw_ver: 1.27.5.0", "fw_ver: 1.27.5.0"},
		{"28.39.3560", "28.39.3560"},
		{"", ""},
	}
	for _, tt := range tests {
		if got := r.Text(tt.in); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	mapped, plain := r.Text("0000:0000:0000:0000:0000:ffff:0a64:000a"), addr(t, r, "10.100.0.10")
	if want := joinGroups(append(make([]byte, 10), append([]byte{0xff, 0xff}, plain.AsSlice()...)...),
		4); mapped != want {
		t.Errorf("the mapped GID of 10.100.0.10 becomes %s, want %s", mapped, want)
	}
	if got, want := r.Text("10.100.0.0/16"), netip.PrefixFrom(plain, 16).Masked().String(); got != want {
		t.Errorf("Text(10.100.0.0/16) = %s, want %s", got, want)
	}
}

func TestKeysDecide(t *testing.T) {
	other, err := NewRedactor([]byte("another secret of enough bytes"))
	if err != nil {
		t.Fatal(err)
	}
	a, b := testRedactor(t), testRedactor(t)
	const text = "10.1.2.3 b8:3f:d2:a5:10:00 b83f:d203:00a5:1000"
	if a.Text(text) != b.Text(text) || a.known != b.known || a.known == "" {
		t.Errorf("one secret gives %q and %q", a.Text(text), b.Text(text))
	}
	if other.Text(text) == a.Text(text) || other.known == a.known {
		t.Errorf("two secrets give %q", a.Text(text))
	}
	if _, err := NewRedactor([]byte("short")); err == nil {
		t.Error("a short secret is taken")
	}
}

func TestTablesAndNames(t *testing.T) {
	r := testRedactor(t)
	tree := nodetree.New()
	for name, text := range map[string]string{
		"proc/sys/kernel/hostname":              "node7.example.com\n",
		"sys/class/net/eth0/address":            "02:11:22:33:44:55\n",
		"sys/devices/x/infiniband/a/node_desc":  "oldname mlx5_0\n",
		"sys/class/infiniband/mlx5_0/node_type": "1: CA\n",
	} {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	r.Learn(tree)
	gw := addr(t, r, "192.168.9.1").As4()
	want := "eth0\t" + "00000000\t" + strings.ToUpper(hex.EncodeToString([]byte{gw[3], gw[2], gw[1], gw[0]})) +
		"\t0003\t0\t0\t0\t00000000\t0\n"
	if got := r.routeTable("eth0\t00000000\t0109A8C0\t0003\t0\t0\t0\t00000000\t0\n"); got != want {
		t.Errorf("routeTable = %q, want %q", got, want)
	}
	if got := r.Text("node7 and NODE7.example.com, not node77 or xnode7: {\"node7\": 1}"); strings.Count(got,
		r.host("node7")) != 2 || !strings.Contains(got, "node77 or xnode7: {\"node7\": 1}") {
		t.Errorf("host names become %q", got)
	}
	if got := r.Text("oldname mlx5_0"); got != r.host("oldname")+" mlx5_0" {
		t.Errorf("the host of a description becomes %q", got)
	}
	if got, want := r.Text("0x021122334455"), "0x"+strings.ReplaceAll(r.Text("02:11:22:33:44:55"), ":",
		""); got != want || strings.Contains(got, "112233") {
		t.Errorf("digits of a known address become %s, want %s", got, want)
	}
	if got := r.commandLine(
		"BOOT_IMAGE=/x root=UUID=1 iommu=pt quiet\n"); got != "BOOT_IMAGE=redacted root=redacted iommu=pt quiet\n" {
		t.Errorf("commandLine = %q", got)
	}
	if diff := cmp.Diff(r.Text("GPU-12345678-1234-4234-8234-123456789abc"),
		r.Text("GPU-12345678-1234-4234-8234-123456789abc")); diff != "" {
		t.Error(diff)
	}
}

// FuzzText holds redaction to what it promises for any text: it ends, and gives the same again.
func FuzzText(f *testing.F) {
	for _, s := range []string{
		"10.0.0.1-10.0.0.9", "fe80::1%eth0", "b83f:d203:00a5:1000", "::ffff:10.1.2.3/96", "1.2.3.4/33",
		":::", "enx0011",
	} {
		f.Add(s)
	}
	r := testRedactor(f)
	f.Fuzz(func(t *testing.T, s string) {
		if a, b := r.Text(s), r.Text(s); a != b {
			t.Errorf("Text(%q) = %q, then %q", s, a, b)
		}
	})
}

// TestRedactAddressAndPort: an address is one beside a port, and behind a word and a colon, too.
func TestRedactAddressAndPort(t *testing.T) {
	r := testRedactor(t)
	plain := r.Text("10.20.30.40")
	for _, form := range []string{"NCCL_COMM_ID=%:29500", "tcp://%:2379", "via:%", "%:18515,%:18515"} {
		if got, want := r.Text(strings.ReplaceAll(form, "%", "10.20.30.40")), strings.ReplaceAll(form, "%",
			plain); got != want || plain == "10.20.30.40" {
			t.Errorf("Text(%s) = %q, want %q", form, got, want)
		}
	}
}

// hostTree returns a node with the given name, with the files that contain host names.
func hostTree(t *testing.T, name string, files map[string]string) *nodetree.Tree {
	t.Helper()
	tree := nodetree.New()
	if err := tree.Set("proc/sys/kernel/hostname", name+"\n"); err != nil {
		t.Fatal(err)
	}
	for file, text := range files {
		if err := tree.Set(file, text); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

// TestHostNames holds redaction of names to what leaks and to what must stay.
func TestHostNames(t *testing.T) {
	for _, tc := range []struct {
		host  string
		files map[string]string
		// secret must be gone from text, kept must be there as often as before
		text, secret, kept string
	}{
		{
			host: "trainer-0", text: "0::/system.slice/trainer-0_slurmstepd.scope", secret: "trainer-0",
			kept: "_slurmstepd.scope",
		},
		{host: "gpu-17", text: "x_gpu-17 gpu-17.", secret: "gpu-17", kept: "x_"},
		{host: "gpu-17", text: "MASTER_ADDR=gpu-18", secret: "gpu-18", kept: "MASTER_ADDR="},
		{host: "gpu-007", text: "gpu-008 but gpu-0 and gpu-1234", secret: "gpu-008", kept: "but gpu-0 and gpu-1234"},
		{host: "gpu-17.dc1.example.com", text: "rank0.gpu-18.dc1.example.com:29500", secret: "example", kept: ":29500"},
		{host: "gpu-17.dc1.example.com", text: "storage.dc1.example.com", secret: "storage", kept: ""},
		{
			host: "gpu-17", files: map[string]string{"sys/devices/x/infiniband/a/node_desc": "rack4-n3 mlx5_0\n"},
			text: "rack4-n3 mlx5_0", secret: "rack4-n3", kept: " mlx5_0",
		},
		{
			host: "gpu-17", files: map[string]string{"sys/devices/x/infiniband/a/node_desc": "rack4-n3\n"},
			text: "rack4-n4", secret: "rack4-n4",
		},
		{host: "gpu-17", files: map[string]string{
			"sys/devices/x/infiniband/a/node_desc": "MT4123 ConnectX6   Mellanox Technologies\n",
		}, text: "MT4123 ConnectX6", kept: "MT4123 ConnectX6"},
		{host: "roce", text: "RoCE v2", kept: "RoCE v2"},
		{host: "roce", text: `{"name": "roce", "type": "RoCE v2"}`, secret: `"roce"`, kept: `"RoCE v2"`},
		{
			host: "node7", text: "/sys/devices/system/node/node0 on node7", secret: "node7",
			kept: "/sys/devices/system/node/node0 on ",
		},
		{host: "worker", text: "worker worker_threads", secret: "worker ", kept: "worker_threads"},
		{
			host: "gpu-17", files: map[string]string{"sys/class/net/gpu-17-roce0": ""}, text: "gpu-17-roce0 of gpu-17",
			secret: "of gpu-17", kept: "gpu-17-roce0 of ",
		},
		{
			host:  "mlx5",
			files: map[string]string{"sys/class/infiniband/mlx5_0": "", "sys/class/infiniband/mlx5_1": ""},
			text:  "mlx5_1", kept: "mlx5_1",
		},
		{host: "gpu-17", text: "GPU-17.corp.example", secret: "corp"},
		{host: "gpu-17", text: "rank0_gpu-17 x-gpu-17", secret: "gpu-17", kept: "rank0_"},
		{host: "localhost", text: "localhost", kept: "localhost"},
	} {
		r := testRedactor(t)
		r.Learn(hostTree(t, tc.host, tc.files))
		got := r.Text(tc.text)
		if tc.secret != "" && strings.Contains(got, tc.secret) || !strings.Contains(got, tc.kept) {
			t.Errorf("host %s: Text(%q) = %q, want nothing of %q and all of %q",
				tc.host, tc.text, got, tc.secret, tc.kept)
		}
	}
}

// TestHostFiles: the name of the host goes from its own files even where it is a word of
// the kernel.
func TestHostFiles(t *testing.T) {
	r := testRedactor(t)
	r.Learn(hostTree(t, "roce", map[string]string{"sys/class/infiniband/mlx5_0/node_desc": "roce mlx5_0\n"}))
	for file, want := range map[string]string{
		"proc/sys/kernel/hostname":                       r.host("roce") + "\n",
		"sys/class/infiniband/mlx5_0/node_desc":          r.host("roce") + " mlx5_0\n",
		"sys/class/infiniband/a/ports/1/gid_attrs/types": "RoCE v2\n",
	} {
		in := map[string]string{"hostname": "roce\n", "node_desc": "roce mlx5_0\n", "types": "RoCE v2\n"}[path.Base(
			file)]
		if got, ok := r.file(file, []byte(in)); got != want || !ok {
			t.Errorf("%s: %q becomes %q, %v, want %q", file, in, got, ok, want)
		}
	}
}

// TestForms: one identifier in the forms that kernels, firmware and people write.
func TestForms(t *testing.T) {
	r := testRedactor(t)
	r.Learn(hostTree(t, "a-host", map[string]string{
		"sys/class/net/eth0/address":               "aa:bb:cc:dd:ee:f0\n",
		"sys/class/infiniband/mlx5_0/node_guid":    "0002:c903:00a1:b2c3\n",
		"sys/class/infiniband/mlx5_1/node_guid":    "b83f:d203:00a5:1000\n",
		"sys/class/infiniband/mlx5_1/ports/1/link": "Ethernet\n",
	}))
	mac, guid := r.Text("aa:bb:cc:dd:ee:f0"), strings.ReplaceAll(r.Text("0002:c903:00a1:b2c3"), ":", "")
	for in, want := range map[string]string{
		"AA-BB-CC-DD-EE-F0":               strings.ReplaceAll(mac, ":", "-"),
		"AABBCCDDEEF0":                    strings.ReplaceAll(mac, ":", ""),
		"0x2c90300a1b2c3":                 "0x" + strings.TrimLeft(guid, "0"),
		"0x0002C90300A1B2C3":              "0x" + guid,
		"0X0002c90300a1b2c3":              "0X" + guid,
		"10.20.30.40:10.20.30.41:7":       r.Text("10.20.30.40") + ":" + r.Text("10.20.30.41") + ":7",
		"10.20.30.40:fd00::5":             r.Text("10.20.30.40") + ":" + r.Text("fd00::5"),
		"host_10.20.30.40":                "host_" + r.Text("10.20.30.40"),
		"peer-10.20.30.40":                "peer-" + r.Text("10.20.30.40"),
		"peer10.20.30.40":                 "peer" + r.Text("10.20.30.40"),
		"node10.20.30.40":                 "node" + r.Text("10.20.30.40"),
		"ff:fe-10.20.30.40":               "ff:fe-" + r.Text("10.20.30.40"),
		"v10.20.30.40 fw20.31.1014":       "v10.20.30.40 fw20.31.1014",
		"2026-11-21-14-54-11":             "2026-11-21-14-54-11",
		"0x7fffffffffff 0xffffffffffffff": "0x7fffffffffff 0xffffffffffffff",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("Text(%s) = %s, want %s", in, got, want)
		}
	}
}
