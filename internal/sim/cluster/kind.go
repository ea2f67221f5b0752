package cluster

// Kind is a kind of fault.
type Kind string

// The kinds. [Fault] has the fields that say where a fault is and how severe.
const (
	SlowCard       Kind = "slow-card"       // a card's rate is lower, both ways
	SlowOneWay     Kind = "slow-one-way"    // only what it sends, or receives
	SlowNode       Kind = "slow-node"       // all cards of a node together: memory, IOMMU, a shared switch
	LossyCable     Kind = "lossy-cable"     // packets are lost on a card's cable, both ways
	LossyOneWay    Kind = "lossy-one-way"   // only those that it sends, or receives
	BitErrors      Kind = "bit-errors"      // packets are damaged on a card's cable, both ways
	DeadCard       Kind = "dead-card"       // a card passes nothing
	DeadNode       Kind = "dead-node"       // a node never answers
	DyingNode      Kind = "dying-node"      // a node vanishes during the run
	JitteryHost    Kind = "jittery-host"    // a node's latency varies: interrupts, daemons, power states
	PausingHost    Kind = "pausing-host"    // a node's processes stand still for 50 ms now and then
	WrongMTU       Kind = "wrong-mtu"       // a port's MTU is too small, or larger than its switch port's
	MissingGID     Kind = "missing-gid"     // a port has no usable GID
	OtherGIDType   Kind = "other-gid-type"  // its GID is of RoCE v1
	WrongPKey      Kind = "wrong-pkey"      // it is in another partition
	ExchangedRails Kind = "exchanged-rails" // two cards of a node are cabled to each other's leaf
	HalfUplinks    Kind = "half-uplinks"    // a leaf has half of its uplinks
	BadUplink      Kind = "bad-uplink"      // one uplink is slow or lossy; ECMP sends some flows over it
	Oversubscribed Kind = "oversubscribed"  // the spines carry less than the leaves can send
	NoPFC          Kind = "no-pfc"          // a leaf, or all, drop instead of pausing: incast collapses
	WrongClass     Kind = "wrong-class"     // a card sends in a class that switches treat as lossy
	HalfPCIe       Kind = "half-pcie"       // a card's slot has half its width
	OtherFirmware  Kind = "other-firmware"  // a card's firmware differs
	FlappingLink   Kind = "flapping-link"   // a card's link goes down and comes back
	WrongClock     Kind = "wrong-clock"     // a node's clock is wrong
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		SlowCard, SlowOneWay, SlowNode, LossyCable, LossyOneWay, BitErrors, DeadCard, DeadNode, DyingNode,
		JitteryHost, PausingHost, WrongMTU, MissingGID, OtherGIDType, WrongPKey, ExchangedRails, HalfUplinks,
		BadUplink, Oversubscribed, NoPFC, WrongClass, HalfPCIe, OtherFirmware, FlappingLink, WrongClock,
	}
}

// Place is what a fault is in.
type Place string

// The places.
const (
	PlaceCard   Place = "card"
	PlaceNode   Place = "node"
	PlaceLeaf   Place = "leaf"
	PlaceUplink Place = "uplink" // of a leaf
	PlaceFabric Place = "fabric"
)

// property is what is fixed for a kind.
type property struct {
	place Place
	// least and most bound the severity that a scenario may give, and usual is that of a fault
	// without one. All are 0 for kinds that have no severity.
	least, most, usual float64
	// directed kinds need a direction; hidden ones may be invisible in facts; inside ones may be in
	// the card instead of its port.
	directed, hidden, inside bool
}

// properties returns what is fixed for a kind. The unit of the severity is in the comment.
func properties(k Kind) (property, bool) {
	p, ok := map[Kind]property{
		// Share of the rate that is missing.
		SlowCard:    {place: PlaceCard, least: 0.01, most: 0.99, usual: 0.4, inside: true},
		SlowOneWay:  {place: PlaceCard, least: 0.01, most: 0.99, usual: 0.4, directed: true, inside: true},
		SlowNode:    {place: PlaceNode, least: 0.01, most: 0.99, usual: 0.4},
		LossyCable:  {place: PlaceCard, least: 1e-9, most: 0.5, usual: 1e-3}, // of a packet's loss
		LossyOneWay: {place: PlaceCard, least: 1e-9, most: 0.5, usual: 1e-3, directed: true},
		BitErrors:   {place: PlaceCard, least: 1e-9, most: 0.5, usual: 1e-3}, // of a packet's damage
		DeadCard:    {place: PlaceCard, hidden: true},
		DeadNode:    {place: PlaceNode},
		// Share of the rounds after which it vanishes.
		DyingNode: {place: PlaceNode, least: 0.01, most: 0.99, usual: 0.5},
		// Mean of an interruption in µs, seconds between pauses, bytes.
		JitteryHost:    {place: PlaceNode, least: 1, most: 10_000, usual: 50},
		PausingHost:    {place: PlaceNode, least: 0.06, most: 10, usual: 0.5},
		WrongMTU:       {place: PlaceCard, least: 256, most: 2048, usual: 1024, hidden: true},
		MissingGID:     {place: PlaceCard},
		OtherGIDType:   {place: PlaceCard},
		WrongPKey:      {place: PlaceCard},
		ExchangedRails: {place: PlaceNode, hidden: true},
		HalfUplinks:    {place: PlaceLeaf, least: 0.01, most: 0.99, usual: 0.5}, // share that is missing
		BadUplink:      {place: PlaceUplink, least: 0.01, most: 0.99, usual: 0.75},
		Oversubscribed: {place: PlaceFabric, least: 1.05, most: 32, usual: 2}, // ratio
		NoPFC:          {place: PlaceLeaf},
		WrongClass:     {place: PlaceCard},
		HalfPCIe:       {place: PlaceCard, hidden: true},
		OtherFirmware:  {place: PlaceCard},
		FlappingLink:   {place: PlaceCard, least: 0.005, most: 0.9, usual: 0.1}, // share of rounds
		WrongClock:     {place: PlaceNode, least: -1e6, most: 1e6, usual: 60},   // seconds
	}[k]
	return p, ok
}

// PlaceOf returns what a kind of fault is in, "" for an unknown kind.
func PlaceOf(k Kind) Place {
	p, _ := properties(k)
	return p.place
}
