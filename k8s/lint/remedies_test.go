package lint

import (
	"strings"
	"testing"
)

// TestRemedies checks remedies that depend on the object.
func TestRemedies(t *testing.T) {
	annotated := func(list, key string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: a, " + list + ": {" + key + ": rail0}}\n" +
			"spec: {containers: [{name: a}]}\n"
	}
	plugins := func(list string) string {
		return fill(someNAD, "CONFIG", `{"cniVersion": "1.0.0", "plugins": [`+list+`]}`)
	}
	for _, tt := range []struct{ name, rule, in, want string }{
		{
			"a misspelt annotation", "pod-annotation-place", annotated("annotations", "k8s.v1.cni.cncf.io/network"),
			"rename it to k8s.v1.cni.cncf.io/networks",
		},
		{
			"a label", "pod-annotation-place", annotated("labels", "k8s.v1.cni.cncf.io/networks"),
			"move it to metadata.annotations of the pod or pod template",
		},
		{
			"rdma before host-device", "nad-order",
			plugins(`{"type": "rdma"}, {"type": "tuning"}, {"type": "host-device"}`), "put host-device before it",
		},
		{
			"rdma before ib-sriov", "nad-order", plugins(`{"type": "rdma"}, {"type": "ib-sriov"}`),
			"put ib-sriov before it",
		},
		{
			"rdma alone", "nad-order", plugins(`{"type": "rdma"}`),
			"put the plugin that creates the interface, such as sriov, before it",
		},
	} {
		var got []string
		for _, f := range check(t, tt.rule, tt.in, "") {
			got = append(got, f.Remedy)
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: remedy %q, want %q", tt.name, text, tt.want)
		}
	}
}

// TestSharedMemoryFix: the size that the user wrote stays.
func TestSharedMemoryFix(t *testing.T) {
	const pod = `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  volumes: [{name: shm, emptyDir: {SIZE}}]
  containers:
  - name: a
    volumeMounts: [{name: shm, mountPath: /dev/shm}]
    resources: {limits: {nvidia.com/rail0: 1}}
`
	for size, want := range map[string]string{
		"sizeLimit: 64Gi": "emptyDir: {medium: Memory, sizeLimit: 64Gi}",
		"":                "emptyDir: {medium: Memory, sizeLimit: 16Gi}",
	} {
		got := check(t, "pod-memory", fill(someNetwork, "IPAM", "{}")+fill(pod, "SIZE", size), "")
		if len(got) != 1 || got[0].Fix != want {
			t.Errorf("findings %+v of an emptyDir with {%s}, want one with the fix %q", got, size, want)
		}
	}
}
