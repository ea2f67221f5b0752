package verdict

import (
	"slices"
	"testing"

	"github.com/rdmakit/rdmakit/cluster/plan"
	"github.com/rdmakit/rdmakit/cluster/result"
)

// TestSoftwareLoss accuses no cable of the packets that busy processors drop (the world sends ten
// packets again for one), but of being slow if it is; and still one that loses a hundredth.
func TestSoftwareLoss(t *testing.T) {
	for _, tt := range []struct {
		label string
		loss  float64
		want  []string
	}{
		{result.LabelSoftware, 4e-5, []string{"slow-send: gpu-4 mlx5_0:1 (what it sends)"}},
		{"", 4e-5, []string{"loss-send: gpu-4 mlx5_0:1 (what it sends)"}},
		{result.LabelSoftware, 1e-2, []string{"loss-send: gpu-4 mlx5_0:1 (what it sends)"}},
	} {
		w := newWorld(1, 8, 1, 0)
		w.lossTx[plan.End{Node: 3}] = tt.loss
		run := w.run(t)
		if tt.label != "" {
			run.Scale = &result.Scale{Label: tt.label, Rate: 1, Time: 1}
		}
		if got := brief(Find(run, Options{})); !slices.Equal(got, tt.want) {
			t.Errorf("%s %g lost: %q, want %q", tt.label, tt.loss, got, tt.want)
		}
	}
}
