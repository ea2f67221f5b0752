package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rdmakit/rdmakit/inventory"
)

// Values has the effective settings. A zero field without a default means that the value is
// detected when it is needed.
type Values struct {
	Output    string        // table, wide, json or yaml; a command may have others, by flag only
	Color     string        // auto, always or never
	Timeout   time.Duration // of the whole run, 0 without limit
	Device    string        // RDMA device name, such as mlx5_0
	Port      int           // port of the device, from 1
	QPType    string        // RC, UC or UD
	MTU       int           // path MTU in bytes: 256, 512, 1024, 2048 or 4096
	QPTimeout int           // code of a queue pair's acknowledgement timeout, 0 (without limit) to 31
	Interval  time.Duration // between two readings of a watching command
	Root      string        // directory to read instead of / when a node is read
	PCIIDs    string        // pci.ids file with the names of vendors and models
	// Roles are the roles that the site gives to ports.
	Roles []inventory.RoleSetting
}

// Setting describes one setting.
type Setting struct {
	// Key is its name in the file, as a flag, and in Config.Origin.
	Key string
	// Type is the type of the value: word (one of Allowed), number, duration, name, path or pairs,
	// which the file may also have as a mapping.
	Type string
	// Default is the default value. If it is empty, Unset describes the behaviour without a value.
	Default, Unset string
	// Allowed lists the allowed words or numbers; empty if all are allowed.
	Allowed []string
	// Alias is the RDMA_ variable that is read after Env; empty for most. AliasNote explains the
	// variable to a user who set it to an invalid value.
	Alias, AliasNote string
	// Help describes the setting, in lower case without a full stop.
	Help string
	// UsedBy names the commands that it affects if they are few; empty otherwise.
	UsedBy string

	// set checks raw, stores it, and returns it in the form that is shown.
	set func(v *Values, raw string) (string, error)
}

// Env returns the setting's own variable: RDMAKIT_QP_TYPE for qp-type.
func (s Setting) Env() string {
	return "RDMAKIT_" + strings.ToUpper(strings.ReplaceAll(s.Key, "-", "_"))
}

// Variables returns the variables that the setting is read from, in order.
func (s Setting) Variables() []string {
	if s.Alias == "" {
		return []string{s.Env()}
	}
	return []string{s.Env(), s.Alias}
}

// Values describes the allowed values.
func (s Setting) Values() string {
	if len(s.Allowed) > 0 {
		return strings.Join(s.Allowed, ", ")
	}
	switch s.Key {
	case "timeout":
		return "a duration such as 30s, or a number of seconds; 0 for no limit"
	case "interval":
		return "a duration such as 500ms, or a number of seconds; 100ms to 1h"
	case "port":
		return "a number from 1 to 255"
	case "qp-timeout":
		return "a number from 0 to 31"
	case "roles":
		return "PATTERN=ROLE,…; in the file also a mapping"
	}
	return "a " + s.Type
}

