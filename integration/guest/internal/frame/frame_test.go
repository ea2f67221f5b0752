package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestAppend(t *testing.T) {
	tests := []struct {
		name string
		in   Frame
		want string
		err  bool
	}{
		{name: "empty payload", in: Frame{Session: "a1", Kind: "ping"}, want: "a1 ping \n"},
		{name: "payload", in: Frame{Session: "a1", Kind: "out", Payload: []byte("hi\n")}, want: "a1 out aGkK\n"},
		{name: "no session", in: Frame{Kind: "out"}, err: true},
		{name: "space in kind", in: Frame{Session: "a", Kind: "o t"}, err: true},
		{name: "newline in session", in: Frame{Session: "a\n", Kind: "out"}, err: true},
		{name: "too long", in: Frame{Session: "a", Kind: "out", Payload: make([]byte, MaxPayload+1)}, err: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Append(nil, tt.in)
			if (err != nil) != tt.err || (err != nil && !errors.Is(err, ErrMalformed)) {
				t.Fatalf("Append(%q) error = %v, want error %v", tt.in.Kind, err, tt.err)
			}
			if string(got) != tt.want {
				t.Errorf("Append = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecodeMalformed(t *testing.T) {
	for _, line := range []string{
		"", "a", "a b", "a  ", " b ", "A b ", "a b !!", "a b aGk", "a b aGkK\r", strings.Repeat("x", maxName+1) + " b ",
	} {
		if f, err := Decode([]byte(line)); !errors.Is(err, ErrMalformed) {
			t.Errorf("Decode(%q) = %+v, %v, want ErrMalformed", line, f, err)
		}
	}
}

func TestReaderSkipsBrokenLines(t *testing.T) {
	full, err := Append(nil, Frame{Session: "s2", Kind: "data", Payload: bytes.Repeat([]byte{0xa5}, MaxPayload)})
	if err != nil {
		t.Fatal(err)
	}
	stream := "s1 run aGk" + "\n" + // a client that died in the middle, then the next one's Sync
		strings.Repeat("z", 3*maxLine) + "\n" +
		"\n\n" + "s2 ping \n" + string(full) + "s2 tail aGk="
	for name, r := range map[string]io.Reader{
		"whole":      strings.NewReader(stream),
		"byte reads": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		var got []string
		reader := NewReader(r)
		for {
			f, err := reader.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: Next error = %v, want EOF", name, err)
				}
				break
			}
			got = append(got, f.Session+"/"+f.Kind)
		}
		if diff := cmp.Diff([]string{"s2/ping", "s2/data"}, got); diff != "" {
			t.Errorf("%s: frames differ (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a1 out aGkK"))
	f.Add([]byte("a1 ping "))
	f.Add([]byte("a b c d"))
	f.Fuzz(func(t *testing.T, line []byte) {
		in := bytes.Clone(line)
		fr, err := Decode(line)
		if err != nil {
			return
		}
		out, err := Append(nil, fr)
		if err != nil {
			t.Fatalf("Append(Decode(%q)) = %v", in, err)
		}
		in = append(in, '\n')
		if !bytes.Equal(out, in) {
			t.Errorf("Append(Decode(%q)) = %q, want the same", in, out)
		}
	})
}

func TestWriterRoundTrip(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b)
	want := []Frame{
		{Session: "s", Kind: KindRun, Payload: []byte(`{"script":"true"}`)},
		{Session: "s", Kind: KindKill, Payload: []byte{}},
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	for _, f := range want {
		if err := w.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&b)
	for _, f := range want {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("frame differs (-want +got):\n%s", diff)
		}
	}
}
