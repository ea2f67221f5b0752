package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file reads kustomizations without kustomize's library: its output doesn't have the line
// numbers that findings need, and it is larger than all other code for reading Kubernetes objects.

// kustomizationNames returns the file names that kustomize looks for.
func kustomizationNames() []string {
	return []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}
}

func isKustomizationName(name string) bool { return slices.Contains(kustomizationNames(), name) }

// kustomizationFile returns the kustomization of a folder, "" if it has none.
func kustomizationFile(dir string) string {
	for _, name := range kustomizationNames() {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// sets reads the items.
func (r *reading) sets() []*Set {
	for i, it := range r.items { // first, because kustomizations name other files
		if it.kustomization {
			r.items[i].set = r.kustomize(it.path, nil)
		}
	}
	left := map[string][]string{}
	var items []item
	for _, it := range r.items {
		dir := filepath.Dir(it.path)
		switch {
		case it.kustomization && !r.named[key(it.path)]:
			it.set.apply(it.path)
			items = append(items, it)
		case it.kustomization || it.listed && r.named[key(it.path)]:
		case it.listed && kustomizationFile(dir) != "":
			left[dir] = append(left[dir], filepath.Base(it.path))
		default:
			set, err := r.readFile(it.path, r.Stdin)
			if err != nil {
				r.fail(err)
				continue
			}
			if it.listed {
				set.apply(it.unit)
				set.found()
				r.skipForeign(set, it.path)
			}
			items = append(items, item{path: it.path, set: set})
		}
	}
	for _, it := range r.items {
		if files := left[it.path]; it.kustomization && len(files) > 0 {
			r.note("skipped, because %s doesn't name them: %s", kustomizationFile(it.path), strings.Join(files, ", "))
		}
	}
	sets := alternatives(items)
	sets[0].Notes = append(sets[0].Notes, r.notes...)
	return sets
}

// found records that the objects were found in a folder.
func (s *Set) found() {
	for _, o := range s.Objects {
		o.Found = true
	}
}

// skipForeign drops the problems of a file that was found in a folder and that belongs to another
// program: it has no object, and the words apiVersion and kind don't occur in it.
func (r *reading) skipForeign(set *Set, file string) {
	if !r.SkipForeign || len(set.Objects) > 0 || len(set.Problems) == 0 {
		return
	}
	data, err := ReadFile(file, nil)
	if err == nil && bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")) {
		return
	}
	set.Problems = nil
	r.note("skipped, because it is neither a manifest nor valid YAML: %s", file)
}

// apply records what the objects are applied with.
func (s *Set) apply(unit string) {
	for _, o := range s.Objects {
		o.Unit = unit
	}
}

func (r *reading) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// alternatives returns sets of items that can be applied together. Kustomizations with a common
// object can't. Each item is in at least one set, and in all others that have none of its objects.
func alternatives(items []item) []*Set {
	taken := []map[string]bool{{}} // objects of each set
	home := make([]int, len(items))
	for i, it := range items {
		for home[i] < len(taken) && it.overlaps(taken[home[i]]) {
			home[i]++
		}
		if home[i] == len(taken) {
			taken = append(taken, map[string]bool{})
		}
		it.take(taken[home[i]])
	}
	var sets []*Set
	for n := range taken {
		in := make([]bool, len(items))
		for i, it := range items {
			if in[i] = home[i] == n || !it.overlaps(taken[n]); in[i] {
				it.take(taken[n])
			}
		}
		set := &Set{}
		for i, it := range items {
			if in[i] {
				set.Add(it.set)
			}
		}
		sets = append(sets, set)
	}
	return sets
}

// ids returns identifiers of the objects of a kustomization, by name and by place: an object of a
// base that occurs with two names is probably meant for two clusters. Other files have none,
// because they have no alternatives.
func (it item) ids() []string {
	var out []string
	for _, o := range it.set.Objects {
		if !it.kustomization {
			break
		}
		out = append(out, o.Root.At.String())
		if o.Find("metadata", "name") != nil {
			out = append(out, o.id())
		}
	}
	return out
}

func (it item) overlaps(taken map[string]bool) bool {
	return slices.ContainsFunc(it.ids(), func(id string) bool { return taken[id] })
}

func (it item) take(taken map[string]bool) {
	for _, id := range it.ids() {
		taken[id] = true
	}
}

// id returns the identity of an object in the API server.
func (o *Object) id() string { return o.APIVersion + " " + o.String() }

// kustomize reads the resources of a kustomization. above are the keys of the kustomizations that
// name it.
func (r *reading) kustomize(dir string, above []string) *Set {
	file := kustomizationFile(dir)
	set := &Set{}
	if slices.Contains(above, key(dir)) {
		r.fail(fmt.Errorf("read %s: the kustomization names itself", file))
		return set
	}
	if !r.within(file) {
		return set
	}
	data, err := ReadFile(file, nil)
	if err != nil {
		r.fail(err)
		return set
	}
	k := &Set{Files: []string{file}}
	parseInto(k, file, data, true)
	set.Files, set.Problems = k.Files, k.Problems
	if len(k.Objects) == 0 {
		return set
	}
	root := k.Objects[0].Root
	r.mention(dir, root, 0)
	for _, field := range []string{"resources", "bases", "components"} {
		for _, entry := range root.Get(field).List() {
			if entry.Kind != String {
				continue
			}
			part := r.resource(dir, entry, append(slices.Clone(above), key(dir)))
			set.Add(part)
			if field == "components" { // they change the objects of the kustomization that names them
				set.mark(part.patches)
			}
		}
	}
	set.patches = r.patches(dir, file, root)
	set.mark(set.patches)
	set.transform(root)
	var open []string
	for _, f := range root.Fields {
		if slices.Contains(unapplied(), f.Key) && !f.Value.Empty() {
			open = append(open, f.Key)
		}
	}
	if len(open) > 0 {
		r.note("%s: %s not applied, and what they change is not checked; to check the result: "+
			"kustomize build %s | rdmactl k8s lint -", file, strings.Join(open, ", "), dir)
	}
	return set
}

// within counts the files that kustomizations read, and reports whether the limit allows another.
// Overlays of overlays multiply files.
func (r *reading) within(file string) bool {
	r.files++
	if r.files == maxKustomize+1 {
		r.fail(fmt.Errorf("read %s: kustomizations name more than %d files", file, maxKustomize))
	}
	return r.files <= maxKustomize
}

// unapplied returns the fields of a kustomization that change or generate objects and are not
// supported.
func unapplied() []string {
	return []string{
		"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "vars", "transformers",
		"generators", "configMapGenerator", "helmCharts", "helmChartInflationGenerator",
	}
}

// mention records all files and folders that a kustomization names, so that they are not read by
// themselves.
func (r *reading) mention(dir string, v *Value, depth int) {
	if v == nil || depth > MaxDepth {
		return
	}
	for _, f := range v.Fields {
		r.mention(dir, f.Value, depth+1)
	}
	for _, item := range v.Items {
		r.mention(dir, item, depth+1)
	}
	if v.Kind != String || v.Text == "" || len(v.Text) > 4096 {
		return
	}
	_, behind, _ := strings.Cut(v.Text, "=") // files of generators: KEY=FILE
	for _, text := range []string{v.Text, behind} {
		if file := filepath.Join(dir, text); text != "" && key(file) != key(dir) {
			r.named[key(file)] = true
		}
	}
}

// resource reads an entry of resources: a file or a folder with a kustomization. URLs are not
// fetched.
func (r *reading) resource(dir string, entry *Value, above []string) *Set {
	file := absolute(dir, entry.Text)
	info, err := os.Stat(file)
	switch {
	case err != nil && isRemote(entry.Text):
		r.note("%s: %s is not fetched; to check it: kustomize build %s | rdmactl k8s lint -",
			entry.At, entry.Text, dir)
		return &Set{}
	case err != nil:
	case info.IsDir() && kustomizationFile(file) != "":
		return r.kustomize(file, above)
	case info.IsDir():
		err = fmt.Errorf("open %s: no kustomization.yaml in it: %w", file, fs.ErrNotExist)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("open %s: %w", file, errors.ErrUnsupported)
	default:
		set := &Set{}
		if r.within(file) {
			set, err = r.readOnce(file)
		}
		if err == nil {
			return set
		}
	}
	r.fail(fmt.Errorf("%s: %w", entry.At, err))
	return &Set{}
}

// readOnce reads a file that several kustomizations may name. The objects of the result are the
// caller's; their values are shared.
func (r *reading) readOnce(file string) (*Set, error) {
	parsed, ok := r.parsed[key(file)]
	if !ok {
		var err error
		if parsed, err = r.readFile(file, nil); err != nil {
			return nil, err
		}
		r.parsed[key(file)] = parsed
	}
	set := *parsed
	set.Objects = make([]*Object, len(parsed.Objects))
	for i, o := range parsed.Objects {
		own := *o
		set.Objects[i] = &own
	}
	return &set, nil
}

// isRemote reports whether kustomize treats an entry as a URL or a repository.
func isRemote(entry string) bool {
	host, _, _ := strings.Cut(entry, "/")
	return strings.Contains(entry, "://") || strings.Contains(entry, "?ref=") || strings.Contains(host, "@") ||
		host == "github.com"
}

// transform applies the namespace, the prefix and the suffix of a kustomization.
func (s *Set) transform(root *Value) {
	namespace, prefix, suffix := root.Get("namespace"), root.Get("namePrefix"), root.Get("nameSuffix")
	for _, o := range s.Objects {
		switch {
		case o.Kind == "Namespace":
			o.rewrite("name", namespace)
			continue
		case o.Kind == KindCRD || o.Kind == "APIService":
			continue
		case !isClusterKind(o.Kind):
			o.rewrite("namespace", namespace)
		}
		if name := o.Find("metadata", "name"); name != nil && (!prefix.Empty() || !suffix.Empty()) {
			renamed := *name
			renamed.Text = prefix.text() + name.Text + suffix.text()
			o.rewrite("name", &renamed)
		}
	}
}

func (v *Value) text() string {
	if v == nil {
		return ""
	}
	return v.Text
}

// rewrite sets a field of metadata, unless the value is empty.
func (o *Object) rewrite(name string, v *Value) {
	old := o.Find("metadata")
	if v.Empty() || old == nil || old.Kind != Mapping {
		return
	}
	root, metadata := *o.Root, *old // other kustomizations may share them
	root.Fields, metadata.Fields = slices.Clone(root.Fields), slices.Clone(metadata.Fields)
	root.field("metadata").Value = &metadata
	if f := metadata.field(name); f != nil {
		f.Value = v
	} else {
		metadata.Fields = append(metadata.Fields, Field{Key: name, At: v.At, Value: v})
	}
	renamed := newObject(o.File, &root, o.source)
	renamed.Unit, renamed.Found, renamed.Patched = o.Unit, o.Found, o.Patched
	*o = *renamed
}

// isClusterKind reports whether a kind has no namespace. Like kustomize it assumes that all other
// kinds have one.
func isClusterKind(kind string) bool {
	return slices.Contains([]string{
		"Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", KindCRD,
		"APIService", "StorageClass", "IngressClass", "PriorityClass", "RuntimeClass", "DeviceClass", "ResourceSlice",
		"CSIDriver", "CSINode", "VolumeAttachment", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "CertificateSigningRequest", "FlowSchema",
		"PriorityLevelConfiguration",
	}, kind)
}
