package facts

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// Link is a network device as rtnetlink describes it.
type Link struct {
	Name        string `json:"name"`
	CarrierUp   uint32 `json:"carrierUp,omitempty"`   // IFLA_CARRIER_UP_COUNT
	CarrierDown uint32 `json:"carrierDown,omitempty"` // IFLA_CARRIER_DOWN_COUNT
	Up          bool   `json:"up"`                    // IFF_UP
	Running     bool   `json:"running"`               // IFF_RUNNING
	Address     string `json:"address,omitempty"`     // link layer address, colons
	MTU         uint32 `json:"mtu"`
	MaxMTU      uint32 `json:"maxMTU,omitempty"` // 0 if the driver names none
	Master      string `json:"master,omitempty"` // bond, bridge or VRF that has it
	Kind        string `json:"kind,omitempty"`   // bond, vlan, …; "" for hardware
}

// Routing is what decides the way of a packet: rules, routes and neighbours of both families.
type Routing struct {
	Rules      []Rule      `json:"rules"`
	Routes     []Route     `json:"routes"`
	Neighbours []Neighbour `json:"neighbours,omitempty"`
}

// Rule is a routing policy rule (ip rule).
type Rule struct {
	Priority uint32       `json:"priority"`
	From     netip.Prefix `json:"from,omitzero"` // the zero value: from all
	To       netip.Prefix `json:"to,omitzero"`
	Table    uint32       `json:"table"`
	Input    string       `json:"iif,omitempty"`
	Output   string       `json:"oif,omitempty"`
	Mark     uint32       `json:"mark,omitempty"`
	IPv6     bool         `json:"ipv6,omitempty"`
	Action   string       `json:"action"` // lookup, unreachable, prohibit, blackhole, goto, nop
	MarkMask uint32       `json:"markMask,omitempty"`
	Not      bool         `json:"not,omitempty"`  // for the packets that don't match
	Goto     uint32       `json:"goto,omitempty"` // priority of the next rule, of goto
	// Suppress rejects routes whose prefix is not longer (suppress_prefixlength); nil for none.
	Suppress *uint32 `json:"suppress,omitempty"`
	// Other names conditions that depend on more than addresses: ipproto, sport, dport, uidrange,
	// tos, l3mdev.
	Other []string `json:"other,omitempty"`
}

