package bundle

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rdmakit/rdmakit/doctor/facts"
	"github.com/rdmakit/rdmakit/internal/edge/sysfs"
	"github.com/rdmakit/rdmakit/internal/record/nodetree"
	"github.com/rdmakit/rdmakit/inventory"
)

// patterns returns the patterns of files that are read for checks. Control groups are named after
// containers and users, so only the own group is read ([readOwnGroup]); and in a redacted bundle no
// files below /etc, which may name persons and machines in any form.
func (o *Options) patterns() []string {
	return slices.DeleteFunc(slices.Clone(o.Patterns), func(p string) bool {
		return strings.HasPrefix(p, "/"+sysfs.CgroupRoot+"/") || o.redacts() && strings.HasPrefix(p, "/etc/")
	})
}

// redacts reports whether the bundle has no identifiers of its node.
func (o *Options) redacts() bool { return o.Redact != nil || o.Redacted }

// readOwnGroup reads the limits of RDMA objects of the control group of this process and of the
// groups above it, through root, which records them. A redacted bundle has none of them.
func (o *Options) readOwnGroup(root fs.FS) {
	groups, err := fs.ReadFile(root, sysfs.ProcSelfCgroup)
	if err != nil || o.redacts() {
		return
	}
	for line := range strings.Lines(string(groups)) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !ok || strings.HasPrefix(path.Clean(dir), "..") {
			continue
		}
		for dir = path.Clean(dir); ; dir = path.Dir(dir) {
			_, _ = fs.ReadFile(root, path.Join(sysfs.CgroupRoot, dir, "rdma.max")) // noted
			if dir == "." || dir == "/" {
				break
			}
		}
	}
}

// addFacts adds what the kernel reported beside files. Variables are those of [launchEnvironment]'s
// rules. The rules of a packet filter hold addresses in forms that can't be redacted, so a redacted
// bundle has none. Data that is too large for a document is replaced with an error, the second
// reading of counters first.
func (o *Options) addFacts(ctx context.Context, b *Bundle, snap *inventory.Snapshot) error {
	if o.Facts == nil {
		return nil
	}
	f := *o.Facts(ctx, snap)
	if f.Environment.Known() {
		env := *f.Environment
		env.Value = map[string]string{}
		for name, value := range f.Environment.Value {
			if keeps(name, value, o.redacts()) {
				env.Value[name] = value
			}
		}
		f.Environment = &env
	}
	if f.Filter.Known() && o.redacts() {
		f.Filter = &facts.Datum[[]facts.FilterRule]{Absent: "a redacted recording has no rules of the packet filter"}
	}
	err := b.AddJSON(FactsFile, &f)
	if !errors.Is(err, nodetree.ErrTooLarge) {
		return err
	}
	const large = "too large to be recorded"
	if f.Rates != nil {
		f.Rates = &facts.Datum[facts.Rates]{Error: large}
		if err = b.AddJSON(FactsFile, &f); !errors.Is(err, nodetree.ErrTooLarge) {
			return err
		}
	}
	f.Routes = &facts.Datum[facts.Routing]{Error: large}
	f.Filter = &facts.Datum[[]facts.FilterRule]{Error: large}
	f.KernelLog = &facts.Datum[[]facts.KernelMessage]{Error: large}
	return b.AddJSON(FactsFile, &f)
}
