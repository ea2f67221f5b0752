package codes

// events is indexed by number. Numbers and names: rdma-core, libibverbs/verbs.h; texts:
// libibverbs/enum_strs.c; meanings: ibv_get_async_event(3) and InfiniBand Architecture
// Specification volume 1, section 11.6.3.
var events = [...]Event{
	{
		Number: 0, Name: "IBV_EVENT_CQ_ERR", Text: "CQ error", Of: "CQ", Harm: HarmFatal,
		Meaning: "A completion queue has overflowed or could not be written.",
		Causes:  []string{"the program polls too rarely, or the queue is too short"},
	},
	{
		Number: 1, Name: "IBV_EVENT_QP_FATAL", Text: "local work queue catastrophic error", Of: "QP", Harm: HarmFatal,
		Meaning: "The card could not work on a queue pair and could not report it by a completion.",
		Causes: []string{
			"an overflow of the completion queue", "a defect of firmware or driver",
			"a card that is failing",
		},
	},
	{
		Number: 2, Name: "IBV_EVENT_QP_REQ_ERR", Text: "invalid request local work queue error", Of: "QP",
		Harm:    HarmFatal,
		Meaning: "As responder, the card refused a request of the peer as invalid; the peer gets status 9.",
		Causes: []string{
			"the peers use different path MTUs", "an operation that the queue pair doesn't allow, or too many reads",
		},
	},
	{
		Number: 3, Name: "IBV_EVENT_QP_ACCESS_ERR", Text: "local access violation work queue error", Of: "QP",
		Harm:    HarmFatal,
		Meaning: "As responder, the card refused an access of the peer to local memory; the peer gets status 10 or 9.",
		Causes: []string{
			"the peers use different path MTUs", "the peer accessed memory that was freed, or outside of its region",
		},
	},
	{
		Number: 4, Name: "IBV_EVENT_COMM_EST", Text: "communication established", Of: "QP", Harm: HarmNone,
		Meaning: "The first packet came while the queue pair was not yet ready to send.",
	},
	{
		Number: 5, Name: "IBV_EVENT_SQ_DRAINED", Text: "send queue drained", Of: "QP", Harm: HarmNone,
		Meaning: "The send queue has finished what was outstanding, as requested.",
	},
	{
		Number: 6, Name: "IBV_EVENT_PATH_MIG", Text: "path migrated", Of: "QP", Harm: HarmWarning,
		Meaning: "The connection has moved to its alternate path.",
		Causes:  []string{"the primary path failed"},
	},
	{
		Number: 7, Name: "IBV_EVENT_PATH_MIG_ERR", Text: "path migration request error", Of: "QP", Harm: HarmWarning,
		Meaning: "A request of the peer to move to the alternate path was refused.",
	},
	{
		Number: 8, Name: "IBV_EVENT_DEVICE_FATAL", Text: "local catastrophic error", Of: "device", Harm: HarmFatal,
		Meaning: "The card has stopped; all its connections are lost.",
		Causes:  []string{"firmware, driver, a reset, or the card was removed: look in the kernel's log"},
	},
	{
		Number: 9, Name: "IBV_EVENT_PORT_ACTIVE", Text: "port active", Of: "port", Harm: HarmNone,
		Meaning: "The link has come up. Before that it was down.",
	},
	{
		Number: 10, Name: "IBV_EVENT_PORT_ERR", Text: "port error", Of: "port", Harm: HarmWarning,
		Meaning: "The link has gone down. Connections survive if it comes back before their retries are used up.",
		Causes: []string{
			"cable, module or switch port", "a reboot of the switch, or an administrator's change",
			"the other port of a card with several: compare the number",
		},
	},
	{
		Number: 11, Name: "IBV_EVENT_LID_CHANGE", Text: "LID change", Of: "port", Harm: HarmWarning,
		Meaning: "The subnet manager has given the port another LID; connections that use the old one fail.",
		Causes:  []string{"a new or second subnet manager"},
	},
	{
		Number: 12, Name: "IBV_EVENT_PKEY_CHANGE", Text: "P_Key change", Of: "port", Harm: HarmWarning,
		Meaning: "The table of partitions has changed.",
		Causes:  []string{"the subnet manager's configuration of partitions was changed"},
	},
	{
		Number: 13, Name: "IBV_EVENT_SM_CHANGE", Text: "SM change", Of: "port", Harm: HarmNone,
		Meaning: "Another subnet manager has taken over.",
	},
	{
		Number: 14, Name: "IBV_EVENT_SRQ_ERR", Text: "SRQ catastrophic error", Of: "SRQ", Harm: HarmFatal,
		Meaning: "A shared receive queue has failed.",
	},
	{
		Number: 15, Name: "IBV_EVENT_SRQ_LIMIT_REACHED", Text: "SRQ limit reached", Of: "SRQ", Harm: HarmNone,
		Meaning: "A shared receive queue has fewer requests than the limit that the program has set.",
	},
	{
		Number: 16, Name: "IBV_EVENT_QP_LAST_WQE_REACHED", Text: "last WQE reached", Of: "QP", Harm: HarmNone,
		Meaning: "A queue pair in the error state takes no more from its shared receive queue.",
		Causes:  []string{"an earlier error, or the program is taking the queue pair down"},
	},
	{
		Number: 17, Name: "IBV_EVENT_CLIENT_REREGISTER", Text: "client reregistration", Of: "port", Harm: HarmNone,
		Meaning: "The subnet manager asks to register multicast groups and services again.",
		Causes:  []string{"the subnet manager was restarted or replaced"},
	},
	{
		Number: 18, Name: "IBV_EVENT_GID_CHANGE", Text: "GID table change", Of: "port", Harm: HarmWarning,
		Meaning: "GIDs were added or removed: an index may now mean another address or none.",
		Causes:  []string{"an address of the interface was added or removed, or its link went down and up"},
	},
	{
		Number: 19, Name: "IBV_EVENT_WQ_FATAL", Text: "WQ fatal", Of: "WQ", Harm: HarmFatal,
		Meaning: "A work queue (of a raw Ethernet program) has failed.",
	},
	{
		Number: 20, Name: "IBV_EVENT_DEVICE_SPEED_CHANGE", Text: "Device link speed change", Of: "device",
		Harm:    HarmWarning,
		Meaning: "The speed of the link has changed (rdma-core 62 and later have a name for this).",
		Causes: []string{
			"the link was trained again with fewer lanes or at another rate",
			"a member of a bond went down",
		},
	},
}

// eventWords are other texts for an event, in the form of [words].
var eventWords = []struct {
	text   string
	number int
}{
	// NCCL
	{"gid table changed", 18},
	{"unknown event type 18", 18},
	{"unknown event type 19", 19},
	{"unknown event type 20", 20},
	{"speed change detected", 20},
	// Linux, ib_event_msg in drivers/infiniband/core/verbs.c
	{"device fatal error", 8},
	{"path migration error", 7},
	{"client reregister", 17},
	{"gid changed", 18},
}
