package guest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const depText = `kernel/net/8021q/8021q.ko: kernel/net/802/mrp.ko kernel/net/802/garp.ko.xz
kernel/net/802/mrp.ko:
kernel/net/802/garp.ko.xz: kernel/net/llc.ko
kernel/drivers/infiniband/core/ib_core.ko:
kernel/drivers/infiniband/sw/rxe/rdma-rxe.ko: kernel/drivers/infiniband/core/ib_core.ko kernel/net/udp.ko

extra/siw.ko: kernel/drivers/infiniband/core/ib_core.ko kernel/lib/libcrc32c.ko
`

func TestChooseModules(t *testing.T) {
	table, err := parseModules(depText, "kernel/fs/configfs/configfs.ko\nkernel/drivers/virtio/virtio-pci.ko\n")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name         string
		trees, names []string
		want         []string
		err          string
	}{
		{
			name: "named, with needs", names: []string{"8021q", "rdma_rxe"},
			want: []string{
				"kernel/drivers/infiniband/core/ib_core.ko", "kernel/drivers/infiniband/sw/rxe/rdma-rxe.ko",
				"kernel/net/802/garp.ko.xz", "kernel/net/802/mrp.ko", "kernel/net/8021q/8021q.ko", "kernel/net/udp.ko",
			},
		},
		{
			name: "tree, out of tree and built in", trees: []string{"drivers/infiniband/"},
			names: []string{"siw", "virtio_pci"},
			want: []string{
				"extra/siw.ko", "kernel/drivers/infiniband/core/ib_core.ko",
				"kernel/drivers/infiniband/sw/rxe/rdma-rxe.ko", "kernel/lib/libcrc32c.ko", "kernel/net/udp.ko",
			},
		},
		{name: "unknown", names: []string{"nosuch"}, err: "choose kernel modules: the kernel has no nosuch"},
		{name: "empty tree", trees: []string{"drivers/none/"}, err: "choose kernel modules: none under drivers/none/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := table.choose(tt.trees, tt.names)
			if (err == nil && tt.err != "") || (err != nil && err.Error() != tt.err) {
				t.Fatalf("choose error = %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("choose differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseModulesMalformed(t *testing.T) {
	if _, err := parseModules("kernel/a.ko kernel/b.ko\n", ""); err == nil {
		t.Error("parseModules without a colon = nil error, want one")
	}
}

func TestParseKernelPackage(t *testing.T) {
	tests := []struct {
		name, text string
		want       kernelPackage
		err        bool
	}{
		{
			name: "bookworm",
			text: "Package: linux-image-amd64\nVersion: 6.1.192-2\n" +
				"Depends: linux-image-6.1.0-56-amd64 (= 6.1.192-2)\nSection: kernel\n",
			want: kernelPackage{Release: "6.1.0-56-amd64", Version: "6.1.192-2"},
		},
		{
			name: "several",
			text: "Depends: foo, linux-image-6.12.9+deb12-amd64 (= 6.12.9-1~bpo12+1), bar (>= 1)\n",
			want: kernelPackage{Release: "6.12.9+deb12-amd64", Version: "6.12.9-1~bpo12+1"},
		},
		{name: "no version", text: "Depends: linux-image-6.1.0-56-amd64\n", err: true},
		{name: "empty", text: "", err: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseKernelPackage(tt.text)
			if (err != nil) != tt.err {
				t.Fatalf("parseKernelPackage error = %v, want error %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parseKernelPackage differs (-want +got):\n%s", diff)
			}
		})
	}
	if got, want := (kernelPackage{Release: "6.1.0-56-amd64"}).series(), "6.1"; got != want {
		t.Errorf("series = %q, want %q", got, want)
	}
}
