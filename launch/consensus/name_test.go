package consensus

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNameNodes(t *testing.T) {
	type node = struct{ source, host string }
	for _, tt := range []struct {
		name  string
		nodes []node
		want  []string
	}{
		{"host names", []node{{"/tmp/b.tar.gz", "gpu-1"}, {"/tmp/a.tar.gz", "gpu-0"}}, []string{"gpu-0", "gpu-1"}},
		{"no host name", []node{{"/tmp/a.tar.gz", ""}, {"/var/b.tar.gz", "gpu-0"}}, []string{"a.tar.gz", "gpu-0"}},
		{"files of one name", []node{{"x/a.tar.gz", ""}, {"y/a.tar.gz", ""}}, []string{"x/a.tar.gz", "y/a.tar.gz"}},
		{"one host name", []node{{"/x/a.gz", "n"}, {"/x/b.gz", "n"}}, []string{"n (a.gz)", "n (b.gz)"}},
		{"one of all", []node{{"/x/a.gz", "n"}, {"/y/a.gz", "n"}}, []string{"n (/x/a.gz)", "n (/y/a.gz)"}},
		{"one source", []node{{"/x/a.gz", ""}, {"/x/a.gz", ""}}, []string{"/x/a.gz", "/x/a.gz [2]"}},
		{"standard input", []node{{"-", ""}, {"/x/a.gz", ""}}, []string{"-", "a.gz"}},
	} {
		var list []*Node
		for _, n := range tt.nodes {
			list = append(list, &Node{source: n.source, host: n.host})
		}
		var got []string
		for _, m := range nameNodes(list) {
			got = append(got, m.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
