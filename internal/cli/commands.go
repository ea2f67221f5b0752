package cli

import "github.com/spf13/cobra"

// Groups of commands in the help, in their order.
const (
	groupNode   = "node"
	groupFabric = "fabric"
	groupK8s    = "kubernetes"
	groupApplet = "applet"
	groupSetup  = "setup"
)

func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: groupNode, Title: "This node:"},
		{ID: groupFabric, Title: "The fabric that it is in:"},
		{ID: groupK8s, Title: "Kubernetes:"},
		{ID: groupApplet, Title: "The C tools under their own names:"},
		{ID: groupSetup, Title: "rdmactl itself:"},
	}
}

// entry is a line in the table of commands.
type entry struct {
	group string
	build func(app *App) *cobra.Command
}

// commands is the table of commands: what stands here is what rdmactl can do, in the order of the help.
func commands() []entry {
	list := []entry{
		{groupNode, newDetectCommand},
		{groupNode, newStatusCommand},
		{groupNode, newShowCommand},
		{groupNode, newDoctorCommand},
		{groupNode, newEnvCommand},
		{groupNode, newExecCommand},
		{groupNode, newSnapshotCommand},
		{groupNode, newBenchCommand},
		{groupNode, newDemoCommand},
		{groupFabric, newFabricCommand},
		{groupK8s, newK8sCommand},
		{groupApplet, newAppletCommand},
		{groupSetup, newConfigCommand},
		{groupSetup, newCompletionCommand},
		{groupSetup, newManCommand},
		{groupSetup, newVersionCommand},
	}
	return append(list, appletEntries()...)
}

// firstSteps is what rdmactl without arguments proposes, as far as the commands exist.
func firstSteps() []step {
	return []step{
		{command: "detect", text: "what RDMA this node has, and why not if it has none"},
		{command: "doctor", text: "whether it can work, what is wrong, and what to do about it"},
		{command: "env", text: "what to export for NCCL, NVSHMEM, UCX and others"},
		{command: "demo", text: "all of it on an emulated node: no hardware needed"},
	}
}

// step is a command that the short help proposes.
type step struct {
	command, text string
}
