package lint

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, text string
		form, want Form
		settings   []Setting
	}{
		{
			name: "dotenv",
			text: "# a remark\n\nNCCL_IB_HCA=\"=mlx5_0:1\"  # the rail\nA='x y'\nB=x # y\nC=\nD=${A}\nE='${A}'\n",
			want: FormDotenv,
			settings: []Setting{
				{Name: "NCCL_IB_HCA", Value: "=mlx5_0:1", Line: 3},
				{Name: "A", Value: "x y", Line: 4},
				{Name: "B", Value: "x", Line: 5},
				{Name: "C", Line: 6},
				{Name: "D", Value: "${A}", Line: 7, Unknown: true},
				{Name: "E", Value: "${A}", Line: 8},
			},
		},
		{
			name: "dotenv with export, asked for", text: "export A=1\r\n", form: FormDotenv, want: FormDotenv,
			settings: []Setting{{Name: "A", Value: "1", Line: 1}},
		},
		{
			name: "docker keeps quotes and blanks", text: "NCCL_IB_HCA=\"=mlx5_0\"\nB=x # y\n#C=1\nD\n",
			form: FormDocker, want: FormDocker,
			settings: []Setting{
				{Name: "NCCL_IB_HCA", Value: `"=mlx5_0"`, Line: 1},
				{Name: "B", Value: "x # y", Line: 2},
				{Name: "D", Line: 4, Unknown: true},
			},
		},
		{
			name: "systemd", text: "; remark\nA=\"x y\"\nB= z \n", form: FormSystemd, want: FormSystemd,
			settings: []Setting{{Name: "A", Value: "x y", Line: 2}, {Name: "B", Value: "z", Line: 3}},
		},
		{
			name: "output of env",
			text: "PATH=/usr/bin:/bin\nHOME=/root\nNCCL_IB_HCA==mlx5_0\nF=\"quoted\"\nMANY=one\ntwo\n", want: FormEnv,
			settings: []Setting{
				{Name: "PATH", Value: "/usr/bin:/bin", Line: 1},
				{Name: "HOME", Value: "/root", Line: 2},
				{Name: "NCCL_IB_HCA", Value: "=mlx5_0", Line: 3},
				{Name: "F", Value: `"quoted"`, Line: 4},
				{Name: "MANY", Value: "one\ntwo", Line: 5},
			},
		},
		{
			name: "environ", text: "A=1\x00B=\x00=odd\x00C=x=y\x00", want: FormEnviron,
			settings: []Setting{{Name: "A", Value: "1"}, {Name: "B"}, {Name: "C", Value: "x=y"}},
		},
		{
			name: "json", text: "{\n  \"A\": \"x\",\n  \"B\": 3,\n  \"C\": true, \"D\": null,\n  \"A\": \"y\"\n}\n",
			want: FormJSON,
			settings: []Setting{
				{Name: "A", Value: "x", Line: 2},
				{Name: "B", Value: "3", Line: 3},
				{Name: "C", Value: "true", Line: 4},
				{Name: "A", Value: "y", Line: 5},
			},
		},
		{
			name: "shell", want: FormShell,
			text: "#!/bin/bash\nset -e\nexport A='x y' B=\"z\"   # remark\nexport NCCL_IB_HCA=$(ls)\n" +
				"if true; then\n  C=1; export D=2\nfi\nE=a\\\nb\nF=\"two\nlines\"\ncat <<EOF\nG=no\n" +
				"EOF\nNCCL_DEBUG=INFO UCX_TLS=rc python train.py --opt H=no\n" +
				"mpirun -np 2 -x NCCL_IB_TC=106 -x NCCL_DEBUG ./a\ndocker run -e I=1 --env=J=2 img\n" +
				"declare -x K=\"3\"\n",
			settings: []Setting{
				{Name: "A", Value: "x y", Line: 3},
				{Name: "B", Value: "z", Line: 3},
				{Name: "NCCL_IB_HCA", Value: "$(ls)", Line: 4, Unknown: true},
				{Name: "C", Value: "1", Line: 6},
				{Name: "D", Value: "2", Line: 6},
				{Name: "E", Value: "ab", Line: 8},
				{Name: "F", Value: "two\nlines", Line: 10},
				{Name: "NCCL_DEBUG", Value: "INFO", Line: 15},
				{Name: "UCX_TLS", Value: "rc", Line: 15},
				{Name: "NCCL_IB_TC", Value: "106", Line: 16},
				{Name: "I", Value: "1", Line: 17},
				{Name: "J", Value: "2", Line: 17},
				{Name: "K", Value: "3", Line: 18},
			},
		},
		{name: "exports alone", text: "export A=1\nexport B='^=mlx5_0'\n", want: FormShell, settings: []Setting{
			{Name: "A", Value: "1", Line: 1},
			{Name: "B", Value: "^=mlx5_0", Line: 2},
		}},
		{
			name: "byte order mark", text: "\xef\xbb\xbfA=1\n", want: FormDotenv,
			settings: []Setting{{Name: "A", Value: "1", Line: 1}},
		},
		{name: "empty", text: "", want: FormDotenv},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			form := tt.form
			if form == "" {
				form = FormAuto
			}
			env, err := Parse("f", []byte(tt.text), form)
			if err != nil {
				t.Fatal(err)
			}
			if env.Form != tt.want {
				t.Errorf("form = %s, want %s", env.Form, tt.want)
			}
			if diff := cmp.Diff(tt.settings, env.Settings, cmpopts.IgnoreFields(Setting{}, "File"),
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		name, text string
		form       Form
		says       string
	}{
		{"prose", "hello world\n", FormAuto, "no variable is set"},
		{"a line that is none", "A=1\nB\n", FormDotenv, `line 2: "B" is not NAME=value`},
		{"docker with a blank in the name", "A B=1\n", FormDocker, "line 1"},
		{"array", "[1]", FormJSON, "not an object"},
		{"nested", "{\n\"A\": {\"B\": 1}}", FormJSON, "line 2"},
		{"no name", `{"":10}`, FormJSON, "without a name"},
		{"cut off", `{"A": "x"`, FormJSON, "line 1"},
		{"zero bytes in text", "A=1\x00B", FormDotenv, "zero bytes"},
		{"other form", "A=1", FormKubernetes, "not supported"},
	}
	for _, tt := range tests {
		_, err := Parse("f", []byte(tt.text), tt.form)
		if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: Parse = %v, want ErrSyntax with %q", tt.name, err, tt.says)
		}
	}
}

