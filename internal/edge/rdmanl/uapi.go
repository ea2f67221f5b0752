package rdmanl

// The numbers in this file have the names of the kernel's user-space headers, so that
// they can be searched for; only those in use are listed.
// TestUAPIMatchesHeaders compares them with the headers of the build machine.

// Netlink families (linux/netlink.h).
const (
	NETLINK_ROUTE = 0  // links, addresses, routes
	NETLINK_RDMA  = 20 // RDMA devices
)

// The nldev client of NETLINK_RDMA and its commands (rdma/rdma_netlink.h, enum
// rdma_nldev_command). A message type is the client shifted left by 10, or'ed
// with the command (RDMA_NL_GET_TYPE).
const (
	RDMA_NL_NLDEV              = 5  // the client
	RDMA_NLDEV_CMD_GET         = 1  // devices
	RDMA_NLDEV_CMD_PORT_GET    = 5  // ports of a device
	RDMA_NLDEV_CMD_SYS_GET     = 6  // settings of the whole stack
	RDMA_NLDEV_CMD_GET_CHARDEV = 15 // a character device of a device or port
)

// Attributes of nldev (rdma/rdma_netlink.h, enum rdma_nldev_attr).
const (
	RDMA_NLDEV_ATTR_DEV_INDEX                = 1  // u32
	RDMA_NLDEV_ATTR_DEV_NAME                 = 2  // string
	RDMA_NLDEV_ATTR_PORT_INDEX               = 3  // u32; of a device: its last port
	RDMA_NLDEV_ATTR_CAP_FLAGS                = 4  // u64; of a device or a port
	RDMA_NLDEV_ATTR_FW_VERSION               = 5  // string
	RDMA_NLDEV_ATTR_NODE_GUID                = 6  // u64
	RDMA_NLDEV_ATTR_SYS_IMAGE_GUID           = 7  // u64
	RDMA_NLDEV_ATTR_SUBNET_PREFIX            = 8  // u64
	RDMA_NLDEV_ATTR_LID                      = 9  // u32
	RDMA_NLDEV_ATTR_SM_LID                   = 10 // u32
	RDMA_NLDEV_ATTR_LMC                      = 11 // u8
	RDMA_NLDEV_ATTR_PORT_STATE               = 12 // u8
	RDMA_NLDEV_ATTR_PORT_PHYS_STATE          = 13 // u8
	RDMA_NLDEV_ATTR_DEV_NODE_TYPE            = 14 // u8
	RDMA_NLDEV_ATTR_NDEV_INDEX               = 50 // u32
	RDMA_NLDEV_ATTR_NDEV_NAME                = 51 // string
	RDMA_NLDEV_SYS_ATTR_NETNS_MODE           = 66 // u8: 0 exclusive, 1 shared
	RDMA_NLDEV_ATTR_DEV_PROTOCOL             = 67 // string
	RDMA_NLDEV_ATTR_CHARDEV_TYPE             = 69 // string: uverbs, umad, …
	RDMA_NLDEV_ATTR_CHARDEV_NAME             = 70 // string
	RDMA_NLDEV_ATTR_CHARDEV_ABI              = 71 // u64
	RDMA_NLDEV_ATTR_CHARDEV                  = 72 // u64: a dev_t of the kernel
	RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID         = 73 // u32: enum rdma_driver_id
	RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK         = 93 // u8: 1 if the kernel supports it
	RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE = 96 // u8: 1 if unprivileged processes may use privileged Q_Keys
	RDMA_NLDEV_ATTR_DEV_TYPE                 = 99 // u8: enum rdma_nl_dev_type; only of sub-devices
	RDMA_NLDEV_ATTR_PARENT_NAME              = 100
)

// RDMA_DEVICE_TYPE_SMI is the type of a sub-device that has only the ports for subnet management of
// the planes of its parent (enum rdma_nl_dev_type).
const RDMA_DEVICE_TYPE_SMI = 1

// Message types and request flags of rtnetlink (linux/rtnetlink.h).
const (
	RTM_GETLINK  = 18 // network devices
	RTM_GETADDR  = 22 // IP addresses
	RTM_GETROUTE = 26 // routes
	RTM_GETNEIGH = 30 // neighbours
	RTM_GETRULE  = 34 // policy rules

	RTEXT_FILTER_VF         = 1 // in IFLA_EXT_MASK: with virtual functions
	RTEXT_FILTER_SKIP_STATS = 8 // in IFLA_EXT_MASK: without their counters

	RT_TABLE_UNSPEC = 0     // any table
	RT_TABLE_MAIN   = 254   // the table that `ip route` shows
	RTM_F_CLONED    = 0x200 // an entry of a cache, not of the table

	RTNH_F_DEAD = 1 // in the flags of a route or next hop: its device is down
)

