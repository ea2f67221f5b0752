package facts

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// Rates are two readings of the counters of a node, an interval apart.
type Rates struct {
	Interval time.Duration `json:"interval"` // that was asked for; each object has its own
	Ports    []Readings    `json:"ports"`    // in the order of the snapshot
	Netdevs  []Readings    `json:"netdevs,omitempty"`
	PCI      []Readings    `json:"pci,omitempty"` // AER counters by PCI address
}

// Readings are the counters of a port, network device or PCI function at two times.
type Readings struct {
	Object string `json:"object"` // "mlx5_0:1", "eth0", "0000:3b:00.0"
	// From and To are the times of the readings, Elapsed is the time between them by a clock that
	// nobody sets.
	From    time.Time     `json:"from"`
	To      time.Time     `json:"to"`
	Elapsed time.Duration `json:"elapsed"`
	// Before and After hold absolute values. A counter of which one reading failed is in the other
	// list only. Paths are those of files, or "ethtool:eth0:rx_discards_phy".
	Before []inventory.Counter `json:"before"`
	After  []inventory.Counter `json:"after"`
	// Lost says why there is no second reading: the object was removed in between.
	Lost string `json:"lost,omitempty"`
	// Errors are about counters that could not be read, with their paths, Denied about those that
	// need more privilege.
	Errors []string `json:"errors,omitempty"`
	Denied []string `json:"denied,omitempty"`
	// Down is how long a network device had no carrier between the readings, as far as looking at
	// it again and again shows; Sampled is the time between two looks, 0 if nobody looked.
	Down    time.Duration `json:"down,omitempty"`
	Sampled time.Duration `json:"sampled,omitempty"`
}

// Groups of counters beside those of [inventory.ReadCounters].
const (
	CountersNetdev  = "net"     // files of a network device: carrier_changes
	CountersEthtool = "ethtool" // statistics of a network device's driver
	CountersAER     = "aer"     // PCI Express errors of a function: "aer_dev_fatal:TOTAL_ERR_FATAL"
)

// Of returns the readings of an object, nil if there are none.
func (r *Rates) Of(object string) *Readings {
	for _, list := range [][]Readings{r.Ports, r.Netdevs, r.PCI} {
		for i := range list {
			if list[i].Object == object {
				return &list[i]
			}
		}
	}
	return nil
}

// AERFiles are the files of a PCI function with its counts of errors
// (Documentation/ABI/testing/sysfs-bus-pci-devices-aer).
func AERFiles() []string { return []string{"aer_dev_correctable", "aer_dev_fatal", "aer_dev_nonfatal"} }

// ParseAER returns the counts in one of [AERFiles] of the directory: the total, and the kinds of
// errors that have occurred. Lines are a name and a number: "Receiver Error 2".
func ParseAER(dir, file, text string) ([]inventory.Counter, error) {
	var out []inventory.Counter
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseUint(line[i+1:], 10, 64)
		if i <= 0 || err != nil {
			return nil, fmt.Errorf("parse %s: line %q is not a name and a count", path.Join(dir, file), line)
		}
		name := file + ":" + strings.TrimSpace(line[:i])
		if n > 0 || IsAERTotal(name) {
			out = append(out, inventory.Counter{
				Name: name, Group: CountersAER, Path: path.Join(dir, name), Value: &n,
			})
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("parse %s: no total", path.Join(dir, file))
	}
	return out, nil
}

// IsAERTotal reports whether a counter of [ParseAER] is the sum of all kinds of errors of a file.
func IsAERTotal(name string) bool { return strings.Contains(name, ":TOTAL_ERR_") }

// ofRing matches the statistics of single rings and channels, of which there are thousands.
var ofRing = regexp.MustCompile(`^(rx|tx|ch|\[)[0-9]`)

// EthtoolCounters returns the statistics of a network device as counters, sorted by name, without
// those of single rings. Some drivers put a space after a name.
func EthtoolCounters(e Ethtool) []inventory.Counter {
	out := make([]inventory.Counter, 0, len(e.Stats))
	for name, v := range e.Stats {
		if name = strings.TrimSpace(name); ofRing.MatchString(name) {
			continue
		}
		out = append(out, inventory.Counter{
			Name: name, Group: CountersEthtool, Path: "ethtool:" + e.Netdev + ":" + name, Value: &v,
		})
	}
	slices.SortFunc(out, func(a, b inventory.Counter) int { return strings.Compare(a.Name, b.Name) })
	return out
}
