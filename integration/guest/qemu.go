package guest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// channels is the number of virtio serial ports, and so the number of concurrent requests. QEMU
// allows 30.
const channels = 16

// linkMTU is the largest MTU of the two links, in bytes: enough for an RDMA path MTU of 4096. It is
// the initial MTU of the guest's cards.
const linkMTU = 9000

// taps are the host's ends of the two links, in the guest's own namespace.
var taps = [...]struct{ name, address, mac string }{
	{"tap0", HostAddress, "52:54:00:99:00:01"},
	{"tap1", HostAddressIWARP, "52:54:00:99:00:02"},
}

// Names of two PCI functions in QEMU: a port of the root complex, and the function behind it. The
// kernel module rdmakit_card, which no other than a test loads, makes it an RDMA card.
const (
	RootPort = "port0"
	Card     = "card0"
)

// channelName is the file name of the socket of a channel in a guest's folder.
func channelName(n int) string { return "ch" + strconv.Itoa(n) + ".sock" }

// qemuArgs returns the command that runs the guest, to be started in the guest's folder: the paths
// of sockets and console log are relative, so that they are never too long for a socket and never
// conflict with QEMU's option syntax. timeout is the last watchdog: it ends the guest if all
// processes that should have ended it are gone.
func qemuArgs(o Options, s state, image Image) []string {
	args := []string{
		"ip", "netns", "exec", s.Netns,
		"timeout", "--kill-after=10", strconv.FormatInt(int64(o.MaxLife/time.Second), 10),
		"qemu-system-x86_64", "-name", s.Netns,
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max",
		"-m", strconv.Itoa(o.Memory), "-smp", strconv.Itoa(o.CPUs),
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "file:" + consoleName,
		"-kernel", image.kernel(), "-initrd", image.initrd(),
		"-append", "console=ttyS0 rdinit=/init quiet panic=-1 mitigations=off net.ifnames=0",
		"-device", "virtio-serial-pci",
		"-qmp", "unix:" + monitorName + ",server=on,wait=off",
		// For rdmakit_card. The port of the root complex has ACS and AER.
		"-device", "pcie-root-port,id=" + RootPort + ",chassis=1,slot=1",
		"-device", "e1000e,id=" + Card + ",bus=" + RootPort + ",romfile=",
	}
	for i, t := range taps {
		args = append(args,
			"-netdev", fmt.Sprintf("tap,id=n%d,ifname=%s,script=no,downscript=no", i, t.name),
			"-device", fmt.Sprintf("virtio-net-pci,netdev=n%d,host_mtu=%d,mac=%s,romfile=", i, linkMTU, t.mac))
	}
	for i := range channels {
		args = append(args,
			"-chardev", fmt.Sprintf("socket,id=ch%d,path=%s,server=on,wait=off", i, channelName(i)),
			"-device", fmt.Sprintf("virtserialport,chardev=ch%d,name=%s%d", i, portPrefix, i))
	}
	return args
}

// netCommands returns the input of ip -batch that creates the host's side of the links in a new
// namespace.
func netCommands() string {
	var text strings.Builder
	text.WriteString("link set lo up\n")
	for _, t := range taps {
		fmt.Fprintf(&text, "tuntap add %[1]s mode tap\nlink set %[1]s mtu %[2]d up\naddress add %[3]s/24 dev %[1]s\n",
			t.name, linkMTU, t.address)
	}
	return text.String()
}