// Attributes of links (linux/if_link.h).
const (
	IFLA_ADDRESS      = 1  // bytes
	IFLA_IFNAME       = 3  // string
	IFLA_MTU          = 4  // u32
	IFLA_LINK         = 5  // u32: index of the lower device
	IFLA_MASTER       = 10 // u32: index of the bond or bridge that it is a member of
	IFLA_OPERSTATE    = 16 // u8
	IFLA_LINKINFO     = 18 // nested
	IFLA_NUM_VF       = 21 // u32
	IFLA_VFINFO_LIST  = 22 // nested
	IFLA_EXT_MASK     = 29 // u32, of a request
	IFLA_LINK_NETNSID = 37 // s32: the namespace of the index in IFLA_LINK

	IFLA_CARRIER_UP_COUNT   = 47 // u32
	IFLA_CARRIER_DOWN_COUNT = 48 // u32
	IFLA_MAX_MTU            = 51 // u32

	IFLA_INFO_KIND = 1 // in IFLA_LINKINFO
	IFLA_INFO_DATA = 2 // in IFLA_LINKINFO, nested, by kind
	IFLA_VLAN_ID   = 1 // in IFLA_INFO_DATA of the kind vlan
)

// Attributes of virtual functions (linux/if_link.h): IFLA_VF_INFO in
// IFLA_VFINFO_LIST, the others in IFLA_VF_INFO.
const (
	IFLA_VF_INFO         = 1  // nested
	IFLA_VF_MAC          = 1  // struct ifla_vf_mac
	IFLA_VF_VLAN         = 2  // struct ifla_vf_vlan
	IFLA_VF_TX_RATE      = 3  // struct ifla_vf_tx_rate
	IFLA_VF_SPOOFCHK     = 4  // struct ifla_vf_spoofchk
	IFLA_VF_LINK_STATE   = 5  // struct ifla_vf_link_state
	IFLA_VF_RATE         = 6  // struct ifla_vf_rate
	IFLA_VF_TRUST        = 9  // struct ifla_vf_trust
	IFLA_VF_IB_NODE_GUID = 10 // struct ifla_vf_guid
	IFLA_VF_IB_PORT_GUID = 11 // struct ifla_vf_guid
	IFLA_VF_VLAN_LIST    = 12 // nested
	IFLA_VF_VLAN_INFO    = 1  // in IFLA_VF_VLAN_LIST
)

// Attributes of addresses (linux/if_addr.h).
const (
	IFA_ADDRESS = 1 // bytes; the peer's address if there is IFA_LOCAL
	IFA_LOCAL   = 2 // bytes; the local address
	IFA_LABEL   = 3 // string
	IFA_FLAGS   = 8 // u32
)

// Attributes of routes (linux/rtnetlink.h, enum rtattr_type_t).
const (
	RTA_DST       = 1  // bytes
	RTA_SRC       = 2  // bytes
	RTA_OIF       = 4  // u32: index of the device
	RTA_GATEWAY   = 5  // bytes
	RTA_PRIORITY  = 6  // u32: the metric
	RTA_PREFSRC   = 7  // bytes
	RTA_METRICS   = 8  // nested
	RTA_MULTIPATH = 9  // struct rtnexthop, several
	RTA_TABLE     = 15 // u32
	RTA_VIA       = 18 // struct rtvia: a gateway of the other family

	RTAX_MTU = 2 // u32, in RTA_METRICS
)

// Attributes of rules (linux/fib_rules.h), and their actions.
const (
	FRA_DST                = 1  // bytes
	FRA_SRC                = 2  // bytes
	FRA_IIFNAME            = 3  // string
	FRA_GOTO               = 4  // u32: a priority
	FRA_PRIORITY           = 6  // u32
	FRA_FWMARK             = 10 // u32
	FRA_TUN_ID             = 12 // be64
	FRA_SUPPRESS_IFGROUP   = 13 // u32
	FRA_SUPPRESS_PREFIXLEN = 14 // u32
	FRA_TABLE              = 15 // u32
	FRA_FWMASK             = 16 // u32
	FRA_OIFNAME            = 17 // string
	FRA_L3MDEV             = 19 // u8
	FRA_UID_RANGE          = 20 // struct fib_rule_uid_range
	FRA_IP_PROTO           = 22 // u8
	FRA_SPORT_RANGE        = 23 // struct fib_rule_port_range
	FRA_DPORT_RANGE        = 24 // struct fib_rule_port_range

	FIB_RULE_INVERT = 2 // in the flags: the rule is for packets that it doesn't match
)

// Attributes of neighbours (linux/neighbour.h).
const (
	NDA_DST    = 1 // bytes
	NDA_LLADDR = 2 // bytes
)

