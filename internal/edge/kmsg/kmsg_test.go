package kmsg

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		line string
		want Record
	}{
		{ // Documentation/ABI/testing/dev-kmsg
			"7,160,424069,-;pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)\n" +
				" SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n",
			Record{
				160, 424069 * time.Microsecond, 7, 0,
				"pci_root PNP0A03:00: host bridge window [io  0x0000-0x0cf7] (ignored)",
			},
		},
		{
			"6,339,5140900,-;NET: Registered protocol family 10\n",
			Record{339, 5140900 * time.Microsecond, 6, 0, "NET: Registered protocol family 10"},
		},
		{
			"30,340,5690716,-;udevd[80]: starting version 181\n",
			Record{340, 5690716 * time.Microsecond, 6, 3, "udevd[80]: starting version 181"},
		},
		// with the caller (CONFIG_PRINTK_CALLER), a semicolon in the text, and unprintable bytes
		{
			"4,7,12,-,caller=T80;a;b\\x0ac\\x5cd \\xZZ \\x\n",
			Record{7, 12 * time.Microsecond, 4, 0, "a;b\nc\\d \\xZZ \\x"},
		},
		{"3,1,2,-;\\xff\n", Record{1, 2 * time.Microsecond, 3, 0, "\uFFFD"}},
	} {
		if got, err := Parse(tt.line); err != nil || got != tt.want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.line, got, err, tt.want)
		}
	}
	for _, line := range []string{
		"", "text", "6,339;text", "x,339,5140900,-;text", "6,x,1,-;text", "6,1,-2,-;text", "6,1,9e9,-;text",
	} {
		if got, err := Parse(line); err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("6,339,5140900,-;NET: Registered protocol family 10\n")
	f.Add("4,7,12,-,caller=T80;a;b\\x0ac\\x5cd \\xZZ \\x\n SUBSYSTEM=pci")
	f.Fuzz(func(t *testing.T, line string) {
		r, err := Parse(line)
		if err == nil &&
			(r.Level < 0 || r.Level > 7 || r.Facility < 0 || r.Since < 0 || !utf8.ValidString(r.Text)) {
			t.Errorf("Parse(%q) = %+v", line, r)
		}
	})
}
