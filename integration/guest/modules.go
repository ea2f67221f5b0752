package guest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// moduleTable is depmod's data about a kernel's modules.
type moduleTable struct {
	deps    map[string][]string // path of a module to the paths it needs, all below the kernel's module folder
	byName  map[string]string   // name, with underscores, to path
	builtin map[string]bool     // names of modules that are part of the kernel itself
}

// parseModules parses the text of modules.dep (lines of "path: path path…") and of modules.builtin
// (one path per line).
func parseModules(dep, builtin string) (moduleTable, error) {
	t := moduleTable{deps: map[string][]string{}, byName: map[string]string{}, builtin: map[string]bool{}}
	for line := range strings.Lines(dep) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		file, needs, found := strings.Cut(line, ":")
		if !found {
			return t, fmt.Errorf("parse modules.dep: %q: no colon", line)
		}
		t.deps[file] = strings.Fields(needs)
		t.byName[moduleName(file)] = file
	}
	for line := range strings.Lines(builtin) {
		if line = strings.TrimSpace(line); line != "" {
			t.builtin[moduleName(line)] = true
		}
	}
	return t, nil
}

// moduleName turns "kernel/net/8021q/8021q.ko.xz" into "8021q".
func moduleName(file string) string {
	name, _, _ := strings.Cut(path.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// choose returns the sorted files of all modules under the trees and of the named modules, with all
// their dependencies. A name that is neither a file nor built in is an error, as is a tree without
// modules.
func (t moduleTable) choose(trees, names []string) ([]string, error) {
	chosen := map[string]bool{}
	for _, tree := range trees {
		n := len(chosen)
		for file := range t.deps {
			if strings.HasPrefix(file, "kernel/"+tree) {
				chosen[file] = true
			}
		}
		if len(chosen) == n {
			return nil, fmt.Errorf("choose kernel modules: none under %s", tree)
		}
	}
	for _, name := range names {
		file, found := t.byName[name]
		if !found && !t.builtin[name] {
			return nil, fmt.Errorf("choose kernel modules: the kernel has no %s", name)
		}
		if found {
			chosen[file] = true
		}
	}
	var files []string
	for file := range chosen {
		// modules.dep includes indirect dependencies.
		files = append(files, file)
		files = append(files, t.deps[file]...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
