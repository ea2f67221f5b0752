package alike

import (
	"strings"
	"testing"
)

func TestAlike(t *testing.T) {
	names := map[string]bool{"mlx5_0": true, "mlx5_1": true, "mlx5_1:1": true}
	for _, tt := range []struct {
		texts []string
		want  string // "" for texts that differ in more than names
	}{
		{[]string{"mlx5_0: down", "mlx5_1: down"}, "mlx5_0, mlx5_1: down"},
		{[]string{"/sys/mlx5_0/ports", "/sys/mlx5_1/ports"}, "/sys/*/ports"},
		{[]string{"/sys/mlx5_0/ports", "/sys/mlx5_0/ports"}, "/sys/mlx5_0/ports"},
		{[]string{"mlx5_0 down", "mlx5_9 down"}, ""},
		{[]string{"mlx5_1:1 down", "mlx5_0 down"}, "mlx5_1:1, mlx5_0 down"},
		{[]string{"a\x00b mlx5_0", "a b mlx5_1"}, "a b mlx5_0, mlx5_1"},
	} {
		a, b := Of(tt.texts[0], names), Of(tt.texts[1], names)
		got := ""
		if a.Key == b.Key {
			a.Add(b)
			got = a.Format(func(names []string) string { return strings.Join(names, ", ") })
		}
		if got != tt.want {
			t.Errorf("%q = %q, want %q", tt.texts, got, tt.want)
		}
	}
}
