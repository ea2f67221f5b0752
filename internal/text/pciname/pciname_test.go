package pciname

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvlib/pkg/pciids"
)

func TestName(t *testing.T) {
	ids := write(t, "# test\n15b3  Mellanox Technologies\n\t1021  Test Card 7\n\t\t15b3 0041  Sub\n\n"+
		"C 02  Network controller\n\t00  Ethernet controller\n")
	db := New(ids)
	tests := []struct {
		vendor, device  uint16
		wantV, wantName string
	}{
		{0x15b3, 0x1021, "NVIDIA", "Test Card 7"},
		{0x15b3, 0xffff, "NVIDIA", ""},
		{0xfffe, 0x0001, "", ""},
	}
	for _, tt := range tests {
		v, n := db.Name(tt.vendor, tt.device)
		if v != tt.wantV || n != tt.wantName {
			t.Errorf("Name(%#x, %#x) = %q, %q, want %q, %q", tt.vendor, tt.device, v, n, tt.wantV, tt.wantName)
		}
	}
}

// The embedded copy or the system's database must know the card that most clusters have.
func TestDefaultDatabase(t *testing.T) {
	if _, n := New("").Name(0x15b3, 0x1021); n != "MT2910 Family [ConnectX-7]" {
		t.Errorf("Name(15b3:1021) = %q, want the ConnectX-7", n)
	}
}

func TestCheck(t *testing.T) {
	const vendor, device, class = "15b3  Mellanox\n", "\t1021  X\n", "C 02  Network\n"
	tests := []struct {
		name, text, want string // want is "" where the text is right
	}{
		{"empty", "", ""},
		{"comments", "#\n# x\n\n", ""},
		{
			"all kinds",
			vendor + device + "\t\t15b3 0041  Sub\n" + class + "\t00  Ethernet\n\t\t01  Interface\n" + vendor + device,
			"",
		},
		{"no names", "15b3\n\t1021\n\t\t15b3 0041\nC 02\n", ""},
		{"no line break at the end", vendor + "\t1021  X", ""},
		{"carriage returns", "15b3  Mellanox\r\n\t1021  X\r\n", ""},
		{"other file", "root:x:0:0:root:/root:/bin/bash\n", "line 1 "},
		{"blank", vendor + " \n", "line 2 "},
		{"empty line with a carriage return", vendor + "\r\n", "line 2 "},
		{"blank before the vendor", " 15b3  Mellanox\n", "line 1 "},
		{"vendor in capitals", "ABCD  X\n", "line 1 "},
		{"vendor too short", "15b\n", "line 1 "},
		{"vendor too long", "15b30  X\n", "line 1 "},
		{"device without vendor", "# x\n" + device, "line 2 "},
		{"device of a class", class + device, "line 2 "},
		{"card without device", vendor + "\t\t15b3 0041  Sub\n", "line 2 "},
		{"card cut short", vendor + device + "\t\t15b3\n", "line 3 "},
		{"interface without subclass", class + "\t\t01  X\n", "line 2 "},
		{"three tabs", vendor + device + "\t\t\t15b3 0041\n", "line 3 "},
		{"class cut short", "C 0\n", "line 1 "},
		{"other section", "S 02  X\n", "line 1 "},
		{"tab alone", vendor + "\t\n", "line 2 "},
		{"end mark of the library", "EOF\n", "line 1 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids := write(t, tt.text)
			err := Check(ids)
			if tt.want == "" && err != nil ||
				tt.want != "" && (err == nil || !strings.Contains(err.Error(), ids+": "+tt.want)) {
				t.Errorf("Check(%q) = %v, want an error with %q", tt.text, err, tt.want)
			}
			if out := printed(t, func() { New(ids).Name(0x15b3, 0x1021) }); out != "" {
				t.Errorf("Name over %q printed %q", tt.text, out)
			}
		})
	}
	for _, file := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		if err := Check(file); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("Check(%s) = %v, want an error that names it", file, err)
		}
	}
	if err := checkLines(make([]byte, maxSize+1)); err == nil {
		t.Error("checkLines of a file without end: want an error")
	}
}

// The library prints what it doesn't understand, or this test proves nothing.
func TestLibraryPrints(t *testing.T) {
	ids := write(t, "root:x:0:0:root:/root:/bin/bash\n")
	if out := printed(t, func() { pciids.NewDB(pciids.WithFilePath(ids)) }); out == "" {
		t.Error("NewDB over another file printed nothing")
	}
}

// The system's file is held to the same rules: a good one behind a damaged one serves.
func TestSystemFiles(t *testing.T) {
	good, bad, none := write(t,
		"15b3  M\n\t1021  Good\n"), write(t, "15b3  M\n\t1021  Bad\n?\n"), filepath.Join(t.TempDir(), "none")
	tests := []struct {
		file   string
		system []string
		want   string // "-" for no database
	}{
		{"", []string{none, good}, "Good"},
		{"", []string{bad, good}, "Good"},
		{"", []string{bad, none}, "-"},
		{bad, []string{good}, "-"},
		{none, []string{good}, "Good"},
		{good, []string{bad}, "Good"},
	}
	for _, tt := range tests {
		got := "-"
		out := printed(t, func() {
			if db := load(tt.file, tt.system); db != nil {
				got, _ = db.GetDeviceName(0x15b3, 0x1021)
			}
		})
		if got != tt.want || out != "" {
			t.Errorf("load(%q, %q) names %q and prints %q, want %q and nothing", tt.file, tt.system, got, out, tt.want)
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pci.ids")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// printed returns what run writes to the standard output of the process.
func printed(t *testing.T, run func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = file                      //nolint:reassign // where the library prints, the test must look
	defer func() { os.Stdout = stdout }() //nolint:reassign // as above
	run()
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A damaged database must degrade to ids, in silence.
func FuzzName(f *testing.F) {
	f.Add([]byte("15b3  Mellanox\n\t1021  X\n"))
	f.Add([]byte("\t\t\tzz\n\x00\xff"))
	f.Add([]byte("C 02 x\n\t"))
	f.Add([]byte("15b3\n\t1\n"))
	f.Add([]byte("C 02\n\t00\n\t\t01\n15b3\n\t1021\n\t\t15b3\t0041\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ids := write(t, string(text))
		out := printed(t, func() {
			if v, _ := New(ids).Name(0x15b3, 0x1021); v != "NVIDIA" {
				t.Errorf("Name over %q lost the vendor: %q", text, v)
			}
		})
		if out != "" {
			t.Errorf("Name over %q printed %q", text, out)
		}
	})
}
