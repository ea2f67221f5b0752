package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/inventory"
)

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}
}

func flags(given map[string]string) func(string) (string, bool) { return lookup(given) }

func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "# mine\nmtu: 256\nqp-type: UD\n")
	tests := []struct {
		name  string
		flags map[string]string
		env   map[string]string
		file  string
		want  Entry
	}{
		{"detection", nil, nil, "", Entry{Key: "mtu", Origin: OriginDetection}},
		{"file", nil, nil, file, Entry{"mtu", "256", OriginFile, file + ":2"}},
		{"alias over file", nil, map[string]string{"RDMA_MTU": "512"}, file, Entry{
			"mtu", "512", OriginAlias, "RDMA_MTU",
		}},
		{
			"own over alias", nil,
			map[string]string{"RDMA_MTU": "512", "RDMAKIT_MTU": "1024"},
			file,
			Entry{"mtu", "1024", OriginEnvironment, "RDMAKIT_MTU"},
		},
		{
			"flag over all",
			map[string]string{"mtu": "2048"},
			map[string]string{"RDMA_MTU": "512", "RDMAKIT_MTU": "1024"},
			file,
			Entry{"mtu", "2048", OriginFlag, "--mtu"},
		},
		{"empty is unset", nil, map[string]string{"RDMA_MTU": "512", "RDMAKIT_MTU": ""}, file, Entry{
			"mtu", "512", OriginAlias, "RDMA_MTU",
		}},
		{
			"a flag is a way around a bad variable",
			map[string]string{"mtu": "2048"},
			map[string]string{"RDMAKIT_MTU": "x"},
			"",
			Entry{"mtu", "2048", OriginFlag, "--mtu"},
		},
	}
	for _, tt := range tests {
		c, err := Load(Options{Flag: flags(tt.flags), LookupEnv: lookup(tt.env), File: tt.file})
		if err != nil {
			t.Errorf("%s: Load = %v", tt.name, err)
			continue
		}
		var got Entry
		for _, e := range c.Entries {
			if e.Key == "mtu" {
				got = e
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: Load's mtu, -want +got:\n%s", tt.name, diff)
		}
		if got := c.Origin("mtu"); got != tt.want.Origin {
			t.Errorf("%s: Origin(mtu) = %s, want %s", tt.name, got, tt.want.Origin)
		}
	}
}

