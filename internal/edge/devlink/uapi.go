package devlink

// The numbers in this file have the names of linux/devlink.h, so that they can be searched for;
// only those in use are listed. TestUAPIMatchesHeaders compares them with the headers of the build
// machine.

// Commands (enum devlink_command).
const (
	DEVLINK_GENL_VERSION = 1

	DEVLINK_CMD_ESWITCH_GET         = 29 // mode of the switch of a device
	DEVLINK_CMD_PARAM_GET           = 38 // parameters of a device
	DEVLINK_CMD_HEALTH_REPORTER_GET = 52 // health reporters of a device and its ports
)

// Attributes (enum devlink_attr).
const (
	DEVLINK_ATTR_BUS_NAME   = 1 // string
	DEVLINK_ATTR_DEV_NAME   = 2 // string
	DEVLINK_ATTR_PORT_INDEX = 3 // u32

	DEVLINK_ATTR_ESWITCH_MODE = 25 // u16

	DEVLINK_ATTR_PARAM             = 80 // nested
	DEVLINK_ATTR_PARAM_NAME        = 81 // string
	DEVLINK_ATTR_PARAM_TYPE        = 83 // u8: a netlink type (NLA_U8, …)
	DEVLINK_ATTR_PARAM_VALUES_LIST = 84 // nested
	DEVLINK_ATTR_PARAM_VALUE       = 85 // nested, several
	DEVLINK_ATTR_PARAM_VALUE_DATA  = 86 // by type; of a flag: present or not
	DEVLINK_ATTR_PARAM_VALUE_CMODE = 87 // u8

	DEVLINK_ATTR_HEALTH_REPORTER               = 114 // nested
	DEVLINK_ATTR_HEALTH_REPORTER_NAME          = 115 // string
	DEVLINK_ATTR_HEALTH_REPORTER_STATE         = 116 // u8: 0 healthy, 1 error
	DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT     = 117 // u64
	DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT = 118 // u64
)

// Modes of a switch (enum devlink_eswitch_mode).
const (
	DEVLINK_ESWITCH_MODE_LEGACY    = 0
	DEVLINK_ESWITCH_MODE_SWITCHDEV = 1
)

// Configuration modes of a parameter's value (enum devlink_param_cmode).
const (
	DEVLINK_PARAM_CMODE_RUNTIME    = 0 // in force now
	DEVLINK_PARAM_CMODE_DRIVERINIT = 1 // from the next start of the driver on
	DEVLINK_PARAM_CMODE_PERMANENT  = 2 // stored in the device
)
