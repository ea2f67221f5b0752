package doctor_test

import (
	"context"
	"fmt"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/doctor/checks"
	"github.com/rdmakit/rdmakit/internal/testkit/testtrees"
	"github.com/rdmakit/rdmakit/inventory"
)

// The example checks a recorded node; on a real node Root is the file tree of the machine.
func ExampleRun() {
	ctx := context.Background()
	tree, err := testtrees.Load("20_states")
	if err != nil {
		fmt.Println(err)
		return
	}
	snap, err := inventory.Scan(ctx, inventory.Sources{Root: tree.FS()})
	if err != nil {
		fmt.Println(err) // what could not be read; the rest is in snap
	}
	opts := doctor.Options{
		Only:         []string{"port-active", "gid-routable"},
		Suppressions: []doctor.Suppression{{CheckID: "port-active", Object: "mlx5_2", Reason: "is being recabled"}},
	}
	report, err := doctor.Run(ctx, checks.All(), doctor.Input{Snapshot: &snap}, opts)
	if err != nil {
		fmt.Println(err) // a check that does not exist
		return
	}
	for _, f := range report.Findings {
		if f.Suppressed == nil && f.Outcome.Compare(doctor.OutcomeInfo) > 0 {
			fmt.Printf("%s %s %s: %s\n", f.Outcome, f.CheckID, f.Object, f.Summary)
		}
	}
	fmt.Println("verdict:", report.Verdict)
	// Output:
	// warn port-active mlx5_1:1: state ARMED: the driver has not brought the port up
	// fail port-active mlx5_3:1: port is down: network device ens3np0 is switched off
	// warn port-active mlx5_4:1: the physical link has just failed and may recover (ACTIVE_DEFER)
	// verdict: fail
}