// TestEveryLayer sets every setting in every layer, so that a line in the table with a wrong store
// function shows.
func TestEveryLayer(t *testing.T) {
	raw := map[string]string{
		"output": "json", "color": "NEVER", "timeout": "90", "device": "mlx5_0", "port": "2", "qp-type": "ud",
		"mtu": "4096", "qp-timeout": "0", "interval": "1.5", "root": "/mnt/node", "pci-ids": "/tmp/pci.ids",
		"roles": "0000:9d:00.*=management,mlx5_1=storage",
	}
	want := Values{
		Output: "json", Color: "never", Timeout: 90 * time.Second, Device: "mlx5_0", Port: 2, QPType: "UD",
		MTU: 4096, QPTimeout: 0, Interval: 1500 * time.Millisecond, Root: "/mnt/node", PCIIDs: "/tmp/pci.ids",
		Roles: []inventory.RoleSetting{
			{Pattern: "0000:9d:00.*", Role: inventory.RoleManagement}, {Pattern: "mlx5_1", Role: inventory.RoleStorage},
		},
	}
	env := make(map[string]string)
	var text strings.Builder
	for _, s := range Settings() {
		if raw[s.Key] == "" {
			t.Fatalf("setting %s has no value in this test", s.Key)
		}
		env[s.Env()] = raw[s.Key]
		text.WriteString(s.Key + ": " + raw[s.Key] + "\n")
	}
	file := writeFile(t, text.String())
	for name, o := range map[string]Options{
		"flags":       {Flag: flags(raw)},
		"environment": {LookupEnv: lookup(env)},
		"file":        {File: file},
	} {
		c, err := Load(o)
		if err != nil {
			t.Errorf("%s: Load = %v", name, err)
		}
		if diff := cmp.Diff(want, c.Values); diff != "" {
			t.Errorf("%s: Load's values, -want +got:\n%s", name, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	c, err := Load(Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := Values{Output: "table", Color: "auto", QPType: "RC", QPTimeout: 14, Interval: time.Second}
	if diff := cmp.Diff(want, c.Values); diff != "" {
		t.Errorf("Load with nothing set, -want +got:\n%s", diff)
	}
}

func TestAliases(t *testing.T) {
	c, err := Load(Options{LookupEnv: lookup(map[string]string{
		"RDMA_DEVICE": "rxe0", "RDMA_QP_TYPE": "uc", "RDMA_MTU": "1024", "RDMA_TIMEOUT": "18",
	})})
	want := Values{
		Output: "table", Color: "auto", Interval: time.Second,
		Device: "rxe0", QPType: "UC", MTU: 1024, QPTimeout: 18,
	}
	if diff := cmp.Diff(want, c.Values); diff != "" || err != nil {
		t.Errorf("Load with the aliases = %v, -want +got:\n%s", err, diff)
	}
}

func TestWrongValues(t *testing.T) {
	tests := []struct{ key, value, want string }{
		{"output", "xml", `"xml" is not one of table, wide, json, yaml`},
		{"output", "", `"" is not one of table, wide, json, yaml`},
		{"color", "red", `"red" is not one of auto, always, never`},
		{"qp-type", "XRC", `"XRC" is not one of RC, UC, UD`},
		{"mtu", "1500", `"1500" is not one of 256, 512, 1024, 2048, 4096`},
		{"port", "0", `"0" is not a number from 1 to 255`},
		{"port", "one", `"one" is not a number from 1 to 255`},
		{"qp-timeout", "32", `"32" is not a number from 0 to 31`},
		{"qp-timeout", "67ms", `"67ms" is not a number from 0 to 31`},
		{"timeout", "soon", `"soon" is not a duration such as 30s, nor a number of seconds`},
		{"timeout", "NaN", `"NaN" is not a duration such as 30s, nor a number of seconds`},
		{"timeout", "-1", `"-1" is negative`},
		{"timeout", "1e300", `"1e300" is too long`},
		{"interval", "1ms", `"1ms" is not between 100ms and 1h0m0s`},
		{"interval", "2h", `"2h" is not between 100ms and 1h0m0s`},
		{"device", "a/b", `"a/b" is not a device name: at most 63 characters, no slash, no space`},
		{"device", strings.Repeat("x", 64), `"` + strings.Repeat("x",
			64) + `" is not a device name: at most 63 characters, no slash, no space`},
		{"root", "a\x00b", `"a\x00b" is not a path: it has a zero byte`},
	}
	for _, tt := range tests {
		_, err := Load(Options{Flag: flags(map[string]string{tt.key: tt.value})})
		if want := "--" + tt.key + ": " + tt.want; err == nil || err.Error() != want {
			t.Errorf("Load with --%s %q = %v, want %s", tt.key, tt.value, err, want)
		}
		if tt.value == "" {
			continue
		}
		s, _ := Find(tt.key)
		_, err = Load(Options{LookupEnv: lookup(map[string]string{s.Env(): tt.value})})
		if want := s.Env() + ": " + tt.key + ": " + tt.want; err == nil || err.Error() != want {
			t.Errorf("Load with %s=%q = %v, want %s", s.Env(), tt.value, err, want)
		}
	}
}

func TestFormatsOfACommand(t *testing.T) {
	formats := []string{"sh", "json"}
	if c, err := Load(Options{Formats: formats, Flag: flags(map[string]string{"output": "sh"})}); err != nil ||
		c.Output != "sh" {
		t.Errorf("Load with --output sh = %q, %v, want sh", c.Output, err)
	}
	_, err := Load(Options{Formats: formats, Flag: flags(map[string]string{"output": "wide"})})
	if want := `--output: "wide" is not one of sh, json`; err == nil || err.Error() != want {
		t.Errorf("Load with --output wide = %v, want %s", err, want)
	}
	if c, err := Load(Options{
		Formats: formats, LookupEnv: lookup(map[string]string{"RDMAKIT_OUTPUT": "wide"}),
	}); err != nil || c.Output != "wide" {
		t.Errorf("Load with RDMAKIT_OUTPUT=wide = %q, %v, want wide", c.Output, err)
	}
}

func TestFileErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "output: json\noutptu: yaml\n", `FILE:2: unknown key "outptu"`},
		{"wrong value", "\nmtu: 1500\n", `FILE:2: mtu: "1500" is not one of 256, 512, 1024, 2048, 4096`},
		{"wrong type", "color: true\n", `FILE:1: color: "true" is not one of auto, always, never`},
		{"list", "device:\n- a\n", "FILE:1: device: is a list, want a single value"},
		{"mapping", "device: {a: b}\n", "FILE:1: device: is a mapping, want a single value"},
		{"alias", "device: &x a\nroot: *x\n", "FILE:2: root: is a YAML alias, want a single value"},
		{"twice", "port: 1\nport: 2\n", "FILE:2: port: given twice, first on line 1"},
		{"merge key", "<<: {port: 1}\n", `FILE:1: unknown key "<<"`},
		{"documents", "port: 1\n---\nport: 2\n", "FILE: holds more than one YAML document"},
		{"no mapping", "- port\n", `FILE:1: is not a list of "key: value" lines`},
		{"text", "hello\n", `FILE:1: is not a list of "key: value" lines`},
		{"syntax", "port: 1\n\tmtu: 2\n", "FILE:2: found a tab character that violates indentation"},
		{"all at once", "mtu: 1\nx: 1\nport: 0\n", strings.Join([]string{
			`FILE:1: mtu: "1" is not one of 256, 512, 1024, 2048, 4096`,
			`FILE:2: unknown key "x"`,
			`FILE:3: port: "0" is not a number from 1 to 255`,
		}, "\n")},
	}
	for _, tt := range tests {
		file := writeFile(t, tt.text)
		want := strings.ReplaceAll(tt.want, "FILE", file)
		if err := Validate(file); err == nil || err.Error() != want {
			t.Errorf("%s: Validate(%q) =\n%v\nwant\n%s", tt.name, tt.text, err, want)
		}
		var loadErr string
		if _, err := Load(Options{File: file}); err != nil {
			loadErr = err.Error()
		}
		if loadErr != want {
			t.Errorf("%s: Load(%q) =\n%v\nwant\n%s", tt.name, tt.text, loadErr, want)
		}
	}
}

// TestSyntaxHints has the mistakes that the parser's words don't tell.
func TestSyntaxHints(t *testing.T) {
	for text, want := range map[string]string{
		"roles:\n\tmlx5_0: storage\n": "YAML is indented with spaces, not with tabs",
		"roles:\n  *: storage\n":      "YAML needs quotes around a key that begins with *, such as '*': storage",
		"roles:\n  *f1: storage\n":    "YAML needs quotes around a key that begins with *, such as '*': storage",
		"roles: [\n":                  "",
	} {
		err, ok := errors.AsType[*Error](Validate(writeFile(t, text)))
		if !ok || err.Hint != want {
			t.Errorf("%q: %v, hint %q, want %q", text, err, err.Hint, want)
		}
	}
}

func TestFilesWithoutSettings(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n", "mtu:\nport: \"\"\n", "{}"} {
		c, err := Load(Options{File: writeFile(t, text)})
		if err != nil || c.Origin("mtu") != OriginDetection || c.Origin("port") != OriginDetection {
			t.Errorf("Load(%q) = %v, mtu from %s, want detection", text, err, c.Origin("mtu"))
		}
	}
}

