package perftest

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// sample returns parameters of a test.
func sample() (p Parameters) {
	for name := range parameters {
		p.Set(name, 1)
	}
	return p
}

// TestDifferenceOfEach changes each parameter at one end, in both forms: both ends must name it.
func TestDifferenceOfEach(t *testing.T) {
	for name, info := range parameterTable {
		for peer, kind := range map[Version]Negotiation{629: NegotiationStruct, 630: NegotiationList} {
			want := Parameter(name).compared() && (info.offset >= 0 || kind == NegotiationList)
			own, theirs := sample(), sample()
			theirs.Set(Parameter(name), 2)
			client, server := pair(t)
			atServer := make(chan error, 1)
			go func() {
				_, err := server.Negotiate(t.Context(), peer, theirs)
				atServer <- err
			}()
			got, err := client.Negotiate(t.Context(), peer, own)
			for role, err := range map[Role]error{RoleClient: err, RoleServer: <-atServer} {
				if !want && err != nil || got != kind {
					t.Errorf("%s, %v, %v: Negotiate = %v, %v, want no error", info.key, peer, role, got, err)
				} else if want && !names(err, Parameter(name), role.other()) {
					t.Errorf("%s, %v, %v: Negotiate = %v, want an error for it", info.key, peer, role, err)
				}
			}
		}
	}
}

// names reports whether err names exactly one parameter and the peer.
func names(err error, name Parameter, peer Role) bool {
	different, ok := errors.AsType[*DifferenceError](err)
	return ok && len(different.Differences) == 1 && different.Differences[0].Parameter == name &&
		strings.HasPrefix(err.Error(), "exchange parameters with the "+peer.String()+": the ends differ: ") &&
		strings.Contains(err.Error(), parameterTable[name].label) && len(different.Hints()) <= 1
}

// TestOwnOlderVersion announces a version of its own that exchanges structs, or nothing.
func TestOwnOlderVersion(t *testing.T) {
	for own, want := range map[Version]Negotiation{
		627: NegotiationNone, 628: NegotiationStruct, 629: NegotiationStruct, 630: NegotiationList,
	} {
		client, server := pair(t)
		client.cfg.Version, server.cfg.Version = own, 640
		done := make(chan error, 1)
		go func() {
			_, err := server.Negotiate(t.Context(), own, sample())
			done <- err
		}()
		got, err := client.Negotiate(t.Context(), 640, sample())
		if other := <-done; got != want || err != nil || other != nil {
			t.Errorf("%v to 6.40: Negotiate = %v, %v and %v, want %v", own, got, err, other, want)
		}
	}
}

// TestDifferenceRank lists only what explains the rest: another operation has another default size.
func TestDifferenceRank(t *testing.T) {
	own, theirs := sample(), sample()
	theirs.Set(ParamSize, 2)
	theirs.Set(ParamDuplex, 2)
	check := func(want ...Parameter) {
		t.Helper()
		different, ok := errors.AsType[*DifferenceError](own.Compare(&theirs, RoleServer))
		if !ok || len(different.Differences) != len(want) {
			t.Fatalf("Compare = %v, want %v", different, want)
		}
		for i, d := range different.Differences {
			if d.Parameter != want[i] {
				t.Errorf("difference %d is %v, want %v", i, d.Parameter, want[i])
			}
		}
	}
	check(ParamDuplex)
	theirs.Set(ParamVerb, 2)
	theirs.Set(ParamTest, 2)
	check(ParamVerb, ParamTest)
}

// TestLooseParameters has values that may differ: in a list always, in a struct at the server.
func TestLooseParameters(t *testing.T) {
	tests := []struct {
		peer        Version
		loose       Role
		want        bool // both succeed
		description string
	}{
		{630, RoleClient, true, "absent from the client's list"},
		{630, RoleServer, true, "absent from the server's list"},
		{629, RoleServer, true, "the server repeats the client's value"},
		{629, RoleClient, false, "the server compares the client's value"},
	}
	for _, tt := range tests {
		own, theirs := sample(), sample()
		theirs.Set(ParamIterations, 7)
		if tt.loose == RoleClient {
			own.SetLoose(ParamIterations, 1)
		} else {
			theirs.SetLoose(ParamIterations, 7)
		}
		client, server := pair(t)
		atServer := make(chan error, 1)
		go func() {
			_, err := server.Negotiate(t.Context(), tt.peer, theirs)
			atServer <- err
		}()
		_, err := client.Negotiate(t.Context(), tt.peer, own)
		if other := <-atServer; (err == nil) != tt.want || (other == nil) != tt.want {
			t.Errorf("%s (%v): Negotiate = %v and %v, want success %t", tt.description, tt.peer, err, other, tt.want)
		}
	}
}

