package nodes

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/inventory"
	"github.com/rdmakit/rdmakit/launch/consensus"
)

// Comparison is one thing that should be alike on all nodes.
type Comparison struct {
	consensus.Check

	Numbers []int        // of the catalogue
	Reads   []string     // files, as Check.Reads of package doctor
	Facts   []facts.Kind // kinds of data that it uses
	values  func(Node) []consensus.Value
	// rates returns the quantities of a node, of which those far above the others' are different;
	// values is nil then.
	rates func(Node) []rate
	// least is the smallest spread of rates that counts: noise differs by less.
	least float64
}

// Comparisons returns what is compared beside the checks of package consensus, in the order of a
// report.
func Comparisons() []Comparison {
	return slices.Concat(versionComparisons(), linkComparisons(), qosComparisons(), hostComparisons(),
		bootstrapComparisons(), rateComparisons())
}

func versionComparisons() []Comparison {
	return []Comparison{
		{
			Check: consensus.Check{
				ID: "firmware", Severity: consensus.SeveritySlows, What: "firmware of cards of one model (PSID)",
				Why: "versions differ in defaults, congestion control and known bugs; the slowest rail sets the pace",
				Remedy: "install one version on all cards of the model; it takes effect after a reset of the card " +
					"(mlxfwreset) or a cold start",
			},
			Numbers: []int{9}, Reads: []string{deviceFiles("fw_ver"), deviceFiles("board_id")},
			values: firmware,
		},
		{
			Check: consensus.Check{
				ID: "kernel", Severity: consensus.SeverityNote, What: "release of the kernel",
				Why:    "drivers in the kernel differ with it, and so do their defaults and bugs",
				Remedy: "run one kernel on all nodes of a job",
			},
			Numbers: []int{10}, Reads: []string{"/" + sysfs.ProcOSRelease},
			values: func(n Node) []consensus.Value {
				return []consensus.Value{{Value: n.Snapshot.Host.Kernel, Path: "/" + sysfs.ProcOSRelease}}
			},
		},
		{
			Check: consensus.Check{
				ID: "driver-version", Severity: consensus.SeveritySlows, What: "version of a driver's module",
				Why:    "nodes with different driver packages (DOCA-OFED, MLNX_OFED) differ in defaults and features",
				Remedy: "install one driver package on all nodes",
			},
			Numbers: []int{10}, Reads: []string{"/" + sysfs.ModuleDir + "/*/version"},
			values: func(n Node) []consensus.Value {
				var out []consensus.Value
				for _, m := range n.Snapshot.Host.Modules {
					out = append(out, consensus.Value{
						Of: "module " + m.Name, Value: m.Version,
						Path: path.Join("/", sysfs.ModuleDir, m.Name, "version"),
					})
				}
				return out
			},
		},
	}
}

// firmware returns the versions that a node's cards of one model have. Several on one node are one
// value, since package doctor's check of a node reports them there.
func firmware(n Node) []consensus.Value {
	versions := map[string][]string{}
	evidence := map[string]string{}
	for _, d := range n.Snapshot.Devices {
		if d.BoardID == "" || d.Firmware == "" || d.VF != nil {
			continue
		}
		if !slices.Contains(versions[d.BoardID], d.Firmware) {
			versions[d.BoardID] = append(versions[d.BoardID], d.Firmware)
		}
		evidence[d.BoardID] = path.Join(d.Path, "fw_ver")
	}
	var out []consensus.Value
	for _, board := range slices.Sorted(maps.Keys(versions)) {
		slices.SortFunc(versions[board], sysfs.NaturalCompare)
		out = append(out, consensus.Value{
			Of: "board " + board, Value: strings.Join(versions[board], " and "), Path: evidence[board],
		})
	}
	return out
}

func linkComparisons() []Comparison {
	return []Comparison{
		{
			Check: consensus.Check{
				ID: "cable", Severity: consensus.SeverityNote, What: "part number of the cable or transceiver",
				Why:    "an odd part on one rail is the first suspect when that rail is slow or has errors",
				Remedy: "look at the odd one first: rdmactl show DEVICE, ethtool -m NETDEV",
			},
			Numbers: []int{34}, Facts: []facts.Kind{facts.KindModules},
			values: func(n Node) []consensus.Value {
				if !n.Facts.Modules.Known() {
					return nil
				}
				return ofNetdevs(n, func(name string) (value, source string) {
					for _, m := range n.Facts.Modules.Value {
						if m.Netdev == name && m.Error == "" {
							return strings.TrimSpace(m.Vendor + " " + m.PartNumber), "ethtool -m " + name
						}
					}
					return "", ""
				})
			},
		},
		{
			Check: consensus.Check{
				ID: "fec", Severity: consensus.SeveritySlows, What: "forward error correction of the link",
				Why:    "a link with another FEC has another latency and another rate of errors than its rail's",
				Remedy: "set the same on both ends: ethtool --set-fec NETDEV encoding rs, and on the switch port",
			},
			Numbers: []int{32}, Facts: []facts.Kind{facts.KindEthtool},
			values: func(n Node) []consensus.Value {
				return ofEthtool(n, "--show-fec", func(e facts.Ethtool) string {
					if e.FEC == nil {
						return ""
					}
					return e.FEC.Active
				})
			},
		},
	}
}

