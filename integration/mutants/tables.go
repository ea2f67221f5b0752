package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// namedMutant is a change that a test is known to notice.
type namedMutant struct {
	File   string `yaml:"file"`
	Old    string `yaml:"old"`
	New    string `yaml:"new"`
	Breaks string `yaml:"breaks"`
}

// explanation is the proof that a generated mutant behaves like the code.
type explanation struct {
	File     string `yaml:"file"`
	Function string `yaml:"function"` // "Type.Method" for a method; "" outside of functions
	Before   string `yaml:"before"`   // the line, as reported
	After    string `yaml:"after"`
	Reason   string `yaml:"reason"`
}

func (e explanation) matches(m *mutant) bool {
	return e.File == m.file && e.Function == m.function && e.Before == m.before && e.After == m.after
}

// readTables reads the named mutants and the explanations, each of which must concern one of the
// generated mutants.
func (p project) readTables(all []mutant) (named []mutant, explained []explanation, err error) {
	var table []namedMutant
	if err := errors.Join(p.readTable("named.yaml", &table), p.readTable("explained.yaml", &explained)); err != nil {
		return nil, nil, err
	}
	for _, n := range table {
		m, mutantErr := p.named(n)
		err = errors.Join(err, mutantErr)
		named = append(named, m)
	}
	for _, e := range explained {
		if e.Reason == "" || !slices.ContainsFunc(all, func(m mutant) bool { return e.matches(&m) }) {
			err = errors.Join(err, fmt.Errorf("explained.yaml: stale or without a reason: %s %s: %s -> %s",
				e.File, e.Function, e.Before, e.After))
		}
	}
	return named, explained, err
}

// readTable reads a list; a project without the file has an empty one.
func (p project) readTable(name string, list any) error {
	text, err := os.ReadFile(filepath.Join(p.root, p.tables, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(list); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// named makes a mutant from an entry of the table. Its text must occur exactly once.
func (p project) named(n namedMutant) (mutant, error) {
	src, err := os.ReadFile(filepath.Join(p.root, n.File))
	if err != nil {
		return mutant{}, err
	}
	if count := bytes.Count(src, []byte(n.Old)); n.Old == "" || count != 1 {
		return mutant{}, fmt.Errorf("named.yaml: %s: the text occurs %d times in %s, want once: %s",
			n.Breaks, count, n.File, n.Old)
	}
	at := bytes.Index(src, []byte(n.Old))
	m := change(src, at, at+len(n.Old), n.New)
	m.file, m.operator, m.line = n.File, n.Breaks, 1+bytes.Count(src[:at], []byte("\n"))
	k := slices.IndexFunc(p.packages, func(pkg testedPackage) bool { return pkg.dir == path.Dir(n.File) })
	if k < 0 {
		return mutant{}, fmt.Errorf("named.yaml: %s is in none of the packages", n.File)
	}
	m.pkg = p.packages[k]
	return m, nil
}
