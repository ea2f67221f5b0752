package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/rdmakit/rdmakit/internal/text/prose"
	"github.com/rdmakit/rdmakit/k8s"
	"github.com/rdmakit/rdmakit/k8s/manifest"
)

func fieldType() Rule {
	return Rule{
		ID: "field-type", Title: "a value of the wrong type", Severity: SeverityError,
		Kinds: append(k8s.SchemaKinds(), k8s.KindPod),
		Explanation: prose.Join(`
			The API server refuses the object. Device IDs that have no letter are numbers to YAML
			unless they stand in quotes (1021), and so are on, off, yes and no true or false; label
			values and annotations are texts; rootDevices and pfNames are lists.`),
		Remedy:  "write the value in the type that the field takes",
		Wrong:   "    deviceID: 1021",
		Right:   "    deviceID: \"1021\"",
		Sources: []string{srcCRD, srcAPIServer},
		check: func(p *pass) {
			for _, o := range p.objects {
				if schema := k8s.Schema(o.Kind); schema != nil {
					checkTypes(p, o, o.Find("spec"), schema, path{"spec"})
				}
			}
			for _, pod := range p.pods {
				for _, name := range []string{"annotations", "labels"} {
					checkTypes(p, pod.Object, pod.Find(pod.path("metadata", name)...),
						&k8s.Field{Type: k8s.TypeMap, Items: &k8s.Field{Type: k8s.TypeString}},
						pod.path("metadata", name))
				}
				checkTypes(p, pod.Object, pod.Find(pod.path("spec", "nodeSelector")...),
					&k8s.Field{Type: k8s.TypeMap, Items: &k8s.Field{Type: k8s.TypeString}},
					pod.path("spec", "nodeSelector"))
			}
		},
	}
}

func checkTypes(p *pass, o *manifest.Object, v *manifest.Value, schema *k8s.Field, at path) {
	if v == nil || v.Kind == manifest.Null || schema == nil {
		return
	}
	if want, ok := wantedKind(schema.Type, v.Kind); !ok {
		f := p.error(o, at, "%s takes %s, and this is %s", manifest.PathText(at...), want, v.Kind)
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

// wantedKind says what a type takes, and whether a value is that.
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

// listed quotes the words of a text that should be a list, without the dashes that had no blank
// behind them.
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
