package recording

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Schema is the version of [Recording]'s JSON form. It rises when a reader of the old form
// would go wrong; new fields leave it as it is.
const Schema = 1

// Recording is everything that one library said about the devices of one node, for a bundle to
// carry and a report to replay. Equal nodes give equal recordings: there is no time in it.
type Recording struct {
	Schema  int     `json:"schema"`  // Schema
	Library Library `json:"library"` // which one it was
	// Devices in the order of the library (ibv_get_device_list), which is that of the C tools.
	// Never nil.
	Devices []Device `json:"devices"`
	// Errors of the library as a whole: Query is "load" or "get_device_list".
	Errors []*QueryError `json:"errors,omitempty"`
}

// Library says which library answered.
type Library struct {
	Name    string `json:"name"`              // as it was asked for: libibverbs.so.1
	Path    string `json:"path,omitempty"`    // where the loader found it, links resolved
	Version string `json:"version,omitempty"` // from the file's name: 1.14.44.0 is rdma-core 44.0
}

// Device is everything that `ibv_devinfo -v` asks one device.
type Device struct {
	Name      string        `json:"name"`              // ibv_get_device_name: mlx5_0
	DevName   string        `json:"devName"`           // dev_name of struct ibv_device: uverbs0
	GUID      ib.GUID       `json:"guid"`              // ibv_get_device_guid
	NodeType  NodeType      `json:"nodeType"`          // node_type
	Transport TransportType `json:"transport"`         // transport_type
	BoardID   string        `json:"boardID,omitempty"` // file board_id of the device in sysfs; "" where there is none
	// NumCompVectors is that of struct ibv_context; 0 unless the device was opened.
	NumCompVectors int `json:"numCompVectors"`
	// Attributes is nil unless the device was opened and answered.
	Attributes *provider.DeviceAttributes `json:"attributes,omitempty"`
	// Ports 1 to Attributes.PhysPortCount.
	Ports []Port `json:"ports,omitempty"`
	// Errors in the order in which they came up.
	Errors []*QueryError `json:"errors,omitempty"`
}

// Port is one port of a device.
type Port struct {
	Number     int                      `json:"number"`               // from 1
	Attributes *provider.PortAttributes `json:"attributes,omitempty"` // nil if the query failed
	// GIDs that aren't zero, by rising index.
	GIDs []provider.GIDEntry `json:"gids,omitempty"`
}

// Device returns the device of that name, or nil.
func (r *Recording) Device(name string) *Device {
	for i := range r.Devices {
		if r.Devices[i].Name == name {
			return &r.Devices[i]
		}
	}
	return nil
}

// Err joins all errors of the recording; nil if there is none. Each one is a *QueryError.
func (r *Recording) Err() error {
	var all []error
	for _, e := range r.Errors {
		all = append(all, e)
	}
	for _, d := range r.Devices {
		for _, e := range d.Errors {
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}

// Failed returns the first error of that query; port and index are those of the question, -1 for
// any. It is nil where the query succeeded or was not asked.
func (d *Device) Failed(query string, port, index int) *QueryError {
	for _, e := range d.Errors {
		if e.Query == query && (port < 0 || e.Port == port) && (index < 0 || e.Index != nil && *e.Index == index) {
			return e
		}
	}
	return nil
}

// Decode reads a recording's JSON form. It refuses a schema that it doesn't know, and
// what no library can have said: null for an error, a port twice, negative indices.
func Decode(b []byte) (Recording, error) {
	var r Recording
	if err := json.Unmarshal(b, &r); err != nil {
		return Recording{}, fmt.Errorf("decode recording: %w", err)
	}
	if r.Schema != Schema {
		return Recording{}, fmt.Errorf("decode recording: schema %d, this version reads %d", r.Schema, Schema)
	}
	if err := r.validate(); err != nil {
		return Recording{}, fmt.Errorf("decode recording: %w", err)
	}
	if r.Devices == nil {
		r.Devices = []Device{}
	}
	return r, nil
}

func (r *Recording) validate() error {
	if err := validateErrors(r.Errors); err != nil {
		return err
	}
	names := map[string]bool{}
	for _, d := range r.Devices {
		if d.Name == "" || names[d.Name] {
			return fmt.Errorf("device %q: no name, or twice", d.Name)
		}
		names[d.Name] = true
		if err := validateErrors(d.Errors); err != nil {
			return fmt.Errorf("device %s: %w", d.Name, err)
		}
		last := 0
		for _, p := range d.Ports {
			if p.Number <= last || p.Number > 255 {
				return fmt.Errorf("device %s: port %d after port %d", d.Name, p.Number, last)
			}
			last = p.Number
			if err := validateGIDs(p.GIDs); err != nil {
				return fmt.Errorf("device %s port %d: %w", d.Name, p.Number, err)
			}
		}
	}
	return nil
}

func validateGIDs(gids []provider.GIDEntry) error {
	last := -1
	for _, g := range gids {
		if g.Index <= last {
			return fmt.Errorf("gid index %d after %d", g.Index, last)
		}
		last = g.Index
	}
	return nil
}

func validateErrors(list []*QueryError) error {
	for _, e := range list {
		switch {
		case e == nil:
			return errors.New("an error is null")
		case e.Port < 0 || e.Index != nil && *e.Index < 0:
			return fmt.Errorf("an error of %.60q has a negative port or index", e.Query)
		}
	}
	return nil
}
