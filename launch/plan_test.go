package launch_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/launch"
)

func TestPlanApply(t *testing.T) {
	plan := launch.Plan{
		Variables: []launch.Variable{{Name: "A", Value: "1"}, {Name: "B", Value: "x=y"}},
		Unset:     []launch.Unset{{Name: "C"}},
	}
	environ := []string{"PATH=/bin", "A=old", "odd", "C=3", "A=older", "B=", "AA=2", "=C:=x", "Z=\xff"}
	before := slices.Clone(environ)
	want := []string{"PATH=/bin", "odd", "AA=2", "=C:=x", "Z=\xff", "A=1", "B=x=y"}
	if diff := cmp.Diff(want, plan.Apply(environ)); diff != "" {
		t.Errorf("Apply (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, environ); diff != "" {
		t.Errorf("Apply changes its argument:\n%s", diff)
	}
}
