package plan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/wire/ib"
)

// fileMark is the first line of the manifests that Write writes. RemoveStale recognizes them by it.
const fileMark = "# Written by rdmactl k8s plan --out, which removes this file when its plan no longer has it."

// Write writes the files of the plan to a folder, which it creates if necessary. It returns the
// names of the files that it has written. Existing files with the same content are not written
// again. Files with other names are not changed.
func (p Plan) Write(dir string) (written []string, err error) {
	for _, f := range p.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) {
			return written, fmt.Errorf("write %s: not a name within the folder", f.Name)
		}
		name := f.path(dir)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return written, fmt.Errorf("write plan: %w", err)
		}
		text := []byte(f.Text)
		if f.Object != "" {
			text = []byte(fileMark + "\n" + f.Text)
		}
		if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, text) {
			continue
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return written, fmt.Errorf("write plan: %w", err)
		}
		written = append(written, name)
	}
	return written, nil
}

func (f File) path(dir string) string { return filepath.Join(dir, filepath.FromSlash(f.Name)) }

// RemoveStale removes the files in a folder that an earlier [Plan.Write] has written and that are
// not in this plan. It returns their names. It doesn't remove other files, and follows no links and
// folders. Don't call it for a plan in which nodes are missing, because it would remove their
// files.
func (p Plan) RemoveStale(dir string) (removed []string, err error) {
	own := map[string]bool{}
	for _, f := range p.Files {
		own[f.path(dir)] = true
	}
	for _, part := range []struct {
		dir  string
		ours func(node string, text []byte) bool
	}{
		{dir, func(name string, text []byte) bool {
			return filepath.Ext(name) == ".yaml" && bytes.HasPrefix(text, []byte(fileMark+"\n"))
		}},
		{filepath.Join(dir, guidsDir), isGUIDFile},
	} {
		entries, err := os.ReadDir(part.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("remove stale files: %w", err)
		}
		before := len(removed)
		for _, e := range entries {
			name := filepath.Join(part.dir, e.Name())
			if own[name] || !e.Type().IsRegular() {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil || !part.ours(e.Name(), text) {
				continue // a file that can't be read may not be ours
			}
			if err := os.Remove(name); err != nil {
				return removed, fmt.Errorf("remove stale files: %w", err)
			}
			removed = append(removed, name)
		}
		if part.dir != dir && len(removed) > before {
			_ = os.Remove(part.dir) // fails if the folder has other files
		}
	}
	return removed, nil
}

// isGUIDFile reports whether a file is exactly what guidTexts writes for a node. The file has no
// mark, because the daemon accepts only JSON, but the form of the ranges is unique to rdmactl.
func isGUIDFile(node string, text []byte) bool {
	var list []guidRange
	if err := json.Unmarshal(text, &list); err != nil || len(list) == 0 {
		return false
	}
	for _, g := range list {
		start, err := ib.ParseGUID(g.GUIDsRange.Start)
		base := binary.BigEndian.Uint64(start[:])
		if err != nil || base>>56 != 2 || base&0xff != 0 ||
			g.GUIDsRange.End != k8s.FormatGUID(base+k8s.MaxMellanoxVFs-1) {
			return false
		}
	}
	return guidTexts(map[string][]guidRange{node: list})[node] == string(text)
}
