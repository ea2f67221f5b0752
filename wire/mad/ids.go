package mad

import "fmt"

// Class is a management class, which selects the agent at the destination
// (specification section 13.4.4).
type Class uint8

// The classes that this package supports.
const (
	ClassSubnet         Class = 0x01 // subnet management, routed by LID
	ClassSA             Class = 0x03 // subnet administration
	ClassPerformance    Class = 0x04
	ClassCM             Class = 0x07 // communication management
	ClassPing           Class = 0x32 // vendor class of ibping, with the OUI OUIPing
	ClassSubnetDirected Class = 0x81 // subnet management by directed route
)

// Method is the operation of a MAD (specification section 13.4.5).
type Method uint8

// Methods. MethodResponse is the bit of responses.
const (
	MethodGet Method = 0x01 // read an attribute
	// Write an attribute; the response has the new one.
	MethodSet  Method = 0x02
	MethodSend Method = 0x03 // a datagram without response
	MethodTrap Method = 0x05 // an agent reports an event
	// The SA forwards an event to a subscriber.
	MethodReport Method = 0x06
	// Response to a trap: stop repeating it.
	MethodTrapRepress  Method = 0x07
	MethodGetTable     Method = 0x12                            // SA
	MethodDelete       Method = 0x15                            // SA
	MethodResponse     Method = 0x80                            // the bit of responses
	MethodGetResp             = MethodGet | MethodResponse      // response to Get and Set
	MethodGetTableResp        = MethodGetTable | MethodResponse // response to GetTable, over RMPP
)

// IsResponse reports whether the MAD is a response; TrapRepress is one too.
func (m Method) IsResponse() bool { return m&MethodResponse != 0 || m == MethodTrapRepress }

// Attribute is an attribute ID. The same number means different things in
// different classes.
type Attribute uint16

// Attributes of subnet management (specification section 14.2.5).
const (
	AttributeNotice           Attribute = 0x0002
	AttributeNodeDescription  Attribute = 0x0010
	AttributeNodeInfo         Attribute = 0x0011
	AttributeSwitchInfo       Attribute = 0x0012
	AttributeGUIDInfo         Attribute = 0x0014 // modifier: block of 8 GUIDs
	AttributePortInfo         Attribute = 0x0015 // modifier: port number
	AttributePKeyTable        Attribute = 0x0016 // modifier: block of 32 keys, of a switch | port<<16
	AttributeSLToVLMapping    Attribute = 0x0017
	AttributeVLArbitration    Attribute = 0x0018
	AttributeLFT              Attribute = 0x0019 // modifier: block of 64 LIDs
	AttributeMFT              Attribute = 0x001b // modifier: see MFTModifier
	AttributeSMInfo           Attribute = 0x0020
	AttributeExtendedPortInfo Attribute = 0xff90 // Mellanox; modifier: port number
)

// Attributes of performance management (sections 16.1.3 and 16.1.4).
const (
	AttributeClassPortInfo        Attribute = 0x0001 // of the SA and others too
	AttributePortCounters         Attribute = 0x0012
	AttributePortCountersExtended Attribute = 0x001d
)

// Attributes of subnet administration (section 15.2.5).
const (
	AttributeNodeRecord                     Attribute = 0x0011
	AttributePortInfoRecord                 Attribute = 0x0012
	AttributeSLtoVLMappingTableRecord       Attribute = 0x0013
	AttributeSwitchInfoRecord               Attribute = 0x0014
	AttributeLinearForwardingTableRecord    Attribute = 0x0015
	AttributeMulticastForwardingTableRecord Attribute = 0x0017
	AttributeSMInfoRecord                   Attribute = 0x0018
	AttributeLinkRecord                     Attribute = 0x0020
	AttributeGUIDInfoRecord                 Attribute = 0x0030
	AttributeServiceRecord                  Attribute = 0x0031
	AttributePKeyTableRecord                Attribute = 0x0033
	AttributePathRecord                     Attribute = 0x0035
	AttributeVLArbitrationTableRecord       Attribute = 0x0036
	AttributeMCMemberRecord                 Attribute = 0x0038
	AttributeInformInfoRecord               Attribute = 0x00f3
)

// Status is the status of a response (specification section 13.4.7): two flags, a code
// of three bits, and in the high byte a class-specific status.
type Status uint16

// Statuses. A status has at most one of the codes; the flags may be combined with any code.
const (
	StatusBusy                       Status = 0x0001 // flag: discarded, retry later
	StatusRedirect                   Status = 0x0002 // flag: see ClassPortInfo's Redirect fields
	StatusUnsupportedVersion         Status = 0x0004
	StatusUnsupportedMethod          Status = 0x0008
	StatusUnsupportedMethodAttribute Status = 0x000c
	StatusInvalidField               Status = 0x001c

	StatusSANoResources           Status = 0x0100
	StatusSARequestInvalid        Status = 0x0200
	StatusSANoRecords             Status = 0x0300
	StatusSATooManyRecords        Status = 0x0400
	StatusSAInvalidGID            Status = 0x0500
	StatusSAInsufficientComponent Status = 0x0600
	StatusSARequestDenied         Status = 0x0700
	StatusSAPrioritySuggested     Status = 0x0800
)

const statusCodeMask Status = 0x001c

// Code returns the code without flags and class bits: 0 or one of the constants
// from [StatusUnsupportedVersion] to [StatusInvalidField].
func (s Status) Code() Status { return s & statusCodeMask }

// ClassSpecific returns the high byte, not shifted: in a response of the SA one of the
// StatusSA constants.
func (s Status) ClassSpecific() Status { return s & 0xff00 }

// String returns the number and a description of the class-independent part.
func (s Status) String() string {
	text := ""
	switch s.Code() {
	case 0:
	case StatusUnsupportedVersion:
		text = ", class or version not supported"
	case StatusUnsupportedMethod:
		text = ", method not supported"
	case StatusUnsupportedMethodAttribute:
		text = ", method not supported for this attribute"
	case StatusInvalidField:
		text = ", invalid value in attribute or modifier"
	default:
		text = ", reserved code"
	}
	if s&StatusBusy != 0 {
		text += ", busy"
	}
	if s&StatusRedirect != 0 {
		text += ", redirected"
	}
	return fmt.Sprintf("status 0x%04x%s", uint16(s), text)
}
