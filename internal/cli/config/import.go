package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// Imported is the result of importing a JSON file of devices such as this one:
//
//	{
//	  "devices": [{"name": "mlx5_0", "transport": "RoCE", "mtu": 4096, "enabled": true}],
//	  "cluster": {"name": "prod", "leader": "gpu-00"}
//	}
type Imported struct {
	// Entries are the settings, in the order of [Settings], each with its position in the file.
	Entries []Entry
	// Notes report each value that no setting can hold, with its position and what to use instead.
	Notes []string
}

// ImportFile imports a JSON file of devices, or in if the name is "-". The error joins an *Error
// for each mistake in the file.
func ImportFile(name string, in io.Reader) (Imported, error) {
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name) //nolint:gosec // the user's file
		if err != nil {
			return Imported{}, fmt.Errorf("import configuration: %w", err)
		}
		defer file.Close()
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFileSize+1))
	if err != nil {
		return Imported{}, fmt.Errorf("import configuration: %w", err)
	}
	if len(data) > maxFileSize {
		return Imported{}, &Error{Source: name, Reason: "is larger than 1 MiB"}
	}
	return importDevices(name, data)
}

// YAML returns the settings as a configuration file.
func (im Imported) YAML() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range im.Entries {
		var value yaml.Node
		value.SetString(e.Value)
		if _, err := strconv.Atoi(e.Value); err == nil {
			value.Tag = "!!int"
		}
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: e.Key}, &value)
	}
	if len(root.Content) == 0 {
		return []byte("# no setting\n"), nil
	}
	return yaml.Marshal(root)
}

// isDeviceFile reports whether data looks like a JSON file of devices, which must be imported.
func isDeviceFile(data []byte) bool {
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	return bytes.HasPrefix(text, []byte("{")) &&
		(bytes.Contains(text, []byte(`"devices"`)) || bytes.Contains(text, []byte(`"cluster"`)))
}

// importer converts a document to settings. It collects all mistakes.
type importer struct {
	values map[string]Entry
	notes  []string
	errs   []error
}

func importDevices(file string, data []byte) (Imported, error) {
	root, err := parseJSON(file, data)
	if err != nil {
		return Imported{}, err
	}
	im := &importer{values: make(map[string]Entry)}
	top := im.object(&root, "devices", "cluster")
	im.devices(top["devices"])
	im.cluster(top["cluster"])
	if err := errors.Join(im.errs...); err != nil {
		return Imported{}, err
	}
	out := Imported{Notes: im.notes}
	for _, s := range Settings() {
		if e, ok := im.values[s.Key]; ok {
			out.Entries = append(out.Entries, e)
		}
	}
	return out, nil
}

func (im *importer) wrong(v *jsonValue, reason string) {
	im.errs = append(im.errs, &Error{Source: v.place, Key: v.path, Reason: reason})
}

// note reports a value that is not imported, and why.
func (im *importer) note(v *jsonValue, why string) {
	text := fmt.Sprint(v.value)
	if s, ok := v.value.(string); ok {
		text = strconv.Quote(s)
	}
	im.notes = append(im.notes, fmt.Sprintf("%s: %s %s: %s", v.place, v.path, text, why))
}

// set imports a value as a setting, if it is valid for the setting.
func (im *importer) set(key string, v *jsonValue, raw string) error {
	s, _ := Find(key)
	shown, err := s.set(&Values{}, raw)
	if err == nil {
		im.values[key] = Entry{Key: key, Value: shown, Origin: OriginFile, Source: v.place}
	}
	return err
}

// object returns the members of an object that have known keys and are not null.
func (im *importer) object(v *jsonValue, known ...string) map[string]*jsonValue {
	members, ok := v.value.([]jsonMember)
	if !ok {
		im.wrong(v, "is "+v.kind()+", want an object")
		return nil
	}
	out, seen := make(map[string]*jsonValue), make(map[string]string)
	for _, m := range members {
		switch first, twice := seen[m.key]; {
		case twice:
			reason := "given twice, first at " + first
			im.errs = append(im.errs, &Error{Source: m.place, Key: m.value.path, Reason: reason})
			continue
		case !slices.Contains(known, m.key):
			im.errs = append(im.errs, &Error{
				Source: m.place, Key: m.value.path, Reason: "unknown key",
				Near: spelling.Nearest(m.key, known, spelling.Loose),
			})
		case m.value.value != nil:
			out[m.key] = &m.value
		}
		seen[m.key] = m.place
	}
	return out
}

