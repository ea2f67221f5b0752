package applet

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/compat/clib"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
)

// ibstat reads the files in class/infiniband that libibumad's umad_get_ca reads; it opens no
// device.
func ibstat() Applet {
	return Applet{
		Name: "ibstat", Summary: "Print the state of InfiniBand and RoCE devices and their ports",
		Usage: "[options] [CA [PORT]]", Like: "ibstat of infiniband-diags 44", Example: "-l",
		Long: `Prints devices of the types CA, switch and router, as libibumad does. It ignores iWARP devices (siw,
irdma in iWARP mode) and devices without a type (EFA). If a device can't be read completely, for
example because it has no partition keys, the run ends with exit code 255, as in C.`,
		Options: []Option{
			{"-l, --list_of_cas", "list the names only"},
			{"-s, --short", "leave out the ports"},
			{"-p, --port_list", "list the port GUIDs"},
			{"-z, --config FILE", "accepted and ignored: ibstat uses nothing in that file"},
			{"-d, --debug", "given twice: trace the calls of libibumad"},
			{"-v, --verbose", "accepted, no effect, as in C"},
			{"-V, --version", "the version of ibstat that this program replaces"},
			{"-h, --help", "the options, exit code 2, as in C"},
		},
		run: runIbstat,
	}
}

func ibstatOptions() []clib.Option {
	return []clib.Option{
		clib.Flag("list_of_cas", 'l'),
		clib.Flag("short", 's'),
		clib.Flag("port_list", 'p'),
		clib.Value("config", 'z'),
		clib.Flag("verbose", 'v'),
		clib.Flag("debug", 'd'),
		clib.Flag("help", 'h'),
		clib.Flag("version", 'V'),
	}
}

// umadPort has the fields of umad_port_t that ibstat prints.
type umadPort struct {
	number                                           int
	lid, lmc, smLID, state, physState, rate, capMask uint32
	guid                                             uint64
	linkLayer                                        string
	fdr10                                            bool
}

// umadCA is umad_ca_t.
type umadCA struct {
	name, kind, firmware, hardware string
	nodeType                       uint32
	guid, systemGUID               uint64
	lastPort                       int // highest number
	ports                          [umadMaxPorts]*umadPort
}

// Sizes of the fields that libibumad reads into (umad.h).
const (
	umadNameLen     = 20
	umadFirmwareLen = 20
	umadHardwareLen = 20
	umadTypeLen     = 40
	umadMaxPorts    = 10
	umadGUIDLen     = 32
	umadGIDLen      = 64
)

// ibstatRun is one run.
type ibstatRun struct {
	*Env
	tree              *sysTree
	list, short, guid bool
	debug             int
}

func runIbstat(_ context.Context, env *Env) int {
	r := &ibstatRun{Env: env, tree: env.tree()}
	operands, code, done := r.options()
	if done {
		return code
	}
	port := int32(-1)
	if len(operands) > 1 {
		port = clib.Strtol(operands[1], 0)
	}
	r.trace("umad_init", "umad_init")
	names, ok := r.devices()
	if !ok {
		return r.panic("can't list IB device names")
	}
	if len(operands) > 0 {
		if !slices.Contains(names, operands[0]) {
			return r.panic("'%s' IB device can't be found", operands[0])
		}
		names = operands[:1]
	}
	if r.guid {
		return r.printGUIDs(names)
	}
	for _, name := range names {
		if r.list {
			r.printf("%s\n", name)
		} else if !r.stat(name, port) {
			return r.panic("stat of IB device '%s' failed", name)
		}
	}
	return 0
}

func (r *ibstatRun) options() (operands []string, code int, done bool) {
	opts := r.getopt(ibstatOptions())
	for {
		letter, _, ok := opts.Next()
		switch {
		case !ok:
			return opts.Operands, 0, false
		case letter == 'l':
			r.list = true
		case letter == 's':
			r.short = true
		case letter == 'p':
			r.guid = true
		case letter == 'd':
			r.debug++
		case letter == 'V':
			r.errorf("%s BUILD VERSION: 44.0\n", r.Name)
			return nil, 0, true
		case letter == 'v', letter == 'z':
		default:
			r.errorf(ibstatUsage, r.Name)
			return nil, exitUsage, true
		}
	}
}

