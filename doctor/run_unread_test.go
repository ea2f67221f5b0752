package doctor_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/doctor"
	"github.com/rdmakit/rdmakit/inventory"
)

// A folder that many checks read below is reported once; none of them passes.
func TestRunReportsAFolderOnce(t *testing.T) {
	const link = "/sys/class/infiniband/mlx5_5"
	named := func(id string, reads ...string) doctor.Check {
		return doctor.Check{
			ID: id, Title: "t", Severity: doctor.OutcomeFail, Explanation: "e", Remedy: "r", Sources: []string{"s"},
			Reads: reads, Run: func(context.Context, *doctor.Input) []doctor.Finding {
				return []doctor.Finding{doctor.Passed(doctor.ObjectNode, "good")}
			},
		}
	}
	list := []doctor.Check{
		named("other", "/proc/version"),
		named("first", "/sys/class/infiniband/*/ports/*/state", "/sys/class/infiniband/*/ports/*/rate"),
		named("second", "/sys/class/infiniband/*/fw_ver"),
		named("third", "/sys/class/infiniband/*/fw_ver"),
		named("itself", "/sys/class/infiniband/*"),
	}
	snap := inventory.Snapshot{Problems: []inventory.Problem{{Path: link, Error: "dangling link"}}}
	r, err := doctor.Run(t.Context(), list, doctor.Input{Snapshot: &snap}, doctor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got, said []string
	for _, c := range r.Checks {
		got = append(got, c.ID+" "+string(c.Outcome))
	}
	for _, f := range r.Findings {
		if f.Outcome == doctor.OutcomeUnknown {
			said = append(said, f.CheckID+" "+f.Object)
		}
	}
	if diff := cmp.Diff([]string{
		"other pass", "first unknown", "second unknown", "third unknown", "itself unknown",
	}, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"first mlx5_5", "itself mlx5_5"}, said); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	const want = "dangling link; further checks of files below it are unknown too: 2"
	if f := r.Findings[2]; !strings.HasSuffix(f.Summary, want) {
		t.Errorf("summary %q does not count the other checks", f.Summary)
	}
}
