package launch

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FormatOptions are the options of [FormatConfigMap]. The other formats ignore them.
type FormatOptions struct {
	// Name of the ConfigMap; "" means rdma-env-NODE, or rdma-env if Node can't be part of a name.
	// If Namespace is "", kubectl uses its current namespace.
	Name, Namespace string
	// Node is the host name of the node of the Plan, and Version the version of the calling
	// program; both may be "".
	Node, Version string
}

// Limits of the programs that read the formats.
const (
	dockerLineMax   = 65535   // bytes before the line break: bufio.MaxScanTokenSize includes both
	configMapMax    = 1 << 20 // bytes of all names and values (MaxSecretSize of Kubernetes, for ConfigMaps too)
	subdomainMax    = 253     // RFC 1123, for names of Kubernetes objects
	domainLabelMax  = 63
	configMapPrefix = "rdma-env"
	// annotationDomain is the prefix of the annotations: a domain that belongs to the project.
	annotationDomain = "rdmakit.github.io/"
)

var errNotUTF8 = errors.New("the value is not UTF-8")

// quoteSystemd puts a value in double quotes, in which systemd (env-file.c) and shells support the
// same escapes. Older versions of systemd drop the backslash before any other character.
func quoteSystemd(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errNotUTF8 // systemd would ignore the whole file
	}
	for _, r := range s {
		if unicode.Is(unicode.Noncharacter_Code_Point, r) {
			return "", fmt.Errorf(
				"the value has the noncharacter U+%04X, because of which systemd ignores the whole file", r)
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`, nil
}

// dockerLine formats a variable for docker's --env-file, which does not support quotes.
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

// escapeExpansion escapes a value of a container's env for the kubelet, which replaces $(NAME) and
// converts $$ to $. It doubles every dollar sign, because the kubelet corrupts a non-ASCII
// character after a single one.
func escapeExpansion(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// quoteYAML quotes a scalar, so that it is not parsed as a number, boolean or null. It escapes
// characters that aren't printable: in YAML 1.1 some of them are line breaks and the others are not
// allowed.
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

// yamlName formats the name of a variable, in quotes if YAML 1.1 would parse it as a boolean or
// null.
func yamlName(name string) string {
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return `"` + name + `"`
	}
	return name
}

// configMapHead returns the text before the variables of a ConfigMap, for a Plan with variables and
// for one without.
func configMapHead(plan Plan, opts FormatOptions) (head, none string, err error) {
	size := 0
	for _, v := range plan.Variables {
		size += len(v.Name) + len(v.Value)
	}
	if size > configMapMax {
		return "", "", fmt.Errorf("the variables have %d bytes, a ConfigMap holds at most %d", size, configMapMax)
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
	b.WriteString("# For one node only: names of devices, networks and indices differ between nodes. Don't " +
		"use it for pods on other nodes.\n")
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:\n")
	fmt.Fprintf(&b, "  name: %q\n", name) // plain ASCII, checked above
	if opts.Namespace != "" {
		fmt.Fprintf(&b, "  namespace: %q\n", opts.Namespace)
	}
	b.WriteString("  labels:\n    app.kubernetes.io/name: rdma-env\n    app.kubernetes.io/managed-by: rdmactl\n")
	b.WriteString(annotations(opts))
	return b.String() + "data:\n", b.String() + "data: {}\n", nil
}

// annotations returns annotations with the node of a ConfigMap and the program that wrote it.
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

// configMapName returns the name of a ConfigMap for a node.
func configMapName(node string) string {
	name := configMapPrefix + "-" + strings.ToLower(node)
	if node == "" || !isSubdomain(name) {
		return configMapPrefix
	}
	return name
}

// isSubdomain reports whether s is a valid name of a Kubernetes object.
func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isDomainPart(part) {
			return false
		}
	}
	return len(s) <= subdomainMax
}

// isDomainLabel reports whether s is a valid name of a Kubernetes namespace.
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