// Route is an entry of a routing table.
type Route struct {
	To      netip.Prefix `json:"to"` // 0.0.0.0/0 or ::/0 for the default route
	Table   uint32       `json:"table"`
	Netdev  string       `json:"netdev,omitempty"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Source  netip.Addr   `json:"source,omitzero"` // preferred source
	Metric  uint32       `json:"metric,omitempty"`
	MTU     uint32       `json:"mtu,omitempty"` // RTAX_MTU, 0 for that of the device
	Type    string       `json:"type"`          // unicast, local, blackhole, unreachable, …
	Scope   string       `json:"scope,omitempty"`
	From    netip.Prefix `json:"from,omitzero"` // IPv6: only for packets from there
	TOS     uint8        `json:"tos,omitempty"`
	Weight  int          `json:"weight,omitempty"` // of one of several next hops
	Dead    bool         `json:"dead,omitempty"`   // its device is down: the kernel skips it
}

// Neighbour is an entry of the neighbour table (ip neigh).
type Neighbour struct {
	Address netip.Addr `json:"address"`
	Netdev  string     `json:"netdev"`
	MAC     string     `json:"mac,omitempty"`
	State   string     `json:"state"` // reachable, stale, failed, permanent, …
}

// Ethtool is what ethtool reports of a network device. A part that the driver doesn't have is nil;
// [Ethtool.State] says why one is.
type Ethtool struct {
	Netdev string `json:"netdev"`
	Driver string `json:"driver,omitempty"`
	// Stats are the driver's statistics (ethtool -S).
	Stats map[string]uint64 `json:"stats,omitempty"`
	Pause *Pause            `json:"pause,omitempty"`
	FEC   *FEC              `json:"fec,omitempty"`
	Rings *Rings            `json:"rings,omitempty"`
	Mode  *LinkMode         `json:"mode,omitempty"`
	// Errors are about parts that could not be read, "pause: input/output error", or about all
	// parts: "the driver did not answer in time". Denied are parts that need more privilege.
	Errors []string `json:"errors,omitempty"`
	Denied []string `json:"denied,omitempty"`
}

// The parts of [Ethtool], as in its errors.
const (
	EthtoolDriver     = "driver"     // Driver
	EthtoolStatistics = "statistics" // Stats
	EthtoolPause      = "pause"      // Pause
	EthtoolRings      = "rings"      // Rings
	EthtoolFEC        = "FEC"        // FEC
	EthtoolLinkMode   = "link mode"  // Mode
)

// State returns why a part of a network device is not known: an error that matches [ErrDenied], or
// one about a failure. It returns nil if neither was recorded: the part is known, or the driver
// doesn't have it.
func (e *Ethtool) State(part string) error {
	for _, text := range e.Errors {
		name, cause, ofPart := strings.Cut(text, ": ")
		if !ofPart || name == part {
			return fmt.Errorf("ethtool %s of %s: %s", part, e.Netdev, cmp.Or(cause, text))
		}
	}
	for _, text := range e.Denied {
		if cause, ok := strings.CutPrefix(text, part+": "); ok {
			return Denied("ethtool %s of %s: %s", part, e.Netdev, cause)
		}
	}
	return nil
}

// Pause are the settings of global flow control (ethtool -a).
type Pause struct {
	RX      bool `json:"rx"`
	TX      bool `json:"tx"`
	Autoneg bool `json:"autoneg"`
}

// FEC is forward error correction (ethtool --show-fec).
type FEC struct {
	Active     string   `json:"active,omitempty"` // "RS", "BaseR", "Off", "LLRS", "None"
	Configured []string `json:"configured,omitempty"`
	Auto       bool     `json:"auto,omitempty"`
}

// Rings are the sizes of descriptor rings (ethtool -g).
type Rings struct {
	RX    uint32 `json:"rx"`
	RXMax uint32 `json:"rxMax"`
	TX    uint32 `json:"tx"`
	TXMax uint32 `json:"txMax"`
}

// LinkMode is the speed that a port has and those that it and its peer can have.
type LinkMode struct {
	Mbps       uint32   `json:"mbps,omitempty"` // 0 if unknown
	Lanes      uint32   `json:"lanes,omitempty"`
	Duplex     string   `json:"duplex,omitempty"`
	Autoneg    bool     `json:"autoneg,omitempty"`
	Advertised []string `json:"advertised,omitempty"`
	Peer       []string `json:"peer,omitempty"`
}

// Module is a transceiver or cable as its EEPROM describes it (SFF-8472, SFF-8636, CMIS).
type Module struct {
	Netdev      string  `json:"netdev"`
	Type        string  `json:"type,omitempty"` // QSFP28, QSFP-DD, OSFP, …
	Vendor      string  `json:"vendor,omitempty"`
	PartNumber  string  `json:"partNumber,omitempty"`
	Serial      string  `json:"serial,omitempty"`
	Revision    string  `json:"revision,omitempty"`
	Passive     bool    `json:"passive,omitempty"` // copper without electronics: no power, no temperature
	Celsius     float64 `json:"celsius,omitempty"`
	HighAlarm   float64 `json:"highAlarm,omitempty"` // °C, 0 if the module names none
	HighWarning float64 `json:"highWarning,omitempty"`
	Volts       float64 `json:"volts,omitempty"`
	VoltsLow    float64 `json:"voltsLow,omitempty"`  // low alarm, 0 if none
	VoltsHigh   float64 `json:"voltsHigh,omitempty"` // high alarm, 0 if none
	// RXmW and TXmW are the optical power of each lane in mW.
	RXmW []float64 `json:"rxMilliwatt,omitempty"`
	TXmW []float64 `json:"txMilliwatt,omitempty"`
	// Alarms in mW, 0 if the module names none.
	RXLow  float64 `json:"rxLow,omitempty"`
	RXHigh float64 `json:"rxHigh,omitempty"`
	TXLow  float64 `json:"txLow,omitempty"`
	TXHigh float64 `json:"txHigh,omitempty"`
	Error  string  `json:"error,omitempty"` // why it could not be read
}

// DCB is the state of data center bridging of a network device. Lists are indexed by priority.
type DCB struct {
	Netdev string `json:"netdev"`
	// DCBX is the mode (DCB_CAP_DCBX_*): who is in charge, host or firmware.
	DCBX    *uint8   `json:"dcbx,omitempty"`
	PFC     *PFC     `json:"pfc,omitempty"`
	ETS     *ETS     `json:"ets,omitempty"`
	Apps    []DCBApp `json:"apps,omitempty"`
	Buffer  *Buffer  `json:"buffer,omitempty"`
	PeerPFC *PFC     `json:"peerPFC,omitempty"` // as the switch announces it (LLDP)
	PeerETS *ETS     `json:"peerETS,omitempty"`
	// PeerApps is the peer's table of protocols.
	PeerApps []DCBApp `json:"peerApps,omitempty"`
	// Errors are about what could not be read, Denied about what needs more privilege.
	Errors []string `json:"errors,omitempty"`
	Denied []string `json:"denied,omitempty"`
}

// State returns why the settings of a network device are not known, or not completely: an error
// that matches [ErrDenied], or one about a failure; nil if neither was recorded.
func (d *DCB) State() error {
	switch {
	case len(d.Errors) > 0:
		return errors.New(strings.Join(slices.Concat(d.Errors, d.Denied), "; "))
	case len(d.Denied) > 0:
		return Denied("%s", strings.Join(d.Denied, "; "))
	}
	return nil
}

// PFC is priority flow control (struct ieee_pfc).
type PFC struct {
	Enabled     uint8     `json:"enabled"` // bit n: priority n is lossless
	Capacity    uint8     `json:"capacity"`
	Delay       uint16    `json:"delay"`                // bit times; of mlx5 the length of the cable in m
	Requests    [8]uint64 `json:"requests,omitzero"`    // pause frames sent
	Indications [8]uint64 `json:"indications,omitzero"` // pause frames received
}

// Priorities returns the bits of a mask of priorities, ascending.
func Priorities(mask uint8) []int {
	var list []int
	for prio := range 8 {
		if mask>>prio&1 != 0 {
			list = append(list, prio)
		}
	}
	return list
}

// ETS is enhanced transmission selection (struct ieee_ets).
type ETS struct {
	PriorityTC [8]uint8 `json:"priorityTC"`
	Bandwidth  [8]uint8 `json:"bandwidth"` // percent by traffic class
	Algorithm  [8]uint8 `json:"algorithm"` // by traffic class: 0 strict, 2 ETS, 255 the driver's own
	Willing    bool     `json:"willing,omitempty"`
}

// DCBApp maps a protocol to a priority (struct dcb_app).
type DCBApp struct {
	Selector uint8  `json:"selector"` // 5: DSCP; 1: EtherType; 2 to 4: ports
	Protocol uint16 `json:"protocol"` // the DSCP for selector 5
	Priority uint8  `json:"priority"`
}

// Buffer is the receive buffer of a port (struct dcbnl_buffer).
type Buffer struct {
	Priority [8]uint8  `json:"priority"` // buffer of each priority
	Bytes    [8]uint32 `json:"bytes"`
	Total    uint32    `json:"total"`
}

// DevlinkDevice is a device as devlink describes it.
type DevlinkDevice struct {
	Name       string            `json:"name"` // pci/0000:3b:00.0
	Reporters  []HealthReporter  `json:"reporters,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	// Switch is the mode of the embedded switch of a BlueField card: legacy, switchdev, "foreign"
	// if another function manages it, or "" if it is not known.
	Switch string `json:"switch,omitempty"`
	// Error says why the list of reporters may be incomplete, ParameterErrors why parameters are
	// missing.
	Error           string   `json:"error,omitempty"`
	ParameterErrors []string `json:"parameterErrors,omitempty"`
}

