package logcases

import (
	"net/netip"
	"strings"
	"testing"
)

const twoNodes = "title: x\nnodes: a@10.0.0.1 b@10.0.0.2\ngpus: 2\n"

func parse(t *testing.T, archive string) *Case {
	t.Helper()
	c, err := parseCase("A01", []byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestErrors checks that a wrong case is refused with what is wrong in it.
func TestErrors(t *testing.T) {
	for archive, want := range map[string]string{
		"titel: x\n-- a --\n":                                        `header line "titel: x"`,
		"title: x\ntitle: y\n-- a --\n":                              `duplicate key "title"`,
		"title: x\n":                                                 "no log",
		"title: x\n-- a --\n@init\n":                                 "@init needs a session",
		"title: x\n-- a --\n!I0 y\n":                                 "no session",
		"title: x\n-- a --\n@nothing\n":                              "unknown directive @nothing",
		"title: x\nranks: many\n-- a --\n":                           "header ranks",
		"title: x\nfacts: -colour\n-- a --\n":                        `unknown word "-colour"`,
		"title: x\nnodes: a\n-- a --\n":                              `"a" isn't NAME@IP`,
		"title: x\nnodes: a@10.0.0.1\ngpus: 0\n-- a --\n":            "isn't a positive number",
		"title: x\nnodes: a@10.0.0.1\nnccl: two\n-- a --\n":          `version "two"`,
		"title: x\nnodes: a@10.0.0.1\nnet: b=IB\n-- a --\n":          `"b=IB" isn't NODE=VALUE`,
		"title: x\nnodes: a@1.1.1.1 b@1.1.1.2\nnet: a=IB\n-- a --\n": "no value for node b",
		twoNodes + "-- a --\n!I9 y\n":                                "a rank below 4",
		twoNodes + "-- a --\n!X0 y\n":                                `unknown letter`,
		twoNodes + "-- a --\n@init upto=never\n":                     "unknown stage",
		twoNodes + "-- a --\n@closed ranks=0 peer=7\n":               "want ranks=LIST",
		twoNodes + "-- a --\n!C0 status=12 peer=5\n":                 "no node 5",
		twoNodes + "-- a --\n!C0 status=twelve\n":                    "not a number",
		twoNodes + "-- a --\n!M0 errno=3\n":                          "errno=3: unknown",
		twoNodes + "-- a --\n@torch-error rank=0 error=x | y\n":      `unknown error "x"`,
		twoNodes + "-- a --\n@perf bw=fast\n":                        "not a number",
		twoNodes + "-- a --\n@ucx | text\n":                          "want file=FILE:LINE",
		twoNodes + "-- a --\n@devinfo active=9000\n":                 "active=9000",
	} {
		_, err := parseCase("A01", []byte(archive))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseCase(%q) = %v, want an error with %q", archive, err, want)
		}
	}
}

// TestPerNode checks that values can differ between nodes.
func TestPerNode(t *testing.T) {
	c := parse(t, twoNodes+"nccl: a=2.20.5 b=2.19.3\nnet: a=IB b=Socket\n"+
		"hcas: a=mlx5_1,mlx5_2 b=none\n-- l --\n@init\n")
	for _, part := range []string{
		"NCCL version 2.20.5+cuda12.4\n", "NCCL version 2.19.3+cuda12.4\n",
		"NET/IB : Using [0]mlx5_1:1/IB [1]mlx5_2:1/IB [RO]",
		"NET/IB : No device found.", "Using network Socket", "Using network IB", "Init COMPLETE",
	} {
		if !strings.Contains(text(c), part) {
			t.Errorf("the log lacks %q", part)
		}
	}
	if c.Facts.Networks["b"] != "Socket" || len(c.Facts.NICs["b"]) > 0 || len(c.Facts.Versions) != 2 ||
		c.Facts.Ranks != 4 {
		t.Errorf("facts = %+v", c.Facts)
	}
}

// TestAddresses checks the placeholders of addresses.
func TestAddresses(t *testing.T) {
	c := parse(t, twoNodes+"link: RoCE\nsubsys: INIT,NET\n-- l --\n@init\n{gid:1:0}\n{gidlong:1:0} {ip:1:0}\n")
	lines := strings.Split(strings.TrimSpace(text(c)), "\n")
	gid, err := netip.ParseAddr(lines[len(lines)-2])
	if err != nil || !strings.Contains(text(c), halves(gid)) {
		t.Errorf("%q isn't a GID of the log: %v", lines[len(lines)-2], err)
	}
	if got, want := lines[len(lines)-1], gid.StringExpanded()+" "+gid.Unmap().String(); got != want {
		t.Errorf("placeholders = %q, want %q", got, want)
	}
	if _, err := parseCase("A01", []byte(twoNodes+"-- l --\n{gid:5:0}\n")); err == nil {
		t.Error("an address of node 5 of 2 is accepted")
	}
}

// TestHalves checks the two values that the public logs of NCCL show for known addresses.
func TestHalves(t *testing.T) {
	for gid, want := range map[string]string{
		"::ffff:10.10.11.161": "0/A10B0A0AFFFF0000", "fe80::5ea7:21ff:fe41:8a1a": "80FE/1A8A41FEFF21A75E",
	} {
		if got := halves(netip.MustParseAddr(gid)); got != want {
			t.Errorf("halves(%s) = %s, want %s", gid, got, want)
		}
	}
}

// TestDeterministic checks that two reads give the same logs, and two cases different addresses.
func TestDeterministic(t *testing.T) {
	archive := twoNodes + "link: RoCE\nsubsys: INIT,NET\n-- l --\n@init\n"
	first, second := parse(t, archive), parse(t, archive)
	if text(first) != text(second) {
		t.Error("two reads of a case differ")
	}
	other, err := parseCase("B77", []byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	if text(other) == text(first) || other.Facts.GIDs[0] == first.Facts.GIDs[0] {
		t.Error("two cases have the same addresses and processes")
	}
}
