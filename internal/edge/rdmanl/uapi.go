package rdmanl

// The numbers in this file carry the names of the kernel's user-space headers,
// so that a search finds both ends; only those in use are listed.
// TestUAPIMatchesHeaders compares them with the headers of the build machine.

// Netlink families (linux/netlink.h).
const (
	NETLINK_ROUTE = 0
	NETLINK_RDMA  = 20
)

// The nldev client of NETLINK_RDMA and its commands (rdma/rdma_netlink.h, enum
// rdma_nldev_command). A message type is the client shifted left by 10, or'ed
// with the command (RDMA_NL_GET_TYPE).
const (
	RDMA_NL_NLDEV              = 5
	RDMA_NLDEV_CMD_GET         = 1
	RDMA_NLDEV_CMD_PORT_GET    = 5
	RDMA_NLDEV_CMD_SYS_GET     = 6
	RDMA_NLDEV_CMD_GET_CHARDEV = 15
)

// Attributes of nldev (rdma/rdma_netlink.h, enum rdma_nldev_attr).
const (
	RDMA_NLDEV_ATTR_DEV_INDEX                = 1
	RDMA_NLDEV_ATTR_DEV_NAME                 = 2
	RDMA_NLDEV_ATTR_PORT_INDEX               = 3
	RDMA_NLDEV_ATTR_CAP_FLAGS                = 4
	RDMA_NLDEV_ATTR_FW_VERSION               = 5
	RDMA_NLDEV_ATTR_NODE_GUID                = 6
	RDMA_NLDEV_ATTR_SYS_IMAGE_GUID           = 7
	RDMA_NLDEV_ATTR_SUBNET_PREFIX            = 8
	RDMA_NLDEV_ATTR_LID                      = 9
	RDMA_NLDEV_ATTR_SM_LID                   = 10
	RDMA_NLDEV_ATTR_LMC                      = 11
	RDMA_NLDEV_ATTR_PORT_STATE               = 12
	RDMA_NLDEV_ATTR_PORT_PHYS_STATE          = 13
	RDMA_NLDEV_ATTR_DEV_NODE_TYPE            = 14
	RDMA_NLDEV_ATTR_NDEV_INDEX               = 50
	RDMA_NLDEV_ATTR_NDEV_NAME                = 51
	RDMA_NLDEV_SYS_ATTR_NETNS_MODE           = 66
	RDMA_NLDEV_ATTR_DEV_PROTOCOL             = 67
	RDMA_NLDEV_ATTR_CHARDEV_TYPE             = 69
	RDMA_NLDEV_ATTR_CHARDEV_NAME             = 70
	RDMA_NLDEV_ATTR_CHARDEV_ABI              = 71
	RDMA_NLDEV_ATTR_CHARDEV                  = 72
	RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID         = 73
	RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK         = 93
	RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE = 96
)

// Message types and request flags of rtnetlink (linux/rtnetlink.h).
const (
	RTM_GETLINK  = 18
	RTM_GETADDR  = 22
	RTM_GETROUTE = 26

	RTEXT_FILTER_VF         = 1
	RTEXT_FILTER_SKIP_STATS = 8

	RT_TABLE_MAIN = 254
	RTM_F_CLONED  = 0x200
)

// Attributes of links (linux/if_link.h).
const (
	IFLA_ADDRESS      = 1
	IFLA_IFNAME       = 3
	IFLA_MTU          = 4
	IFLA_LINK         = 5
	IFLA_MASTER       = 10
	IFLA_OPERSTATE    = 16
	IFLA_LINKINFO     = 18
	IFLA_NUM_VF       = 21
	IFLA_VFINFO_LIST  = 22
	IFLA_EXT_MASK     = 29
	IFLA_LINK_NETNSID = 37

	IFLA_INFO_KIND = 1 // in IFLA_LINKINFO
	IFLA_INFO_DATA = 2
	IFLA_VLAN_ID   = 1 // in IFLA_INFO_DATA of the kind vlan
)

// Attributes of virtual functions (linux/if_link.h): IFLA_VF_INFO in
// IFLA_VFINFO_LIST, the others in IFLA_VF_INFO.
const (
	IFLA_VF_INFO         = 1
	IFLA_VF_MAC          = 1
	IFLA_VF_VLAN         = 2
	IFLA_VF_TX_RATE      = 3
	IFLA_VF_SPOOFCHK     = 4
	IFLA_VF_LINK_STATE   = 5
	IFLA_VF_RATE         = 6
	IFLA_VF_TRUST        = 9
	IFLA_VF_IB_NODE_GUID = 10
	IFLA_VF_IB_PORT_GUID = 11
	IFLA_VF_VLAN_LIST    = 12
	IFLA_VF_VLAN_INFO    = 1 // in IFLA_VF_VLAN_LIST
)

// Attributes of addresses (linux/if_addr.h).
const (
	IFA_ADDRESS = 1
	IFA_LOCAL   = 2
	IFA_LABEL   = 3
	IFA_FLAGS   = 8
)

// Attributes of routes (linux/rtnetlink.h, enum rtattr_type_t).
const (
	RTA_DST       = 1
	RTA_SRC       = 2
	RTA_OIF       = 4
	RTA_GATEWAY   = 5
	RTA_PRIORITY  = 6
	RTA_PREFSRC   = 7
	RTA_MULTIPATH = 9
	RTA_TABLE     = 15
	RTA_VIA       = 18
)
