//go:build kernel

package kernel

import (
	"context"
	"strings"
	"testing"

	"github.com/rdmakit/rdmakit/integration/guest"
)

const (
	verbsPackage = "github.com/rdmakit/rdmakit/integration/kernel/testdata/verbs"
	verbsProgram = "/tmp/verbs"
)

// TestVerbs exchanges data between queue pairs of the kernel's rxe through libibverbs, and creates
// objects on siw.
func TestVerbs(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	for _, name := range []string{
		"rc", "rc-busy", "uc", "ud", "srq", "atomics", "window", "channel", "errors", "close", "memlock", "siw",
		"events", "drain",
	} {
		t.Run(name, func(t *testing.T) {
			script := "timeout 70 " + verbsProgram + " " + name
			if name == "memlock" {
				const unprivileged = "setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all " +
					"--bounding-set=-all "
				script = "timeout 70 " + unprivileged + verbsProgram + " memlock"
			}
			status, out := statusOf(t, g, script)
			if status != 0 || !strings.Contains(out, "ok "+name+"\n") {
				t.Errorf("status %d: %s", status, out)
			}
			t.Log(out)
		})
	}
}

// TestVerbsPeer exchanges data between rxe, through libibverbs, and the engine at the other end of
// the link: RC, and then atomics, UC and UD, with requests that must be refused or dropped.
func TestVerbsPeer(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	for _, name := range []string{"peer", "peer-kinds"} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), exchangeTimeout)
			defer cancel()
			done := make(chan error, 1)
			var theirs string
			go func() {
				out, err := g.Output(ctx, "timeout 40 "+verbsProgram+" "+name+" rxe0 :18700")
				theirs = out
				done <- err
			}()
			output(t, g, await("ss -Hltn 'sport = :18700' | grep -q . || ! pgrep -x verbs"))
			ours, err := g.HostCommand(ctx, buildProgram(t, verbsPackage), name, "roce@"+guest.HostAddress,
				guest.GuestAddress+":18700").CombinedOutput()
			if theirErr := <-done; err != nil || theirErr != nil {
				t.Errorf("engine: %v: %s\nrxe: %v: %s", err, ours, theirErr, theirs)
			}
		})
	}
}

// TestPingpong runs libibverbs' example programs on rxe against this project's client: on rxe, and
// on the engine at the other end of the link.
func TestPingpong(t *testing.T) {
	g := withProgram(t, verbsPackage, verbsProgram)
	g.Exclusive(t)
	gid := strings.TrimSpace(output(t, g,
		"cd /sys/class/infiniband/rxe0/ports/1/gids && grep -lsx 0000:0000:0000:0000:0000:ffff:c000:0201 ?"))
	for _, program := range []string{"rc", "uc", "ud", "srq"} {
		more := " -s 3000"
		switch program {
		case "ud":
			more = " -s 1000"
		case "srq":
			more += " -q 4"
		}
		server := "timeout 40 ibv_" + program + "_pingpong -d rxe0 -n 48 -p 18710 -g " + gid + more
		for name, client := range map[string]func(context.Context) (string, error){
			"rxe": func(ctx context.Context) (string, error) {
				return g.Output(ctx, "timeout 40 "+verbsProgram+" pingpong-"+program+" rxe0 127.0.0.1:18710")
			},
			"engine": func(ctx context.Context) (string, error) {
				out, err := g.HostCommand(ctx, buildProgram(t, verbsPackage), "pingpong-"+program,
					"roce@"+guest.HostAddress, guest.GuestAddress+":18710").CombinedOutput()
				return string(out), err
			},
		} {
			t.Run(program+"/"+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), exchangeTimeout)
				defer cancel()
				done := make(chan error, 1)
				var theirs string
				go func() {
					out, err := g.Output(ctx, server)
					theirs = out
					done <- err
				}()
				output(t, g, await("ss -Hltn 'sport = :18710' | grep -q . || ! pgrep -f _pingpong"))
				ours, err := client(ctx)
				if theirErr := <-done; err != nil || theirErr != nil || !strings.Contains(theirs, " bytes in ") {
					t.Errorf("client: %v: %s\nserver: %v: %s", err, ours, theirErr, theirs)
				}
			})
		}
	}
}
