package leaf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// neighbours are the LLDP neighbours of a node by network device.
type neighbours map[string][]neighbour

// neighbour is a system that a network device has heard.
type neighbour struct {
	to  Port
	via string // LLDP, CDP and others
	// forwards is set for a switch or router, and known if the neighbour says what it is.
	forwards, known bool
}

// hostFile has what lldpctl printed on a node.
type hostFile struct {
	file string
	host string // of the local chassis, "" if it is not in the file
	neighbours
}

// errNotLLDP is the error for JSON of another kind.
var errNotLLDP = errors.New("neither a saved sweep nor the output of lldpctl -f json")

// readLLDP reads what lldpctl and lldpcli print with -f json or -f json0: neighbours, and the local
// chassis if it was asked for, one document after the other.
func readLLDP(file string, text []byte) (*hostFile, error) {
	h := &hostFile{file: file, neighbours: neighbours{}}
	d := json.NewDecoder(bytes.NewReader(text))
	known := false
	for n := 1; ; n++ {
		var document map[string]any
		err := d.Decode(&document)
		if errors.Is(err, io.EOF) && n > 1 {
			break
		}
		if err != nil {
			return nil, jsonError(err, d.InputOffset())
		}
		if lldp, ok := document["lldp"]; ok {
			known = true
			if err := h.read(lldp); err != nil {
				return nil, err
			}
		}
		if local, ok := document["local-chassis"]; ok {
			known = true
			if name := localName(local); name != "" {
				h.host = name
			}
		}
	}
	if !known {
		return nil, errNotLLDP
	}
	return h, nil
}

// jsonError says where a document is wrong.
func jsonError(err error, offset int64) error {
	var unexpected *json.UnmarshalTypeError
	switch {
	case errors.As(err, &unexpected):
		return errNotLLDP
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("not JSON: it ends before it is complete")
	}
	return fmt.Errorf("not JSON: after byte %d: %w", offset, err)
}

// read adds the neighbours of a document. lldpctl makes an object of a list with one element, and a
// key of an element's name; -f json0 has lists only, and fields "name". A device has an element for
// each of its neighbours.
func (h *hostFile) read(lldp any) error {
	for _, part := range list(lldp) {
		devices, ok := object(part)
		if !ok {
			return fmt.Errorf("lldp: %s where an object is expected", kindOf(part))
		}
		for _, e := range list(devices["interface"]) {
			device, ok := object(e)
			if !ok {
				return fmt.Errorf("lldp: interface: %s where an object is expected", kindOf(e))
			}
			for name, fields := range named(device) {
				h.neighbours[name] = append(h.neighbours[name], neighbourOf(fields))
			}
		}
	}
	return nil
}

// list returns the elements of a list; an element that is no list is one of it.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func object(v any) (map[string]any, bool) {
	m, ok := v.(map[string]any)
	return m, ok
}

// first returns the fields of an object, or of the first one of a list.
func first(v any) map[string]any {
	for _, e := range list(v) {
		if m, ok := object(e); ok {
			return m
		}
	}
	return nil
}

// word returns a text: itself, the field value of an object, or that of the first one of a list.
func word(v any) string {
	if s, ok := v.(string); ok {
		return strings.TrimSpace(s)
	}
	for _, e := range list(v) {
		if m, ok := object(e); ok {
			s, _ := m["value"].(string)
			return strings.TrimSpace(s)
		}
		if s, ok := e.(string); ok {
			return strings.TrimSpace(s)
		}
	}
	return ""
}

// named returns the fields of what an object names: {"eth0": {…}} or {"name": "eth0", …}.
func named(m map[string]any) map[string]map[string]any {
	if name := word(m["name"]); name != "" {
		return map[string]map[string]any{name: m}
	}
	out := map[string]map[string]any{}
	for name, v := range m {
		if fields, ok := object(v); ok {
			out[name] = fields
		}
	}
	return out
}

