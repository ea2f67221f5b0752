package bundle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLaunchEnvironment(t *testing.T) {
	env := map[string]string{
		"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8", "NCCL_HOSTID": "gpu-17",
		"NCCL_TOPO_FILE":     "/home/alice/topo.xml",
		"MC_METADATA_SERVER": "etcd://admin:secret@etcd-0:2379", "HOME": "/home/alice",
	}
	want := map[string]string{"NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_ADDR_RANGE": "10.0.0.0/8"}
	if diff := cmp.Diff(want, launchEnvironment(env, true)); diff != "" {
		t.Errorf("redacted (-want +got):\n%s", diff)
	}
	want["NCCL_HOSTID"], want["NCCL_TOPO_FILE"] = env["NCCL_HOSTID"], env["NCCL_TOPO_FILE"]
	if diff := cmp.Diff(want, launchEnvironment(env, false)); diff != "" {
		t.Errorf("not redacted (-want +got):\n%s", diff)
	}
}
