package lint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/ipam"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

// ipamRef is the address management of a network, or of a NetworkAttachmentDefinition.
type ipamRef struct {
	*manifest.Object
	at    path            // of the text that holds it
	value *manifest.Value // that text
	from  int             // where the IPAM begins in the text
	conf  ipam.Config
	spans []span // those of ranges() that can be read
	// misfit is a field of another type than the plugins take, nil for none.
	misfit *json.UnmarshalTypeError
	// network is nil for a hand-written NetworkAttachmentDefinition, whose resource is in resource.
	network  *network
	resource string
	ib       bool
	rdma     bool // rather than a network of any kind
}

// span is a range that can be read, with its text.
type span struct {
	ipam.Span
	of ipam.Range
}

// ipams returns the address managements that can be read.
func (m *model) ipams() []ipamRef { return m.addresses }

func (m *model) findIPAMs() []ipamRef {
	var out []ipamRef
	written := map[string]bool{}
	for _, n := range m.networks {
		written[n.target()+"/"+n.Name] = true
		ref := ipamRef{
			Object: n.Object, at: path{"spec", "ipam"}, value: n.Find("spec", "ipam"), network: n,
			resource: n.Spec.ResourceName, ib: n.IB, rdma: n.IB || !m.withoutRDMA(n.Spec.ResourceName),
		}
		if ref.decode(lenient(n.Spec.IPAM)) {
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
			_, resource := splitResource(nad.Value.Metadata.Annotations[k8s.AnnotationResourceName])
			ref := ipamRef{
				Object: nad.Object, at: path{"spec", "config"}, value: nad.Find("spec", "config"), resource: resource,
				from: max(0, strings.Index(nad.Value.Spec.Config, `"ipam"`)), ib: plugin.Type == "ib-sriov",
				rdma: (resource != "" || slices.Contains([]string{"ib-sriov", "sriov", "ipoib"}, plugin.Type)) &&
					!m.withoutRDMA(resource),
			}
			if ref.decode(plugin.keys["ipam"]) {
				out = append(out, ref)
			}
			break
		}
	}
	return out
}

// decode reads the fields and their ranges; false for what is no JSON. A field of the wrong type
// leaves the others.
func (r *ipamRef) decode(text []byte) bool {
	if err := json.Unmarshal(text, &r.conf); err != nil {
		var ok bool
		if r.misfit, ok = errors.AsType[*json.UnmarshalTypeError](err); !ok {
			return false
		}
	}
	for _, of := range r.ranges() {
		if s, err := ipam.Parse(of); err == nil {
			r.spans = append(r.spans, span{s, of})
		}
	}
	return true
}

// rangeKeys are the names of the fields in which a range, its start and its end stand.
func rangeKeys(r ipam.Range) (whole, start, end string) {
	switch r.Of {
	case ipam.TypeHostLocal:
		return "subnet", "rangeStart", "rangeEnd"
	case ipam.TypeStatic:
		return "address", "address", "address"
	}
	return "range", "range_start", "range_end"
}

// rangeAt returns the place of a range.
func (r ipamRef) rangeAt(of ipam.Range) manifest.Region {
	name, _, _ := rangeKeys(of)
	return r.keyOf(name, of.Range)
}

// misfitText tells of a field of JSON whose type isn't the one that a program takes.
func misfitText(e *json.UnmarshalTypeError) string {
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
	return fmt.Sprintf("is %s, and must be %s", cmp.Or(names[value], value), want)
}

// strayComma is a comma before a closing bracket.
var strayComma = regexp.MustCompile(`,(\s*[}\]])`)

// lenient takes stray commas for blanks, so that one fault of the JSON doesn't hide those of
// the addresses.
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

// keyOf returns the place of the field that has a text, of several with one name.
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

// maxLocated is the longest text that is looked for: more than any address has.
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

// keyAt is key for the field that begins at a byte of the IPAM.
func (r ipamRef) keyAt(name string, i int) manifest.Region {
	at := r.Inside(r.value, r.from+i)
	if at.Length == 1 {
		at.Length = len(name) + 2
	}
	return at
}

// jsonFault returns the offset of a fault in JSON and what is wrong, "" for none.
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
		// What is wrong is mostly a comma before the bracket at which the parser stops.
		head := strings.TrimRight(text[:min(offset, len(text))], " \t\r\n")
		if offset < len(text) && (text[offset] == '}' || text[offset] == ']') && strings.HasSuffix(head, ",") {
			return len(head) - 1, "a comma before the closing bracket"
		}
		if offset < len(text) && text[offset] == '\'' {
			return offset, "a single quote, and JSON takes double ones"
		}
		return offset, syntax.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return max(0, len(strings.TrimRight(text, " \t\r\n"))-1), "it ends within a value"
	}
	return 0, err.Error()
}
