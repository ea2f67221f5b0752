package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// ipamRef is the IPAM configuration of a network or a NetworkAttachmentDefinition.
type ipamRef struct {
	*manifest.Object
	at    path            // path of the text that contains the configuration
	value *manifest.Value // that text
	from  int             // offset of the configuration in the text
	conf  ipam.Config
	// fields are the undecoded fields of the configuration.
	fields map[string]json.RawMessage
	spans  []span // the valid ones of ranges()
	// wrongType is a field whose type the plugins don't accept, or nil.
	wrongType *json.UnmarshalTypeError
	// network is nil for a hand-written NetworkAttachmentDefinition.
	network  *network
	resource string
	// master is the host's interface that a MacvlanNetwork or IPoIBNetwork uses, "" if unknown.
	master string
	ib     bool
	use    rdmaUse
}

// span is a valid range and its text.
type span struct {
	ipam.Span
	of ipam.Range
}

// ipams returns the IPAM configurations that can be decoded.
func (m *model) ipams() []ipamRef { return m.addresses }

func (m *model) findIPAMs() []ipamRef {
	var out []ipamRef
	written := map[string]bool{}
	for _, n := range m.networks {
		written[n.target()+"/"+n.Name] = true
		ref := ipamRef{
			Object: n.Object, at: path{"spec", "ipam"}, value: n.Find("spec", "ipam"), network: n,
			resource: n.Spec.ResourceName, ib: n.IB, use: m.useOf("", n.Spec.ResourceName),
		}
		if ref.decode(lenient(n.Spec.IPAM)) {
			out = append(out, ref)
		}
	}
	for _, o := range m.nvNetworks() {
		v := o.Find("spec", "ipam")
		ref := ipamRef{Object: o, at: path{"spec", "ipam"}, value: v, resource: m.nvResource(o), master: nvMaster(o)}
		if ref.use = m.useOf("", ref.resource); v != nil && ref.decode(lenient(v.Text)) {
			out = append(out, ref)
		}
	}
	for _, nad := range m.nads {
		if written[nad.Namespace+"/"+nad.Name] {
			continue // the operator wrote it
		}
		for _, plugin := range pluginsOf(nad.Value.Spec.Config) {
			if plugin.IPAM.Type == "" {
				continue
			}
			prefix, resource := splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
			ref := ipamRef{
				Object: nad.Object, at: path{"spec", "config"}, value: nad.Find("spec", "config"), resource: resource,
				from: max(0, strings.Index(nad.Value.Spec.Config, `"ipam"`)), ib: plugin.Type == "ib-sriov",
				use: m.useOf(prefix, resource),
			}
			if forRDMA(pluginsOf(nad.Value.Spec.Config)) {
				ref.use = rdmaYes
			}
			if ref.decode(plugin.keys["ipam"]) {
				out = append(out, ref)
			}
			break
		}
	}
	return out
}

// vf reports whether the interfaces of the network are VFs; the same addresses on several nodes may
// be meant on a bridge or a macvlan.
func (r ipamRef) vf() bool { return r.network != nil || r.resource != "" || r.ib }

// decode reads the fields and their ranges. It reports whether the text is valid JSON. A field of
// the wrong type doesn't affect the others.
func (r *ipamRef) decode(text []byte) bool {
	if err := json.Unmarshal(text, &r.conf); err != nil {
		var ok bool
		if r.wrongType, ok = errors.AsType[*json.UnmarshalTypeError](err); !ok {
			return false
		}
	}
	_ = json.Unmarshal(text, &r.fields) // anything but an object has no fields
	for _, of := range r.ranges() {
		if s, err := ipam.Parse(of); err == nil {
			r.spans = append(r.spans, span{s, of})
		}
	}
	return true
}

// rangeKeys returns the names of the fields for a range, its start and its end.
func rangeKeys(r ipam.Range) (whole, start, end string) {
	switch r.Of {
	case ipam.TypeHostLocal:
		return "subnet", "rangeStart", "rangeEnd"
	case ipam.TypeStatic:
		return "address", "address", "address"
	}
	return "range", "range_start", "range_end"
}

// rangeAt returns the place of a range in the manifest.
func (r ipamRef) rangeAt(of ipam.Range) manifest.Region {
	name, _, _ := rangeKeys(of)
	return r.keyOf(name, of.Range)
}

