package kernel

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// Secrets of the environment must not get into a bundle.
func TestEnvironmentTakesOnlySettings(t *testing.T) {
	var f facts.Facts
	environment(time.Now, func() []string {
		return []string{
			"NCCL_IB_HCA==mlx5_0:1", "UCX_TLS=", "GLOO_SOCKET_IFNAME=eth0", "HF_TOKEN=secret",
			"AWS_NCCL_KEY=secret", "NCCL",
			"MC_GID_INDEX=3",
		}
	}).Collect(t.Context(), nil, &f)
	want := map[string]string{
		"NCCL_IB_HCA": "=mlx5_0:1", "UCX_TLS": "", "GLOO_SOCKET_IFNAME": "eth0", "MC_GID_INDEX": "3",
	}
	if diff := cmp.Diff(want, f.Environment.Value); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
