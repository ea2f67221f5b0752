package mad

import "fmt"

// Name returns the specification's name of an attribute in a class, such as "PortInfo", or
// "attribute 0x0011" if this package doesn't have a name for it.
func (a Attribute) Name(class Class) string {
	if name, ok := attributeNames(class)[a]; ok {
		return name
	}
	return fmt.Sprintf("attribute 0x%04x", uint16(a))
}

// attributeNames returns the attributes of a class. The same number means different things in
// different classes.
func attributeNames(class Class) map[Attribute]string {
	switch class {
	case ClassSubnet, ClassSubnetDirected:
		return map[Attribute]string{
			AttributeNotice:           "Notice",
			AttributeNodeDescription:  "NodeDescription",
			AttributeNodeInfo:         "NodeInfo",
			AttributeSwitchInfo:       "SwitchInfo",
			AttributeGUIDInfo:         "GUIDInfo",
			AttributePortInfo:         "PortInfo",
			AttributePKeyTable:        "P_KeyTable",
			AttributeSLToVLMapping:    "SLtoVLMappingTable",
			AttributeVLArbitration:    "VLArbitrationTable",
			AttributeLFT:              "LinearForwardingTable",
			AttributeMFT:              "MulticastForwardingTable",
			AttributeSMInfo:           "SMInfo",
			AttributeExtendedPortInfo: "MlnxExtPortInfo",
		}
	case ClassPerformance:
		return map[Attribute]string{
			AttributeClassPortInfo:        "ClassPortInfo",
			AttributePortCounters:         "PortCounters",
			AttributePortCountersExtended: "PortCountersExtended",
		}
	case ClassSA:
		return map[Attribute]string{
			AttributeClassPortInfo:                  "ClassPortInfo",
			AttributeNodeRecord:                     "NodeRecord",
			AttributePortInfoRecord:                 "PortInfoRecord",
			AttributeSLtoVLMappingTableRecord:       "SLtoVLMappingTableRecord",
			AttributeSwitchInfoRecord:               "SwitchInfoRecord",
			AttributeLinearForwardingTableRecord:    "LinearForwardingTableRecord",
			AttributeMulticastForwardingTableRecord: "MulticastForwardingTableRecord",
			AttributeSMInfoRecord:                   "SMInfoRecord",
			AttributeLinkRecord:                     "LinkRecord",
			AttributeGUIDInfoRecord:                 "GUIDInfoRecord",
			AttributeServiceRecord:                  "ServiceRecord",
			AttributePKeyTableRecord:                "P_KeyTableRecord",
			AttributePathRecord:                     "PathRecord",
			AttributeVLArbitrationTableRecord:       "VLArbitrationTableRecord",
			AttributeMCMemberRecord:                 "MCMemberRecord",
			AttributeInformInfoRecord:               "InformInfoRecord",
		}
	}
	return nil
}
