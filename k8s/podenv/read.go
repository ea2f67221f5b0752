package podenv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/launch/lint"
)

// manifestLine matches the start of lines that occur in manifests but not in files of variables.
var manifestLine = regexp.MustCompile(`(?m)^(---|\s*- "?name"?\s*:|` +
	`\s*(- )?"?(apiVersion|kind|metadata|spec|services|containers|env|data|environment)"?\s*:)`)

// assignmentLine matches a line of a file of variables.
var assignmentLine = regexp.MustCompile(`(?m)^\s*(export\s+)?[A-Za-z_][A-Za-z0-9_]*=`)

// Detect reports whether a file is a manifest, in YAML or JSON, and not one of the forms that
// lint.Parse reads. The first line that is possible in only one of them decides.
func Detect(data []byte) bool {
	before := data
	if assignment := assignmentLine.FindIndex(data); len(assignment) > 0 {
		before = data[:assignment[0]]
	}
	return manifestLine.Match(before)
}

// Limits on the size of manifests.
const (
	maxDocuments = 1000
	maxDepth     = 100
	maxFound     = 10_000
	maxVariables = 1_000_000 // in all environments: an alias of a few bytes may contain many
	maxNodes     = 64 << 20  // visits of nodes of the tree
)

// manifest collects the environments of a file.
type manifest struct {
	file  string
	envs  []lint.Environment
	maps  map[string][]lint.Setting // data of ConfigMaps
	used  map[string]bool           // ConfigMaps in envFrom of a container
	nodes int
	found int  // variables
	pod   bool // in a pod without hostNetwork
}

// Parse reads Kubernetes manifests in YAML or JSON, values of Helm charts, and Compose files. file
// is for messages and the names of the environments. It returns an environment of
// lint.FormKubernetes for each container that sets a variable, and for each ConfigMap that no
// container of the file uses in envFrom. A file without any is not an error.
func Parse(file string, data []byte) ([]lint.Environment, error) {
	m := &manifest{file: file, maps: map[string][]lint.Setting{}, used: map[string]bool{}}
	var documents []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if documents = append(documents, &doc); len(documents) > maxDocuments {
			return nil, fmt.Errorf("read %s: more than %d documents", file, maxDocuments)
		}
	}
	for _, doc := range documents {
		m.list(doc)
	}
	for _, visit := range []func(*yaml.Node, string){m.configMap, m.container} {
		for _, doc := range documents {
			if err := m.walk(doc, "", 0, visit); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
		}
	}
	var order []string
	for _, doc := range documents { // in the order of the file
		_ = m.walk(doc, "", 0, func(n *yaml.Node, _ string) {
			if name := configMapName(n); name != "" {
				order = append(order, name)
			}
		})
	}
	for _, name := range order {
		if !m.used[name] {
			m.used[name] = true
			m.keep(file+", ConfigMap "+name, m.maps[name])
		}
	}
	return m.envs, nil
}

// keep adds an environment.
func (m *manifest) keep(name string, settings []lint.Setting) {
	m.envs = append(m.envs,
		lint.Environment{Name: name, Form: lint.FormKubernetes, Settings: settings, PodNetwork: m.pod})
}

// list keeps a document that is only the value of env, like the output of rdmactl env --format
// k8s-env.
func (m *manifest) list(doc *yaml.Node) {
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.SequenceNode {
		return
	}
	var settings []lint.Setting
	for _, item := range doc.Content[0].Content {
		if s, ok := m.variable(deref(item)); ok && m.found <= maxVariables {
			settings = append(settings, s)
		}
	}
	if len(settings) > 0 {
		m.keep(m.file, settings)
	}
}