// Netfilter: the subsystem and messages of nf_tables (linux/netfilter/nfnetlink.h,
// linux/netfilter/nf_tables.h).
const (
	NETLINK_NETFILTER = 12

	NFNL_SUBSYS_NFTABLES = 10
	NFT_MSG_GETCHAIN     = 4
	NFT_MSG_GETRULE      = 7
	NFT_MSG_GETSET       = 10
	NFT_MSG_GETSETELEM   = 13

	NFPROTO_INET   = 1
	NFPROTO_IPV4   = 2
	NFPROTO_NETDEV = 5
	NFPROTO_IPV6   = 10
)

// Attributes of chains, rules, expressions and sets of nf_tables; their numbers are big-endian.
const (
	NFTA_CHAIN_TABLE            = 1
	NFTA_CHAIN_NAME             = 3
	NFTA_CHAIN_HOOK             = 4
	NFTA_CHAIN_POLICY           = 5
	NFTA_CHAIN_TYPE             = 7
	NFTA_HOOK_HOOKNUM           = 1
	NFTA_HOOK_PRIORITY          = 2
	NFTA_HOOK_DEV               = 3
	NFTA_HOOK_DEVS              = 4
	NFTA_DEVICE_NAME            = 1
	NFTA_RULE_TABLE             = 1
	NFTA_RULE_CHAIN             = 2
	NFTA_RULE_EXPRESSIONS       = 4
	NFTA_LIST_ELEM              = 1
	NFTA_EXPR_NAME              = 1
	NFTA_EXPR_DATA              = 2
	NFTA_DATA_VALUE             = 1
	NFTA_DATA_VERDICT           = 2
	NFTA_VERDICT_CODE           = 1
	NFTA_VERDICT_CHAIN          = 2
	NFTA_IMMEDIATE_DREG         = 1
	NFTA_IMMEDIATE_DATA         = 2
	NFTA_META_DREG              = 1
	NFTA_META_KEY               = 2
	NFTA_META_SREG              = 3
	NFTA_PAYLOAD_DREG           = 1
	NFTA_PAYLOAD_BASE           = 2
	NFTA_PAYLOAD_OFFSET         = 3
	NFTA_PAYLOAD_LEN            = 4
	NFTA_CMP_SREG               = 1
	NFTA_CMP_OP                 = 2
	NFTA_CMP_DATA               = 3
	NFTA_BITWISE_SREG           = 1
	NFTA_BITWISE_DREG           = 2
	NFTA_BITWISE_MASK           = 4
	NFTA_BITWISE_XOR            = 5
	NFTA_RANGE_SREG             = 1
	NFTA_RANGE_OP               = 2
	NFTA_RANGE_FROM_DATA        = 3
	NFTA_RANGE_TO_DATA          = 4
	NFTA_LOOKUP_SET             = 1
	NFTA_LOOKUP_SREG            = 2
	NFTA_LOOKUP_DREG            = 3
	NFTA_LOOKUP_FLAGS           = 5
	NFT_LOOKUP_F_INV            = 1
	NFTA_CT_DREG                = 1
	NFTA_CT_KEY                 = 2
	NFTA_CT_SREG                = 4
	NFTA_NAT_TYPE               = 1
	NFT_NAT_SNAT                = 0
	NFTA_MATCH_NAME             = 1
	NFTA_MATCH_INFO             = 3
	NFTA_TARGET_NAME            = 1
	NFTA_SET_TABLE              = 1
	NFTA_SET_NAME               = 2
	NFTA_SET_FLAGS              = 3
	NFTA_SET_DATA_TYPE          = 6
	NFT_DATA_VERDICT            = 0xffffff00
	NFTA_SET_KEY_LEN            = 5
	NFT_SET_INTERVAL            = 4
	NFT_SET_MAP                 = 8
	NFT_SET_CONCAT              = 0x80
	NFTA_SET_ELEM_KEY           = 1
	NFTA_SET_ELEM_DATA          = 2
	NFTA_SET_ELEM_FLAGS         = 3
	NFTA_SET_ELEM_KEY_END       = 10
	NFT_SET_ELEM_INTERVAL_END   = 1
	NFTA_SET_ELEM_LIST_TABLE    = 1
	NFTA_SET_ELEM_LIST_SET      = 2
	NFTA_SET_ELEM_LIST_ELEMENTS = 3

	NFT_META_PROTOCOL = 1
	NFT_META_MARK     = 3
	NFT_META_IIF      = 4
	NFT_META_OIF      = 5
	NFT_META_PKTTYPE  = 19
	NFT_META_IIFNAME  = 6
	NFT_META_OIFNAME  = 7
	NFT_META_NFPROTO  = 15
	NFT_META_L4PROTO  = 16

	NFT_PAYLOAD_NETWORK_HEADER   = 1
	NFT_PAYLOAD_TRANSPORT_HEADER = 2

	NFT_CT_STATE = 0
	NFT_CT_MARK  = 3
)
