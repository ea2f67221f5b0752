// Package examples checks the example manifests against the types of Kubernetes, and their commands
// against rdmactl.
package examples_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/cli/commands"
)

// leaderWorkerSet has the fields of LeaderWorkerSet v1 (leaderworkerset.x-k8s.io) that the examples
// use; its module is not a dependency of this one.
type leaderWorkerSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas             *int32 `json:"replicas"`
		StartupPolicy        string `json:"startupPolicy"` // LeaderCreated or LeaderReady
		LeaderWorkerTemplate struct {
			Size *int32 `json:"size"`
			// RecreateGroupOnPodRestart, RecreateGroupAfterStart or None
			RestartPolicy  string                  `json:"restartPolicy"`
			LeaderTemplate *corev1.PodTemplateSpec `json:"leaderTemplate"`
			WorkerTemplate corev1.PodTemplateSpec  `json:"workerTemplate"`
		} `json:"leaderWorkerTemplate"`
	} `json:"spec"`
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestDeployment(t *testing.T) {
	var d appsv1.Deployment
	read(t, "vllm-deployment.yaml", &d)
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" {
		t.Errorf("kind %s %s, want apps/v1 Deployment", d.APIVersion, d.Kind)
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || !strings.Contains(selector.String(), "app=") {
		t.Fatalf("selector %v, %v, want one of labels", d.Spec.Selector, err)
	}
	for key, value := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[key] != value {
			t.Errorf("the template doesn't have the label %s=%s of the selector", key, value)
		}
	}
	checkPod(t, d.Spec.Template.Spec)
}

func TestLeaderWorkerSet(t *testing.T) {
	var s leaderWorkerSet
	read(t, "vllm-leaderworkerset.yaml", &s)
	if s.APIVersion != "leaderworkerset.x-k8s.io/v1" || s.Kind != "LeaderWorkerSet" {
		t.Errorf("kind %s %s, want leaderworkerset.x-k8s.io/v1 LeaderWorkerSet", s.APIVersion, s.Kind)
	}
	template := s.Spec.LeaderWorkerTemplate
	if !slices.Contains([]string{"LeaderCreated", "LeaderReady"}, s.Spec.StartupPolicy) ||
		!slices.Contains([]string{"RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "None"},
			template.RestartPolicy) {
		t.Errorf("policies %q and %q are not in the API", s.Spec.StartupPolicy, template.RestartPolicy)
	}
	if template.Size == nil || *template.Size < 2 || template.LeaderTemplate == nil {
		t.Fatalf("size %v, leader %v, want a group and a leader template", template.Size, template.LeaderTemplate)
	}
	checkPod(t, template.LeaderTemplate.Spec)
	checkPod(t, template.WorkerTemplate.Spec)
}

// checkPod checks the pod's names and mounts as the API server does, and runs its command with
// --dry-run.
func checkPod(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	copied := false
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if why := validation.IsDNS1123Label(c.Name); len(why) > 0 || c.Image == "" {
			t.Errorf("container %q with image %q: %v", c.Name, c.Image, why)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] || !filepath.IsAbs(m.MountPath) {
				t.Errorf("container %s mounts %q at %q, want a volume of the pod", c.Name, m.Name, m.MountPath)
			}
		}
		copied = copied || strings.Contains(strings.Join(c.Command, " "), " /rdma/rdmactl")
	}
	c := pod.Containers[0]
	if !copied || len(c.Command) < 2 || c.Command[0] != "/rdma/rdmactl" {
		t.Fatalf("container %s runs %q, want the file that the init container has copied", c.Name, c.Command)
	}
	if len(c.Env)+len(c.EnvFrom) > 0 {
		t.Errorf("container %s has variables in its manifest, want only those of the node", c.Name)
	}
	rehearse(t, append(slices.Clone(c.Command[1:]), c.Args...))
}

// rehearse runs "exec …" with --dry-run on a recorded node.
func rehearse(t *testing.T, args []string) {
	t.Helper()
	path := t.TempDir()
	//nolint:gosec // it must look like a program
	if err := os.WriteFile(filepath.Join(path, "vllm"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	app := cli.NewApp(commands.All())
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), &stdout, &stderr
	app.Environ = []string{"HOME=" + path, "PATH=" + path}
	tree := filepath.Join("..", "internal", "testkit", "testtrees", "02_rocev2_8hca.tree")
	code := app.Run(t.Context(), slices.Insert(slices.Clone(args), 1, "-q", "--dry-run", "--from", tree))
	if code != cli.ExitOK || !strings.Contains(stdout.String(), "export NCCL_IB_HCA='=mlx5_0:1,") ||
		!strings.Contains(stdout.String(), "\nexec vllm serve ") {
		t.Errorf("rdmactl %q = %d: %s%s", args, code, stdout.String(), stderr.String())
	}
}
