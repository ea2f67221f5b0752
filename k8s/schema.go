package k8s

// FieldType is the type of a field in a [Schema].
type FieldType string

// The types. A map may have any keys. The content of an any is not checked.
const (
	TypeObject FieldType = "object"
	TypeList   FieldType = "array"
	TypeMap    FieldType = "map"
	TypeString FieldType = "string"
	TypeInt    FieldType = "integer"
	TypeBool   FieldType = "boolean"
	// TypeIntOrString accepts 1 and "25%".
	TypeIntOrString FieldType = "int-or-string"
	TypeAny         FieldType = "any"
)

// Field is the schema of a field in a CRD. Name is "" for the entries of a list or map.
type Field struct {
	Name     string    // in JSON
	Type     FieldType // of the value
	Required bool      // the API server rejects an object without it
	Enum     []string  // the allowed strings, nil for any
	// Min and Max are the limits of integers, nil for none.
	Min, Max *int
	// Fields are all allowed fields of an object.
	Fields []Field
	// Items is the schema of the entries of a list or a map.
	Items *Field
}

// Find returns the field of an object with a name, nil if it has none.
func (f *Field) Find(name string) *Field {
	if f == nil {
		return nil
	}
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// Schema returns the schema of spec for a kind of the SR-IOV operator or a
// [NetworkAttachmentDefinition], nil for other kinds (sriov-network-operator, config/crd/bases;
// network-plumbing-wg, NetworkAttachmentDefinition).
func Schema(kind string) *Field {
	var fields []Field
	switch kind {
	case KindPolicy:
		fields = policyFields()
	case KindIBNetwork:
		fields = networkFields()
	case KindNetwork:
		fields = append(networkFields(), ethernetFields()...)
	case KindPoolConfig:
		fields = poolFields()
	case KindOperatorConfig:
		fields = operatorConfigFields()
	case KindNAD:
		fields = []Field{str("config")}
	default:
		return nil
	}
	return &Field{Name: "spec", Type: TypeObject, Fields: fields}
}

// SchemaKinds returns the kinds that have a [Schema].
func SchemaKinds() []string {
	return []string{KindPolicy, KindNetwork, KindIBNetwork, KindPoolConfig, KindOperatorConfig, KindNAD}
}

func str(name string, enum ...string) Field { return Field{Name: name, Type: TypeString, Enum: enum} }
func boolean(name string) Field             { return Field{Name: name, Type: TypeBool} }
func anything(name string) Field            { return Field{Name: name, Type: TypeAny} }
func list(name string) Field {
	return Field{Name: name, Type: TypeList, Items: &Field{Type: TypeString}}
}

func labels(name string) Field {
	return Field{Name: name, Type: TypeMap, Items: &Field{Type: TypeString}}
}

func integer(name string, lowest int) Field { return Field{Name: name, Type: TypeInt, Min: &lowest} }

// bounded returns an integer field from 0 to highest.
func bounded(name string, highest int) Field {
	return Field{Name: name, Type: TypeInt, Min: new(0), Max: &highest}
}

func required(f Field) Field { f.Required = true; return f }

func policyFields() []Field {
	return []Field{
		required(str("resourceName")),
		required(labels("nodeSelector")),
		bounded("priority", 99),
		integer("mtu", 1),
		required(integer("numVfs", 0)),
		{Name: "nicSelector", Type: TypeObject, Required: true, Fields: []Field{
			str("vendor"), str("deviceID"), list("rootDevices"), list("pfNames"), str("netFilter"),
		}},
		str("deviceType", "netdevice", "vfio-pci"),
		boolean("isRdma"),
		str("linkType", "eth", "ETH", "ib", "IB"),
		str("eSwitchMode", "legacy", "switchdev"),
		str("vdpaType", "virtio", "vhost"),
		boolean("needVhostNet"), boolean("excludeTopology"), boolean("externallyManaged"),
		{Name: "bridge", Type: TypeObject, Fields: []Field{anything("ovs")}},
	}
}

// networkFields returns the fields that both kinds of networks have.
func networkFields() []Field {
	return []Field{
		required(str("resourceName")), str("networkNamespace"), str("ipam"),
		str("linkState", "auto", "enable", "disable"), str("capabilities"), str("metaPlugins"),
	}
}

func ethernetFields() []Field {
	return []Field{
		bounded("vlan", 4094), bounded("vlanQoS", 7), str("vlanProto", "802.1q", "802.1Q", "802.1ad", "802.1AD"),
		str("spoofChk", "on", "off"), str("trust", "on", "off"), integer("minTxRate", 0), integer("maxTxRate", 0),
		str("logLevel", "panic", "error", "warning", "info", "debug", ""), str("logFile"),
	}
}

func poolFields() []Field {
	return []Field{
		{Name: "nodeSelector", Type: TypeObject, Fields: []Field{
			labels("matchLabels"),
			{Name: "matchExpressions", Type: TypeList, Items: &Field{Type: TypeObject, Fields: []Field{
				required(str("key")), required(str("operator")), list("values"),
			}}},
		}},
		{Name: "maxUnavailable", Type: TypeIntOrString},
		str("rdmaMode", "shared", "exclusive"),
		anything("ovsHardwareOffloadConfig"),
	}
}

func operatorConfigFields() []Field {
	return []Field{
		labels("configDaemonNodeSelector"), labels("configDaemonEnvVars"),
		boolean("enableInjector"), boolean("enableOperatorWebhook"), boolean("enableOvsOffload"),
		bounded("logLevel", 2),
		boolean("disableDrain"), str("configurationMode", "daemon", "systemd"), boolean("useCDI"),
		list("disablePlugins"),
		{Name: "featureGates", Type: TypeMap, Items: &Field{Type: TypeBool}},
	}
}