const ibstatUsage = `
Usage: %[1]s [options] <ca_name> [portnum]

Options:
  --list_of_cas, -l       list all IB devices
  --short, -s             short output
  --port_list, -p         show port list
  --config, -z <config>   use config file, default: /etc/infiniband-diags/ibdiag.conf
  --verbose, -v           increase verbosity level
  --debug, -d             raise debug level
  --help, -h              help message
  --version, -V           show version

Examples:
  %[1]s -l       # list all IB devices
  %[1]s mthca0 2 # stat port 2 of 'mthca0'

`

// panic is IBPANIC: errno is the last error, which may be unrelated.
func (r *ibstatRun) panic(format string, args ...any) int {
	r.errorf("ibpanic: [%d] main: ", r.PID)
	r.errorf(format+": %s\n", append(args, clib.Strerror(r.tree.errno))...)
	return exitMinusOne
}

func (r *ibstatRun) warn(function, format string, args ...any) {
	r.errorf("ibwarn: [%d] %s: ", r.PID, function)
	r.errorf(format+"\n", args...)
}

// trace prints the debug messages of libibumad, with -d given at least twice.
func (r *ibstatRun) trace(function, format string, args ...any) {
	if r.debug > 1 {
		r.warn(function, format, args...)
	}
}

// devices lists what umad_get_ca_device_list lists, sorted.
func (r *ibstatRun) devices() (names []string, ok bool) {
	all, ok := r.tree.names(sysfs.ClassInfiniBand)
	if !ok {
		if r.tree.errno != syscall.ENOENT {
			return nil, false
		}
		r.tree.errno = 0 // having no device is not an error
		return nil, true
	}
	for _, name := range all {
		if kind, ok := r.tree.uint(path.Join(sysfs.ClassInfiniBand, name, "node_type")); ok && kind >= 1 && kind <= 3 {
			names = append(names, name)
		}
	}
	r.trace("umad_get_ca_device_list", "return %d cas", len(names))
	r.tree.errno = 0
	return names, true
}

func (r *ibstatRun) printGUIDs(names []string) int {
	for _, name := range names {
		r.trace("umad_get_ca_portguids", "ca name %s max port guids %d", name, 64)
		ca, ok := r.get(name)
		if !ok {
			return r.panic("can't list ports")
		}
		r.trace("umad_get_ca_portguids", "%s: %d ports", name, ca.lastPort+1)
		for _, p := range ca.ports {
			if p != nil && p.guid != 0 {
				r.printf("0x%016x\n", p.guid)
			}
		}
	}
	return 0
}

func (r *ibstatRun) stat(name string, port int32) bool {
	ca, ok := r.get(name)
	switch {
	case !ok:
		return false
	case r.short || port < 0:
		r.printCA(ca)
		for _, p := range ca.ports {
			if p != nil && !r.short {
				r.printf("\tPort %d:\n", p.number)
				r.printPort(p, "\t\t")
			}
		}
		return true
	case int(port) > ca.lastPort || ca.ports[port] == nil:
		r.warn("ca_stat", "%s: '%s' has no port number %d - max (%d)", ca.typeName(), name, port, ca.lastPort)
		return false
	}
	r.printf("%s: '%s'\n", ca.typeName(), ca.name)
	r.printf("Port %d:\n", port)
	r.printPort(ca.ports[port], "")
	return true
}

// get reads a device, all or nothing.
func (r *ibstatRun) get(name string) (*umadCA, bool) {
	r.trace("umad_get_ca", "ca_name %s", name)
	t := r.tree
	ca := &umadCA{name: name[:min(len(name), umadNameLen-1)]} // truncated as in libibumad, which then finds no folder
	dir := path.Join(sysfs.ClassInfiniBand, ca.name)
	var ok bool
	if ca.nodeType, ok = t.uint(dir + "/node_type"); !ok {
		return nil, false
	}
	ca.firmware, _ = t.text(dir+"/fw_ver", umadFirmwareLen)
	ca.hardware, _ = t.text(dir+"/hw_rev", umadHardwareLen)
	ca.kind, _ = t.text(dir+"/hca_type", umadTypeLen)
	if ca.guid, ok = t.guid(dir + "/node_guid"); !ok {
		return nil, false
	}
	if ca.systemGUID, ok = t.guid(dir + "/sys_image_guid"); !ok {
		return nil, false
	}
	ports, ok := t.names(dir + "/ports")
	if !ok {
		return nil, false
	}
	for _, text := range ports {
		number := int(clib.Strtol(text, 10))
		if text != "0" && (number <= 0 || number >= umadMaxPorts) {
			return nil, false
		}
		p, ok := r.port(name, dir+"/ports", number)
		if !ok {
			return nil, false
		}
		ca.ports[number], ca.lastPort = p, max(ca.lastPort, number)
	}
	r.trace("umad_get_ca", "opened %s", name)
	return ca, true
}