func qosComparisons() []Comparison {
	list := []Comparison{
		{
			Check: consensus.Check{
				ID: "pfc", Severity: consensus.SeverityBreaks, What: "priorities with flow control (PFC)",
				Why: "a port that does not pause the others' priority drops their packets under load: retransmits, " +
					"timeouts, stalls of whole collectives",
				Remedy: "enable PFC on the same one priority everywhere, hosts and switches, in a maintenance window",
			},
			Numbers: []int{50}, Facts: []facts.Kind{facts.KindDCB},
			values: func(n Node) []consensus.Value {
				return ofDCB(n, "PFC", func(d facts.DCB) string {
					if d.PFC == nil {
						return ""
					}
					return priorities(d.PFC.Enabled)
				})
			},
		},
		{
			Check: consensus.Check{
				ID: "dscp-map", Severity: consensus.SeverityBreaks, What: "map of DSCP to priorities",
				Why:    "packets of a job land on the lossless priority on one node and on a lossy one on the other",
				Remedy: "give all nodes the same map (dcb app), that of the switches",
			},
			Numbers: []int{49}, Facts: []facts.Kind{facts.KindDCB},
			values: func(n Node) []consensus.Value { return ofDCB(n, "APP", dscpMap) },
		},
	}
	for _, f := range qosFiles() {
		list = append(list, Comparison{
			Check:   f.check,
			Numbers: []int{f.number}, Reads: []string{"/" + f.pattern},
			values: func(n Node) []consensus.Value { return ofPorts(n, f.name, f.empty) },
		})
	}
	return list
}

// qosFile is a setting of a port in a file.
type qosFile struct {
	check   consensus.Check
	number  int
	pattern string
	name    func(d *inventory.Device, p *inventory.Port) string // without the leading slash
	empty   string                                              // what an empty file means, "" for nothing
}

func qosFiles() []qosFile {
	const same = "set the same on all nodes, with the switches' settings"
	netdev := func(file string) func(*inventory.Device, *inventory.Port) string {
		return func(_ *inventory.Device, p *inventory.Port) string {
			return path.Join(sysfs.ClassNet, p.Netdev, file)
		}
	}
	rdmaCM := func(file string) func(*inventory.Device, *inventory.Port) string {
		return func(d *inventory.Device, p *inventory.Port) string {
			return path.Join(sysfs.ConfigRDMACM, d.Name, "ports", strconv.Itoa(p.Number), file)
		}
	}
	return []qosFile{
		{
			consensus.Check{
				ID: "trust", Severity: consensus.SeverityBreaks,
				What: "whether a port trusts DSCP or the VLAN's priority",
				Why:  "a port that trusts the VLAN's priority ignores the DSCP of RoCE packets", Remedy: same,
			},
			48, sysfs.ClassNet + "/*/qos/trust", netdev("qos/trust"), "",
		},
		{
			consensus.Check{
				ID: "roce-tos", Severity: consensus.SeveritySlows, What: "default type of service of rdma_cm",
				Why:    "connections of one node go to another traffic class than those of the others",
				Remedy: same,
			},
			54, sysfs.ConfigRDMACM + "/*/ports/*/default_roce_tos", rdmaCM("default_roce_tos"), "",
		},
		{
			consensus.Check{
				ID: "roce-mode", Severity: consensus.SeverityBreaks, What: "default RoCE version of rdma_cm",
				Why:    "both ends of a connection need the same version",
				Remedy: same,
			},
			54, sysfs.ConfigRDMACM + "/*/ports/*/default_roce_mode", rdmaCM("default_roce_mode"), "",
		},
		{
			consensus.Check{
				ID: "traffic-class", Severity: consensus.SeveritySlows, What: "traffic class that the driver forces",
				Why:    "the driver's setting overrides that of the job on this node only",
				Remedy: same,
			},
			55, sysfs.ClassInfiniBand + "/*/tc/*/traffic_class",
			func(d *inventory.Device, p *inventory.Port) string {
				return path.Join(sysfs.ClassInfiniBand, d.Name, "tc", strconv.Itoa(p.Number), "traffic_class")
			},
			"no class",
		},
	}
}

