package rocev2_test

import (
	"fmt"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
	"github.com/rdmakit/rdmakit/wire/rocev2"
)

// payloads of the benchmarks, in bytes.
func payloads() []int { return []int{0, 64, 256, 1024, 4096} }

func BenchmarkICRC(b *testing.B) {
	v4, v6 := flow(b), flow(b)
	v6.Source, v6.Destination = gid(b, "2001:db8::1"), gid(b, "2001:db8::2")
	for name, f := range map[string]*rocev2.Flow{"IPv4": &v4, "IPv6": &v6} {
		for _, n := range payloads() {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				packet := make([]byte, ib.BTHLen+n)
				b.SetBytes(int64(len(packet)))
				b.ReportAllocs()
				for b.Loop() {
					f.ICRC(packet)
				}
			})
		}
	}
}

func BenchmarkRecover(b *testing.B) {
	f := flow(b)
	f.ID = 0x1234
	datagram := f.AppendICRC(make([]byte, ib.BTHLen+1024, 2048))
	f.ID = 0
	difference := f.Check(datagram)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := f.Recover(len(datagram), difference); !ok {
			b.Fatal("not recovered")
		}
	}
}

func BenchmarkParseIP(b *testing.B) {
	for _, v := range vectors(b)[:1] {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := rocev2.ParseIP(v.frame[ethernetLen:]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
