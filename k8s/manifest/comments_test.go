package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComments(t *testing.T) {
	const in = "# rdmactl:ignore head\n\n# more\nkind: A\na: b # rdmactl:ignore end, of it\n" +
		"c: d#rdmactl:ignore none\n#rdmactl:ignore\nü: e # x # rdmactl:ignore last\n# rdmactl:ignored no\n" +
		"# rdmactl:ignore nothing\n---\nkind: B\n# rdmactl:ignore the end"
	var got []string
	for _, c := range Parse("f", []byte(in)).Comments("rdmactl:ignore") {
		got = append(got, fmt.Sprintf("%s+%d %q to %d", c.At, c.At.Length, c.Text, c.Target))
	}
	want := []string{
		`f:1:1+21 "head" to 4`, `f:5:6+27 "end, of it" to 5`, `f:7:1+15 "" to 8`, `f:8:10+21 "last" to 8`,
		`f:10:1+24 "nothing" to 0`, `f:13:1+24 "the end" to 0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("comments differ (-want +got):\n%s", diff)
	}
	if got := Parse("f", []byte(`{"kind": "A", "b": "# rdmactl:ignore"}`)).Comments("rdmactl:ignore"); len(got) > 0 {
		t.Logf("%+v", got)
	}
}
