package facts

import (
	"net/netip"
	"time"
)

// Link is a network device as rtnetlink describes it.
type Link struct {
	Name         string        `json:"name"`
	CarrierUp    uint32        `json:"carrierUp,omitempty"`   // IFLA_CARRIER_UP_COUNT
	CarrierDown  uint32        `json:"carrierDown,omitempty"` // IFLA_CARRIER_DOWN_COUNT
	Up           bool          `json:"up"`                    // IFF_UP
	Running      bool          `json:"running"`               // IFF_RUNNING
	Address      string        `json:"address,omitempty"`     // link layer address, colons
	MTU          uint32        `json:"mtu"`
	MaxMTU       uint32        `json:"maxMTU,omitempty"` // 0 if the driver names none
	Master       string        `json:"master,omitempty"` // bond, bridge or VRF that has it
	Kind         string        `json:"kind,omitempty"`   // bond, vlan, …; "" for hardware
	DownDuration time.Duration `json:"downDuration,omitempty"`
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
}

// Neighbour is an entry of the neighbour table (ip neigh).
type Neighbour struct {
	Address netip.Addr `json:"address"`
	Netdev  string     `json:"netdev"`
	MAC     string     `json:"mac,omitempty"`
	State   string     `json:"state"` // reachable, stale, failed, permanent, …
}

// Ethtool is what ethtool tells of a network device. A part that the driver lacks is nil.
type Ethtool struct {
	Netdev string `json:"netdev"`
	Driver string `json:"driver,omitempty"`
	// Stats are the driver's statistics (ethtool -S).
	Stats  map[string]uint64 `json:"stats,omitempty"`
	Pause  *Pause            `json:"pause,omitempty"`
	FEC    *FEC              `json:"fec,omitempty"`
	Rings  *Rings            `json:"rings,omitempty"`
	Mode   *LinkMode         `json:"mode,omitempty"`
	Errors []string          `json:"errors,omitempty"` // "pause: operation not permitted"
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
	Errors   []string `json:"errors,omitempty"`
}

// PFC is priority flow control (struct ieee_pfc).
type PFC struct {
	Enabled     uint8     `json:"enabled"` // bit n: priority n is lossless
	Capacity    uint8     `json:"capacity"`
	Delay       uint16    `json:"delay"`                // bit times; of mlx5 the length of the cable in m
	Requests    [8]uint64 `json:"requests,omitzero"`    // pause frames sent
	Indications [8]uint64 `json:"indications,omitzero"` // pause frames received
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
	Error      string            `json:"error,omitempty"`
}

// HealthReporter is a devlink health reporter.
type HealthReporter struct {
	Name       string `json:"name"` // fw, fw_fatal, tx, rx
	Port       string `json:"port,omitempty"`
	Errored    bool   `json:"errored"` // DEVLINK_HEALTH_REPORTER_STATE_ERROR
	Errors     uint64 `json:"errors"`
	Recoveries uint64 `json:"recoveries"`
}

// KernelMessage is a line of the kernel's log.
type KernelMessage struct {
	Since time.Duration `json:"since"` // since boot
	Level int           `json:"level"` // 0 emerg to 7 debug
	Text  string        `json:"text"`
}

// Probe is what happened with a peer.
type Probe struct {
	Peer   netip.Addr `json:"peer"`
	Netdev string     `json:"netdev"`
	Source netip.Addr `json:"source,omitzero"`
	// PathMTU is the largest IP packet that arrived unfragmented, 0 if none did; Tried is the
	// largest that was sent.
	PathMTU int `json:"pathMTU"`
	Tried   int `json:"tried"`
	// RoCE is the result of a packet to UDP port 4791: answered, refused, silent, or an error.
	RoCE string `json:"roce,omitempty"`
	// Owners are the MAC addresses that answered ARP for the peer.
	Owners []string `json:"owners,omitempty"`
	Error  string   `json:"error,omitempty"`
}

// Resolver is how the host's own name resolves.
type Resolver struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// FilterRule is a rule of nf_tables that can drop a packet.
type FilterRule struct {
	Table, Chain string
	Hook         string   `json:"hook,omitempty"` // input, output, forward
	Verdict      string   `json:"verdict"`        // drop, reject
	Protocol     string   `json:"protocol,omitempty"`
	Ports        []uint16 `json:"ports,omitempty"` // destination ports, none for all
	Text         string   `json:"text"`            // as nft list ruleset would say it
}

// ClockDiscipline is how well the clock follows its source.
type ClockDiscipline struct {
	Synchronized bool          `json:"synchronized"` // STA_UNSYNC is clear
	MaxError     time.Duration `json:"maxError"`
	Estimated    time.Duration `json:"estimated"`
	Offset       time.Duration `json:"offset"`
}
