package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rdmakit/rdmakit/verbs"
	"github.com/rdmakit/rdmakit/verbs/provider"
	"github.com/rdmakit/rdmakit/verbs/provider/roce"
)

// alias is a provider of one device, which another provider opens under another name.
type alias struct {
	provider.Provider
	name, device string
}

// Name returns the name of the provider.
func (alias) Name() string { return "alias" }

// Devices lists the alias.
func (a alias) Devices(context.Context) ([]provider.DeviceInfo, error) {
	return []provider.DeviceInfo{{Name: a.name, Provider: "alias", Software: true}}, nil
}

// Open opens the device under its alias and rejects other names, so that the next provider is
// tried.
func (a alias) Open(ctx context.Context, name string) (provider.Device, error) {
	if name != a.name {
		return nil, fmt.Errorf("%s: not %s: %w", name, a.name, fs.ErrNotExist)
	}
	return a.Provider.Open(ctx, a.device)
}

// A provider that gives a device of another provider an alias.
func Example() {
	rail0 := alias{roce.Provider{}, "rail0", "roce@127.0.46.1"}
	device, err := verbs.Open(context.Background(), "rail0", rail0, roce.Provider{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	port, err := device.Port(context.Background(), 1)
	fmt.Println(device.Name(), port.State, port.LinkLayer, err)

	_, err = verbs.Open(context.Background(), "rail1", rail0, roce.Provider{})
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// roce@127.0.46.1 ACTIVE Ethernet <nil>
	// true
}
