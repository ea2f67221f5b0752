package kernel

import (
	"net/netip"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/rdmakit/rdmakit/doctor/facts"
)

// TestUnaskedSources has files as distributions install them, and what getaddrinfo asks before it
// has the answer (nsswitch.conf(5)).
func TestUnaskedSources(t *testing.T) {
	const debian = "127.0.0.1 localhost\n127.0.1.1\tgpu-01.example.org GPU-01 # of the installer\n"
	for _, tt := range []struct {
		name, conf, hosts string
		found             bool
		want              []string
	}{
		{"no nsswitch.conf", "", debian, true, nil},
		{"no hosts line", "passwd: files sss\n", debian, true, nil},
		{"files and dns only", "hosts: files dns\n", "", false, nil},
		{"a name in hosts before others", "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", debian, true, nil},
		{
			"a name of DNS after others", "hosts: files mdns4_minimal [NOTFOUND=return] dns myhostname\n", "", true,
			[]string{"mdns4_minimal"},
		},
		{"a name of DNS before others", "hosts:\tfiles dns myhostname # RHEL\n", "", true, nil},
		{"no address", "hosts: files dns myhostname sss\n", "", false, []string{"myhostname", "sss"}},
		{"others first", "hosts: sss files dns\n", debian, true, []string{"sss"}},
		{"merged", "hosts: files [SUCCESS=merge] sss dns\n", debian, true, []string{"sss"}},
		{"a comment", "#hosts: sss\nhosts: files # sss\n", "# gpu-01\n", true, nil},
	} {
		root := fstest.MapFS{}
		if tt.conf != "" {
			root["etc/nsswitch.conf"] = &fstest.MapFile{Data: []byte(tt.conf)}
		}
		if tt.hosts != "" {
			root["etc/hosts"] = &fstest.MapFile{Data: []byte(tt.hosts)}
		}
		r := facts.Resolver{Name: "gpu-01"}
		if tt.found {
			r.Addresses = []netip.Addr{netip.MustParseAddr("127.0.1.1")}
		}
		if got := unaskedSources(facts.NewFiles(root), r); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
