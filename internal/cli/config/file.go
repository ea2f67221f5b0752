package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/internal/text/spelling"
)

// maxFileSize is the largest file that is read: a larger file is not a configuration but a wrong
// path.
const maxFileSize = 1 << 20

// fileValue is a value in the file, with the line for messages.
type fileValue struct {
	text string
	line int
}

// Path returns the configuration file for the given value of --config, and the source of its name:
// "--config", "RDMAKIT_CONFIG", or "" for the default. file is empty if there is no home directory.
func Path(flag string, lookupEnv func(string) (string, bool)) (file, namedBy string) {
	if flag != "" {
		return flag, "--config"
	}
	if p, _ := lookupEnv("RDMAKIT_CONFIG"); p != "" {
		return p, "RDMAKIT_CONFIG"
	}
	var dir string
	if runtime.GOOS == "windows" {
		dir, _ = lookupEnv("AppData")
	} else {
		dir, _ = lookupEnv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) { // the XDG specification: a relative one is invalid and ignored
			dir = ""
			if home, _ := lookupEnv("HOME"); home != "" {
				dir = filepath.Join(home, ".config")
			}
		}
	}
	if dir == "" {
		return "", ""
	}
	return filepath.Join(dir, "rdmakit", "config.yaml"), ""
}

// Validate checks a configuration file. The returned error joins an *Error for each error in the
// file.
func Validate(file string) error {
	_, err := readFile(file)
	return err
}

func readFile(file string) (map[string]fileValue, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(data) > maxFileSize {
		return nil, fmt.Errorf("read configuration: %s: larger than 1 MiB", file)
	}
	return parse(file, data)
}

// missing reports whether err means that a file doesn't exist, including a HOME that is not a
// directory (/dev/null for many service accounts).
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// parse parses the YAML text of a configuration file. It returns the values, and an *Error for each
// error in the text, in the order of the lines. Keys without a value are treated as unset.
func parse(file string, data []byte) (map[string]fileValue, error) {
	if isDeviceFile(data) {
		return nil, &Error{
			Source: file, Reason: "is a list of devices in JSON, not a configuration of rdmactl",
			Hint: "rdmactl config import " + file + " converts it to a configuration",
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil // empty, or comments only
	case err != nil:
		return nil, cmp.Or(notText(file, data), syntaxError(file, data, err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, &Error{Source: file, Reason: "holds more than one YAML document"}
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, &Error{Source: position(file, root.Line), Reason: "is not a list of \"key: value\" lines"}
	}
	return parseMapping(file, root)
}

// pairs returns a mapping as KEY=VALUE,….
func pairs(m *yaml.Node) (string, error) {
	var out []string
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		if key.Kind != yaml.ScalarNode || value.Kind != yaml.ScalarNode ||
			strings.ContainsAny(key.Value+value.Value, "=,") {
			return key.Value, fmt.Errorf("is wrong: line %d: not PATTERN: ROLE", key.Line)
		}
		if slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, key.Value+"=") }) {
			return key.Value, fmt.Errorf("is wrong: line %d: the pattern is given twice", key.Line)
		}
		out = append(out, key.Value+"="+value.Value)
	}
	return strings.Join(out, ","), nil
}

// notText returns an *Error if data is not text, otherwise nil. The errors of parsers would quote
// its bytes.
func notText(file string, data []byte) error {
	kind, _, _ := strings.Cut(nodetree.BinaryKind(data), ";") // the rest is about bundles
	if kind == "" {
		return nil
	}
	return &Error{Source: file, Reason: "is not text, but " + kind}
}

func parseMapping(file string, root *yaml.Node) (map[string]fileValue, error) {
	values := make(map[string]fileValue)
	var errs []error
	var scratch Values
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		bad := func(reason, near string) {
			errs = append(errs, &Error{Source: position(file, key.Line), Key: key.Value, Reason: reason, Near: near})
		}
		setting, known := Find(key.Value)
		first, twice := values[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			bad("unknown key", spelling.Nearest(key.Value, keys(), spelling.Loose))
		case twice:
			bad(fmt.Sprintf("given twice, first on line %d", first.line), "")
		case value.Kind == yaml.MappingNode && setting.Type == typePairs:
			text, err := pairs(value)
			if err == nil {
				_, err = setting.set(&scratch, text)
			}
			if err != nil {
				errs = append(errs, wrongValue(err, position(file, value.Line), key.Value, text))
				continue
			}
			values[key.Value] = fileValue{text: text, line: key.Line}
		case value.Kind != yaml.ScalarNode && setting.Type == typePairs:
			bad("is "+kindName(value.Kind)+", want lines \"PATTERN\": ROLE below it", "")
		case value.Kind != yaml.ScalarNode:
			bad("is "+kindName(value.Kind)+", want a single value", "")
		case value.Tag != "!!null" && value.Value != "":
			if _, err := setting.set(&scratch, value.Value); err != nil {
				errs = append(errs, wrongValue(err, position(file, value.Line), key.Value, value.Value))
				continue
			}
			values[key.Value] = fileValue{text: value.Value, line: value.Line}
		}
	}
	return values, errors.Join(errs...)
}

func keys() []string {
	var all []string
	for _, s := range Settings() {
		all = append(all, s.Key)
	}
	return all
}

func kindName(kind yaml.Kind) string {
	switch kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.AliasNode:
		return "a YAML alias"
	}
	return "no value"
}

func position(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// syntaxError moves the line number from the library's message to the position file:line, which
// editors recognise.
func syntaxError(file string, data []byte, err error) error {
	m := regexp.MustCompile(`(?s)^yaml: line (\d+): (.*)`).FindStringSubmatch(err.Error())
	if m == nil {
		e := &Error{Source: file, Reason: strings.TrimPrefix(err.Error(), "yaml: ")}
		if strings.HasPrefix(e.Reason, "unknown anchor") {
			e.Hint = quoteStar
		}
		return e
	}
	return &Error{Source: file + ":" + m[1], Reason: m[2], Hint: syntaxHint(data, m[1])}
}

const quoteStar = "YAML needs quotes around a key that begins with *, such as '*': storage"

// syntaxHint describes the two mistakes that the parser's words don't tell.
func syntaxHint(data []byte, line string) string {
	number, err := strconv.Atoi(line)
	lines := strings.Split(string(data), "\n")
	if err != nil || number < 1 || number > len(lines) {
		return ""
	}
	text := lines[number-1]
	key := strings.TrimLeft(text, " \t")
	switch {
	case strings.Contains(text[:len(text)-len(key)], "\t"):
		return "YAML is indented with spaces, not with tabs"
	case strings.HasPrefix(key, "*"):
		return quoteStar
	}
	return ""
}