// A wrong value must not take the right ones with it: commands that ignore a broken file still use
// the rest.
func TestPartialConfig(t *testing.T) {
	c, err := Load(Options{File: writeFile(t, "mtu: 1\noutput: yaml\nzz: 1\n")})
	if err == nil || c.Output != "yaml" || c.MTU != 0 || c.Origin("mtu") != OriginDetection {
		t.Errorf("Load = %+v, %v, want output yaml, no mtu, and an error", c.Values, err)
	}
}

func TestHints(t *testing.T) {
	tests := []struct{ key, want string }{
		{"outptu", `did you mean "output"?`},
		{"qp_type", `did you mean "qp-type"?`},
		{"Device", `did you mean "device"?`},
		{"mtuu", `did you mean "mtu"?`},
	}
	for _, tt := range tests {
		var e *Error
		if err := Validate(writeFile(t, tt.key+": x\n")); !errors.As(err, &e) || len(e.Hints()) != 1 ||
			e.Hints()[0] != tt.want {
			t.Errorf("Validate(%s: x) = %v with hints %q, want %s", tt.key, err, e.Hints(), tt.want)
		}
	}
	var e *Error
	if err := Validate(writeFile(t, "nonsense: x\n")); !errors.As(err, &e) || e.Hints() != nil {
		t.Errorf("Validate(nonsense: x) = %v with hints %q, want none", err, e.Hints())
	}
}

func TestPath(t *testing.T) {
	tests := []struct {
		name, flag    string
		env           map[string]string
		want, namedBy string
	}{
		{"flag", "x.yaml", map[string]string{"RDMAKIT_CONFIG": "/e"}, "x.yaml", "--config"},
		{"variable", "", map[string]string{"RDMAKIT_CONFIG": "/e", "HOME": "/h"}, "/e", "RDMAKIT_CONFIG"},
		{"xdg", "", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/rdmakit/config.yaml", ""},
		{
			"relative xdg", "",
			map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/h"},
			"/h/.config/rdmakit/config.yaml", "",
		},
		{"home", "", map[string]string{"HOME": "/h"}, "/h/.config/rdmakit/config.yaml", ""},
		{"nothing", "", nil, "", ""},
	}
	for _, tt := range tests {
		got, namedBy := Path(tt.flag, lookup(tt.env))
		if got != tt.want || namedBy != tt.namedBy {
			t.Errorf("%s: Path = %q, %q, want %q, %q", tt.name, got, namedBy, tt.want, tt.namedBy)
		}
	}
}

func TestMissingFile(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.yaml")
	for name, o := range map[string]Options{
		"--config":       {File: gone},
		"RDMAKIT_CONFIG": {LookupEnv: lookup(map[string]string{"RDMAKIT_CONFIG": gone})},
	} {
		_, err := Load(o)
		if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("Load with a missing file by %s = %v, want an error that names it", name, err)
		}
	}
	for _, home := range []string{t.TempDir(), "/dev/null"} {
		c, err := Load(Options{LookupEnv: lookup(map[string]string{"HOME": home})})
		if err != nil || c.Exists {
			t.Errorf("Load with HOME=%s = %v, exists %t, want neither", home, err, c.Exists)
		}
	}
}

