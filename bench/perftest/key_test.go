package perftest

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdmakit/rdmakit/wire/ib"
)

const line = "0000:0001:000014:3c18da:00000531:000055563763a000:00:00:00:00:00:00:" +
	"00:00:00:00:ff:ff:c0:00:02:01:00000000:\x00"

func captured() Destination {
	gid, _ := ib.ParseGID("::ffff:192.0.2.1")
	return Destination{OutReads: 1, QPN: 0x14, PSN: 0x3c18da, RKey: 0x531, VAddr: 0x55563763a000, GID: gid}
}

func TestKeyLine(t *testing.T) {
	d := captured()
	if got := string(KeyWithGID.Append(nil, &d)); got != line {
		t.Errorf("Append = %q, want %q", got, line)
	}
	var got Destination
	if n, err := KeyWithGID.Decode([]byte(line+"more"), &got); n != keyGIDLen || err != nil {
		t.Errorf("Decode = %d, %v", n, err)
	}
	if diff := cmp.Diff(d, got); diff != "" {
		t.Errorf("Decode differs (-want +got):\n%s", diff)
	}
	plain := "0003:0010:abcdef:000001:ffffffff:0000000000000007:0000002a\x00"
	want := Destination{LID: 3, OutReads: 16, QPN: 0xabcdef, PSN: 1, RKey: 0xffffffff, VAddr: 7, SRQN: 42}
	if n, err := KeyWithoutGID.Decode([]byte(plain), &got); n != keyLen || err != nil || got != want {
		t.Errorf("Decode(%q) = %d, %v, %+v, want %+v", plain, n, err, got, want)
	}
	if text := string(KeyWithoutGID.Append(nil, &want)); text != plain {
		t.Errorf("Append = %q, want %q", text, plain)
	}
}

func TestKeyLineErrors(t *testing.T) {
	tests := []struct {
		name, line string
		want       error
	}{
		{"empty", "", ErrShort},
		{"short", line[:107], ErrShort},
		{"no zero", line[:107] + "x", ErrKeyLine},
		{"no hex", strings.Replace(line, "3c18da", "3c18dg", 1), ErrKeyLine},
		{"colon missing", strings.Replace(line, ":3c18da", "03c18da", 1), ErrKeyLine},
		{"fields of another width", strings.Replace(line, "0001:000014", "000001:0014", 1), ErrKeyLine},
		{"sign", strings.Replace(line, "0001", "-001", 1), ErrKeyLine},
		{"nothing but colons", strings.Repeat(":", 108), ErrKeyLine},
		{"zeros", strings.Repeat("\x00", 108), ErrKeyLine},
	}
	for _, tt := range tests {
		d := captured()
		if n, err := KeyWithGID.Decode([]byte(tt.line), &d); n != 0 || !errors.Is(err, tt.want) || d != captured() {
			t.Errorf("%s: Decode = %d, %v, want %v and the target untouched", tt.name, n, err, tt.want)
		}
	}
}

func FuzzKeyLine(f *testing.F) {
	f.Add([]byte(line), false)
	f.Add([]byte("0003:0010:abcdef:000001:ffffffff:0000000000000007:0000002a\x00"), true)
	f.Fuzz(func(t *testing.T, b []byte, plain bool) {
		form := KeyWithGID
		if plain {
			form = KeyWithoutGID
		}
		var d, again Destination
		n, err := form.Decode(b, &d)
		if err != nil {
			return
		}
		back := form.Append(nil, &d)
		if !strings.EqualFold(string(back), string(b[:n])) {
			t.Errorf("Append(Decode(%q)) = %q", b[:n], back)
		}
		if _, err := form.Decode(back, &again); err != nil || again != d {
			t.Errorf("Decode(Append) = %+v, %v, want %+v", again, err, d)
		}
	})
}

func TestVersion(t *testing.T) {
	tests := []struct {
		text string
		want Version
		err  string
	}{
		{"6.06", 606, ""},
		{"5.70", 570, ""},
		{"6.1", 610, ""},
		{"6", 600, ""},
		{"6.27", 627, ""},
		{"5.69", 569, "older than 5.70"},
		{"6.28", 628, ""},
		{"255.99", 25599, ""},
		{"", 0, "not of the form"},
		{"-6.06", 0, "not of the form"},
		{"6.-1", 0, "not of the form"},
		{"999.0", 0, "not of the form"},
		{"six", 0, "not of the form"},
	}
	for _, tt := range tests {
		got, err := ParseVersion(tt.text)
		if err == nil {
			err = got.Check()
		}
		if got != tt.want {
			t.Errorf("ParseVersion(%q) = %v, want %v", tt.text, got, tt.want)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseVersion(%q) and Check: %v, want %q", tt.text, err, tt.err)
		}
	}
}

func FuzzVersion(f *testing.F) {
	f.Add([]byte("6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v, again Version
		if _, err := v.Decode(b); err != nil {
			return
		}
		if _, err := again.Decode(v.Append(nil)); err != nil || again != v {
			t.Errorf("Decode(Append(%v)) = %v, %v", v, again, err)
		}
	})
}
