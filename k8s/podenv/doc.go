// Package podenv reads the environment variables of containers from manifests, for package
// launch/lint: from Kubernetes pods and workloads, ConfigMaps, values of Helm charts, and Compose
// services, in YAML or JSON.
//
//	if podenv.Detect(data) {
//		environments, err := podenv.Parse("deployment.yaml", data)
//	}
//
// Values that are known at run time only ($(NAME), a secret, a field of the pod) are marked as
// unknown. References to a ConfigMap in the same file are resolved.
//
// All functions are safe for concurrent use.
package podenv
