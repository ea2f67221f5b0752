package launch

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FormatOptions is what [FormatConfigMap] says beyond the variables. The other
// formats ignore it.
type FormatOptions struct {
	// Name of the ConfigMap; "" means rdma-env-NODE, or rdma-env where Node can't
	// be part of a name. Namespace may be "": kubectl's own then.
	Name, Namespace string
	// Node is the host name of the node that the Plan is of, and Version that of
	// the program that writes; both may be "".
	Node, Version string
}

// Limits of the readers.
const (
	dockerLineMax   = 65535   // bytes before the line break: bufio.MaxScanTokenSize holds both
	configMapMax    = 1 << 20 // bytes of all names and values (MaxSecretSize of Kubernetes, for ConfigMaps too)
	subdomainMax    = 253     // RFC 1123, as Kubernetes has it for names of objects
	domainLabelMax  = 63
	configMapPrefix = "rdma-env"
	// annotationDomain is the prefix of the annotations: a domain that belongs to the project.
	annotationDomain = "rdmakit.github.io/"
)

var errNotUTF8 = errors.New("the value is not UTF-8")

// quoteSystemd puts a value in double quotes, in which systemd (env-file.c) and
// shells know the same escapes. Older systemd drops the backslash before any other character.
func quoteSystemd(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errNotUTF8 // systemd would drop the whole file
	}
	for _, r := range s {
		if unicode.Is(unicode.Noncharacter_Code_Point, r) {
			return "", fmt.Errorf(
				"the value has U+%04X, which Unicode assigns to nothing, and systemd drops the whole file for it", r)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`, nil
}

// dockerLine writes a variable for docker's --env-file, which has no quotes.
func dockerLine(v Variable) (string, error) {
	line := v.Name + "=" + v.Value
	switch {
	case !utf8.ValidString(v.Value):
		return "", errNotUTF8
	case strings.ContainsAny(v.Value, "\n\r"):
		return "", errors.New("the value has a line break")
	case len(line) > dockerLineMax:
		return "", fmt.Errorf("the line has %d bytes, docker reads %d", len(line), dockerLineMax)
	}
	return line + "\n", nil
}

// escapeExpansion protects a value of a container's env from the kubelet, which
// replaces $(NAME), and makes one dollar of two wherever they stand. Every dollar is
// doubled, for the kubelet spoils a letter beyond ASCII behind a single one.
func escapeExpansion(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// quoteYAML writes a scalar in double quotes, which is never taken for a number, a
// truth value or null. What isn't printable is escaped: YAML 1.1 takes some of it
// for line breaks and forbids the rest.
func quoteYAML(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errNotUTF8
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String(), nil
}

// yamlName writes the name of a variable, in quotes where YAML 1.1 would take it for
// a truth value or null.
func yamlName(name string) string {
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return `"` + name + `"`
	}
	return name
}

// configMapHead returns what stands before the variables of a ConfigMap, for a Plan
// with variables and for one without.
func configMapHead(plan Plan, opts FormatOptions) (head, none string, err error) {
	size := 0
	for _, v := range plan.Variables {
		size += len(v.Name) + len(v.Value)
	}
	if size > configMapMax {
		return "", "", fmt.Errorf("the variables have %d bytes, a ConfigMap holds %d", size, configMapMax)
	}
	name := opts.Name
	switch {
	case name == "":
		name = configMapName(opts.Node)
	case !isSubdomain(name):
		return "", "", &OptionError{Option: "name", Text: fmt.Sprintf(
			"%q: want lower case letters, digits, - and ., %d at most, a letter or digit at both ends",
			name, subdomainMax)}
	}
	if opts.Namespace != "" && !isDomainLabel(opts.Namespace) {
		return "", "", &OptionError{
			Option: "namespace",
			Text: fmt.Sprintf("%q: want lower case letters, digits and -, %d at most, a letter or digit at both ends",
				opts.Namespace, domainLabelMax),
		}
	}
	var b strings.Builder
	b.WriteString("# For one node: names of devices, networks and indices differ between nodes. Don't " +
		"give it to pods on others.\n")
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n")
	fmt.Fprintf(&b, "  name: %q\n", name) // of plain ASCII, checked above
	if opts.Namespace != "" {
		fmt.Fprintf(&b, "  namespace: %q\n", opts.Namespace)
	}
	b.WriteString("  labels:\n    app.kubernetes.io/name: rdma-env\n    app.kubernetes.io/managed-by: rdmactl\n")
	b.WriteString(annotations(opts))
	return b.String() + "data:\n", b.String() + "data: {}\n", nil
}

// annotations says of which node a ConfigMap is, and what wrote it.
func annotations(opts FormatOptions) string {
	var b strings.Builder
	for _, a := range []struct{ key, value string }{{"node", opts.Node}, {"version", opts.Version}} {
		value, err := quoteYAML(strings.ToValidUTF8(a.value, "\uFFFD"))
		if a.value != "" && err == nil {
			b.WriteString("    " + annotationDomain + a.key + ": " + value + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "  annotations:\n" + b.String()
}

// configMapName makes the name of a ConfigMap for a node.
func configMapName(node string) string {
	name := configMapPrefix + "-" + strings.ToLower(node)
	if node == "" || !isSubdomain(name) {
		return configMapPrefix
	}
	return name
}

// isSubdomain reports whether Kubernetes takes s for the name of an object.
func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isDomainPart(part) {
			return false
		}
	}
	return len(s) <= subdomainMax
}

// isDomainLabel reports whether Kubernetes takes s for the name of a namespace.
func isDomainLabel(s string) bool { return len(s) <= domainLabelMax && isDomainPart(s) }

func isDomainPart(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		case c == '-' && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	return s != ""
}
