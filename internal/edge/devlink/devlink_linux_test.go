package devlink

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/genetlink/genltest"
	"github.com/mdlayher/netlink"

	"github.com/rdmakit/rdmakit/internal/edge/genl"
)

// fake returns a client whose kernel answers the command with these messages.
func fake(t *testing.T, command uint8, bodies ...[]byte) Client {
	t.Helper()
	return Client{genl.Client{Dial: func() (*genetlink.Conn, error) {
		return genltest.Dial(genltest.ServeFamily(genetlink.Family{ID: 21, Name: "devlink", Version: 1},
			genltest.CheckRequest(21, command, netlink.Request|netlink.Dump,
				func(genetlink.Message, netlink.Message) ([]genetlink.Message, error) {
					var msgs []genetlink.Message
					for _, b := range bodies {
						msgs = append(msgs, genetlink.Message{Data: b})
					}
					return msgs, nil
				}))), nil
	}}}
}

func encode(t testing.TB, fn func(ae *netlink.AttributeEncoder)) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	fn(ae)
	b, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reporter encodes a message as devlink_nl_health_reporter_fill does.
func reporter(t testing.TB, name string, port int, state uint8, errs, recoveries uint64) []byte {
	return encode(t, func(ae *netlink.AttributeEncoder) {
		ae.String(DEVLINK_ATTR_BUS_NAME, "pci")
		ae.String(DEVLINK_ATTR_DEV_NAME, "0000:3b:00.0")
		if port >= 0 {
			ae.Uint32(DEVLINK_ATTR_PORT_INDEX, uint32(port))
		}
		ae.Nested(DEVLINK_ATTR_HEALTH_REPORTER, func(ae *netlink.AttributeEncoder) error {
			ae.String(DEVLINK_ATTR_HEALTH_REPORTER_NAME, name)
			ae.Uint8(DEVLINK_ATTR_HEALTH_REPORTER_STATE, state)
			ae.Uint64(DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT, errs)
			ae.Uint64(DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT, recoveries)
			ae.Uint64(120, 60000) // graceful period
			ae.Uint8(121, 1)      // automatic recovery
			return nil
		})
	})
}