// port reads a port as get_port of libibumad does: if an attribute is missing, the whole port is
// unreadable.
func (r *ibstatRun) port(ca, ports string, number int) (*umadPort, bool) {
	dir := ports + "/" + strconv.Itoa(number)
	t, p := r.tree, &umadPort{number: number}
	for _, f := range []struct {
		name string
		into *uint32
	}{
		{"lid_mask_count", &p.lmc},
		{"sm_lid", &p.smLID},
		{"sm_sl", new(uint32)},
		{"lid", &p.lid},
		{"state", &p.state},
		{"phys_state", &p.physState},
		{"rate", &p.rate},
		{"cap_mask", &p.capMask},
	} {
		var ok bool
		if *f.into, ok = t.uint(dir + "/" + f.name); !ok {
			return nil, false
		}
	}
	var ok bool
	if p.linkLayer, ok = t.text(dir+"/link_layer", umadNameLen); !ok {
		p.linkLayer = "IB"
	}
	gid, ok := t.words16(dir+"/gids/0", 8, umadGIDLen)
	if !ok {
		return nil, false
	}
	p.guid = joinWords(gid[4:])
	rate, _ := t.text(dir+"/rate", 32)
	end := strings.IndexByte(rate, ')')
	p.fdr10 = end >= len("fdr10") && strings.EqualFold(rate[end-len("fdr10"):end], "fdr10")
	return p, r.pkeys(ca, dir, number)
}

// pkeys reads the partition keys. They are not printed, but it is an error if there are none.
func (r *ibstatRun) pkeys(ca, dir string, number int) bool {
	names, _ := r.tree.names(dir + "/pkeys")
	names = slices.DeleteFunc(names, func(s string) bool { return strings.Trim(s, "0123456789") != "" })
	if len(names) == 0 {
		r.warn("get_port", "no pkeys found for %s:%d (at dir %s)...", ca, number, "/"+dir+"/pkeys")
		return false
	}
	for _, name := range names {
		if _, ok := r.tree.uint(dir + "/pkeys/" + name); !ok {
			return false
		}
	}
	return true
}

// typeName names the type of the device; devices lists no other types.
func (ca *umadCA) typeName() string { return lookup(ca.nodeType, "???", "CA", "Switch", "Router") }

func (r *ibstatRun) printCA(ca *umadCA) {
	r.printf("%s '%s'\n", ca.typeName(), ca.name)
	r.printf("\t%s type: %s\n", ca.typeName(), ca.kind)
	r.printf("\tNumber of ports: %d\n", ca.lastPort)
	r.printf("\tFirmware version: %s\n", ca.firmware)
	r.printf("\tHardware version: %s\n", ca.hardware)
	r.printf("\tNode GUID: 0x%016x\n", ca.guid)
	r.printf("\tSystem image GUID: 0x%016x\n", ca.systemGUID)
}

func (r *ibstatRun) printPort(p *umadPort, indent string) {
	line := func(format string, args ...any) { r.printf(indent+format+"\n", args...) }
	line("State: %s", lookup(p.state, "???", "Down", "Initializing", "Armed", "Active"))
	line("Physical state: %s", lookup(p.physState, "No state change", "Sleep", "Polling", "Disabled",
		"PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest"))
	switch {
	case p.fdr10:
		line("Rate: %d (FDR10)", int32(p.rate)) //nolint:gosec // %d of an unsigned in C
	case p.rate == 2: // 2.5 Gb/sec, read as a whole number
		line("Rate: 2.5")
	default:
		line("Rate: %d", int32(p.rate)) //nolint:gosec // as above
	}
	line("Base lid: %d", int32(p.lid)) //nolint:gosec // as above
	line("LMC: %d", int32(p.lmc))      //nolint:gosec // as above
	line("SM lid: %d", int32(p.smLID)) //nolint:gosec // as above
	line("Capability mask: 0x%08x", p.capMask)
	line("Port GUID: 0x%016x", p.guid)
	line("Link layer: %s", p.linkLayer)
}

// lookup returns the name of a value, "???" for an unknown one, as in infiniband-diags.
func lookup(v uint32, names ...string) string {
	if int64(v) < int64(len(names)) {
		return names[v]
	}
	return "???"
}
