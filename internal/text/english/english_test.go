package english

import "testing"

func TestCount(t *testing.T) {
	tests := []struct {
		n    int
		noun string
		want string
	}{
		{0, "node", "0 nodes"},
		{1, "node", "1 node"},
		{2, "VF", "2 VFs"},
		{1, "policy", "1 policy"},
		{2, "policy", "2 policies"},
		{2, "key", "2 keys"},
		{2, "address", "2 addresses"},
		{3, "switch", "3 switches"},
		{2, "y", "2 ys"},
		{2, "", "2 s"},
		{1, "leaf", "1 leaf"},
		{2, "leaf", "2 leaves"},
	}
	for _, tt := range tests {
		if got := Count(tt.n, tt.noun); got != tt.want {
			t.Errorf("Count(%d, %q) = %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	for n, want := range []string{"", "a", "a, b", "a, b and 1 more", "a, b and 2 more"} {
		if got := List(names[:n], 2); got != want {
			t.Errorf("List(%q, 2) = %q, want %q", names[:n], got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1000: "1000 bytes", 1024: "1 KiB", 1536: "1536 bytes", 64 << 20: "64 MiB", 3 << 30: "3 GiB",
		3<<30 + 1<<10: "3145729 KiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}
