package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImport(t *testing.T) {
	tests := []struct {
		name, text string
		yaml       string
		notes      []string
	}{
		{"whole", `{
  "devices": [
    {"name": "mlx5_0", "transport": "RoCE", "mtu": 4096, "enabled": true},
    {"name": "mlx5_1", "transport": "RoCE", "mtu": 4096},
    {"name": "mlx5_2", "enabled": false}
  ],
  "cluster": {"name": "prod", "leader": "gpu-00"}
}`, "device: mlx5_0\nmtu: 4096\n", []string{
			`f:3:37: devices[0].transport "RoCE": not a setting: rdmactl reads the transport from the ` +
				`device (rdmactl detect shows it)`,
			`f:4:14: devices[1].name "mlx5_1": the setting device has only one name, mlx5_0; env, detect and ` +
				`doctor use all devices, and bench -d selects another`,
			`f:4:37: devices[1].transport "RoCE": not imported, because its device is not`,
			`f:4:52: devices[1].mtu 4096: not imported, because its device is not`,
			`f:5:14: devices[2].name "mlx5_2": not enabled, so not imported; to leave out a device, use env --exclude`,
			`f:7:23: cluster.name "prod": not a setting: no command uses the name of a cluster`,
			`f:7:41: cluster.leader "gpu-00": not a setting: the launcher of a job sets the leader ` +
				`(MASTER_ADDR, mpirun)`,
		}},
		{
			"first is off", `{"devices":[{"name":"a","enabled":false},{"name":"b","transport":"uc","mtu":9000}]}`,
			"device: b\nqp-type: UC\n",
			[]string{
				`f:1:21: devices[0].name "a": not enabled, so not imported; to leave out a device, use env --exclude`,
				`f:1:77: devices[1].mtu 9000: not a path MTU (256, 512, 1024, 2048 or 4096); ip link set dev ` +
					`NETDEV mtu sets the MTU of a network device`,
			},
		},
		{"odd names", `{"devices":[{"name":"null","mtu":256}]}`, "device: \"null\"\nmtu: 256\n", nil},
		{"nothing", "\ufeff {\"devices\": [], \"cluster\": null}", "# no setting\n", nil},
		{"empty", `{}`, "# no setting\n", nil},
	}
	for _, tt := range tests {
		got, err := importDevices("f", []byte(tt.text))
		if err != nil {
			t.Errorf("%s: import = %v", tt.name, err)
			continue
		}
		text, err := got.YAML()
		if diff := cmp.Diff(tt.yaml, string(text)); diff != "" || err != nil {
			t.Errorf("%s: import gives %v, -want +got:\n%s", tt.name, err, diff)
		}
		if diff := cmp.Diff(tt.notes, got.Notes); diff != "" {
			t.Errorf("%s: notes, -want +got:\n%s", tt.name, diff)
		}
		if values, err := parse("g", text); err != nil || len(values) != len(got.Entries) {
			t.Errorf("%s: the file that was made has %d settings, want %d: %v", tt.name, len(values),
				len(got.Entries), err)
		}
	}
}

func TestImportErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{
			"no JSON", "{\n  \"devices\": [,]\n}",
			"f:2:15: is not JSON: invalid character ',' looking for beginning of value",
		},
		{"cut", `{"devices": [`, "f:1:13: is not JSON: unexpected end of JSON input"},
		{"behind", `{} x`, "f:1:4: is not JSON: invalid character 'x' after top-level value"},
		{"list", `[]`, "f:1:1: is a list, want an object"},
		{"key", `{"device": []}`, `f:1:2: unknown key "device"`},
		{"key below", "{\"devices\": [\n  {\"name\": \"a\", \"port\": 1}]}", `f:2:17: unknown key "devices[0].port"`},
		{"devices", `{"devices": {}}`, "f:1:13: devices: is an object, want a list"},
		{"device", `{"devices": ["mlx5_0"]}`, "f:1:14: devices[0]: is a string, want an object"},
		{"name", `{"devices": [{"mtu": 4096}]}`, "f:1:14: devices[0]: has no name"},
		{"bad name", `{"devices": [{"name": "a/b"}]}`, `f:1:23: devices[0].name: "a/b" is not a device name: ` +
			`at most 63 characters, no slash, no space`},
		{"empty name", `{"devices": [{"name": ""}]}`, "f:1:23: devices[0].name: is empty"},
		{"mtu", `{"devices": [{"name": "a", "mtu": "4096"}]}`, "f:1:35: devices[0].mtu: is a string, want a number"},
		{"mtu 1.5", `{"devices": [{"name": "a", "mtu": 1.5}]}`, "f:1:35: devices[0].mtu: 1.5 is not a number of bytes"},
		{"mtu -1", `{"devices": [{"name": "a", "mtu": -1}]}`, "f:1:35: devices[0].mtu: -1 is not a number of bytes"},
		{
			"enabled", `{"devices": [{"name": "a", "enabled": "yes"}]}`,
			"f:1:39: devices[0].enabled: is a string, want true or false",
		},
		{"leader", `{"cluster": {"leader": 1}}`, "f:1:24: cluster.leader: is a number, want a string"},
		{
			"twice", `{"cluster": {"name": "a", "name": "b"}}`,
			"f:1:27: cluster.name: given twice, first at f:1:14",
		},
		{"all at once", "{\"devices\": 1,\n\"cluster\": 2}", "f:1:13: devices: is a number, want a list\n" +
			"f:2:12: cluster: is a number, want an object"},
	}
	for _, tt := range tests {
		_, err := importDevices("f", []byte(tt.text))
		var mistake *Error
		if err == nil || err.Error() != tt.want || !errors.As(err, &mistake) {
			t.Errorf("%s: import(%s) =\n%v\nwant\n%s", tt.name, tt.text, err, tt.want)
		}
	}
}

// TestDeviceFileAsConfiguration has --config name a file that is to be imported.
func TestDeviceFileAsConfiguration(t *testing.T) {
	file := writeFile(t, "{\"devices\": [{\"name\": \"mlx5_0\"}],\n \"cluster\": {\"name\": \"a\"}}\n")
	var e *Error
	_, err := Load(Options{File: file})
	if !errors.As(err, &e) || strings.Count(err.Error(), "\n") > 0 || len(e.Hints()) != 1 ||
		e.Hints()[0] != "rdmactl config import "+file+" converts it to a configuration" {
		t.Errorf("Load(%s) = %v, want one error with a hint to import it", file, err)
	}
	if c, err := Load(Options{File: writeFile(t, `{"device": "mlx5_0", "mtu": 1024}`)}); err != nil || c.MTU != 1024 {
		t.Errorf("Load of settings in JSON = %v, MTU %d, want 1024", err, c.MTU)
	}
}

func FuzzImport(f *testing.F) {
	f.Add(`{"devices": [{"name": "mlx5_0", "transport": "RoCE", "mtu": 4096, "enabled": true}]}`)
	f.Add(`{"cluster": {"name": "a", "leader": null}, "x": [1, {"y": {}}]}`)
	f.Add("[\n{\"\\u00e4\": 1e9, \"\": -0}]")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := importDevices("f", []byte(text))
		if err != nil {
			return
		}
		made, err := got.YAML()
		if err != nil {
			t.Fatalf("import(%q): %v", text, err)
		}
		if values, err := parse("g", made); err != nil || len(values) != len(got.Entries) {
			t.Errorf("import(%q) makes %q, which has %d settings, want %d: %v", text, made, len(values),
				len(got.Entries), err)
		}
	})
}
