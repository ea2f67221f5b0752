package capture

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rdmakit/rdmakit/wire/ib"
)

// BenchmarkRead measures how fast captures are read, in bytes of the file.
func BenchmarkRead(b *testing.B) {
	for _, payload := range []int{64, 1024, 4096} {
		b.Run(fmt.Sprintf("payload=%d", payload), func(b *testing.B) {
			in := traffic(payload, 32<<20/(payload+100), 16)
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(in), Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// traffic returns a capture of some request packets with ACKs, of connections in turn.
func traffic(payload, packets, connections int) []byte {
	var s script
	for i := range packets {
		qp, psn := ib.QPN(i%connections), ib.PSN(i/connections)
		s.send(addrA, addrB, &ib.Packet{
			BTH: ib.BTH{Opcode: middle, DestQP: 100 + qp, PSN: psn + 1000*ib.PSN(qp)}, Payload: make([]byte, payload),
		})
		if psn%8 == 7 {
			s.send(addrB, addrA, &ib.Packet{
				BTH:  ib.BTH{Opcode: ack, DestQP: 300 + qp, PSN: psn + 1000*ib.PSN(qp)},
				AETH: ib.AETH{Syndrome: ib.SyndromeACK},
			})
		}
	}
	return s.out.Bytes()
}

// Reading a packet allocates nothing, so that memory doesn't depend on the number of packets.
func TestReadAllocations(t *testing.T) {
	few, many := traffic(256, 1000, 4), traffic(256, 11000, 4)
	count := func(in []byte) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := Read(bytes.NewReader(in), Options{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := count(few), count(many); b-a > 100 {
		t.Errorf("%.0f allocations for 1000 packets, %.0f for 11000", a, b)
	}
}