// SwitchForeign is the [DevlinkDevice].Switch of a function that does not manage its switch.
const SwitchForeign = "foreign"

// HealthReporter is a devlink health reporter.
type HealthReporter struct {
	Name       string `json:"name"` // fw, fw_fatal, tx, rx
	Port       string `json:"port,omitempty"`
	Errored    bool   `json:"errored"` // DEVLINK_HEALTH_REPORTER_STATE_ERROR
	Errors     uint64 `json:"errors"`
	Recoveries uint64 `json:"recoveries"`
	Error      string `json:"error,omitempty"` // why state and counts are not known
}

// KernelMessage is a line of the kernel's log.
type KernelMessage struct {
	Since time.Duration `json:"since"` // since boot
	Level int           `json:"level"` // 0 emerg to 7 debug
	Text  string        `json:"text"`
}

// Probe is what a network device saw of an address: of a peer, or of the node's own, for which
// nobody else may answer.
type Probe struct {
	Peer   netip.Addr `json:"peer"`
	Netdev string     `json:"netdev"`
	Source netip.Addr `json:"source,omitzero"`
	Own    bool       `json:"own,omitempty"` // Peer is the device's own address: only ARP was asked
	// PathMTU is the largest IP packet that arrived unfragmented, 0 if none did; Tried is the
	// largest that was sent, 0 if none was.
	PathMTU int `json:"pathMTU,omitempty"`
	Tried   int `json:"tried,omitempty"`
	// Owners are the MAC addresses that answered ARP for Peer; Asked reports whether it was asked,
	// which it isn't for a peer behind a router, and ARPError says why it could not be.
	Owners   []string `json:"owners,omitempty"`
	Asked    bool     `json:"asked,omitempty"`
	ARPError string   `json:"arpError,omitempty"`
	Error    string   `json:"error,omitempty"`
	// RoCE is about packets of RoCE v2 to Peer, nil if the device has no port that sends them.
	RoCE *ProbeRoCE `json:"roce,omitempty"`
}

