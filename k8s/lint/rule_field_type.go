package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func checkFieldType(p *pass, o *manifest.Object) {
	checkTypes(p, o, o.Find("spec"), k8s.Schema(o.Kind), path{"spec"})
}

// checkTexts reports numbers and booleans where a pod needs texts.
func checkTexts(p *pass, pod *pod) {
	texts := &k8s.Field{Type: k8s.TypeMap, Items: &k8s.Field{Type: k8s.TypeString}}
	for _, at := range []path{
		pod.path("metadata", "annotations"), pod.path("metadata", "labels"), pod.path("spec", "nodeSelector"),
	} {
		checkTypes(p, pod.Object, pod.Find(at...), texts, at)
	}
	if !p.takesPart(pod.Object) {
		return
	}
	for _, c := range pod.all() {
		for i := range pod.Find(c.path("env")...).List() {
			at := c.path("env", i, "value")
			checkTypes(p, pod.Object, pod.Find(at...), texts.Items, at)
		}
	}
}

func checkTypes(p *pass, o *manifest.Object, v *manifest.Value, schema *k8s.Field, at path) {
	if v == nil || v.Kind == manifest.Null || schema == nil {
		return
	}
	if want, ok := wantedKind(schema.Type, v.Kind); !ok {
		f := p.error(o, at, "%s must be %s, not %s", manifest.PathText(at...), want, v.Kind)
		if v.Kind != manifest.Mapping && v.Kind != manifest.List {
			typeFix(f, schema, v)
		}
		return
	}
	for _, f := range v.Fields {
		child := schema.Items
		if schema.Type == k8s.TypeObject {
			child = schema.Find(f.Key)
		}
		checkTypes(p, o, f.Value, child, append(slices.Clone(at), f.Key))
	}
	for i, item := range v.Items {
		checkTypes(p, o, item, schema.Items, append(slices.Clone(at), i))
	}
}

// wantedKind describes the values of a type, and reports whether got is one.
func wantedKind(t k8s.FieldType, got manifest.Kind) (want string, ok bool) {
	switch t {
	case k8s.TypeObject, k8s.TypeMap:
		return manifest.Mapping.String(), got == manifest.Mapping
	case k8s.TypeList:
		return manifest.List.String(), got == manifest.List
	case k8s.TypeString:
		return manifest.String.String(), got == manifest.String
	case k8s.TypeInt:
		return manifest.Int.String(), got == manifest.Int
	case k8s.TypeBool:
		return manifest.Bool.String(), got == manifest.Bool
	case k8s.TypeIntOrString:
		return "a number or a percentage", got == manifest.Int || got == manifest.String
	}
	return "", true
}

func typeFix(f *Finding, schema *k8s.Field, v *manifest.Value) {
	switch schema.Type {
	case k8s.TypeString:
		f.fix("%q", v.Text)
	case k8s.TypeList:
		f.fix("[%s]", strings.Join(listed(v.Text), ", "))
	case k8s.TypeInt, k8s.TypeBool:
		if v.Quoted && v.Text != "" {
			f.fix("%s", fmt.Sprint(v.Text))
		}
	}
}

// listed splits a text that should be a list into quoted words. It drops dashes that no blank
// follows.
func listed(text string) []string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == ',' })
	for i, word := range words {
		if bare := strings.TrimPrefix(word, "-"); bare != "" {
			word = bare
		}
		words[i] = fmt.Sprintf("%q", word)
	}
	return words
}
