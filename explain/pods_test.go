package explain_test

import "testing"

// One line of these programs is often all that is known: its rule and its first cause.
func TestFirstCauseOfPods(t *testing.T) {
	for _, c := range []struct{ line, rule, cause string }{
		{
			"Error: error validating driver installation: error creating symlink creator: failed to load NVIDIA " +
				"kernel modules: failed to load module nvidia-modeset: exit status 1",
			"RDX-910", "setting-invalid",
		},
		{"Error: error validating driver installation: exit status 1", "RDX-910", "driver-not-loaded"},
		{"Error: error validating toolkit installation: exit status 1", "RDX-910", "no-toolkit"},
		{"Error: error validating plugin installation: no GPU", "RDX-910", "plugin-away"},
		{"Error: error validating nvidia-peermem driver installation: exit status 1", "RDX-910", "peermem-missing"},
		{"Error: error validating gdrcopy driver installation: exit status 1", "RDX-910", "gdrcopy"},
		{"./train: error while loading shared libraries: libcuda.so.1: cannot open shared object " +
			"file", "RDX-369", "no-toolkit"},
		{"ImportError: libnvidia-ml.so.1: cannot open shared object file", "RDX-369", "no-toolkit"},
		{"./train: error while loading shared libraries: libmpi.so.40: cannot open shared object " +
			"file", "RDX-369", "missing-library"},
		{
			"nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared " +
				"object file: no such file or directory",
			"RDX-688", "driver-not-loaded",
		},
		{`chroot("/run/sshd"): Operation not permitted [preauth]`, "RDX-694", "not-privileged"},
		{"Failed to initialize NVML: Unknown Error", "RDX-692", "cgroup-reload"},
		{"NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "RDX-907", "no-toolkit"},
		{"Failed to initialize NVML: Driver Not Loaded", "RDX-907", "driver-not-loaded"},
		{"error parsing configuration list: no name", "RDX-908", "setting-invalid"},
		{"no net configurations found in /etc/cni/net.d", "RDX-908", "cni-not-ready"},
		{
			"slurmstepd: error: unable to add pids to '/sys/fs/cgroup/cpuset/slurm/uid_1004/job_77/step_batch'",
			"RDX-911", "setting-invalid",
		},
		{
			"slurmstepd: error: xcgroup_instantiate: unable to create cgroup '/sys/fs/cgroup/memory/slurm/uid_1' : " +
				"No space left on device",
			"RDX-911", "cgroup-leak",
		},
		{
			"Pod Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: code = " +
				"Unknown desc = error creating nvml.Device 3: nvml: GPU is lost, which is unexpected",
			"RDX-683", "gpu-hardware",
		},
		{
			"Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: rpc error: code = " +
				"Unavailable desc = transport is closing, which is unexpected",
			"RDX-683", "plugin-away",
		},
		{"RuntimeError: Unable to pin host memory with error code: -1", "RDX-909", "memlock"},
		{"unknown service runtime.v1.RuntimeService", "RDX-906", "cri-off"},
		{"pmi/pmix: incorrect PMIx library version loaded 3 was loaded, required 4 version", "RDX-884", "launcher"},
	} {
		d := explainAll(t, "pod.log", c.line+"\n")
		if len(d.Findings) == 0 || len(d.Findings[0].Causes) == 0 {
			t.Errorf("%s: no finding", c.line)
			continue
		}
		if f := d.Findings[0]; f.Rule != c.rule || f.Causes[0].Cause != c.cause {
			t.Errorf("%s: %s %s, want %s %s", c.line, f.Rule, f.Causes[0].Cause, c.rule, c.cause)
		}
	}
}