// ProbeRoCE is what became of packets of RoCE v2 (UDP port 4791) to a peer: of datagrams with a
// message of the connection manager, whose ICMP errors a program can see, and of messages of this
// node's connection manager.
type ProbeRoCE struct {
	Device string `json:"device"` // the RDMA device whose connection manager asked
	// Answered reports whether the connection manager of the peer answered, and AskError why this
	// node's could not ask; neither is set if no answer came.
	Answered bool   `json:"answered,omitempty"`
	AskError string `json:"askError,omitempty"`
	// RejectedBy is the machine that sent an ICMP error with type and code (RFC 792, RFC 1812).
	RejectedBy netip.Addr `json:"rejectedBy,omitzero"`
	ICMPType   uint8      `json:"icmpType,omitempty"`
	ICMPCode   uint8      `json:"icmpCode,omitempty"`
	// Filtered reports whether a packet filter of this node dropped the datagrams.
	Filtered bool   `json:"filtered,omitempty"`
	Error    string `json:"error,omitempty"` // why no datagram could be sent
}

// Resolver is how the host's own name resolves by Go's resolver: by /etc/hosts and DNS.
type Resolver struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Unasked are sources of nsswitch.conf that were not asked and by which getaddrinfo(3) may give
	// another answer: sss, myhostname, ….
	Unasked []string `json:"unasked,omitempty"`
}

// FilterRule is a rule of nf_tables, or what happens at the end of a chain. Rules are in the order
// of the kernel, those of a base chain by hook and priority.
type FilterRule struct {
	Family string `json:"family"` // inet, ip, ip6, netdev, …
	Table  string `json:"table"`
	Chain  string `json:"chain"`
	// Hook is ingress, prerouting, input, output, …; "" unless of a base chain.
	Hook     string `json:"hook,omitempty"`
	Priority int32  `json:"priority,omitempty"`
	// Policy marks what happens to packets for which no rule of the chain decides.
	Policy     bool              `json:"policy,omitempty"`
	Conditions []FilterCondition `json:"conditions,omitempty"`
	// Verdict is accept, drop, reject, jump, goto, return, "" for none, or unknown.
	Verdict string   `json:"verdict"`
	Target  string   `json:"target,omitempty"` // chain of jump and goto
	Sets    []string `json:"sets,omitempty"`   // keys of properties that the rule changes: mark
}

// FilterCondition compares a property of a packet with ranges. Bytes are in hexadecimal, as in the
// packet.
type FilterCondition struct {
	Key    string        `json:"key"` // iifname, saddr, dport, …; in parentheses if it can't be evaluated
	Op     string        `json:"op"`  // in or not in
	Mask   string        `json:"mask,omitempty"`
	Ranges []FilterRange `json:"ranges,omitempty"`
}

// FilterRange is a range of values of equal length. A longer value is compared by its beginning.
type FilterRange struct {
	Low  string `json:"low"`
	High string `json:"high"`
}

// ClockDiscipline is how well the clock follows its source.
type ClockDiscipline struct {
	Synchronized bool          `json:"synchronized"` // STA_UNSYNC is clear
	MaxError     time.Duration `json:"maxError"`
	Estimated    time.Duration `json:"estimated"`
	// Offset is what the kernel's phase-locked loop still corrects. Other daemons, such as chrony
	// and phc2sys, set the frequency, and the offset stays 0.
	Offset time.Duration `json:"offset"`
	PLL    bool          `json:"pll,omitempty"` // STA_PLL: the loop is in use
}

// Daemon is a process that starts jobs or containers, which inherit its limits.
type Daemon struct {
	Name    string `json:"name"` // slurmd, containerd, …
	PID     int    `json:"pid"`
	Unit    string `json:"unit,omitempty"` // of systemd, by the cgroup of the process; "" if it has none
	Memlock Range  `json:"memlock"`        // locked memory in bytes
	Files   Range  `json:"files"`          // open files
	// Settings are those of systemd and of logins about locked memory, whether or not they apply to
	// the daemon.
	Settings []DaemonSetting `json:"settings,omitempty"`
}

// DaemonSetting is a line of a file of settings.
type DaemonSetting struct {
	Path  string `json:"path"`  // absolute
	Value string `json:"value"` // LimitMEMLOCK=infinity; * hard memlock unlimited
}

// Range is a resource limit: the one in force, and the one to which a process may raise it.
type Range struct {
	Soft inventory.Limit `json:"soft"`
	Hard inventory.Limit `json:"hard"`
}

// FileSystem is the space of a file system in bytes.
type FileSystem struct {
	Size uint64 `json:"size"`
	Free uint64 `json:"free"`
	// Unlimited reports that only memory limits it, as a tmpfs with size=0 (tmpfs(5)); Size and
	// Free are 0 then.
	Unlimited bool `json:"unlimited,omitempty"`
}
