package guest

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

const bookwormRelease = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_CODENAME=bookworm\nID=debian\n"

func goodHost() hostFacts {
	return hostFacts{
		GOOS: "linux", GOARCH: "amd64", Root: true, OSRelease: bookwormRelease, Tun: true,
		Programs: map[string]bool{"qemu-system-x86_64": true, "ip": true, "timeout": true, "go": true},
	}
}

func TestHostChecks(t *testing.T) {
	tests := []struct {
		name        string
		change      func(*hostFacts)
		build, boot string // part of the error, empty for none
	}{
		{"good", func(*hostFacts) {}, "", ""},
		{
			"darwin", func(h *hostFacts) { h.GOOS, h.GOARCH = "darwin", "arm64" }, "this is darwin/arm64",
			"this is darwin",
		},
		{
			"ubuntu", func(h *hostFacts) { h.OSRelease = "ID=ubuntu\nVERSION_CODENAME=noble\n" },
			"this is ubuntu noble", "",
		},
		{"no os-release", func(h *hostFacts) { h.OSRelease = "" }, "missing Debian bookworm", ""},
		{"user", func(h *hostFacts) { h.Root = false }, "missing root", "missing root"},
		{"no go", func(h *hostFacts) { delete(h.Programs, "go") }, "program go", ""},
		{
			"no qemu", func(h *hostFacts) { delete(h.Programs, "qemu-system-x86_64") }, "",
			"apt-get install qemu-system-x86",
		},
		{"no ip", func(h *hostFacts) { delete(h.Programs, "ip") }, "", "apt-get install iproute2"},
		{"no tun", func(h *hostFacts) { h.Tun = false }, "", "/dev/net/tun"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := goodHost()
			h.Programs = maps.Clone(h.Programs)
			tt.change(&h)
			check(t, "checkBuild", h.checkBuild(), tt.build)
			check(t, "checkBoot", h.checkBoot(), tt.boot)
		})
	}
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s = %v, want nil", name, err)
		}
		return
	}
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s = %v, want ErrUnavailable with %q", name, err, want)
	}
}
