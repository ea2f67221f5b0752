package devlink

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rdmakit/rdmakit/internal/edge/nl"
)

// stateError is DEVLINK_HEALTH_REPORTER_STATE_ERROR of include/net/devlink.h.
const stateError = 1

// noState marks a message without a state; the kernel's are 0 and 1.
const noState = 255

// decodeReporter decodes the attributes of one message. An error means that it identifies no
// reporter.
func decodeReporter(b []byte) (Reporter, error) {
	var r Reporter
	var port uint32
	state := uint8(noState)
	nested := nl.Fields{
		DEVLINK_ATTR_HEALTH_REPORTER_NAME:          nl.Text(&r.Name),
		DEVLINK_ATTR_HEALTH_REPORTER_STATE:         nl.Number(&state),
		DEVLINK_ATTR_HEALTH_REPORTER_ERR_COUNT:     nl.Number(&r.Errors),
		DEVLINK_ATTR_HEALTH_REPORTER_RECOVER_COUNT: nl.Number(&r.Recoveries),
	}
	err := nl.Fields{
		DEVLINK_ATTR_BUS_NAME: nl.Text(&r.Bus),
		DEVLINK_ATTR_DEV_NAME: nl.Text(&r.Device),
		DEVLINK_ATTR_PORT_INDEX: func(v []byte) error {
			err := nl.Number(&port)(v)
			if err == nil {
				r.Port = &port
			}
			return err
		},
		DEVLINK_ATTR_HEALTH_REPORTER: nested.Decode,
	}.Decode(b)
	if r.Device == "" || r.Name == "" {
		return Reporter{}, errors.Join(fmt.Errorf("%w: no device or reporter", errIncomplete), err)
	}
	if err == nil && state > stateError {
		err = fmt.Errorf("state %d is neither healthy nor error", state)
		if state == noState {
			err = errors.New("no state")
		}
	}
	r.Errored, r.Err = state == stateError, err
	return r, nil
}

// decodeSwitchMode decodes the answer about a switch.
func decodeSwitchMode(b []byte) (string, error) {
	var mode uint16
	found := false
	err := nl.Fields{
		DEVLINK_ATTR_ESWITCH_MODE: func(v []byte) error {
			found = true
			return nl.Number(&mode)(v)
		},
	}.Decode(b)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("%w: no mode of the switch", errIncomplete)
	case mode == DEVLINK_ESWITCH_MODE_LEGACY:
		return "legacy", nil
	case mode == DEVLINK_ESWITCH_MODE_SWITCHDEV:
		return "switchdev", nil
	}
	return strconv.Itoa(int(mode)), nil
}

// decodeParameter decodes the attributes of one message. The type of a value precedes it. An error
// means that it identifies no parameter.
func decodeParameter(b []byte) (Parameter, error) {
	p := Parameter{Values: map[string]string{}}
	var kind uint8
	nested := nl.Fields{
		DEVLINK_ATTR_PARAM_NAME: nl.Text(&p.Name),
		DEVLINK_ATTR_PARAM_TYPE: nl.Number(&kind),
		DEVLINK_ATTR_PARAM_VALUES_LIST: nl.Fields{
			DEVLINK_ATTR_PARAM_VALUE: func(v []byte) error { return decodeValue(v, kind, p.Values) },
		}.Decode,
	}
	err := nl.Fields{
		DEVLINK_ATTR_BUS_NAME: nl.Text(&p.Bus),
		DEVLINK_ATTR_DEV_NAME: nl.Text(&p.Device),
		DEVLINK_ATTR_PARAM:    nested.Decode,
	}.Decode(b)
	if p.Device == "" || p.Name == "" {
		return Parameter{}, errors.Join(fmt.Errorf("%w: no device or parameter", errIncomplete), err)
	}
	p.Err = err
	return p, nil
}

// Types of parameters: those of netlink's policies (enum of include/net/netlink.h).
const (
	typeString = 5
	typeFlag   = 6
)

// decodeValue decodes a value and stores it under the name of its mode. A flag that is absent is
// false.
func decodeValue(b []byte, kind uint8, values map[string]string) error {
	var data []byte
	var mode uint8
	present := false
	err := nl.Fields{
		DEVLINK_ATTR_PARAM_VALUE_DATA: func(v []byte) error {
			data, present = v, true
			return nil
		},
		DEVLINK_ATTR_PARAM_VALUE_CMODE: nl.Number(&mode),
	}.Decode(b)
	name, ok := map[uint8]string{
		DEVLINK_PARAM_CMODE_RUNTIME: "runtime", DEVLINK_PARAM_CMODE_DRIVERINIT: "driverinit",
		DEVLINK_PARAM_CMODE_PERMANENT: "permanent",
	}[mode]
	switch {
	case err != nil:
		return err
	case !ok:
		return nil // a mode of a later kernel
	case kind == typeFlag:
		values[name] = strconv.FormatBool(present)
	case !present:
		return errors.New("a value without data")
	case kind == typeString:
		values[name] = nl.String(data)
	default:
		n, err := nl.Uint(data)
		if err != nil {
			return err
		}
		values[name] = strconv.FormatUint(n, 10)
	}
	return nil
}
