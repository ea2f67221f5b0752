package guest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQemuArgs(t *testing.T) {
	o := Options{Memory: 2048, CPUs: 3, MaxLife: 90 * time.Second}
	args := qemuArgs(o, state{Netns: "rdmakit-guest-x"}, Image{Dir: "/a b,c/k"})
	wantStart := []string{
		"ip", "netns", "exec", "rdmakit-guest-x", "timeout", "--kill-after=10", "90", "qemu-system-x86_64",
	}
	if diff := cmp.Diff(wantStart, args[:len(wantStart)]); diff != "" {
		t.Errorf("start of the command differs (-want +got):\n%s", diff)
	}
	for option, want := range map[string]string{
		"-m": "2048", "-smp": "3", "-kernel": "/a b,c/k/vmlinuz", "-initrd": "/a b,c/k/initrd.cpio",
	} {
		if i := slices.Index(args, option); i < 0 || args[i+1] != want {
			t.Errorf("%s is not followed by %q", option, want)
		}
	}
	text := strings.Join(args, " ")
	for _, want := range []string{
		"tcg", "host_mtu=9000", "ifname=tap0", "ifname=tap1", "path=ch0.sock", "name=rdmakit.15",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("command is missing %q", want)
		}
	}
	if got := strings.Count(text, "virtserialport"); got != channels {
		t.Errorf("command has %d ports, want %d", got, channels)
	}
}

func TestNetCommands(t *testing.T) {
	want := `link set lo up
tuntap add tap0 mode tap
link set tap0 mtu 9000 up
address add 192.0.2.254/24 dev tap0
tuntap add tap1 mode tap
link set tap1 mtu 9000 up
address add 198.51.100.254/24 dev tap1
`
	if diff := cmp.Diff(want, netCommands()); diff != "" {
		t.Errorf("netCommands differs (-want +got):\n%s", diff)
	}
}

func TestOptions(t *testing.T) {
	if err := (Options{}).withDefaults().validate(); err != nil {
		t.Errorf("defaults: validate = %v, want nil", err)
	}
	bad := map[string]Options{
		"memory": {Memory: 512},
		"cpus":   {CPUs: -1},
		"life":   {MaxLife: time.Millisecond},
		"boot":   {BootTimeout: -time.Second},
	}
	for name, o := range bad {
		if err := o.withDefaults().validate(); err == nil {
			t.Errorf("%s: validate = nil, want an error", name)
		}
	}
}
