package host

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/rdmakit/rdmakit/internal/record/nodetree"
)

// New builds the tree of a node. The error names everything that is invalid in the
// [Spec].
func New(spec Spec) (*nodetree.Tree, error) {
	spec = spec.withDefaults()
	if err := spec.validate(); err != nil {
		return nil, fmt.Errorf("emulate node: %w", err)
	}
	b := &builder{Spec: spec, tree: nodetree.New()}
	b.plan()
	b.addPCI()
	for i := range b.ports {
		b.addPort(&b.ports[i])
	}
	b.addHost()
	b.addLive()
	if err := errors.Join(b.errs...); err != nil {
		return nil, fmt.Errorf("emulate node: %w", err)
	}
	return b.tree, nil
}

type builder struct {
	Spec
	tree  *nodetree.Tree
	errs  []error
	ports []port // all network ports: rails, other cards, virtual functions
	gpus  []gpu
}

// text writes a file with exactly this content.
func (b *builder) text(name, content string) {
	if err := b.tree.Set(name, content); err != nil {
		b.errs = append(b.errs, err)
	}
}

// put writes files in a directory, each with a value and a newline.
func (b *builder) put(dir string, values map[string]string) {
	for name, value := range values {
		b.text(path.Join(dir, name), value+"\n")
	}
}

// link creates a relative link to another path of the tree, in the kernel's form.
func (b *builder) link(name, target string) {
	if err := b.tree.Link(name, relative(path.Dir(name), target)); err != nil {
		b.errs = append(b.errs, err)
	}
}

func (b *builder) fail(name string, errno syscall.Errno) {
	if err := b.tree.SetError(name, errno); err != nil {
		b.errs = append(b.errs, err)
	}
}

func (b *builder) mkdir(name string) {
	if err := b.tree.Mkdir(name); err != nil {
		b.errs = append(b.errs, err)
	}
}

// relative returns the target of a link in dir. As in the kernel
// (kernfs_get_target_path in fs/kernfs/symlink.c), it ends with the target's name even
// if the target is a parent directory.
func relative(dir, target string) string {
	from, to := strings.Split(dir, "/"), strings.Split(target, "/")
	common := 0
	for common < len(from) && common < len(to)-1 && from[common] == to[common] {
		common++
	}
	return strings.Repeat("../", len(from)-common) + strings.Join(to[common:], "/")
}

// classDevice adds the files that every device of a class has: the links between class and device,
// and uevent.
func (b *builder) classDevice(class, dir string, uevent ...string) {
	name := path.Base(dir)
	b.link("sys/class/"+class+"/"+name, dir)
	b.link(dir+"/subsystem", "sys/class/"+class)
	b.text(dir+"/uevent", lines(uevent...))
}

func lines(l ...string) string {
	if len(l) == 0 {
		return ""
	}
	return strings.Join(l, "\n") + "\n"
}

func hex4(v uint16) string { return fmt.Sprintf("0x%04x", v) }

func itoa(v int) string { return strconv.Itoa(v) }
