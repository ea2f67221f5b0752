package launch

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docker/cli/pkg/kvfile"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// carried returns those of the hostile values that one variable in this format can hold.
func carried(t *testing.T, format TextFormat) []string {
	t.Helper()
	values := []string{
		"\x85\u2028\u2029", "\ufeff", "\ufffe", "\U0010ffff", "\U000e0001", "\u202e", "null", "~", "true", "yes", "N",
		"0x10", "1e3", "012", "1_000", "2001-01-01", "12:30:45", "<<", "$(NCCL_IB_HCA)", "$$(V0)", "$$$(V0)", "$(V0",
		"$", "$$", "a$", "$ ", "trailing ", " leading", "\ttab\t", "%h %%", "- a", "a: b", "{}", "[]", "|", ">", "---",
		"...", "&a", "*a", "!!str", "@", "`",
	}
	values = append(values, hostileValues...)
	rng := rand.New(rand.NewPCG(12, uint64(len(format))))
	for range 800 {
		values = append(values, randomHostile(rng))
	}
	var out []string
	for _, v := range values {
		if _, err := Format(planOf(v), format); err == nil {
			out = append(out, v)
		}
	}
	if len(out) < 300 {
		t.Fatalf("%s carries only %d of %d values", format, len(out), len(values))
	}
	return out
}

// environOf returns what planOf sets, as NAME=VALUE.
func environOf(values []string) []string {
	var out []string
	for i, v := range values {
		out = append(out, fmt.Sprintf("V%d=%s", i, v))
	}
	return out
}

func format(t testing.TB, plan Plan, f TextFormat, opts FormatOptions) []byte {
	t.Helper()
	text, err := FormatWith(plan, f, opts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// systemdReader is a program that reads an environment file with systemd's own code, and drops what
// a service would not get, as the service manager does before it starts one.
const systemdReader = `
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) { fprintf(stderr, "%s\n", dlerror()); return 2; }
	int (*load_env_file)(FILE *, const char *, char ***) = dlsym(library, "load_env_file");
	bool (*value_ok)(const char *) = dlsym(library, "env_value_is_valid");
	if (!load_env_file || !value_ok) { fprintf(stderr, "%s has no load_env_file\n", argv[1]); return 2; }
	char **list = NULL;
	int r = load_env_file(NULL, argv[2], &list);
	if (r < 0) { fprintf(stderr, "%s: %s\n", argv[2], strerror(-r)); return 1; }
	for (; list && *list; list++) {
		char *equals = strchr(*list, '=');
		if (equals && value_ok(equals + 1))
			fwrite(*list, 1, strlen(*list) + 1, stdout);
	}
	return 0;
}
`

// newSystemdReader compiles systemdReader and returns a function that lets it read a text.
func newSystemdReader(t testing.TB) func(t testing.TB, text []byte) []string {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/systemd/libsystemd-shared-*.so")
	if err != nil || len(libraries) == 0 {
		t.Fatalf("systemd's libsystemd-shared is missing: run make deps (%v)", err)
	}
	dir := t.TempDir()
	source, reader := filepath.Join(dir, "reader.c"), filepath.Join(dir, "reader")
	if err := os.WriteFile(source, []byte(systemdReader), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), need(t, "gcc"), "-o", reader, source, "-ldl").
		CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v: %s", err, out)
	}
	return func(t testing.TB, text []byte) []string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "environment")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var complaints bytes.Buffer
		cmd := exec.CommandContext(t.Context(), reader, libraries[0], file)
		cmd.Stderr = &complaints
		out, err := cmd.Output()
		if err != nil || complaints.Len() > 0 {
			t.Fatalf("systemd: %v: %s", err, complaints.String())
		}
		if len(out) == 0 {
			return nil
		}
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
}

// TestSystemdRoundTrip lets systemd's parser, and shells, read hostile values back.
func TestSystemdRoundTrip(t *testing.T) {
	read := newSystemdReader(t)
	values := carried(t, FormatSystemd)
	text := format(t, planOf(values...), FormatSystemd, FormatOptions{})
	if diff := cmp.Diff(environOf(values), read(t, text)); diff != "" {
		t.Errorf("systemd (-value +read back):\n%s", diff)
	}
	for _, shell := range []string{"dash", "bash"} {
		if diff := cmp.Diff(values, readBack(t, shell, "C.UTF-8", ". ./file", text, len(values))); diff != "" {
			t.Errorf("%s (-value +read back):\n%s", shell, diff)
		}
	}
	// For these systemd drops the whole file.
	for _, value := range []string{"\xff", "\ufdd0", "\uffff", "\U0001fffe"} {
		if _, err := Format(planOf(value), FormatSystemd); err == nil || !strings.Contains(err.Error(), "V0") {
			t.Errorf("Format(%q) as systemd = %v, want an error with the name", value, err)
		}
	}
}

// TestDotenvForSystemd lets systemd read what FormatDotenv writes.
func TestDotenvForSystemd(t *testing.T) {
	values := slices.DeleteFunc(carried(t, FormatDotenv),
		func(v string) bool { return strings.Contains(v, "\ufffe") || strings.Contains(v, "\U0010ffff") })
	text := format(t, planOf(values...), FormatDotenv, FormatOptions{})
	if diff := cmp.Diff(environOf(values), newSystemdReader(t)(t, text)); diff != "" {
		t.Errorf("systemd (-value +read back):\n%s", diff)
	}
}

