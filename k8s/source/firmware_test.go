package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mstconfig writes what mstconfig -e -d ADDRESS q prints: default, current, next boot.
func mstconfig(address string, current, next int, sriov, nextSRIOV, more string) string {
	return fmt.Sprintf(`
Device #1:
----------

Device type:        ConnectX7           
Name:               MCX75310AAS-NEA_Ax  
Device:             %s        

Configurations:                                     Default              Current              Next Boot           
        PF_NUM_OF_VF_VALID                          False(0)             True(1)              False(0)            
*       NUM_OF_VFS                                  0                    %d                   %d                  
        NUM_OF_VFS_EXTRA                            1                    2                    3                   
*       SRIOV_EN                                    False(0)             %s(1)                %s(1)               
%sThe '*' shows parameters with next value different from default/current value.
`, address, current, next, sriov, nextSRIOV, more)
}

func TestParseFirmware(t *testing.T) {
	links := "        LINK_TYPE_P1                                IB(1)                ETH(2)               IB(1)\n" +
		"        LINK_TYPE_P2                                ETH(2)               IB(1)                ETH(2)\n"
	tests := []struct {
		name, text string
		want       []PF
	}{
		{"current and next", mstconfig("0000:3B:00.0", 8, 16, "True", "False", ""), []PF{{
			Address: "0000:3b:00.0", Vendor: "15b3", Firmware: &Firmware{
				Current: &FirmwareSettings{NumOfVFs: 8, SRIOV: true}, Next: FirmwareSettings{NumOfVFs: 16},
			},
		}}},
		{"two cards, without a domain, carriage returns", strings.ReplaceAll(mstconfig("3b:00.0", 8, 8, "True", "True",
			links)+mstconfig("5e:00.1", 4, 4, "True", "True", ""), "\n", "\r\n"), []PF{
			{Address: "0000:3b:00.0", Vendor: "15b3", Firmware: &Firmware{
				Current: &FirmwareSettings{NumOfVFs: 8, SRIOV: true, LinkTypes: [2]string{"ETH", "IB"}},
				Next:    FirmwareSettings{NumOfVFs: 8, SRIOV: true, LinkTypes: [2]string{"IB", "ETH"}},
			}},
			{Address: "0000:5e:00.1", Vendor: "15b3", Firmware: &Firmware{
				Current: &FirmwareSettings{NumOfVFs: 4, SRIOV: true},
				Next:    FirmwareSettings{NumOfVFs: 4, SRIOV: true},
			}},
		}},
		{"next alone", "Device #1:\nDevice:    0000:3b:00.0\nConfigurations:   Next Boot\n" +
			"        NUM_OF_VFS        8\n        SRIOV_EN     True(1)\n", []PF{{
			Address: "0000:3b:00.0", Vendor: "15b3",
			Firmware: &Firmware{Next: FirmwareSettings{NumOfVFs: 8, SRIOV: true}},
		}}},
		{"by its mst name", mstconfig("/dev/mst/mt4129_pciconf0", 8, 8, "True", "True", ""), nil},
	}
	for _, tt := range tests {
		got, err := parseFirmware(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || (err != nil) != (tt.want == nil) {
			t.Errorf("%s: error %v, PFs differ (-want +got):\n%s", tt.name, err, diff)
		}
		if !isFirmware([]byte(tt.text)) {
			t.Errorf("%s: not taken for firmware settings", tt.name)
		}
	}
	if isFirmware([]byte("# Device #1: NUM_OF_VFS\nkind: Pod\n")) {
		t.Error("a manifest is taken for firmware settings")
	}
}

// TestFirmware reads settings in addition to a snapshot, and reports those without a node.
func TestFirmware(t *testing.T) {
	dir := t.TempDir()
	tree(t, dir, "61_ib_vfs_host") // gpu-00, 8 VFs by sriov_totalvfs
	write(t, dir, "gpu-00.txt", mstconfig("0000:13:00.0", 16, 8, "True", "True", ""))
	got := clusterOf(t, dir)
	if len(got.Nodes) != 1 || len(got.Problems) > 0 {
		t.Fatalf("Cluster = %d nodes, problems %v, want one and none", len(got.Nodes), got.Problems)
	}
	if n, ok := got.Nodes[0].PFs[0].FirmwareVFs(); n != 16 || !ok {
		t.Errorf("FirmwareVFs = %d, %t, want 16, as mstconfig says", n, ok)
	}
	if n, _ := got.Nodes[0].PFs[1].FirmwareVFs(); n != 8 {
		t.Errorf("FirmwareVFs of the other card = %d, want 8 of sriov_totalvfs", n)
	}
	stray := write(t, dir, "gpu-99.txt", mstconfig("0000:13:00.0", 16, 8, "True", "True", ""))
	if got := clusterOf(t, dir); len(got.Nodes) != 1 || len(got.Problems) != 1 || got.Problems[0].At.File != stray {
		t.Errorf("Cluster = %d nodes, problems %v, want one of each, about %s", len(got.Nodes), got.Problems, stray)
	}
	off := write(t, t.TempDir(), "gpu-00.mstconfig", mstconfig("0000:13:00.1", 16, 16, "False", "True", ""))
	two := clusterOf(t, filepath.Join(dir, "61_ib_vfs_host.tree"), off).Nodes[0]
	if n, _ := two.PFs[0].FirmwareVFs(); n != 0 {
		t.Errorf("FirmwareVFs with SRIOV_EN off, known from the other port = %d, want 0", n)
	}
}

func FuzzParseFirmware(f *testing.F) {
	f.Add(mstconfig("0000:3b:00.0", 8, 16, "True", "False", ""))
	f.Add("Device: 3b:00.0\nLINK_TYPE_P1 a b c\nLINK_TYPE_P2 (\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parseFirmware(text) })
}