func hostComparisons() []Comparison {
	return []Comparison{
		{
			Check: consensus.Check{
				ID: "gpu-affinity", Severity: consensus.SeveritySlows,
				What:   "way between each rail and its nearest GPU",
				Why:    "a rail whose GPU is behind another bridge or socket is slower than on the other nodes",
				Remedy: "compare the slots with the vendor's guide; in VMs, the topology that the hypervisor shows",
			},
			Numbers: []int{84},
			values: func(n Node) []consensus.Value {
				var out []consensus.Value
				for d, p := range n.Snapshot.Ports() {
					if len(p.GPUs) > 0 {
						out = append(out, consensus.Value{
							Port: portName(d, p), Value: p.GPUs[0].Distance.String(), Path: d.Path + "/device",
							Text: fmt.Sprintf("GPU %d: %s", p.GPUs[0].GPU, p.GPUs[0].Distance),
						})
					}
				}
				return out
			},
		},
		{
			Check: consensus.Check{
				ID: "numa-balancing", Severity: consensus.SeveritySlows, What: "automatic NUMA balancing",
				Why:    "a node that moves pages while others don't is the one that all wait for",
				Remedy: "sysctl kernel.numa_balancing=0 on all nodes",
			},
			Numbers: []int{85}, Reads: []string{"/" + sysfs.NUMABalancing},
			values: func(n Node) []consensus.Value {
				v, err := n.Facts.Files.Text(sysfs.NUMABalancing)
				if err != nil {
					return nil
				}
				return []consensus.Value{{Value: v, Path: "/" + sysfs.NUMABalancing}}
			},
		},
	}
}

// deviceFiles returns the pattern for a file of all RDMA devices.
func deviceFiles(name string) string { return "/" + sysfs.ClassInfiniBand + "/*/" + name }

func portName(d *inventory.Device, p *inventory.Port) string {
	return d.Name + ":" + strconv.Itoa(p.Number)
}

// netdevPorts iterates over the ports that have a network device.
func netdevPorts(s *inventory.Snapshot) iter.Seq2[*inventory.Device, *inventory.Port] {
	return func(yield func(*inventory.Device, *inventory.Port) bool) {
		for d, p := range s.Ports() {
			if p.Netdev != "" && !yield(d, p) {
				return
			}
		}
	}
}

// ofNetdevs returns a value of each port's network device.
func ofNetdevs(n Node, value func(netdev string) (value, source string)) []consensus.Value {
	var out []consensus.Value
	for d, p := range netdevPorts(n.Snapshot) {
		v, source := value(p.Netdev)
		out = append(out, consensus.Value{Port: portName(d, p), Value: v, Path: source})
	}
	return out
}

func ofEthtool(n Node, option string, value func(facts.Ethtool) string) []consensus.Value {
	if !n.Facts.Ethtool.Known() {
		return nil
	}
	return ofNetdevs(n, func(name string) (string, string) {
		i := slices.IndexFunc(n.Facts.Ethtool.Value, func(e facts.Ethtool) bool { return e.Netdev == name })
		if i < 0 {
			return "", ""
		}
		return value(n.Facts.Ethtool.Value[i]), "ethtool " + option + " " + name
	})
}

func ofDCB(n Node, part string, value func(facts.DCB) string) []consensus.Value {
	if !n.Facts.DCB.Known() {
		return nil
	}
	return ofNetdevs(n, func(name string) (string, string) {
		i := slices.IndexFunc(n.Facts.DCB.Value, func(d facts.DCB) bool { return d.Netdev == name })
		if i < 0 {
			return "", ""
		}
		return value(n.Facts.DCB.Value[i]), "dcbnl " + part + " of " + name
	})
}

// ofPorts returns a file's content for each port with a network device, and the other text for an
// empty file.
func ofPorts(n Node, name func(*inventory.Device, *inventory.Port) string, empty string) []consensus.Value {
	var out []consensus.Value
	for d, p := range netdevPorts(n.Snapshot) {
		file := name(d, p)
		if v, err := n.Facts.Files.Text(file); err == nil {
			out = append(out, consensus.Value{Port: portName(d, p), Value: cmp.Or(v, empty), Path: "/" + file})
		}
	}
	return out
}

// priorities lists the bits of a mask: "3", "0,3", "none".
func priorities(mask uint8) string {
	var list []string
	for _, p := range facts.Priorities(mask) {
		list = append(list, strconv.Itoa(p))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ",")
}

// dscpMap formats the DSCP entries of an APP table: "26:3 48:6"; "" without an entry.
func dscpMap(d facts.DCB) string {
	const selectorDSCP = 5 // IEEE_8021QAZ_APP_SEL_DSCP
	var list []string
	for _, a := range d.Apps {
		if a.Selector == selectorDSCP {
			list = append(list, fmt.Sprintf("%d:%d", a.Protocol, a.Priority))
		}
	}
	slices.SortFunc(list, sysfs.NaturalCompare)
	return strings.Join(list, " ")
}
