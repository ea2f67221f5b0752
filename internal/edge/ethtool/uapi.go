package ethtool

// The numbers in this file have the names of linux/ethtool_netlink.h and linux/ethtool.h, so that
// they can be searched for; only those in use are listed. TestUAPIMatchesHeaders compares them with
// the headers of the build machine.
const (
	ETHTOOL_GENL_VERSION          = 1
	ETHTOOL_MSG_LINKMODES_GET     = 4
	ETHTOOL_MSG_FEC_GET           = 29
	ETHTOOL_MSG_MODULE_EEPROM_GET = 31

	ETHTOOL_A_HEADER_DEV_NAME    = 2 // string
	ETHTOOL_A_HEADER_FLAGS       = 3 // u32
	ETHTOOL_FLAG_COMPACT_BITSETS = 1

	ETHTOOL_A_LINKMODES_HEADER = 1 // nested
	ETHTOOL_A_LINKMODES_LANES  = 9 // u32

	ETHTOOL_A_BITSET_VALUE = 4 // u32 words, of a compact bitset

	ETHTOOL_A_FEC_HEADER = 1 // nested
	ETHTOOL_A_FEC_MODES  = 2 // bitset of link modes
	ETHTOOL_A_FEC_AUTO   = 3 // u8
	ETHTOOL_A_FEC_ACTIVE = 4 // u32: a link mode

	ETHTOOL_LINK_MODE_FEC_NONE_BIT  = 49
	ETHTOOL_LINK_MODE_FEC_RS_BIT    = 50
	ETHTOOL_LINK_MODE_FEC_BASER_BIT = 51
	ETHTOOL_LINK_MODE_FEC_LLRS_BIT  = 74

	ETHTOOL_A_MODULE_EEPROM_HEADER      = 1 // nested
	ETHTOOL_A_MODULE_EEPROM_OFFSET      = 2 // u32
	ETHTOOL_A_MODULE_EEPROM_LENGTH      = 3 // u32
	ETHTOOL_A_MODULE_EEPROM_PAGE        = 4 // u8
	ETHTOOL_A_MODULE_EEPROM_BANK        = 5 // u8
	ETHTOOL_A_MODULE_EEPROM_I2C_ADDRESS = 6 // u8
	ETHTOOL_A_MODULE_EEPROM_DATA        = 7 // bytes
)
