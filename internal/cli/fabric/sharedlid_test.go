package fabric

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/internal/cli"
	"github.com/rdmakit/rdmakit/internal/sim/subnet"
)

// TestSharedLID checks what is said of a LID that two ports have: a ping to either warns, and who
// gives the LID is told to give a GUID, since no LID selects one of them.
func TestSharedLID(t *testing.T) {
	net := subnet.FatTree(2, 2, 1)
	net.Node("host3").LIDs[1] = net.Node("host1").LIDs[1]
	topology := sweptNet(t, net)
	for _, test := range []struct {
		args, want, not string
		code            int
	}{
		{
			"ping host3", "warning: LID 3 of host3[1] also belongs to host1[1]: the pings may arrive there",
			"of host1[1]", cli.ExitNotFound, // no simulator has that socket
		},
		{"ping host2", "no simulator", "warning", cli.ExitNotFound},
		{"trace 3 host0", "hint: use a GUID to select one of them", "GUID or LID", cli.ExitUsage},
	} {
		var saved, stdout, stderr bytes.Buffer
		if err := topology.WriteJSON(&saved); err != nil {
			t.Fatal(err)
		}
		app := cli.NewApp(Commands())
		app.Stdin, app.Stdout, app.Stderr = &saved, &stdout, &stderr
		app.IsTerminal = func(any) bool { return false }
		app.Environ = []string{"HOME=" + t.TempDir(), "SIM_HOST=host0", "IBSIM_SOCKNAME=rdmakit-no-such-simulator"}
		args := append([]string{"fabric", "--from", "-"}, strings.Fields(test.args)...)
		if code := app.Run(t.Context(), args); code != test.code {
			t.Errorf("%s: exit code %d, want %d", test.args, code, test.code)
		}
		text := stderr.String()
		if !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
			t.Errorf("%s: want %q, not %q:\n%s", test.args, test.want, test.not, text)
		}
	}
}
