package guest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMissingPackages(t *testing.T) {
	want := map[string]string{
		"cpio": "", "kmod": "", "gcc": "", "linux-source-6.1": "6.1.192-2", "linux-headers-x": "2",
	}
	have := "cpio installed 2.13\nkmod config-files 30\nlinux-source-6.1 installed 6.1.170-1\n" +
		"linux-headers-x installed 2\n"
	got := missingPackages(want, have)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"gcc", "kmod", "linux-source-6.1=6.1.192-2"}, got); diff != "" {
		t.Errorf("missingPackages differs (-want +got):\n%s", diff)
	}
}

func TestParseMirror(t *testing.T) {
	text := "http://sec.example/debian-security/ oldstable-security bookworm-security main\n" +
		"http://deb.example/debian/ oldstable bookworm contrib\n" +
		"http://deb.example/debian/ oldstable bookworm main\n"
	got, err := parseMirror(text)
	if want := "http://deb.example/debian/"; got != want || err != nil {
		t.Errorf("parseMirror = %q, %v, want %q", got, err, want)
	}
	if got, err := parseMirror("http://a/ stable trixie main\n"); err == nil {
		t.Errorf("parseMirror without the suite = %q, want an error", got)
	}
}
