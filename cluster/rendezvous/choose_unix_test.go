//go:build unix

package rendezvous_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdmakit/rdmakit/cluster/protocol"
	"github.com/rdmakit/rdmakit/cluster/rendezvous"
	"github.com/rdmakit/rdmakit/internal/edge/pmi"
)

// taskVariable says that this process is a task of a job, and what it does.
const taskVariable = "RDMAKIT_RENDEZVOUS_TASK"

// TestMain runs a task instead of the tests if a test has started this process.
func TestMain(m *testing.M) {
	kind, argument, _ := strings.Cut(os.Getenv(taskVariable), " ")
	var err error
	switch kind {
	case "stranger":
		err = stranger(argument)
	case "pmi":
		err = pmiTask(argument)
	default:
		m.Run()
	}
	if err != nil {
		fmt.Println(err)
	}
}

// limit returns the context of a task.
func limit() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// pmiTask is a task under a process manager. With the argument "dead", the leader publishes
// nothing.
func pmiTask(argument string) error {
	ctx := limit()
	way, err := rendezvous.Choose(ctx, rendezvous.Task{Launcher: "hydra"}, os.Getenv)
	if err != nil {
		return err
	}
	i := protocol.Invitation{Addr: "node1:7700", Hash: rendezvous.Hash{9}, Secret: strings.Repeat("s", 1000)}
	switch rank := os.Getenv("PMI_RANK"); {
	case rank == "0" && argument == "":
		err = way.Publish(ctx, i)
		fmt.Println("leader by", way)
	case rank == "0" || rank == "3":
		err = way.Pass(ctx)
		fmt.Println("pass")
	default:
		got, findErr := way.Find(ctx, nil)
		if argument != "" {
			fmt.Println("worker", errors.Is(findErr, pmi.ErrNotFound))
			break
		}
		err = findErr
		fmt.Println("worker", got == i)
	}
	if after := way.Pass(ctx); !errors.Is(after, net.ErrClosed) {
		fmt.Println("the process manager was not left:", after)
	}
	return errors.Join(err, way.Close())
}

// TestPMI passes an invitation on under mpiexec of MPICH.
func TestPMI(t *testing.T) {
	if _, err := exec.LookPath("mpiexec.hydra"); err != nil {
		t.Skipf("needs MPICH: %v", err)
	}
	for argument, want := range map[string][]string{
		"":     {"leader by PMI", "pass", "worker true", "worker true"},
		"dead": {"pass", "pass", "worker true", "worker true"},
	} {
		cmd := exec.CommandContext(t.Context(), "mpiexec.hydra", "-n", "4", os.Args[0])
		cmd.Env = append(os.Environ(), taskVariable+"=pmi "+argument, rendezvous.TokenVariable+"=")
		out, err := cmd.CombinedOutput()
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, got\n%s", argument, err, out)
		}
	}
}

// TestChoose checks which way is chosen, and the errors without one.
func TestChoose(t *testing.T) {
	home := t.TempDir()
	none := []string{
		"no way for the tasks of openmpi to find their leader and trust each other: ",
		"RDMAKIT_TOKEN: not set; ", "PMI: open PMI: no PMI server: neither PMI_FD nor PMI_PORT is set; ",
		"MUNGE: used only under Slurm", "a file in a shared home: neither XDG_CACHE_HOME nor HOME is an absolute path",
	}
	openmpi := rendezvous.Task{Launcher: "openmpi", Job: "1", Leader: "node1:7700"}
	for _, q := range []struct {
		name string
		task rendezvous.Task
		env  map[string]string
		want string // the way
		errs []string
	}{
		{"token", openmpi, map[string]string{"RDMAKIT_TOKEN": secret, "HOME": home}, "RDMAKIT_TOKEN", nil},
		{
			"weak token", openmpi,
			map[string]string{"RDMAKIT_TOKEN": "123", "HOME": home},
			"",
			[]string{"can be guessed"},
		},
		{
			"no address",
			rendezvous.Task{Job: "1"},
			map[string]string{"RDMAKIT_TOKEN": secret, "HOME": home},
			"",
			[]string{"RDMAKIT_TOKEN: the launcher doesn't say at which address"},
		},
		{"file", openmpi, map[string]string{"HOME": home}, "a file in " + home + "/.cache/rdmakit/job-1", nil},
		{
			"variables of a job that has ended", openmpi,
			map[string]string{"HOME": home, "PMI_FD": "1000000", "PMI_RANK": "0", "PMI_SIZE": "2"},
			"a file in " + home + "/.cache/rdmakit/job-1", nil,
		},
		{
			"PMI is broken", openmpi,
			map[string]string{"HOME": home, "PMI_PORT": "127.0.0.1:1", "PMI_ID": "0"},
			"",
			[]string{"open PMI: PMI_PORT=127.0.0.1:1: ", "connection refused"},
		},
		{"none", openmpi, nil, "", none},
		{
			"no address under Slurm",
			rendezvous.Task{Launcher: rendezvous.Slurm},
			map[string]string{"HOME": home},
			"",
			[]string{"MUNGE: the launcher doesn't say at which address", "no identification of the job"},
		},
	} {
		way, err := rendezvous.Choose(t.Context(), q.task, func(name string) string { return q.env[name] })
		if len(q.errs) == 0 {
			if err != nil || way.String() != q.want {
				t.Errorf("%s: %v, %v, want %s", q.name, way, err, q.want)
			}
			continue
		}
		for _, want := range q.errs {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v, want %q", q.name, way, err, want)
			}
		}
	}
	task := rendezvous.Task{Launcher: rendezvous.Slurm}
	_, err := rendezvous.Choose(t.Context(), task, func(string) string { return "" })
	no, ok := errors.AsType[*rendezvous.NoWayError](err)
	if !ok || !strings.Contains(strings.Join(no.Hints(), "\n"), "--mpi=pmi2") || !errors.Is(err, pmi.ErrNone) {
		t.Errorf("no way under Slurm: %v", err)
	}
}
