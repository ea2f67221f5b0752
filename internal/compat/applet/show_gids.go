package applet

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// showGIDs prints the output of mlnx-tools' script. The columns of the table are aligned by tabs
// only, whatever their contents.
func showGIDs() Applet {
	return Applet{
		Name:    "show_gids",
		Summary: "Print the filled slots of all GID tables, with IPv4 address, RoCE version and network device",
		Usage:   "[DEVICE [PORT]]", Like: "show_gids of mlnx-tools", Example: "mlx5_0",
		Long: `Slots that are all zero or hold only the prefix fe80:: are left out. Slots are in the order of ls:
0, 1, 10, 11, 2. The exit code is always 0. PORT is an addition: the script ignores it. DEVICE may
be several names in one argument, separated by blanks.`,
		run: runShowGIDs,
	}
}

const (
	emptyGID  = "0000:0000:0000:0000:0000:0000:0000:0000"
	prefixGID = "fe80:0000:0000:0000:0000:0000:0000:0000"
)

var roceVersion = regexp.MustCompile(`[Vv].*`)

func runShowGIDs(_ context.Context, env *Env) int {
	t := env.tree()
	env.printf("DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n")
	env.printf("---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n")
	var devices []string
	if len(env.Args) > 0 && env.Args[0] != "" {
		devices = strings.Fields(env.Args[0])
	} else {
		devices = env.ls(t, sysfs.ClassInfiniBand)
	}
	found := 0
	for _, dev := range devices {
		dir := path.Join(sysfs.ClassInfiniBand, dev, "ports")
		if !validName(dev) {
			env.errorf("ls: cannot access '/%s/%s/ports/': No such file or directory\n", sysfs.ClassInfiniBand, dev)
			continue
		}
		for _, port := range env.ls(t, dir) {
			if len(env.Args) < 2 || env.Args[1] == port {
				found += env.portGIDs(t, dev, port)
			}
		}
	}
	env.printf("n_gids_found=%d\n", found)
	return 0
}

// ls lists a folder, with the error message of ls.
func (env *Env) ls(t *sysTree, dir string) []string {
	names, ok := t.names(dir)
	if !ok {
		env.errorf("ls: cannot access '/%s/': %s\n", dir, clib.Strerror(t.errno))
	}
	return names
}

func (env *Env) portGIDs(t *sysTree, dev, port string) (found int) {
	dir := path.Join(sysfs.ClassInfiniBand, dev, "ports", port)
	for _, index := range env.ls(t, dir+"/gids") {
		b, ok := t.raw(dir + "/gids/" + index)
		if !ok {
			env.errorf("cat: /%s/gids/%s: %s\n", dir, index, clib.Strerror(t.errno))
			continue
		}
		gid := strings.TrimRight(string(b), "\n")
		if gid == emptyGID || gid == prefixGID || gid == "" {
			continue
		}
		netdev, _ := t.raw(dir + "/gid_attrs/ndevs/" + index)
		kind, _ := t.raw(dir + "/gid_attrs/types/" + index)
		ipv4 := "\t\t"
		if first, _, _ := strings.Cut(gid, ":"); first == "0000" {
			ipv4 = lastFourBytes(gid) + "  \t"
		}
		version := roceVersion.FindString(strings.Join(strings.Fields(string(kind)), " "))
		env.printf("%s\t%s\t%s\t%s\t%s%s\t%s\n", dev, port, index, gid, ipv4, version,
			strings.TrimRight(string(netdev), "\n"))
		found++
	}
	return found
}

// lastFourBytes formats the last four bytes of a GID as an IPv4 address, which is correct for an
// IPv4-mapped GID. Anything but a number reads as 0.
func lastFourBytes(gid string) string {
	var bytes [4]uint64
	for i, at := range []int{30, 32, 35, 37} {
		if len(gid) >= at+2 {
			bytes[i], _ = strconv.ParseUint(gid[at:at+2], 16, 8)
		}
	}
	return fmt.Sprintf("%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3])
}
