package verdict

import "testing"

// benchmarkFind measures n nodes with 8 rails and 1 % of bad cards.
func benchmarkFind(b *testing.B, n int) {
	w := newWorld(1, n, 8, 32)
	for i := range n / 12 {
		w.tx[end(i*12, i%8)] = 0.6
	}
	run := w.run(b)
	b.ReportMetric(float64(len(run.Samples)), "samples")
	b.ReportAllocs()
	for b.Loop() {
		if r := Find(run, Options{}); len(r.Verdicts) < n/12 {
			b.Fatalf("%d verdicts of %d", len(r.Verdicts), n/12)
		}
	}
	b.ReportMetric(float64(len(run.Samples)), "samples")
}

// BenchmarkLossy has a tenth of bad links.
func BenchmarkLossy(b *testing.B) {
	w := newWorld(1, 2000, 8, 32)
	for i := range 1600 {
		w.lossTx[end(i, i%8)] = 1e-4
	}
	run := w.run(b)
	b.ReportAllocs()
	for b.Loop() {
		if r := Find(run, Options{}); len(r.Verdicts) != 1600 {
			b.Fatalf("%d verdicts of 1600", len(r.Verdicts))
		}
	}
}

func BenchmarkFind1000(b *testing.B)  { benchmarkFind(b, 1000) }
func BenchmarkFind10000(b *testing.B) { benchmarkFind(b, 10_000) }
