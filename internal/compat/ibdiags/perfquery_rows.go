package ibdiags

import "github.com/rdmakit/rdmakit/wire/mad"

// add adds to a counter that stops at its maximum.
func add[T unsigned](to *T, v T) {
	if *to+v < *to {
		*to = 0
		*to--
		return
	}
	*to += v
}

// addNibble adds to a counter of 4 bits.
func addNibble(to *uint8, v uint8) { *to = min(15, *to+v) }

// addCounters adds the counters of one more port; other fields are set to those of the port.
func addCounters(sum, c *mad.PortCounters) {
	sum.Reserved, sum.PortSelect, sum.CounterSelect, sum.CounterSelect2 = c.Reserved, c.PortSelect, c.CounterSelect,
		c.CounterSelect2
	add(&sum.SymbolErrorCounter, c.SymbolErrorCounter)
	add(&sum.LinkErrorRecoveryCounter, c.LinkErrorRecoveryCounter)
	add(&sum.LinkDownedCounter, c.LinkDownedCounter)
	add(&sum.PortRcvErrors, c.PortRcvErrors)
	add(&sum.PortRcvRemotePhysicalErrors, c.PortRcvRemotePhysicalErrors)
	add(&sum.PortRcvSwitchRelayErrors, c.PortRcvSwitchRelayErrors)
	add(&sum.PortXmitDiscards, c.PortXmitDiscards)
	add(&sum.PortXmitConstraintErrors, c.PortXmitConstraintErrors)
	add(&sum.PortRcvConstraintErrors, c.PortRcvConstraintErrors)
	addNibble(&sum.LocalLinkIntegrityErrors, c.LocalLinkIntegrityErrors)
	addNibble(&sum.ExcessiveBufferOverrunErrors, c.ExcessiveBufferOverrunErrors)
	add(&sum.QP1Dropped, c.QP1Dropped)
	add(&sum.VL15Dropped, c.VL15Dropped)
	add(&sum.PortXmitData, c.PortXmitData)
	add(&sum.PortRcvData, c.PortRcvData)
	add(&sum.PortXmitPkts, c.PortXmitPkts)
	add(&sum.PortRcvPkts, c.PortRcvPkts)
	add(&sum.PortXmitWait, c.PortXmitWait)
}

// addExtended is addCounters for the extended counters.
func addExtended(sum, c *mad.PortCountersExtended) {
	sum.Reserved, sum.PortSelect, sum.CounterSelect, sum.CounterSelect2 = c.Reserved, c.PortSelect, c.CounterSelect,
		c.CounterSelect2
	add(&sum.PortXmitData, c.PortXmitData)
	add(&sum.PortRcvData, c.PortRcvData)
	add(&sum.PortXmitPkts, c.PortXmitPkts)
	add(&sum.PortRcvPkts, c.PortRcvPkts)
	add(&sum.PortUnicastXmitPkts, c.PortUnicastXmitPkts)
	add(&sum.PortUnicastRcvPkts, c.PortUnicastRcvPkts)
	add(&sum.PortMulticastXmitPkts, c.PortMulticastXmitPkts)
	add(&sum.PortMulticastRcvPkts, c.PortMulticastRcvPkts)
	add(&sum.SymbolErrorCounter, c.SymbolErrorCounter)
	add(&sum.LinkErrorRecoveryCounter, c.LinkErrorRecoveryCounter)
	add(&sum.LinkDownedCounter, c.LinkDownedCounter)
	add(&sum.PortRcvErrors, c.PortRcvErrors)
	add(&sum.PortRcvRemotePhysicalErrors, c.PortRcvRemotePhysicalErrors)
	add(&sum.PortRcvSwitchRelayErrors, c.PortRcvSwitchRelayErrors)
	add(&sum.PortXmitDiscards, c.PortXmitDiscards)
	add(&sum.PortXmitConstraintErrors, c.PortXmitConstraintErrors)
	add(&sum.PortRcvConstraintErrors, c.PortRcvConstraintErrors)
	add(&sum.LocalLinkIntegrityErrors, c.LocalLinkIntegrityErrors)
	add(&sum.ExcessiveBufferOverrunErrors, c.ExcessiveBufferOverrunErrors)
	add(&sum.VL15Dropped, c.VL15Dropped)
	add(&sum.PortXmitWait, c.PortXmitWait)
	add(&sum.QP1Dropped, c.QP1Dropped)
}

