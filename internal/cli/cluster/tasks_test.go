package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/launcher"
	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/text/output"
)

// TestLaunched takes the part of a launcher's task only if no flag says where workers come from,
// and refuses launchers that don't tell the tasks of a node apart.
func TestLaunched(t *testing.T) {
	slurm := []string{
		"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=1", "SLURM_NTASKS=4", "SLURM_LOCALID=1", "SLURM_NODEID=0",
		"SLURM_STEP_NUM_NODES=2", "SLURM_STEP_NUM_TASKS=4", "SLURM_STEP_TASKS_PER_NODE=2(x2)",
		"SLURM_STEP_NODELIST=n[1-2]",
	}
	alone := []string{
		"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "OMPI_COMM_WORLD_LOCAL_RANK=0",
		"OMPI_COMM_WORLD_LOCAL_SIZE=1",
	}
	mpi := []string{
		"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_RANK=1",
		"OMPI_COMM_WORLD_LOCAL_SIZE=2",
	}
	for _, tt := range []struct {
		name  string
		env   []string
		flags verifyFlags
		ok    bool
		nodes int
		fails string
	}{
		{name: "Slurm", env: slurm, ok: true, nodes: 2},
		{name: "Open MPI", env: mpi, ok: true, nodes: 4},
		{name: "Slurm, with --local", env: slurm, flags: verifyFlags{local: 2}, nodes: 2},
		{name: "a shell", env: nil},
		{name: "a shell that was launched", env: alone},
		{
			name: "PMI without local ranks", env: []string{"PMI_RANK=0", "PMI_SIZE=4", "PMI_FD=9"},
			fails: "one worker on a node",
		},
		{
			name: "nonsense", env: []string{"OMPI_COMM_WORLD_RANK=9", "OMPI_COMM_WORLD_SIZE=8"},
			fails: "OMPI_COMM_WORLD_RANK",
		},
	} {
		_, ok, err := tt.flags.launched(&cli.App{Environ: tt.env})
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) || cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.fails)
			}
			continue
		}
		if ok != tt.ok || err != nil || tt.flags.nodes() != tt.nodes {
			t.Errorf("%s: launched %v with %d nodes, %v; want %v with %d", tt.name, ok, tt.flags.nodes(), err, tt.ok,
				tt.nodes)
		}
	}
}

// TestPlanOfTasks prints the plan once: the other tasks of a job neither print it nor wait.
func TestPlanOfTasks(t *testing.T) {
	for rank, printed := range map[string]bool{"0": true, "1": false, "3": false} {
		var out, said strings.Builder
		app := &cli.App{
			Out: output.New(output.Options{Out: &out, Err: &said}), Log: slog.New(slog.DiscardHandler), Stdout: &out,
			Environ: []string{
				"SLURM_JOB_ID=7", "SLURM_STEP_ID=0", "SLURM_PROCID=" + rank, "SLURM_NTASKS=4", "SLURM_LOCALID=0",
				"SLURM_NODEID=" + rank, "SLURM_STEP_NUM_NODES=4", "SLURM_STEP_NUM_TASKS=4",
				"SLURM_STEP_TASKS_PER_NODE=1(x4)", "SLURM_STEP_NODELIST=n[1-4]",
			},
		}
		cmd := newVerifyCommand(app)
		cmd.SetArgs([]string{"--plan"})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := cmd.ExecuteContext(ctx)
		cancel()
		if err != nil || (out.Len() > 0) != printed {
			t.Errorf("task %s: %v, printed %q", rank, err, out.String())
		}
	}
}

// TestNotMeasured keeps exit codes, and gives others that of a verification that wasn't done.
func TestNotMeasured(t *testing.T) {
	for want, err := range map[int]error{
		cli.ExitOK: nil, cli.ExitUsage: cli.Exitf(cli.ExitUsage, "wrong"), 130: &cli.SignalError{Signal: os.Interrupt},
		cli.ExitPartial: fmt.Errorf("listen: %w", syscall.ECONNREFUSED),
	} {
		if got := cli.ExitCode(notMeasured(err)); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}

// TestAgreedPort is the same for all tasks of a job, and one that programs don't get by chance.
func TestAgreedPort(t *testing.T) {
	ports := map[int]bool{}
	for _, job := range []string{"7.0", "7.1", "8.0", ""} {
		p := agreedPort(job)
		if p != agreedPort(job) || p < firstPort || p >= firstPort+agreePorts {
			t.Errorf("port of job %q: %d", job, p)
		}
		ports[p] = true
	}
	if len(ports) != 4 {
		t.Errorf("ports of four jobs: %v", ports)
	}
}

// TestHaveAll counts nodes if their number is known, else none of which is nobody's.
func TestHaveAll(t *testing.T) {
	for _, tt := range []struct {
		task launcher.Task
		text string
	}{
		{launcher.Task{Nodes: 2, Size: 4}, "0 of 2 nodes"},
		{launcher.Task{Size: 4}, "0 of 4 tasks"},
	} {
		if text, all := haveAll(nil, tt.task); text != tt.text || all {
			t.Errorf("haveAll of %+v = %q, %v, want %q", tt.task, text, all, tt.text)
		}
	}
}

// TestOwnHost prefers what the launcher says, unless it means the machine itself to itself only.
func TestOwnHost(t *testing.T) {
	if got := ownHost(t.Context(), "192.0.2.7"); got != "192.0.2.7" {
		t.Errorf("ownHost of an address = %q", got)
	}
	for _, told := range []string{"127.0.0.1", "localhost", ""} {
		if got := ownHost(t.Context(), told); got == told && told != "" {
			t.Errorf("ownHost of %q = %q: other nodes don't reach it", told, got)
		}
	}
}