// dockerRead reads a text with the parser of docker's command line.
func dockerRead(t testing.TB, text []byte) []string {
	t.Helper()
	got, err := kvfile.ParseFromReader(bytes.NewReader(text), nil)
	if err != nil {
		t.Fatalf("docker: %v\n%q", err, text)
	}
	return got
}

func TestDockerRoundTrip(t *testing.T) {
	values := carried(t, FormatDocker)
	values = append(values, strings.Repeat("x", dockerLineMax-len("V9999=")))
	text := format(t, planOf(values...), FormatDocker, FormatOptions{})
	if diff := cmp.Diff(environOf(values), dockerRead(t, text)); diff != "" {
		t.Errorf("docker (-value +read back):\n%s", diff)
	}
	exact := Variable{Name: "V", Value: strings.Repeat("x", dockerLineMax-2)}
	text = format(t, Plan{Variables: []Variable{exact}}, FormatDocker, FormatOptions{})
	if got := dockerRead(t, text); len(got) != 1 || got[0] != "V="+exact.Value {
		t.Errorf("docker reads %d lines of the longest line, want it", len(got))
	}
	for _, value := range []string{exact.Value + "x", "a\nb", "a\r", "\xff"} {
		if _, err := Format(Plan{Variables: []Variable{{Name: "LONG", Value: value}}}, FormatDocker); err == nil ||
			!strings.Contains(err.Error(), "LONG") {
			t.Errorf("Format(%.10q) as docker = %v, want an error with the name", value, err)
		}
	}
}

// expand does what the kubelet does with the value of a container's env, here without other
// variables: of two dollars it makes one, and $(NAME) it leaves as it is where NAME isn't known.
// replaced reports that a reference was expanded.
func expand(s string) (out string, replaced bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch s[i+1] {
		case '$':
			b.WriteByte('$')
			i++
		case '(':
			replaced = replaced || strings.Contains(s[i:], ")")
			b.WriteByte('$')
		default:
			b.WriteByte('$')
		}
	}
	return b.String(), replaced
}

// containerRead reads a list of variables as the API server and the kubelet do.
func containerRead(t testing.TB, text []byte) []string {
	t.Helper()
	indented := "env:\n" + string(text)
	if string(text) == "[]\n" {
		indented = "env: []\n"
	}
	var container corev1.Container
	if err := yaml.UnmarshalStrict([]byte(indented), &container); err != nil {
		t.Fatalf("kubernetes: %v\n%q", err, text)
	}
	var out []string
	for _, v := range container.Env {
		if problems := k8svalidation.IsEnvVarName(v.Name); len(problems) > 0 || v.ValueFrom != nil {
			t.Errorf("kubernetes refuses %q: %v", v.Name, problems)
		}
		value, replaced := expand(v.Value)
		if replaced {
			t.Errorf("the kubelet would replace in %q", v.Value)
		}
		out = append(out, v.Name+"="+value)
	}
	return out
}

func TestContainerRoundTrip(t *testing.T) {
	values := carried(t, FormatContainer)
	text := format(t, planOf(values...), FormatContainer, FormatOptions{})
	if diff := cmp.Diff(environOf(values), containerRead(t, text)); diff != "" {
		t.Errorf("kubernetes (-value +read back):\n%s", diff)
	}
	if text := format(t, Plan{}, FormatContainer, FormatOptions{}); string(text) != "[]\n" ||
		containerRead(t, text) != nil {
		t.Errorf("Format of no variables = %q, want an empty list", text)
	}
	// Names that YAML 1.1 takes for something else.
	var plan Plan
	var want []string
	for _, name := range []string{
		"y", "N", "yes", "No", "ON", "off", "true", "False", "null", "NULL", "_", "e1", "x10",
	} {
		plan.Variables = append(plan.Variables, Variable{Name: name, Value: "1"})
		want = append(want, name+"=1")
	}
	if diff := cmp.Diff(want, containerRead(t, format(t, plan, FormatContainer, FormatOptions{}))); diff != "" {
		t.Errorf("kubernetes (-name +read back):\n%s", diff)
	}
	if got := configMapRead(t, format(t, plan, FormatConfigMap, FormatOptions{})); len(got.Data) != len(want) {
		t.Errorf("ConfigMap has %v, want %v", got.Data, want)
	}
}