func counterRows(c *mad.PortCounters) []row {
	return []row{
		decimal("PortSelect", c.PortSelect),
		hex("CounterSelect", c.CounterSelect, 2),
		decimal("SymbolErrorCounter", c.SymbolErrorCounter),
		decimal("LinkErrorRecoveryCounter", c.LinkErrorRecoveryCounter),
		decimal("LinkDownedCounter", c.LinkDownedCounter),
		decimal("PortRcvErrors", c.PortRcvErrors),
		decimal("PortRcvRemotePhysicalErrors", c.PortRcvRemotePhysicalErrors),
		decimal("PortRcvSwitchRelayErrors", c.PortRcvSwitchRelayErrors),
		decimal("PortXmitDiscards", c.PortXmitDiscards),
		decimal("PortXmitConstraintErrors", c.PortXmitConstraintErrors),
		decimal("PortRcvConstraintErrors", c.PortRcvConstraintErrors),
		hex("CounterSelect2", c.CounterSelect2, 1),
		decimal("LocalLinkIntegrityErrors", c.LocalLinkIntegrityErrors),
		decimal("ExcessiveBufferOverrunErrors", c.ExcessiveBufferOverrunErrors),
		decimal("QP1Dropped", c.QP1Dropped),
		decimal("VL15Dropped", c.VL15Dropped),
		decimal("PortXmitData", c.PortXmitData),
		decimal("PortRcvData", c.PortRcvData),
		decimal("PortXmitPkts", c.PortXmitPkts),
		decimal("PortRcvPkts", c.PortRcvPkts),
		decimal("PortXmitWait", c.PortXmitWait),
	}
}

// extendedCounterRows leaves out counters that the agent doesn't support: unicast and multicast
// packets, errors.
func extendedCounterRows(c *mad.PortCountersExtended, byCast, errors bool) []row {
	rows := []row{
		decimal("PortSelect", c.PortSelect),
		hex("CounterSelect", c.CounterSelect, 2),
		decimal("PortXmitData", c.PortXmitData),
		decimal("PortRcvData", c.PortRcvData),
		decimal("PortXmitPkts", c.PortXmitPkts),
		decimal("PortRcvPkts", c.PortRcvPkts),
	}
	if byCast {
		rows = append(
			rows,
			decimal("PortUnicastXmitPkts", c.PortUnicastXmitPkts),
			decimal("PortUnicastRcvPkts", c.PortUnicastRcvPkts),
			decimal("PortMulticastXmitPkts", c.PortMulticastXmitPkts),
			decimal("PortMulticastRcvPkts", c.PortMulticastRcvPkts),
		)
	}
	if !errors {
		return rows
	}
	return append(
		rows,
		hex("CounterSelect2", c.CounterSelect2, 4),
		decimal("SymbolErrorCounter", c.SymbolErrorCounter),
		decimal("LinkErrorRecoveryCounter", c.LinkErrorRecoveryCounter),
		decimal("LinkDownedCounter", c.LinkDownedCounter),
		decimal("PortRcvErrors", c.PortRcvErrors),
		decimal("PortRcvRemotePhysicalErrors", c.PortRcvRemotePhysicalErrors),
		decimal("PortRcvSwitchRelayErrors", c.PortRcvSwitchRelayErrors),
		decimal("PortXmitDiscards", c.PortXmitDiscards),
		decimal("PortXmitConstraintErrors", c.PortXmitConstraintErrors),
		decimal("PortRcvConstraintErrors", c.PortRcvConstraintErrors),
		decimal("LocalLinkIntegrityErrors", c.LocalLinkIntegrityErrors),
		decimal("ExcessiveBufferOverrunErrors", c.ExcessiveBufferOverrunErrors),
		decimal("VL15Dropped", c.VL15Dropped),
		decimal("PortXmitWait", c.PortXmitWait),
		decimal("QP1Dropped", c.QP1Dropped),
	)
}