func TestReporters(t *testing.T) {
	c := fake(t, DEVLINK_CMD_HEALTH_REPORTER_GET,
		reporter(t, "fw", -1, 0, 0, 0),
		reporter(t, "fw_fatal", -1, 1, 3, 2),
		encode(t, func(ae *netlink.AttributeEncoder) { ae.String(DEVLINK_ATTR_BUS_NAME, "pci") }),
		reporter(t, "tx", 65535, 0, 1<<40, 7))
	got, err := c.Reporters(t.Context())
	port := uint32(65535)
	want := []Reporter{
		{Bus: "pci", Device: "0000:3b:00.0", Name: "fw"},
		{Bus: "pci", Device: "0000:3b:00.0", Name: "fw_fatal", Errored: true, Errors: 3, Recoveries: 2},
		{Bus: "pci", Device: "0000:3b:00.0", Name: "tx", Port: &port, Errors: 1 << 40, Recoveries: 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Reporters(), -want +got:\n%s", diff)
	}
	if err == nil || !strings.HasPrefix(err.Error(), "devlink health reporter dump: message 2: incomplete message") {
		t.Errorf("Reporters() error = %v, want one about message 2", err)
	}
}

// parameter encodes a message as devlink_nl_param_fill does: name, whether it is generic, type,
// values.
func parameter(t testing.TB, name string, kind uint8, values map[uint8]any) []byte {
	return encode(t, func(ae *netlink.AttributeEncoder) {
		ae.String(DEVLINK_ATTR_BUS_NAME, "pci")
		ae.String(DEVLINK_ATTR_DEV_NAME, "0000:3b:00.0")
		ae.Nested(DEVLINK_ATTR_PARAM, func(ae *netlink.AttributeEncoder) error {
			ae.String(DEVLINK_ATTR_PARAM_NAME, name)
			ae.Flag(82, true) // generic
			ae.Uint8(DEVLINK_ATTR_PARAM_TYPE, kind)
			ae.Nested(DEVLINK_ATTR_PARAM_VALUES_LIST, func(ae *netlink.AttributeEncoder) error {
				for _, mode := range []uint8{0, 1, 2, 9} {
					v, ok := values[mode]
					if !ok {
						continue
					}
					ae.Nested(DEVLINK_ATTR_PARAM_VALUE, func(ae *netlink.AttributeEncoder) error {
						switch v := v.(type) {
						case bool:
							ae.Flag(DEVLINK_ATTR_PARAM_VALUE_DATA, v)
						case string:
							ae.String(DEVLINK_ATTR_PARAM_VALUE_DATA, v)
						case uint8:
							ae.Uint8(DEVLINK_ATTR_PARAM_VALUE_DATA, v)
						case uint32:
							ae.Uint32(DEVLINK_ATTR_PARAM_VALUE_DATA, v)
						}
						ae.Uint8(DEVLINK_ATTR_PARAM_VALUE_CMODE, mode)
						return nil
					})
				}
				return nil
			})
			return nil
		})
	})
}

func TestParameters(t *testing.T) {
	c := fake(t, DEVLINK_CMD_PARAM_GET,
		parameter(t, "enable_roce", 6, map[uint8]any{1: true}),
		parameter(t, "enable_sriov", 6, map[uint8]any{2: false}),
		parameter(t, "flow_steering_mode", 5, map[uint8]any{0: "smfs"}),
		parameter(t, "fdb_large_groups", 3, map[uint8]any{0: uint32(15), 1: uint32(16), 9: uint32(17)}),
		parameter(t, "max_macs", 1, map[uint8]any{1: uint8(128)}))
	got, err := c.Parameters(t.Context())
	p := func(name string, values map[string]string) Parameter {
		return Parameter{Bus: "pci", Device: "0000:3b:00.0", Name: name, Values: values}
	}
	want := []Parameter{
		p("enable_roce", map[string]string{"driverinit": "true"}),
		p("enable_sriov", map[string]string{"permanent": "false"}),
		p("flow_steering_mode", map[string]string{"runtime": "smfs"}),
		p("fdb_large_groups", map[string]string{"runtime": "15", "driverinit": "16"}),
		p("max_macs", map[string]string{"driverinit": "128"}),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Parameters() = %v, -want +got:\n%s", err, diff)
	}
	c = fake(t, DEVLINK_CMD_PARAM_GET, parameter(t, "x", 3, map[uint8]any{0: nil}))
	got, err = c.Parameters(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "x" || got[0].Err == nil {
		t.Errorf("Parameters() with a value without data = %+v, %v, want an error of the parameter", got, err)
	}
}

// TestReporterErrors has reporters whose messages are not valid beside one that is: each has an
// error of its own, and the list has none.
func TestReporterErrors(t *testing.T) {
	bare := func(more func(*netlink.AttributeEncoder)) []byte {
		return encode(t, func(ae *netlink.AttributeEncoder) {
			ae.String(DEVLINK_ATTR_BUS_NAME, "pci")
			ae.String(DEVLINK_ATTR_DEV_NAME, "0000:3b:00.0")
			ae.Nested(DEVLINK_ATTR_HEALTH_REPORTER, func(ae *netlink.AttributeEncoder) error {
				ae.String(DEVLINK_ATTR_HEALTH_REPORTER_NAME, "rx")
				more(ae)
				return nil
			})
		})
	}
	c := fake(t, DEVLINK_CMD_HEALTH_REPORTER_GET, reporter(t, "fw", -1, 0, 0, 0), reporter(t, "tx", -1, 2, 0, 0),
		bare(func(*netlink.AttributeEncoder) {}),
		bare(func(ae *netlink.AttributeEncoder) { ae.Bytes(DEVLINK_ATTR_HEALTH_REPORTER_STATE, []byte{0, 0, 0}) }))
	got, err := c.Reporters(t.Context())
	if err != nil || len(got) != 4 || got[0].Err != nil {
		t.Fatalf("Reporters() = %+v, %v, want four, the first without an error", got, err)
	}
	for i, want := range []string{"", "state 2", "no state", ""} {
		if r := got[i]; i > 0 && (r.Err == nil || r.Errored || !strings.Contains(r.Err.Error(), want)) {
			t.Errorf("reporter %d: %+v, want an error with %q", i, r, want)
		}
	}
}

func TestErrors(t *testing.T) {
	c := Client{genl.Client{Dial: func() (*genetlink.Conn, error) { return nil, syscall.EPERM }}}
	_, err := c.Reporters(t.Context())
	if !errors.Is(err, fs.ErrPermission) || err.Error() != "devlink health reporter dump: operation not permitted" {
		t.Errorf("Reporters() = %v", err)
	}
}

// TestKernel asks the running kernel, which may have no devlink.
func TestKernel(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for op, ask := range map[string]func() error{
		"Reporters":  func() error { _, err := (Client{}).Reporters(ctx); return err },
		"Parameters": func() error { _, err := (Client{}).Parameters(ctx); return err },
	} {
		if err := ask(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s() = %v", op, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(reporter(f, "fw_fatal", 1, 1, 3, 2))
	f.Add(parameter(f, "fdb_large_groups", 3, map[uint8]any{0: uint32(15), 1: uint32(16)}))
	f.Add(parameter(f, "flow_steering_mode", 5, map[uint8]any{0: "smfs"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeReporter(b); !errors.Is(err, errIncomplete) && (r.Device == "" || r.Name == "") {
			t.Errorf("decodeReporter(%x) = %+v, %v", b, r, err)
		}
		p, err := decodeParameter(b)
		if !errors.Is(err, errIncomplete) && (p.Device == "" || p.Name == "" || p.Values == nil) {
			t.Errorf("decodeParameter(%x) = %+v, %v", b, p, err)
		}
		for mode := range p.Values {
			if mode != "runtime" && mode != "driverinit" && mode != "permanent" {
				t.Errorf("decodeParameter(%x) has the mode %q", b, mode)
			}
		}
	})
}

// TestSwitchMode decodes answers as devlink_nl_eswitch_fill builds them.
func TestSwitchMode(t *testing.T) {
	for mode, want := range map[uint16]string{0: "legacy", 1: "switchdev", 7: "7"} {
		got, err := decodeSwitchMode(encode(t, func(ae *netlink.AttributeEncoder) {
			ae.String(DEVLINK_ATTR_BUS_NAME, "pci")
			ae.Uint16(DEVLINK_ATTR_ESWITCH_MODE, mode)
		}))
		if got != want || err != nil {
			t.Errorf("mode %d = %q, %v, want %q", mode, got, err, want)
		}
	}
	if got, err := decodeSwitchMode(nil); !errors.Is(err, errIncomplete) {
		t.Errorf("decodeSwitchMode of nothing = %q, %v", got, err)
	}
}
