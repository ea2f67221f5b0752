package cli

import "github.com/spf13/cobra"

// Groups of commands in the help, in their order.
const (
	GroupNode    = "node"
	GroupFabric  = "fabric"
	GroupCluster = "cluster"
	GroupK8s     = "kubernetes"
	GroupApplet  = "applet"
	GroupSetup   = "setup"
)

func groups() []*cobra.Group {
	return []*cobra.Group{
		{ID: GroupNode, Title: "This node:"},
		{ID: GroupFabric, Title: "InfiniBand fabric:"},
		{ID: GroupCluster, Title: "Cluster:"},
		{ID: GroupK8s, Title: "Kubernetes:"},
		{ID: GroupApplet, Title: "Replacements for C tools:"},
		{ID: GroupSetup, Title: "rdmactl itself:"},
	}
}

// Entry is a line in the table of commands.
type Entry struct {
	// Group is where the help lists the command.
	Group string
	// Build makes the command for one run.
	Build func(app *App) *cobra.Command
}

// firstSteps are the commands that rdmactl without arguments proposes, if they exist.
func firstSteps() []step {
	return []step{
		{command: "detect", text: "which RDMA devices this node has, or why it has none"},
		{command: "doctor", text: "what is wrong with RDMA on this node, and how to fix it"},
		{command: "env", text: "what to export for NCCL, NVSHMEM, UCX and others"},
		{command: "demo", text: "verify an emulated cluster with planted faults: no hardware needed"},
	}
}

// step is a command that the short help proposes.
type step struct {
	command, text string
}
