package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/joho/godotenv"
)

func planOf(values ...string) Plan {
	var p Plan
	for i, v := range values {
		p.Variables = append(p.Variables, Variable{Name: fmt.Sprintf("V%d", i), Value: v})
	}
	return p
}

func TestFormat(t *testing.T) {
	plan := Plan{
		Variables: []Variable{{Name: "NCCL_IB_HCA", Value: "=mlx5_0:1,mlx5_1:1"}, {Name: "B", Value: "a <b> $c"}},
		Unset:     []Unset{{Name: "UCX_IB_GID_INDEX"}},
	}
	tests := map[TextFormat]string{
		FormatShell:  "export NCCL_IB_HCA='=mlx5_0:1,mlx5_1:1'\nexport B='a <b> $c'\nunset UCX_IB_GID_INDEX\n",
		FormatDotenv: "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1\nB='a <b> $c'\n",
		FormatJSON:   "{\n  \"NCCL_IB_HCA\": \"=mlx5_0:1,mlx5_1:1\",\n  \"B\": \"a <b> $c\"\n}\n",
	}
	for format, want := range tests {
		got, err := Format(plan, format)
		if err != nil || string(got) != want {
			t.Errorf("Format(%s) = %q, %v, want %q", format, got, err, want)
		}
	}
	for format, want := range map[TextFormat]string{FormatShell: "", FormatDotenv: "", FormatJSON: "{}\n"} {
		if got, err := Format(Plan{}, format); err != nil || string(got) != want {
			t.Errorf("Format of no variables as %s = %q, %v, want %q", format, got, err, want)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	tests := []struct {
		format TextFormat
		v      Variable
		want   string
	}{
		{FormatShell, Variable{Name: "A", Value: "a\x00b"}, "NUL"},
		{FormatJSON, Variable{Name: "A", Value: "\x00"}, "NUL"},
		{FormatShell, Variable{Name: "A B", Value: "x"}, "not a valid variable name"},
		{FormatShell, Variable{Name: "", Value: "x"}, "not a valid variable name"},
		{FormatShell, Variable{Name: "1A", Value: "x"}, "not a valid variable name"},
		{FormatShell, Variable{Name: "A;id", Value: "x"}, "not a valid variable name"},
		{FormatDotenv, Variable{Name: "É", Value: "x"}, "not a valid variable name"},
		{FormatJSON, Variable{Name: "A", Value: "\xff"}, "UTF-8"},
		{FormatDotenv, Variable{Name: "A", Value: "\xff"}, "UTF-8"},
		{FormatDotenv, Variable{Name: "A", Value: "it's"}, "differently"},
		{FormatDotenv, Variable{Name: "A", Value: "a\nb"}, "differently"},
		{FormatDotenv, Variable{Name: "A", Value: `a\`}, "differently"},
		{"toml", Variable{Name: "A", Value: "x"}, "unknown format"},
	}
	for _, tt := range tests {
		_, err := Format(Plan{Variables: []Variable{tt.v}}, tt.format)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Format(%q=%q, %s) = %v, want an error with %q", tt.v.Name, tt.v.Value, tt.format, err, tt.want)
		}
	}
	if _, err := Format(Plan{Unset: []Unset{{Name: "A;id"}}}, FormatShell); err == nil {
		t.Error("Format with a hostile name to unset = no error")
	}
	if _, err := ParseTextFormat("xml"); err == nil || !strings.Contains(err.Error(), "sh, dotenv, json") {
		t.Errorf("ParseTextFormat(xml) = %v, want an error that lists the formats", err)
	}
}

// hostileValues try to break out of quotes, to run commands, or to be misread.
var hostileValues = []string{
	"plain", "=mlx5_0:1,mlx5_1:1", "", " ", "a b", "'", "''", "'; touch owned; '", `'"'"'; touch owned #`, `"`,
	`$(touch owned)`, "`touch owned`", "${IFS}", "$HOME", "a\nb", "\n", "\n\n", "'\ntouch owned\n'", "\r\n", "\t", `\`,
	`\'`, `a\`, `\\`, `\n`, "#comment", "a #b", "a#b", "~", "~root", "*", "?", "[a-z]", "{a,b}", "!", "!!", "a!b",
	"export X=1", "&", "|", ";", "<", ">", "(", ")", "%s", "-n", "-e", "--", "\x01\x02", "\x7f", "\x81\x82\x83\x88",
	"\xff\xfe", "\xc3", "\xc3'", "ä€😀", "\u202e", "A=B", ":", "a:b", "^x", "\x1b[31m", "$'a'", `$"a"`, "\\\n", "x\\\ny",
	"\v\f", "\u00a0", "\u2028", "=", "==", "${X:-y}", "$((1+1))", "$1", "$@",
}

// TestShellRoundTrip lets real shells read hostile values back.
func TestShellRoundTrip(t *testing.T) {
	values := append([]string{}, hostileValues...)
	rng := rand.New(rand.NewPCG(8, 9))
	for range 600 {
		values = append(values, randomHostile(rng))
	}
	text, err := Format(planOf(values...), FormatShell)
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"dash", "bash"} {
		for _, locale := range []string{"C", "C.UTF-8"} {
			for _, how := range []string{". ./file", `eval "$(cat file)"`} {
				if diff := cmp.Diff(values, readBack(t, shell, locale, how, text, len(values))); diff != "" {
					t.Errorf("%s (%s), %s (-value +read back):\n%s", shell, locale, how, diff)
				}
			}
		}
	}
}

// TestDotenvRoundTrip does the same with the dotenv form, where it claims to carry a value.
func TestDotenvRoundTrip(t *testing.T) {
	var values []string
	rng := rand.New(rand.NewPCG(10, 11))
	for i := range 1200 {
		v := randomHostile(rng)
		if i < len(hostileValues) {
			v = hostileValues[i]
		}
		if _, err := quoteDotenv(v); err == nil {
			values = append(values, v)
		}
	}
	if len(values) < 200 {
		t.Fatalf("only %d values can be written", len(values))
	}
	text, err := Format(planOf(values...), FormatDotenv)
	if err != nil {
		t.Fatal(err)
	}
	for _, shell := range []string{"dash", "bash"} {
		if diff := cmp.Diff(values, readBack(t, shell, "C.UTF-8", "set -a; . ./file", text, len(values))); diff != "" {
			t.Errorf("%s (-value +read back):\n%s", shell, diff)
		}
	}
	checkGodotenv(t, values, text)
}

func checkGodotenv(t *testing.T, values []string, text []byte) {
	t.Helper()
	got, err := godotenv.UnmarshalBytes(text)
	if err != nil {
		t.Fatalf("godotenv: %v\n%q", err, text)
	}
	for i, v := range values {
		if got[fmt.Sprintf("V%d", i)] != v {
			t.Errorf("godotenv reads %q, want %q", got[fmt.Sprintf("V%d", i)], v)
		}
	}
	if len(got) != len(values) {
		t.Errorf("godotenv reads %d variables, want %d", len(got), len(values))
	}
}

func randomHostile(rng *rand.Rand) string {
	pieces := []string{
		"'", `"`, `\`, "$", "(", ")", "`", "\n", "\r", " ", "#", "=", ":", ",", "a", "0", "{", "}", "!", "~", "\x80",
		"\xc3", "é", ";", "&", "\t", "\x81", "touch owned", "^",
	}
	var b strings.Builder
	for range rng.IntN(8) {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()
}

// need returns the path of a program that the tests of this package can't do without.
func need(t testing.TB, program string) string {
	t.Helper()
	p, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing: run make deps", program)
	}
	return p
}

// readBack lets a shell read text, and returns its variables V0 to Vn-1. The shell
// must not say anything, and must not leave a file behind.
func readBack(t testing.TB, shell, locale, how string, text []byte, n int) []string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString(how + "\n")
	for i := range n {
		fmt.Fprintf(&script, "printf '%%s\\0' \"$V%d\"\n", i)
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), need(t, shell))
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=" + locale}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(script.String()), &out, &complaints
	if err := cmd.Run(); err != nil || complaints.Len() > 0 {
		t.Fatalf("%s: %v: %s\n%q", shell, err, complaints.String(), text)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%s ran a command: %v, %v", shell, left, err)
	}
	values := strings.Split(out.String(), "\x00")
	return values[:len(values)-1]
}

// FuzzFormat writes one value in every form, and reads it back with shells and libraries.
func FuzzFormat(f *testing.F) {
	for _, v := range hostileValues {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, value string) {
		plan := planOf(value)
		text, err := Format(plan, FormatShell)
		if strings.ContainsRune(value, 0) {
			if err == nil {
				t.Errorf("Format(%q, sh) = no error", value)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, shell := range []string{"dash", "bash"} {
			if got := readBack(t, shell, "C.UTF-8", `eval "$(cat file)"`, text, 1); len(got) != 1 || got[0] != value {
				t.Errorf("%s reads %q, want %q", shell, got, value)
			}
		}
		if text, err := Format(plan, FormatDotenv); err == nil {
			checkGodotenv(t, []string{value}, text)
			if got := readBack(t, "dash", "C.UTF-8", "set -a; . ./file", text, 1); len(got) != 1 || got[0] != value {
				t.Errorf("dash reads %q, want %q", got, value)
			}
		}
		if text, err := Format(plan, FormatJSON); err == nil {
			var got map[string]string
			if err := json.Unmarshal(text, &got); err != nil || got["V0"] != value || len(got) != 1 {
				t.Errorf("json reads %q, %v, want %q", got, err, value)
			}
		}
	})
}