func TestHugeFile(t *testing.T) {
	file := writeFile(t, "# "+strings.Repeat("x", maxFileSize))
	if err := Validate(file); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("Validate of a huge file = %v, want an error about its size", err)
	}
}

func TestNotes(t *testing.T) {
	env := map[string]string{"RDMAKIT_MTU": "4096", "RDMA_MTU": "1024", "RDMAKIT_QP_TYPE": "rc", "RDMA_QP_TYPE": "RC"}
	c, err := Load(Options{
		LookupEnv: lookup(env), Environ: []string{"RDMAKIT_OUTPT=json", "RDMAKIT_AGENT_TOKEN=x", "RDMAKIT_MTU=4096"},
	})
	want := []string{
		"RDMAKIT_MTU=4096 overrides RDMA_MTU=1024",
		"RDMAKIT_OUTPT is not a setting; did you mean RDMAKIT_OUTPUT?",
	}
	if diff := cmp.Diff(want, c.Notes); diff != "" || err != nil {
		t.Errorf("Load's notes = %v, -want +got:\n%s", err, diff)
	}
}

// TestIgnoredAlias has an RDMA_ variable that was meant for another program: the commands that it
// would affect print a note, unless a setting of higher precedence is set.
func TestIgnoredAlias(t *testing.T) {
	const why = "is ignored: it is not a number from 0 to 31 (it is the exponent n of a queue pair's " +
		"acknowledgement timeout, 4.096 us * 2^n; RDMAKIT_TIMEOUT limits the time of a run)"
	tests := []struct {
		flags, env map[string]string
		want       string
		value      int
	}{
		{nil, map[string]string{"RDMA_TIMEOUT": "2m"}, "RDMA_TIMEOUT=2m " + why, 14},
		{nil, map[string]string{"RDMA_TIMEOUT": "32"}, "RDMA_TIMEOUT=32 " + why, 14},
		{nil, map[string]string{"RDMA_TIMEOUT": "31"}, "", 31},
		{nil, map[string]string{"RDMA_TIMEOUT": "0"}, "", 0},
		{nil, map[string]string{"RDMA_TIMEOUT": "2m", "RDMAKIT_QP_TIMEOUT": "9"}, "", 9},
		{map[string]string{"qp-timeout": "8"}, map[string]string{"RDMA_TIMEOUT": "2m"}, "", 8},
	}
	for _, tt := range tests {
		c, err := Load(Options{Flag: flags(tt.flags), LookupEnv: lookup(tt.env)})
		if err != nil || c.IgnoredAlias("qp-timeout") != tt.want || c.QPTimeout != tt.value || c.Timeout != 0 {
			t.Errorf("Load(%v, %v) = %v, timeout %d of the queue pair and %v of the run, note %q, want %d, 0, %q",
				tt.flags, tt.env, err, c.QPTimeout, c.Timeout, c.IgnoredAlias("qp-timeout"), tt.value, tt.want)
		}
	}
}

func TestSettingsTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range Settings() {
		if s.Help == "" || s.Type == "" || s.set == nil || seen[s.Key] || (s.Default == "") == (s.Unset == "") {
			t.Errorf("setting %q: incomplete or twice", s.Key)
		}
		seen[s.Key] = true
		var v Values
		if s.Default != "" {
			if shown, err := s.set(&v, s.Default); err != nil || shown != s.Default {
				t.Errorf("setting %s: default %q shows as %q, %v", s.Key, s.Default, shown, err)
			}
		}
		for _, word := range s.Allowed {
			if shown, err := s.set(&v, word); err != nil || shown != word {
				t.Errorf("setting %s: allowed %q shows as %q, %v", s.Key, word, shown, err)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("mtu: 4096\nqp-type: RC\n")
	f.Add("device: &a x\nroot: *a\n<<: {}\n")
	f.Add("? [a]\n: b\n--- \n...\n")
	f.Add("a: !!binary x\n%YAML 9\n")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parse("f", []byte(text))
		for key, v := range values {
			if _, known := Find(key); !known || v.line < 1 || v.text == "" {
				t.Errorf("parse(%q) has %q = %+v, with error %v", text, key, v, err)
			}
		}
	})
}