// Settings returns the table of settings, in the order in which they are shown.
func Settings() []Setting {
	formats := []string{"table", "wide", "json", "yaml"}
	colors := []string{"auto", "always", "never"}
	qpTypes := []string{"RC", "UC", "UD"}
	mtus := []string{"256", "512", "1024", "2048", "4096"}
	return []Setting{
		{
			Key: "output", Type: "word", Default: "table", Allowed: formats,
			Help: "format of the data on standard output",
			set:  word(formats, func(v *Values, s string) { v.Output = s }),
		},
		{
			Key: "color", Type: "word", Default: "auto", Allowed: colors,
			Help: "when to use colours (auto: on terminals, unless NO_COLOR is set)",
			set:  word(colors, func(v *Values, s string) { v.Color = s }),
		},
		{
			Key: "timeout", Type: "duration", Default: "0s", Help: "end the command after this time",
			set: duration(0, math.MaxInt64, func(v *Values, d time.Duration) { v.Timeout = d }),
		},
		{
			Key: "device", Type: "name", Unset: "detected", Alias: "RDMA_DEVICE",
			Help: "RDMA device to use, such as mlx5_0", UsedBy: "connect, bench, fabric and the C tools that move data",
			set: name(func(v *Values, s string) { v.Device = s }),
		},
		{
			Key: "port", Type: "number", Unset: "detected",
			Help: "port of the device", UsedBy: "connect, bench (both --ib-port) and fabric",
			set: number(1, 255, func(v *Values, n int) { v.Port = n }),
		},
		{
			Key: "qp-type", Type: "word", Default: "RC", Alias: "RDMA_QP_TYPE", Allowed: qpTypes,
			Help: "type of the queue pairs", UsedBy: "bench",
			set: word(qpTypes, func(v *Values, s string) { v.QPType = s }),
		},
		{
			Key: "mtu", Type: "number", Unset: "that of the port", Alias: "RDMA_MTU", Allowed: mtus,
			Help: "largest path MTU of the queue pairs, in bytes", UsedBy: "connect and bench",
			set: word(mtus, func(v *Values, s string) { v.MTU, _ = strconv.Atoi(s) }),
		},
		{
			Key: "qp-timeout", Type: "number", Default: "14", Alias: "RDMA_TIMEOUT",
			AliasNote: "it is the exponent n of a queue pair's acknowledgement timeout, 4.096 us * 2^n; " +
				"RDMAKIT_TIMEOUT limits the time of a run",
			Help:   "exponent n of the acknowledgement timeout, 4.096 us * 2^n (14 is 67 ms, 0 is no limit)",
			UsedBy: "connect and bench",
			set:    number(0, 31, func(v *Values, n int) { v.QPTimeout = n }),
		},
		{
			Key: "interval", Type: "duration", Default: "1s", Help: "time between two readings when watching",
			set: duration(100*time.Millisecond, time.Hour, func(v *Values, d time.Duration) { v.Interval = d }),
		},
		{
			Key: "root", Type: "path", Unset: "this machine", Help: "directory to read as / of the node",
			set: path(func(v *Values, s string) { v.Root = s }),
		},
		{
			Key: "pci-ids", Type: "path", Unset: "detected", Help: "pci.ids file with the names of vendors and models",
			set: path(func(v *Values, s string) { v.PCIIDs = s }),
		},
		{
			Key: "roles", Type: typePairs, Unset: "none",
			Help: "roles of ports by PCI address, device, network device or board id, with * and ?: compute, " +
				"storage, management or unused",
			UsedBy: "all commands that read nodes",
			set: func(v *Values, raw string) (string, error) {
				roles, err := inventory.ParseRoleSettings(raw)
				if err != nil {
					return "", fmt.Errorf("is wrong: %w", err)
				}
				v.Roles = roles
				return raw, nil
			},
		},
	}
}

// typePairs is the type of a setting with pairs KEY=VALUE.
const typePairs = "pairs"

// Find returns the setting of that key.
func Find(key string) (Setting, bool) {
	for _, s := range Settings() {
		if s.Key == key {
			return s, true
		}
	}
	return Setting{}, false
}

type setter = func(v *Values, raw string) (string, error)

func word(allowed []string, store func(*Values, string)) setter {
	return func(v *Values, raw string) (string, error) {
		for _, w := range allowed {
			if strings.EqualFold(w, raw) {
				store(v, w)
				return w, nil
			}
		}
		return "", fmt.Errorf("is not one of %s", strings.Join(allowed, ", "))
	}
}

func number(low, high int, store func(*Values, int)) setter {
	return func(v *Values, raw string) (string, error) {
		n, err := strconv.Atoi(raw)
		if err != nil || n < low || n > high {
			return "", fmt.Errorf("is not a number from %d to %d", low, high)
		}
		store(v, n)
		return strconv.Itoa(n), nil
	}
}

func duration(low, high time.Duration, store func(*Values, time.Duration)) setter {
	return func(v *Values, raw string) (string, error) {
		d, err := ParseDuration(raw, "30s")
		switch {
		case err != nil:
			return "", fmt.Errorf("is %w", err)
		case d < low && low == 0:
			return "", errors.New("is negative")
		case d < low || d > high:
			return "", fmt.Errorf("is not between %s and %s", low, high)
		}
		store(v, d)
		return d.String(), nil
	}
}

// ParseDuration reads a Go duration or a plain number of seconds, either of which may be negative.
// The error describes raw: too long, or not a duration such as the example. The exponent of a queue
// pair's timeout is another setting, qp-timeout.
func ParseDuration(raw, example string) (time.Duration, error) {
	if d, err := time.ParseDuration(raw); err == nil {
		return d, nil
	}
	seconds, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsNaN(seconds) {
		return 0, fmt.Errorf("not a duration such as %s, nor a number of seconds", example)
	}
	if math.Abs(seconds) > float64(math.MaxInt64/time.Second) {
		return 0, errors.New("too long")
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// name accepts the device names that the kernel accepts: at most 63 bytes (IB_DEVICE_NAME_MAX), no
// slash, no space.
func name(store func(*Values, string)) setter {
	return func(v *Values, raw string) (string, error) {
		if len(raw) > 63 || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == '/' || r == 0x7f }) {
			return "", errors.New("is not a device name: at most 63 characters, no slash, no space")
		}
		store(v, raw)
		return raw, nil
	}
}

func path(store func(*Values, string)) setter {
	return func(v *Values, raw string) (string, error) {
		if strings.ContainsRune(raw, 0) {
			return "", errors.New("is not a path: it has a zero byte")
		}
		store(v, raw)
		return raw, nil
	}
}
