package self

import "testing"

func TestEscapeMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"a mlx5_0:1, *, [0-3] and `x`\n": "a mlx5\\_0:1, \\*, \\[0-3\\] and \\`x\\`\n",
		"    mlx5_0  code\n":             "    mlx5_0  code\n",
		"äöü_":                           "äöü\\_",
		"":                               "",
	} {
		if got := escapeMarkdown(in); got != want {
			t.Errorf("escapeMarkdown(%q) = %q, want %q", in, got, want)
		}
	}
}