// neighbourOf reads a neighbour.
func neighbourOf(device map[string]any) neighbour {
	n := neighbour{via: word(device["via"])}
	name, chassis := chassisOf(device["chassis"])
	n.to = Port{Switch: idOf(chassis["id"]), Name: name}
	if n.to.Switch == "" {
		n.to.Switch = name
	}
	if n.to.Name == "" {
		n.to.Name = n.to.Switch
	}
	port := first(device["port"])
	id := first(port["id"])
	n.to.Port = word(id["value"])
	// A port ID that is an address says nothing to people; the description is then the port's name.
	if description := word(port["descr"]); description != "" && (n.to.Port == "" || word(id["type"]) == "mac") {
		n.to.Port = description
	}
	for _, c := range list(chassis["capability"]) {
		m, _ := object(c)
		enabled, _ := m["enabled"].(bool)
		n.known = true
		if kind := word(m["type"]); enabled && (kind == "Bridge" || kind == "Router") {
			n.forwards = true
		}
	}
	return n
}

// chassisOf returns the name of a chassis and its fields: {"leaf0": {"id": …}}, or without a name
// {"id": …}, or in lists {"name": [{"value": "leaf0"}], "id": …}.
func chassisOf(v any) (string, map[string]any) {
	m := first(v)
	if id := first(m["id"]); id["value"] != nil || word(m["name"]) != "" {
		return word(m["name"]), m
	}
	for name, fields := range named(m) {
		return name, fields // there is one
	}
	return "", nil
}

// idOf returns a chassis ID with its type, which together are unique: mac 00:11:22:33:44:55.
func idOf(v any) string {
	id := first(v)
	value := word(id["value"])
	if value == "" {
		return ""
	}
	kind := word(id["type"])
	if kind == "mac" {
		value = strings.ToLower(value)
	}
	return strings.TrimSpace(kind + " " + value)
}

// localName returns the name of a local chassis.
func localName(v any) string {
	name, _ := chassisOf(first(v)["chassis"])
	return name
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	}
	return "a list"
}

// ports returns the switch port of a network device, or why there is none. Of what a device has
// heard, systems that forward nothing are left out, as are other protocols where there is LLDP: a
// switch that sends both has another ID in each.
func (n neighbours) ports(device string) ([]Port, error) {
	all := n[device]
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no LLDP neighbour", device)
	}
	heard := slices.DeleteFunc(slices.Clone(all), func(x neighbour) bool {
		return x.to.Switch == "" || x.known && !x.forwards
	})
	if len(heard) == 0 {
		return nil, fmt.Errorf("the neighbour of %s, %s, is no switch", device, all[0].to.Name)
	}
	if slices.ContainsFunc(heard, func(x neighbour) bool { return x.via == "LLDP" }) {
		heard = slices.DeleteFunc(heard, func(x neighbour) bool { return x.via != "LLDP" })
	}
	for _, x := range heard[1:] {
		if x.to.Switch != heard[0].to.Switch {
			return nil, fmt.Errorf("%s has two neighbours, %s and %s", device, heard[0].to.Name, x.to.Name)
		}
	}
	return []Port{heard[0].to}, nil
}

// all returns the switch ports of network devices: those of a bond's members.
func (n neighbours) all(devices []string) (ports []Port, why error) {
	for _, device := range devices {
		p, err := n.ports(device)
		if err != nil {
			why = err
		}
		ports = append(ports, p...)
	}
	if len(ports) > 0 {
		return sorted(ports), nil
	}
	return nil, why
}

// Neighbours are the LLDP neighbours of a node.
type Neighbours struct{ n neighbours }

// ReadNeighbours reads what lldpctl -f json has printed.
func ReadNeighbours(text []byte) (Neighbours, error) {
	h, err := readLLDP("", text)
	if err != nil {
		return Neighbours{}, fmt.Errorf("read neighbours: %w", err)
	}
	return Neighbours{h.neighbours}, nil
}

// Ports returns the switch ports to which network devices are connected, nil if none is known.
func (n Neighbours) Ports(devices ...string) []Port {
	ports, _ := n.n.all(devices)
	return ports
}

// hostOf returns the name that a file has from its node: gpu-001 for gpu-001.json and
// gpu-001.lldp.json.
func hostOf(file string) string {
	name := filepath.Base(file)
	for _, extension := range []string{".json", ".json0", ".lldp"} {
		name = strings.TrimSuffix(name, extension)
	}
	return name
}
