package dcbnl

// The numbers in this file have the names of the kernel's user-space headers (linux/rtnetlink.h,
// linux/dcbnl.h). TestUAPIMatchesHeaders compares them with the headers of the build machine.

// Message types of rtnetlink.
const (
	RTM_GETDCB = 78
	RTM_SETDCB = 79
)

// Commands in struct dcbmsg (enum dcbnl_commands).
const (
	DCB_CMD_IEEE_SET = 20
	DCB_CMD_IEEE_GET = 21
	DCB_CMD_GDCBX    = 22 // the mode of DCBX
)

// Attributes of a message (enum dcbnl_attrs).
const (
	DCB_ATTR_IFNAME = 1  // string
	DCB_ATTR_IEEE   = 13 // nested
	DCB_ATTR_DCBX   = 14 // u8
)

// Attributes in DCB_ATTR_IEEE (enum ieee_attrs).
const (
	DCB_ATTR_IEEE_ETS       = 1  // struct ieee_ets
	DCB_ATTR_IEEE_PFC       = 2  // struct ieee_pfc
	DCB_ATTR_IEEE_APP_TABLE = 3  // nested
	DCB_ATTR_IEEE_PEER_ETS  = 4  // struct ieee_ets
	DCB_ATTR_IEEE_PEER_PFC  = 5  // struct ieee_pfc
	DCB_ATTR_IEEE_PEER_APP  = 6  // nested
	DCB_ATTR_DCB_BUFFER     = 10 // struct dcbnl_buffer
)

// DCB_ATTR_IEEE_APP is an entry of a table of protocols: struct dcb_app (enum ieee_attrs_app).
const DCB_ATTR_IEEE_APP = 1

// Selectors of struct dcb_app.
const (
	IEEE_8021QAZ_APP_SEL_ETHERTYPE = 1
	IEEE_8021QAZ_APP_SEL_DSCP      = 5
)

// Bits of the DCBX mode.
const (
	DCB_CAP_DCBX_HOST        = 0x01 // a daemon of the host is in charge
	DCB_CAP_DCBX_LLD_MANAGED = 0x02 // firmware or driver are
	DCB_CAP_DCBX_VER_CEE     = 0x04
	DCB_CAP_DCBX_VER_IEEE    = 0x08
	DCB_CAP_DCBX_STATIC      = 0x10
)
