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

// fileMark is the first line of the manifests that Write writes, by which it knows them again.
const fileMark = "# Written by rdmactl k8s plan --out, which removes this file when its plan no longer has it."

// Write puts each file of the plan into a folder, which it makes, and returns their names. Files
// that are there already and don't differ stay as they are; others of the same name are replaced,
// and files of other names stay.
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

// RemoveStale removes the files that an earlier [Plan.Write] left in a folder and this plan hasn't,
// and returns their names; files of others stay. Links and folders are not followed. A plan that
// was made without some of its nodes has none of their files: it has no business here.
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
				continue // what can't be read is not known to be ours
			}
			if err := os.Remove(name); err != nil {
				return removed, fmt.Errorf("remove stale files: %w", err)
			}
			removed = append(removed, name)
		}
		if part.dir != dir && len(removed) > before {
			_ = os.Remove(part.dir) // the system keeps a folder with files of others
		}
	}
	return removed, nil
}

// isGUIDFile reports the file of a node as guidTexts writes it, to the byte. The daemon takes JSON
// only, so it has no mark; but nobody else writes ranges of this form.
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