// configMapRead reads a ConfigMap as the API server does, and validates it as it does: this is what
// ValidateConfigMap of Kubernetes consists of, which no module for importers has.
func configMapRead(t testing.TB, text []byte) corev1.ConfigMap {
	t.Helper()
	var c corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatalf("kubernetes: %v\n%q", err, text)
	}
	if c.APIVersion != "v1" || c.Kind != "ConfigMap" {
		t.Errorf("kind %s %s, want v1 ConfigMap", c.APIVersion, c.Kind)
	}
	path := field.NewPath("metadata")
	problems := validation.ValidateAnnotations(c.Annotations, path)
	problems = append(problems, metavalidation.ValidateLabels(c.Labels, path)...)
	for _, p := range problems {
		t.Errorf("kubernetes refuses it: %v", p)
	}
	if why := validation.NameIsDNSSubdomain(c.Name, false); len(why) > 0 {
		t.Errorf("kubernetes refuses the name %q: %v", c.Name, why)
	}
	if why := validation.ValidateNamespaceName(c.Namespace, false); c.Namespace != "" && len(why) > 0 {
		t.Errorf("kubernetes refuses the namespace %q: %v", c.Namespace, why)
	}
	for key := range c.Data {
		if why := append(k8svalidation.IsConfigMapKey(key), k8svalidation.IsEnvVarName(key)...); len(why) > 0 {
			t.Errorf("kubernetes refuses the key %q: %v", key, why)
		}
	}
	return c
}

func TestConfigMapRoundTrip(t *testing.T) {
	values := carried(t, FormatConfigMap)
	plan := planOf(values...)
	c := configMapRead(t,
		format(t, plan, FormatConfigMap, FormatOptions{Node: "gpu-7", Version: "v1.2", Namespace: "serving"}))
	if diff := cmp.Diff(plan.Environment(), c.Data); diff != "" {
		t.Errorf("kubernetes (-value +read back):\n%s", diff)
	}
	if c.Name != "rdma-env-gpu-7" || c.Namespace != "serving" ||
		c.Labels["app.kubernetes.io/managed-by"] != "rdmactl" ||
		c.Annotations["rdmakit.github.io/node"] != "gpu-7" || c.Annotations["rdmakit.github.io/version"] != "v1.2" {
		t.Errorf("metadata = %+v, want name, namespace, label and annotations", c.ObjectMeta)
	}
	if c := configMapRead(t, format(t, Plan{}, FormatConfigMap, FormatOptions{})); c.Name != "rdma-env" ||
		len(c.Data) > 0 || c.Annotations != nil {
		t.Errorf("ConfigMap of no variables = %+v, want none", c)
	}
	if _, err := Format(planOf(strings.Repeat("x", configMapMax)), FormatConfigMap); err == nil ||
		!strings.Contains(err.Error(), "1048578 bytes") {
		t.Errorf("Format of more than 1 MiB = %v, want an error with the size", err)
	}
}

// TestConfigMapNames compares what is taken for a name with what Kubernetes takes.
func TestConfigMapNames(t *testing.T) {
	long := strings.Repeat("a", domainLabelMax)
	names := []string{
		"a", "gpu-7", "gpu-7.rack2.example", "GPU7", "Gpu_7", "-a", "a-", "a..b", ".a", "a.", "a.-b", "ä", "a b",
		"a\nkind: Pod", "7", "a/b", long, long + "a", strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 127) + "a",
		"",
	}
	for _, name := range names {
		_, err := FormatWith(Plan{}, FormatConfigMap, FormatOptions{Name: name})
		if want := name == "" || len(validation.NameIsDNSSubdomain(name, false)) == 0; (err == nil) != want ||
			err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("Format with name %q = %v, want accepted %t or ErrOptions", name, err, want)
		}
		_, err = FormatWith(Plan{}, FormatConfigMap, FormatOptions{Namespace: name})
		if want := name == "" || len(validation.ValidateNamespaceName(name, false)) == 0; (err == nil) != want ||
			err != nil && !errors.Is(err, ErrOptions) {
			t.Errorf("Format with namespace %q = %v, want accepted %t or ErrOptions", name, err, want)
		}
		// Any node name is allowed and must be written unchanged.
		c := configMapRead(t, format(t, Plan{}, FormatConfigMap, FormatOptions{Node: name, Version: name + "\xff"}))
		if c.Annotations["rdmakit.github.io/node"] != name {
			t.Errorf("node %q is written as %q", name, c.Annotations["rdmakit.github.io/node"])
		}
	}
}

// FuzzContainerFormats writes one value in the forms for systemd, docker and Kubernetes, and reads
// it back.
func FuzzContainerFormats(f *testing.F) {
	for _, v := range hostileValues {
		f.Add(v)
	}
	systemd := newSystemdReader(f)
	f.Fuzz(func(t *testing.T, value string) {
		plan := planOf(value)
		for form, read := range map[TextFormat]func(testing.TB, []byte) []string{
			FormatSystemd: systemd, FormatDocker: dockerRead, FormatContainer: containerRead,
			FormatConfigMap: func(t testing.TB, text []byte) []string {
				t.Helper()
				return []string{"V0=" + configMapRead(t, text).Data["V0"]}
			},
		} {
			text, err := FormatWith(plan, form, FormatOptions{Node: strings.ToValidUTF8(value, "")})
			if err != nil {
				if !strings.Contains(err.Error(), "V0") {
					t.Errorf("Format(%q, %s) = %v, want the variable in it", value, form, err)
				}
				continue
			}
			if got := read(t, text); len(got) != 1 || got[0] != "V0="+value {
				t.Errorf("%s reads %q, want %q", form, got, value)
			}
		}
	})
}