// wrongTypeText describes a JSON field whose type a program doesn't accept.
func wrongTypeText(e *json.UnmarshalTypeError) string {
	names := map[string]string{
		"string": "a string", "number": "a number", "object": "an object", "array": "a list", "bool": "true or false",
	}
	value, _, _ := strings.Cut(e.Value, " ") // "number 1.5"
	want := "a string"
	switch e.Type.Kind() {
	case reflect.Slice:
		switch want = "a list of objects"; e.Type.Elem().Kind() {
		case reflect.String:
			want = "a list of strings"
		case reflect.Slice:
			want = "a list of lists"
		}
	case reflect.Struct, reflect.Map:
		want = "an object"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int:
		want = "a whole number"
	}
	return fmt.Sprintf("is %s but must be %s", cmp.Or(names[value], value), want)
}

// strayComma is a comma before a closing bracket.
var strayComma = regexp.MustCompile(`,(\s*[}\]])`)

// lenient replaces stray commas with blanks, so that this syntax error doesn't hide mistakes in the
// addresses.
func lenient(text string) []byte { return strayComma.ReplaceAll([]byte(text), []byte(" $1")) }

// plugins returns the plugins of a CNI configuration: itself, or those of its list.
func plugins(config string) []json.RawMessage {
	var list struct {
		Plugins []json.RawMessage `json:"plugins"`
	}
	if json.Unmarshal([]byte(config), &list) != nil {
		return nil
	}
	if len(list.Plugins) > 0 {
		return list.Plugins
	}
	return []json.RawMessage{json.RawMessage(config)}
}

// keyOf returns the place of the field with a name and a text; several fields may have the name.
func (r ipamRef) keyOf(name, text string) manifest.Region {
	if r.value == nil || len(text) > maxLocated {
		return r.key(name)
	}
	form, err := regexp.Compile(`"` + regexp.QuoteMeta(name) + `"\s*:\s*"` + regexp.QuoteMeta(text) + `"`)
	if err != nil {
		return r.key(name)
	}
	i := form.FindStringIndex(r.value.Text[min(r.from, len(r.value.Text)):])
	if i == nil {
		return r.key(name)
	}
	return r.keyAt(name, i[0])
}

// maxLocated is the maximum length of a text that is searched for, longer than any address.
const maxLocated = 256

// key returns the place of a field of the IPAM.
func (r ipamRef) key(name string) manifest.Region {
	if r.value == nil {
		return r.Object.At(r.at...)
	}
	i := strings.Index(r.value.Text[min(r.from, len(r.value.Text)):], `"`+name+`"`)
	if i < 0 {
		return r.Object.At(r.at...)
	}
	return r.keyAt(name, i)
}

// keyAt returns the place of the field that begins at byte i of the IPAM.
func (r ipamRef) keyAt(name string, i int) manifest.Region {
	at := r.Inside(r.value, r.from+i)
	if at.Length == 1 {
		at.Length = len(name) + 2
	}
	return at
}

// jsonFault returns the offset and the description of the first syntax error in JSON. what is "" if
// the JSON is valid.
func jsonFault(text string) (offset int, what string) {
	dec := json.NewDecoder(strings.NewReader(text))
	var v any
	err := dec.Decode(&v)
	if err == nil {
		rest := strings.TrimLeft(text[dec.InputOffset():], " \t\r\n")
		if rest == "" {
			return 0, ""
		}
		return len(text) - len(rest), "something follows the closing bracket"
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(0, int(syntax.Offset)-1)
		// The parser stops at a closing bracket; the usual mistake is the comma before it.
		head := strings.TrimRight(text[:min(offset, len(text))], " \t\r\n")
		if offset < len(text) && (text[offset] == '}' || text[offset] == ']') && strings.HasSuffix(head, ",") {
			return len(head) - 1, "a comma before the closing bracket"
		}
		if offset < len(text) && text[offset] == '\'' {
			return offset, "a single quote; JSON requires double quotes"
		}
		return offset, syntax.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return max(0, len(strings.TrimRight(text, " \t\r\n"))-1), "unexpected end of the text"
	}
	return 0, err.Error()
}

// atField reports an error about a field of an IPAM configuration.
func (p *pass) atField(ref ipamRef, field, format string, args ...any) *Finding {
	return p.error(ref.Object, ref.at, format, args...).place(ref.key(field))
}