// walk visits all mappings, with the object that they belong to: "Deployment vllm".
func (m *manifest) walk(n *yaml.Node, object string, depth int, visit func(*yaml.Node, string)) error {
	if m.nodes++; depth > maxDepth || len(m.envs) > maxFound || m.found > maxVariables || m.nodes > maxNodes {
		return errors.New("too deep or too large")
	}
	if n.Kind == yaml.AliasNode {
		return nil // its value is visited at the anchor
	}
	if n.Kind == yaml.MappingNode {
		kind, name := scalar(field(n, "kind")), scalar(field(field(n, "metadata"), "name"))
		if kind != "" && name != "" {
			object = kind + " " + name
		}
		if field(n, "containers") != nil {
			outer := m.pod
			m.pod = scalar(field(n, "hostNetwork")) != "true"
			defer func() { m.pod = outer }()
		}
		visit(n, object)
	}
	for _, child := range n.Content {
		if err := m.walk(child, object, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

// field returns a value of a mapping, nil if there is none.
func field(n *yaml.Node, key string) *yaml.Node {
	if n = deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return deref(n.Content[i+1])
		}
	}
	return nil
}

func deref(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func scalar(n *yaml.Node) string {
	if n = deref(n); n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

func items(n *yaml.Node) []*yaml.Node {
	if n = deref(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func configMapName(n *yaml.Node) string {
	if scalar(field(n, "kind")) != "ConfigMap" || field(n, "data") == nil {
		return ""
	}
	return scalar(field(field(n, "metadata"), "name"))
}

// configMap keeps the data of a ConfigMap. Values with several lines are files, not variables.
func (m *manifest) configMap(n *yaml.Node, _ string) {
	name := configMapName(n)
	if name == "" {
		return
	}
	m.maps[name] = m.mapping(field(n, "data"))
}

// mapping reads names and values.
func (m *manifest) mapping(n *yaml.Node) []lint.Setting {
	var out []lint.Setting
	if n = deref(n); n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content) && m.found <= maxVariables; i += 2 { // walk reports too many
		key, value := n.Content[i], deref(n.Content[i+1])
		if value != nil && value.Kind == yaml.ScalarNode && !strings.Contains(strings.TrimSpace(value.Value), "\n") {
			out = append(out, m.setting(key.Value, scalar(value), key.Line))
		}
	}
	return out
}

func (m *manifest) setting(name, value string, line int) lint.Setting {
	m.found++
	// $(NAME) in Kubernetes and ${NAME} in Compose are known at run time only.
	unknown := strings.Contains(value, "$(") || strings.Contains(value, "${")
	return lint.Setting{Name: name, Value: value, File: m.file, Line: line, Unknown: unknown}
}

// container keeps the environment of a Kubernetes container, or of a Compose service.
func (m *manifest) container(n *yaml.Node, object string) {
	var settings []lint.Setting
	name := scalar(field(n, "name"))
	if services := field(n, "services"); services != nil && services.Kind == yaml.MappingNode {
		m.services(services)
	}
	for _, from := range items(field(n, "envFrom")) {
		source := scalar(field(field(from, "configMapRef"), "name"))
		prefix := scalar(field(from, "prefix"))
		if data, ok := m.maps[source]; ok {
			m.used[source] = true
			if m.found += len(data); m.found > maxVariables {
				return
			}
			for _, s := range data {
				s.Name = prefix + s.Name
				settings = append(settings, s)
			}
		}
	}
	settings = append(settings, m.mapping(field(n, "env"))...) // values of a Helm chart
	for _, item := range items(field(n, "env")) {
		if s, ok := m.variable(deref(item)); ok {
			settings = append(settings, s)
		}
	}
	settings = append(settings, m.launcher(n)...)
	if len(settings) == 0 {
		return
	}
	label := m.file
	if object != "" {
		label += ", " + object
	}
	if name != "" {
		label += ", container " + name
	}
	m.keep(label, settings)
}

// launcherVariable matches the variables that MPI launchers pass on: mpirun -x NAME=VALUE.
var launcherVariable = regexp.MustCompile(
	`(?:^|\s)-(?:x|genv)[\s=]+([A-Z][A-Z0-9_]*)[= ]("[^"\n]*"|'[^'\n]*'|[^\s\\]+)`)

// launcher reads the variables in the command of a container that starts an MPI program.
func (m *manifest) launcher(n *yaml.Node) []lint.Setting {
	var words []*yaml.Node
	for _, key := range []string{"command", "args"} {
		words = append(words, items(field(n, key))...)
	}
	var out []lint.Setting
	if !slices.ContainsFunc(words, func(w *yaml.Node) bool { return strings.Contains(scalar(w), "mpi") }) {
		return nil
	}
	for i, w := range words {
		text := scalar(w)
		if name, value, ok := strings.Cut(text, "="); ok && i > 0 && scalar(words[i-1]) == "-x" {
			out = append(out, m.launched(name, value, w.Line))
			continue
		}
		for _, at := range launcherVariable.FindAllStringSubmatchIndex(text, -1) {
			line := w.Line + strings.Count(text[:at[2]], "\n")
			if w.Style == yaml.LiteralStyle || w.Style == yaml.FoldedStyle {
				line++ // the text begins below its key
			}
			out = append(out, m.launched(text[at[2]:at[3]], strings.Trim(text[at[4]:at[5]], `"'`), line))
		}
	}
	return out
}

// launched is setting for a value that a shell may expand.
func (m *manifest) launched(name, value string, line int) lint.Setting {
	s := m.setting(name, value, line)
	s.Unknown = s.Unknown || strings.ContainsAny(value, "$`")
	return s
}

// variable reads an entry of env: name with value or valueFrom, or the NAME=value of `docker
// inspect`.
func (m *manifest) variable(item *yaml.Node) (lint.Setting, bool) {
	if item != nil && item.Kind == yaml.ScalarNode {
		name, value, ok := strings.Cut(item.Value, "=")
		return m.setting(name, value, item.Line), ok
	}
	name := field(item, "name")
	if scalar(name) == "" {
		return lint.Setting{}, false
	}
	s := m.setting(name.Value, scalar(field(item, "value")), name.Line)
	if from := field(item, "valueFrom"); from != nil {
		ref := field(from, "configMapKeyRef")
		s.Unknown = true
		for _, known := range m.maps[scalar(field(ref, "name"))] {
			if known.Name == scalar(field(ref, "key")) {
				s.Value, s.Unknown = known.Value, known.Unknown
			}
		}
	}
	return s, true
}

// services keeps the environments of a Compose file.
func (m *manifest) services(services *yaml.Node) {
	for i := 0; i+1 < len(services.Content); i += 2 {
		env := field(services.Content[i+1], "environment")
		settings := m.mapping(env)
		for _, item := range items(env) {
			if name, value, ok := strings.Cut(scalar(item), "="); ok {
				settings = append(settings, m.setting(name, value, item.Line))
			}
		}
		if len(settings) > 0 {
			m.keep(m.file+", service "+services.Content[i].Value, settings)
		}
	}
}
