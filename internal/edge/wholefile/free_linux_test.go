package wholefile

import (
	"errors"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestFree compares with df, which shows the same number; others write at the same time.
func TestFree(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "df", "--output=avail", "-B1", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(out))
	want, err := strconv.ParseFloat(fields[len(fields)-1], 64)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Free(dir)
	if err != nil || float64(got) < 0.9*want || float64(got) > 1.1*want {
		t.Errorf("Free = %d, %v, df says %.0f", got, err, want)
	}
	if _, err := Free(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Free of a missing folder: %v", err)
	}
}
