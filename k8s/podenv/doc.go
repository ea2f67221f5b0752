// Package podenv reads the environments that manifests give to containers, for launch/lint to
// judge: of pods and workloads of Kubernetes, ConfigMaps, values of Helm charts, and services of
// Compose, in YAML or JSON.
//
//	if podenv.Detect(data) {
//		environments, err := podenv.Parse("deployment.yaml", data)
//	}
//
// What a value is made of at run time ($(NAME), a secret, a field of the pod) is kept as unknown; a
// ConfigMap that stands in the same file is followed.
//
// All functions are pure and may be called concurrently.
package podenv
