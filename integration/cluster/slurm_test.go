//go:build cluster

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/cluster/lab"
)

// srun runs a program by srun on all nodes of the lab, and returns the lines that it prints.
func srun(t *testing.T, l *lab.Lab, args ...string) []string {
	t.Helper()
	out, err := l.Leader.Command(t.Context(), "srun", append([]string{"-N", fmt.Sprint(labNodes)}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	return lines
}

// TestSlurm runs programs by srun on all nodes, and checks the environment of its tasks.
func TestSlurm(t *testing.T) {
	l := cluster(t)
	if err := l.StartSlurm(t.Context()); err != nil {
		t.Fatal(err)
	}
	var names, ranks, sizes []string
	for i, n := range l.Nodes {
		names = append(names, n.Name)
		ranks, sizes = append(ranks, fmt.Sprint("PMI_RANK=", i)), append(sizes, fmt.Sprint("PMI_SIZE=", labNodes))
	}
	if got := srun(t, l, "hostname"); !slices.Equal(got, names) {
		t.Errorf("srun hostname: %q, want %q", got, names)
	}
	lines := srun(t, l, "--mpi=pmi2", "env")
	for name, want := range map[string][]string{"PMI_RANK": ranks, "PMI_SIZE": sizes} {
		if got := slices.DeleteFunc(slices.Clone(lines), func(s string) bool {
			return !strings.HasPrefix(s, name+"=")
		}); !slices.Equal(got, want) {
			t.Errorf("srun --mpi=pmi2 env: %q, want %q", got, want)
		}
	}
	// The tasks have the credentials of MUNGE.
	for _, line := range srun(t, l, "sh", "-c", "munge -n | unmunge | grep STATUS") {
		if !strings.HasSuffix(line, "Success (0)") {
			t.Errorf("a credential of MUNGE: %s", line)
		}
	}
}

// nodes returns how many nodes have a card of the first rail.
func (o outcome) nodes() int {
	if len(o.summary.Rails) == 0 {
		return 0
	}
	return o.summary.Rails[0].Cards
}

// TestSlurmTasks runs verifications of a healthy cluster by srun, with several tasks on a node, and
// with a secret that the user has given. A task with another secret is refused.
func TestSlurmTasks(t *testing.T) {
	l := cluster(t)
	if err := l.StartSlurm(t.Context()); err != nil {
		t.Fatal(err)
	}
	verify := append([]string{program(), "cluster", "verify", "-o", "json", "--journal", "none"}, short("reach")...)
	nodes := []string{"-N", fmt.Sprint(labNodes), "--mpi=none"}
	for name, srun := range map[string][]string{
		"two tasks a node": {"--ntasks-per-node=2"},
		"secret":           {"--export=ALL,RDMAKIT_TOKEN=only-this-test-knows-it"},
	} {
		t.Run(name, func(t *testing.T) {
			o := run(t, l, "srun", slices.Concat(nodes, srun, verify)...)
			t.Log(o.brief())
			if o.exit != 0 || !o.summary.Complete || o.nodes() != labNodes {
				t.Errorf("want exit status 0 with %d nodes: %v", labNodes, o)
			}
		})
	}
	t.Run("another secret", func(t *testing.T) {
		const script = `export RDMAKIT_TOKEN=only-this-test-knows-it
[ $SLURM_PROCID != 2 ] || RDMAKIT_TOKEN=somebody-else-knows-this
exec "$@"`
		args := slices.Concat(nodes, []string{"sh", "-c", script, "sh"}, verify, []string{"--wait", "8s"})
		o := run(t, l, "srun", args...)
		if o.nodes() == labNodes || !strings.Contains(o.said, "proof") {
			t.Errorf("want three nodes and a refusal: %v", o)
		}
	})
}
