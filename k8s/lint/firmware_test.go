package lint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/k8s/manifest"
	"github.com/rdmakit/rdmakit/k8s/source"
)

// TestFirmware checks policies for 8 VFs against the firmware settings by mstconfig, which take
// precedence over sriov_totalvfs.
func TestFirmware(t *testing.T) {
	settings := func(now, next int, on, onNext bool) *source.Firmware {
		return &source.Firmware{
			Current: &source.FirmwareSettings{NumOfVFs: now, SRIOV: on},
			Next:    source.FirmwareSettings{NumOfVFs: next, SRIOV: onNext},
		}
	}
	tests := []struct {
		name     string
		firmware *source.Firmware
		want     []string
	}{
		{"nothing known", nil, []string{"firmware-vfs: sriov_totalvfs 16"}},
		{
			"next boot alone", &source.Firmware{Next: source.FirmwareSettings{NumOfVFs: 8, SRIOV: true}},
			[]string{"firmware-vfs: sriov_totalvfs 16"},
		},
		{"another number", settings(4, 4, true, true), []string{
			"firmware-vfs: NUM_OF_VFS 4 and SRIOV_EN on in the firmware",
		}},
		{"set for the next boot", settings(4, 8, true, true), []string{
			"firmware-vfs: NUM_OF_VFS 4 and SRIOV_EN on in the firmware, after the next boot 8 and on",
		}},
		{"the number", settings(8, 8, true, true), nil},
		{"off", settings(8, 8, false, false), []string{
			"sriov-disabled: NUM_OF_VFS 8 and SRIOV_EN off in the firmware",
		}},
	}
	for _, tt := range tests {
		in := Input{
			Manifests: manifest.Parse("in.yaml", []byte(fill(somePolicy, "SPEC", "nicSelector: {pfNames: [ens1]}"))),
			Cluster:   clusterOf(t, card0("totalvfs: 16, linkType: IB")),
			Options:   Options{Only: []string{"firmware-vfs", "sriov-disabled"}},
		}
		in.Cluster.Nodes[0].PFs[0].Firmware = tt.firmware
		var got []string
		for _, f := range Run(in).Findings {
			_, text, _ := strings.Cut(f.Evidence[0].Text, "now, ")
			got = append(got, f.Rule+": "+text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: findings differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestVFDeviceIDAdvice names the PFs whose VFs have an ID: those of the nodes, if nodes are
// known.
func TestVFDeviceIDAdvice(t *testing.T) {
	tests := []struct{ id, nodes, remedy, fix string }{
		{"101c", "", "write the device ID of the PF: ConnectX-6 101b", `deviceID: "101b"`},
		{"101e", "", "write the device ID of the PF: ConnectX-6 Dx 101d, ConnectX-6 Lx 101f, ConnectX-7 1021, " +
			"ConnectX-8 1023, ConnectX-9 1025, BlueField-2 a2d6, BlueField-3 a2dc", ""},
		{"101e", card0("totalvfs: 8"), "write the device ID of the PF: ConnectX-7 1021", `deviceID: "1021"`},
		{"1018", card0("totalvfs: 8"), "write the device ID of the PF: ConnectX-5 1017", `deviceID: "1017"`},
	}
	for _, tt := range tests {
		in := Input{Manifests: manifest.Parse(
			"in.yaml", []byte(fill(somePolicy, "SPEC", `nicSelector: {vendor: "15b3", deviceID: "`+tt.id+`"}`)),
		), Options: Options{Only: []string{"vf-device-id"}}}
		if tt.nodes != "" {
			in.Cluster = clusterOf(t, tt.nodes)
		}
		findings := Run(in).Findings
		if len(findings) != 1 || findings[0].Remedy != tt.remedy || findings[0].Fix != tt.fix {
			t.Errorf("deviceID %s: findings %+v, want one with %q, %q", tt.id, findings, tt.remedy, tt.fix)
		}
	}
}