// TestNegotiateErrors lets the server send invalid data.
func TestNegotiateErrors(t *testing.T) {
	own := sample()
	small := string(own.structOf(structLen))
	const zero, three = "\x00\x00\x00\x00", "\x00\x00\x00\x03"
	tests := []struct {
		name string
		peer Version
		says []string
		kind Negotiation
		want string // after "exchange parameters with the server: "; empty: no error
	}{
		{"not asked for", 627, nil, NegotiationNone, ""},
		{"closes", 630, nil, NegotiationUnknown, "the peer closed the connection"},
		{"closes in its length", 630, []string{zero, "\x00\x00"}, NegotiationList, "the peer closed the connection"},
		{"closes in its list", 630, []string{zero, three, "a="}, NegotiationList, "the peer closed the connection"},
		{"another negotiation", 630, []string{"\x00\x00\x00\x01"}, NegotiationUnknown, ""},
		{"empty list", 630, []string{zero, zero}, NegotiationList, ""},
		{"unknown name", 640, []string{zero, three, "a=;"}, NegotiationList, ""},
		{
			"oversized", 630,
			[]string{zero, "\x00\x01\x00\x01"},
			NegotiationList,
			"list of 65537 bytes, more than 65536: not a list of parameters",
		},
		{"no value", 630, []string{zero, three, "abc"}, NegotiationList, `"abc" has no value: not a list`},
		{
			"short value", 630,
			[]string{zero, "\x00\x00\x00\x09", "size=123;"},
			NegotiationList,
			`size: "123" has not 16 hexadecimal digits`,
		},
		{
			"no number", 630,
			[]string{zero, "\x00\x00\x00\x0c", "tst=0000000x"},
			NegotiationList,
			`tst: "0000000x" has not 8 hexadecimal digits`,
		},
		{"closes in its struct", 629, []string{small[:100]}, NegotiationStruct, "the peer closed the connection"},
		{
			"smaller struct", 629,
			[]string{small},
			NegotiationStruct,
			"the server's build of perftest exchanges 312 bytes",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := net.Pipe()
			defer a.Close()
			go func() {
				defer b.Close()
				buf := make([]byte, 4096)
				for _, text := range tt.says {
					_, _ = b.Read(buf)
					if _, err := io.WriteString(b, text); err != nil {
						return
					}
				}
				if !strings.HasPrefix(tt.name, "closes in") {
					_, _ = b.Read(buf)
				}
			}()
			s := NewSession(a, Config{Role: RoleClient, StepTimeout: 5 * time.Second})
			kind, err := s.Negotiate(t.Context(), tt.peer, own)
			if kind != tt.kind {
				t.Errorf("Negotiate = kind %d, want %d", kind, tt.kind)
			}
			if tt.want == "" {
				if err != nil {
					t.Errorf("Negotiate = %v", err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), "exchange parameters with the server: "+tt.want) {
				t.Errorf("Negotiate = %v, want %q", err, tt.want)
			}
		})
	}
}

// TestSmallerStruct has a client that was built without mlx5: it gets a struct of its size.
func TestSmallerStruct(t *testing.T) {
	own := sample()
	a, b := net.Pipe()
	defer a.Close()
	result := make(chan error, 1)
	go func() {
		_, err := NewSession(b, Config{Role: RoleServer}).Negotiate(t.Context(), 629, sample())
		result <- err
		_ = b.Close()
	}()
	if _, err := a.Write(own.structOf(structLen)); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(a)
	if err != nil || len(got) != structLen {
		t.Errorf("answer of %d bytes, %v, want %d", len(got), err, structLen)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// FuzzDecodeList decodes arbitrary lists: what is decoded must survive encoding.
func FuzzDecodeList(f *testing.F) {
	p := sample()
	f.Add(p.AppendList(nil))
	f.Add([]byte("size=0000000000000040;size=0000000000000041;;new=ff;"))
	f.Add([]byte("tst=0000000G;"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var once, again Parameters
		if err := once.DecodeList(b); err != nil {
			if !errors.Is(err, ErrParameters) || len(err.Error()) > 300 {
				t.Errorf("DecodeList(%.100q) = %v", b, err)
			}
			return
		}
		if err := again.DecodeList(once.AppendList(nil)); err != nil || again != once {
			t.Errorf("DecodeList(AppendList(%v)) = %v, %v", once, again, err)
		}
	})
}
