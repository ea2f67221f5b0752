package k8s

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantity(t *testing.T) {
	tests := []struct {
		in   Quantity
		want float64
		ok   bool
	}{
		{"2", 2, true},
		{"64Gi", 64 << 30, true},
		{"500m", 0.5, true},
		{"1e3", 1000, true},
		{"1k", 1000, true},
		{"", 0, false},
		{"Gi", 0, false},
		{"-1", 0, false},
		{"NaN", 0, false},
	}
	for _, tt := range tests {
		if got, ok := tt.in.Value(); got != tt.want || ok != tt.ok {
			t.Errorf("Value(%q) = %g, %t, want %g, %t", tt.in, got, ok, tt.want, tt.ok)
		}
	}
	if got := Quantity("1e300").Count(); got != 0 {
		t.Errorf("Count(1e300) = %d, want 0", got)
	}
}

func TestIntOrString(t *testing.T) {
	for in, want := range map[string]string{`2`: `2`, `"25%"`: `"25%"`, `"2"`: `2`} {
		var v IntOrString
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(v)
		if err != nil || string(got) != want {
			t.Errorf("%s marshals to %s, %v, want %s", in, got, err, want)
		}
	}
}

// TestSchemaFitsTypes compares schemas with types: equal names, and matching kinds of values.
func TestSchemaFitsTypes(t *testing.T) {
	for kind, spec := range map[string]any{
		KindPolicy: PolicySpec{}, KindNetwork: NetworkSpec{}, KindIBNetwork: IBNetworkSpec{},
		KindPoolConfig:     PoolSpec{},
		KindOperatorConfig: OperatorConfigSpec{}, KindNAD: NADSpec{},
	} {
		fits(t, kind, reflect.TypeOf(spec), Schema(kind))
	}
	for kind, spec := range map[string]any{
		KindMacvlanNetwork: MacvlanNetworkSpec{}, KindHostDeviceNetwork: HostDeviceNetworkSpec{},
		KindIPoIBNetwork: IPoIBNetworkSpec{},
	} {
		fits(t, kind, reflect.TypeOf(spec), NVIDIASchema(NVIDIAVersion, kind))
	}
	for kind, spec := range map[string]any{KindIPPool: IPPoolSpec{}, KindCIDRPool: CIDRPoolSpec{}} {
		fits(t, kind, reflect.TypeOf(spec), NVIDIASchema(NVIPAMVersion, kind))
	}
	if len(SchemaKinds()) != 6 || Schema(KindPod) != nil {
		t.Error("the kinds with a schema have changed: this test doesn't know them")
	}
}

func fits(t *testing.T, where string, typ reflect.Type, schema *Field) {
	t.Helper()
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := map[FieldType]reflect.Kind{
		TypeObject: reflect.Struct, TypeList: reflect.Slice, TypeMap: reflect.Map, TypeString: reflect.String,
		TypeInt: reflect.Int, TypeBool: reflect.Bool, TypeIntOrString: reflect.String, TypeAny: reflect.Map,
	}[schema.Type]
	if typ.Kind() != want {
		t.Errorf("%s is %s, and the schema says %s", where, typ, schema.Type)
		return
	}
	if schema.Type == TypeList && schema.Items != nil {
		fits(t, where+"[]", typ.Elem(), schema.Items)
	}
	if schema.Type != TypeObject {
		return
	}
	var names, known []string
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			continue
		}
		names = append(names, name)
		if child := schema.Find(name); child != nil {
			fits(t, where+"."+name, f.Type, child)
		}
	}
	for _, f := range schema.Fields {
		known = append(known, f.Name)
	}
	if diff := cmp.Diff(known, names, asSet()); diff != "" {
		t.Errorf("fields of %s differ (-schema +type):\n%s", where, diff)
	}
}

// asSet makes the order of names irrelevant.
func asSet() cmp.Option {
	return cmp.Transformer("set", func(in []string) map[string]bool {
		out := map[string]bool{}
		for _, s := range in {
			out[s] = true
		}
		return out
	})
}

func TestNICs(t *testing.T) {
	if nic, ok := NICByPF("1021"); !ok || nic.VF != "101e" || nic.Name != "ConnectX-7" {
		t.Errorf("NICByPF(1021) = %+v, %t, want ConnectX-7 with VFs 101e", nic, ok)
	}
	if got := NICsByVF("101c"); len(got) != 1 || got[0].PF != "101b" {
		t.Errorf("NICsByVF(101c) = %+v, want ConnectX-6 alone", got)
	}
	if _, ok := NICByPF("101e"); ok {
		t.Error("NICByPF(101e) finds a card, and that is the ID of VFs")
	}
}

func TestEffectivePriority(t *testing.T) {
	for _, tt := range []struct {
		written *int
		webhook bool
		want    int
	}{
		{new(5), false, 5},
		{new(5), true, 5},
		{new(0), true, 0},
		{nil, false, UnwrittenPriority},
		{nil, true, WebhookPriority},
	} {
		if got := (PolicySpec{Priority: tt.written}).EffectivePriority(tt.webhook); got != tt.want {
			t.Errorf("EffectivePriority(%t) of %v = %d, want %d", tt.webhook, tt.written, got, tt.want)
		}
	}
}

func TestValueOf(t *testing.T) {
	if got := ValueOf[int](nil); got != 0 {
		t.Errorf("ValueOf(nil) = %d, want 0", got)
	}
	if got := ValueOf(new(true)); !got {
		t.Error("ValueOf(new(true)) = false, want true")
	}
}

func TestFormatGUID(t *testing.T) {
	if got, want := FormatGUID(0x02a17c0011e0000f), "02:a1:7c:00:11:e0:00:0f"; got != want {
		t.Errorf("FormatGUID = %q, want %q", got, want)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		in               string
		label, subdomain bool
	}{
		{"rail0", true, true},
		{"a", true, true},
		{"7", true, true},
		{"a-0", true, true},
		{"nvidia.com", false, true},
		{"a-.b", false, false},
		{"a..b", false, false},
		{".a", false, false},
		{"-a", false, false},
		{"a-", false, false},
		{"Rail", false, false},
		{"a_b", false, false},
		{"ä", false, false},
		{"", false, false},
	} {
		if label, subdomain := IsLabel(tt.in), IsSubdomain(tt.in); label != tt.label || subdomain != tt.subdomain {
			t.Errorf("IsLabel(%q), IsSubdomain = %t, %t, want %t, %t", tt.in, label, subdomain, tt.label, tt.subdomain)
		}
	}
}