func TestInteger(t *testing.T) {
	tests := []struct {
		text  string
		value int64
		whole bool
	}{
		{"3", 3, true},
		{"-1", -1, true},
		{" 7", 7, true},
		{"0x6a", 106, true},
		{"010", 8, true},
		{"0", 0, true},
		{"+5", 5, true},
		{"", 0, false},
		{"true", 0, false},
		{"3abc", 3, false},
		{"1.5", 1, false},
		{"-", 0, false},
		{"0x", 0, false},
		{"08", 0, false},
		{"99999999999999999999", 1<<63 - 1, true},
		{"-99999999999999999999", -1 << 63, true},
	}
	for _, tt := range tests {
		value, whole := integer(tt.text)
		if value != tt.value || whole != tt.whole {
			t.Errorf("integer(%q) = %d, %v, want %d, %v", tt.text, value, whole, tt.value, tt.whole)
		}
	}
}

// FuzzParse feeds every reader, and the rules with what they read.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"A=1\n", "export NCCL_IB_HCA='^=mlx5_0:1,mlx5_1'\n", "{\"NCCL_IB_TC\": 106}",
		"UCX_NET_DEVICES=mlx5_[0-3]:1\x00GLOO_SOCKET_IFNAME=^lo", "cat <<EOF\nA=1\nEOF\n", "A=\"x\\\ny\" B=$(c) #",
		"NCCL_IB_GID_INDEX=3\nNCCL_IB_ADDR_RANGE=::/0\nNVSHMEM_HCA_LIST=,,^\nNCCL_IB_HCA=^\nMC_MS_FILTERS==\n",
	} {
		f.Add(seed, uint8(0))
	}
	n := loadNode(f, "09_multiport", nil)
	f.Fuzz(func(t *testing.T, text string, form uint8) {
		forms := Forms()
		env, err := Parse("f", []byte(text), forms[int(form)%len(forms)])
		if err != nil {
			if !errors.Is(err, ErrSyntax) {
				t.Fatalf("Parse = %v, want ErrSyntax", err)
			}
			return
		}
		for _, s := range env.Settings {
			if s.Name == "" || s.Line < 0 || s.Line > strings.Count(text, "\n")+1 {
				t.Errorf("setting %+v of %q", s, text)
			}
		}
		Run(Input{Snapshot: &n.snap, Root: n.root, Environments: []Environment{env}})
	})
}

// FuzzRun runs the rules with any value of any variable that they check.
func FuzzRun(f *testing.F) {
	for name := range knownByName() {
		if !strings.HasPrefix(name, "NCCL_W") {
			f.Add(name, "^=mlx5_0:1,[")
		}
	}
	n := loadNode(f, "10_mixed_ib_storage_roce", nil)
	f.Fuzz(func(t *testing.T, name, value string) {
		for _, finding := range runPairs(n, name+"="+value, "NNODES=2", "VLLM_NIXL_SIDE_CHANNEL_PORT=1").Findings {
			if finding.Summary == "" || finding.Remedy == "" {
				t.Errorf("finding %+v", finding)
			}
		}
	})
}
