package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"
)

// apiServer checks objects like an API server: by the CRDs of testdata/crds with its own code,
// strictly, and by the Go types of what it has built in.
type apiServer map[string]*schema.Structural

// newAPIServer loads the CRDs, which must be structural themselves.
func newAPIServer(t testing.TB) apiServer {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	server := apiServer{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range crd.Spec.Versions {
			var props apiextensions.JSONSchemaProps
			if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				version.Schema.OpenAPIV3Schema, &props, nil); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			s, err := schema.NewStructural(&props)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if errs := schema.ValidateStructural(field.NewPath("spec"), s); len(errs) > 0 {
				t.Fatalf("%s is not structural: %v", file, errs.ToAggregate())
			}
			server[crd.Spec.Group+"/"+version.Name+" "+crd.Spec.Names.Kind] = s
		}
	}
	return server
}

// admit returns why an object is rejected.
func (s apiServer) admit(text []byte) error {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	kind := fmt.Sprintf("%v %v", o["apiVersion"], o["kind"])
	if rules := s[kind]; rules != nil {
		return admitCustom(rules, o)
	}
	var into any
	switch kind {
	case "v1 Pod":
		into = &corev1.Pod{}
	case "v1 Service":
		into = &corev1.Service{}
	case "v1 Namespace":
		into = &corev1.Namespace{}
	case "v1 ConfigMap":
		into = &corev1.ConfigMap{}
	case "batch/v1 Job":
		into = &batchv1.Job{}
	default:
		return fmt.Errorf("no matches for kind %s", kind)
	}
	return yaml.UnmarshalStrict(text, into)
}

func admitCustom(rules *schema.Structural, o map[string]any) error {
	var errs []error
	for _, path := range pruning.PruneWithOptions(runtime.DeepCopyJSON(o), rules, true,
		schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		errs = append(errs, fmt.Errorf("unknown field %q", path))
	}
	result := validate.NewSchemaValidator(rules.ToKubeOpenAPI(), nil, "", strfmt.Default).Validate(o)
	return errors.Join(append(errs, result.Errors...)...)
}

// TestAPIServer checks that apiServer rejects invalid objects.
func TestAPIServer(t *testing.T) {
	server := newAPIServer(t)
	const head = "apiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: a}\n"
	const good = head + "spec: {resourceName: a, nodeSelector: {}, numVfs: 8, nicSelector: {deviceID: \"1021\"}"
	tests := []struct {
		text string
		ok   bool
	}{
		{good + "}", true},
		{good + ", linkType: IB, priority: 99}", true},
		{good + ", linkType: InfiniBand}", false},
		{good + ", priority: 100}", false},
		{good + ", mtu: 0}", false},
		{good + ", numVFs: 8}", false},
		{head + "spec: {resourceName: a, numVfs: 8, nicSelector: {}}", false},
		{head + "spec: {resourceName: a, nodeSelector: {}, numVfs: 8, nicSelector: {deviceID: 1021}}", false},
		{head + "spec: {resourceName: a, nodeSelector: {}, numVfs: 8, nicSelector: {deviceType: netdevice}}", false},
		{"apiVersion: v1\nkind: Pod\nspec: {containers: []}", true},
		{"apiVersion: v1\nkind: Pod\nspec: {container: []}", false},
		{"apiVersion: v2\nkind: Pod", false},
	}
	for _, tt := range tests {
		if err := server.admit([]byte(tt.text)); (err == nil) != tt.ok {
			t.Errorf("admit(%s) = %v, want ok %t", tt.text, err, tt.ok)
		}
	}
}