// devices imports the first enabled device. There is a setting for only one, so the others are
// noted.
func (im *importer) devices(v *jsonValue) {
	if v == nil {
		return
	}
	list, ok := v.value.([]jsonValue)
	if !ok {
		im.wrong(v, "is "+v.kind()+", want a list")
		return
	}
	imported := ""
	for i := range list {
		imported = im.device(&list[i], imported)
	}
}

// device imports a device, unless another has been imported already. It returns the name of the
// imported device, "" if there is none yet.
func (im *importer) device(v *jsonValue, imported string) string {
	m := im.object(v, "name", "transport", "mtu", "enabled")
	if m == nil {
		return imported
	}
	name, named := im.text(m["name"])
	transport, _ := im.text(m["transport"])
	mtu, _ := im.number(m["mtu"])
	enabled := m["enabled"] == nil || im.boolean(m["enabled"])
	switch {
	case m["name"] == nil:
		im.wrong(v, "has no name")
	case !named:
	case !enabled:
		im.note(m["name"], "not enabled, so not imported; to leave out a device, use env --exclude")
	case imported != "":
		im.note(m["name"], "the setting device has only one name, "+imported+
			"; env, detect and doctor use all devices, and bench -d selects another")
	default:
		if err := im.set("device", m["name"], name); err != nil {
			im.wrong(m["name"], strconv.Quote(name)+" "+err.Error())
		}
		im.transport(m["transport"], transport)
		im.mtu(m["mtu"], mtu)
		return name
	}
	for _, rest := range []string{"transport", "mtu"} { // the device is not imported
		if m[rest] != nil {
			im.note(m[rest], "not imported, because its device is not")
		}
	}
	return imported
}

func (im *importer) transport(v *jsonValue, transport string) {
	if v == nil || im.set("qp-type", v, transport) == nil {
		return
	}
	im.note(v, "not a setting: rdmactl reads the transport from the device (rdmactl detect shows it)")
}

func (im *importer) mtu(v *jsonValue, mtu int) {
	if v == nil || mtu == 0 || im.set("mtu", v, strconv.Itoa(mtu)) == nil {
		return
	}
	im.note(v, "not a path MTU (256, 512, 1024, 2048 or 4096); "+
		"ip link set dev NETDEV mtu sets the MTU of a network device")
}

func (im *importer) cluster(v *jsonValue) {
	if v == nil {
		return
	}
	m := im.object(v, "name", "leader")
	why := map[string]string{
		"name":   "not a setting: no command uses the name of a cluster",
		"leader": "not a setting: the launcher of a job sets the leader (MASTER_ADDR, mpirun)",
	}
	for _, key := range []string{"name", "leader"} {
		if value := m[key]; value != nil {
			if _, ok := im.text(value); ok {
				im.note(value, why[key])
			}
		}
	}
}

// text, number and boolean return a value of that type. A value of another type is a mistake; a
// missing one gives the zero value.
func (im *importer) text(v *jsonValue) (string, bool) {
	if v == nil {
		return "", false
	}
	s, ok := v.value.(string)
	switch {
	case !ok:
		im.wrong(v, "is "+v.kind()+", want a string")
	case strings.TrimSpace(s) == "":
		im.wrong(v, "is empty")
		ok = false
	}
	return s, ok
}

func (im *importer) number(v *jsonValue) (int, bool) {
	if v == nil {
		return 0, false
	}
	n, ok := v.value.(json.Number)
	if !ok {
		im.wrong(v, "is "+v.kind()+", want a number")
		return 0, false
	}
	i, err := strconv.Atoi(n.String())
	if err != nil || i < 1 {
		im.wrong(v, n.String()+" is not a number of bytes")
		return 0, false
	}
	return i, true
}

func (im *importer) boolean(v *jsonValue) bool {
	b, ok := v.value.(bool)
	if !ok {
		im.wrong(v, "is "+v.kind()+", want true or false")
	}
	return b
}
