package recording

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// Schema is the version of [Recording]'s JSON form. It increases with incompatible changes, not
// with new fields.
const Schema = 1

// Recording is everything that one library reported about the devices of one node, for bundles and
// reports. It contains no time, so equal nodes give equal recordings.
type Recording struct {
	Schema  int     `json:"schema"`  // Schema
	Library Library `json:"library"` // the library that was queried
	// Devices in the order of the library (ibv_get_device_list), as in the C tools. Never nil.
	Devices []Device `json:"devices"`
	// Errors of the library as a whole: Query is "load" or "get_device_list".
	Errors []*QueryError `json:"errors,omitempty"`
}

// Library identifies the library that was queried.
type Library struct {
	Name    string `json:"name"`              // the name that was loaded: libibverbs.so.1
	Path    string `json:"path,omitempty"`    // of the loaded file, symbolic links resolved
	Version string `json:"version,omitempty"` // from the file's name: 1.14.44.0 is rdma-core 44.0
}

// Device is everything that `ibv_devinfo -v` queries from one device.
type Device struct {
	Name      string                 `json:"name"`              // ibv_get_device_name: mlx5_0
	DevName   string                 `json:"devName"`           // dev_name of struct ibv_device: uverbs0
	GUID      ib.GUID                `json:"guid"`              // ibv_get_device_guid
	NodeType  provider.NodeType      `json:"nodeType"`          // node_type
	Transport provider.TransportType `json:"transport"`         // transport_type
	BoardID   string                 `json:"boardID,omitempty"` // board_id in sysfs; "" if there is none
	// NumCompVectors is num_comp_vectors of struct ibv_context; 0 unless the device was opened.
	NumCompVectors int `json:"numCompVectors"`
	// Attributes is nil unless the device was opened and the query succeeded.
	Attributes *provider.DeviceAttributes `json:"attributes,omitempty"`
	// Ports 1 to Attributes.PhysPortCount.
	Ports []Port `json:"ports,omitempty"`
	// Errors in the order in which they occurred.
	Errors []*QueryError `json:"errors,omitempty"`
}

// Port is one port of a device.
type Port struct {
	Number     int                      `json:"number"`               // from 1
	Attributes *provider.PortAttributes `json:"attributes,omitempty"` // nil if the query failed
	// GIDs that aren't zero, in ascending order of their index.
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

// Err joins all errors of the recording, each a *QueryError; nil if there are none.
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

// Failed returns the first error of a query with the given port and index, where -1 matches any. It
// returns nil if the query succeeded or was not made.
func (d *Device) Failed(query string, port, index int) *QueryError {
	for _, e := range d.Errors {
		if e.Query == query && (port < 0 || e.Port == port) && (index < 0 || e.Index != nil && *e.Index == index) {
			return e
		}
	}
	return nil
}

// Decode reads a recording's JSON form. It rejects unknown schemas and data that no library can
// report: null for an error, duplicate ports, negative indices.
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
			return fmt.Errorf("device %q: empty or duplicate name", d.Name)
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
			return fmt.Errorf("error of query %.60q: negative port or index", e.Query)
		}
	}
	return nil
}
