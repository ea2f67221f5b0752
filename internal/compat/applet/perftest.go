package applet

import (
	"context"
	"io"

	"github.com/rdmakit/rdmakit/bench"
	"github.com/rdmakit/rdmakit/bench/classic"
)

// perftests returns the programs of perftest: ib_write_bw and others.
func perftests() []Applet {
	var list []Applet
	for _, test := range bench.Tests() {
		list = append(list, perftestApplet(test))
	}
	return list
}

func perftestApplet(test bench.Test) Applet {
	name := "ib_" + test.String()
	what := "Measure the bandwidth of "
	if test.IsLatency() {
		what = "Measure the latency of "
	}
	a := Applet{
		Name: name, Summary: what + test.OpName(), Usage: "[OPTION...] [HOST]", Like: name + " of perftest 4.5",
		Example: "-d roce@192.0.2.1", Live: true,
		Long: `Without HOST the program is the server and waits for one client. Either end may be the C program. -d
selects a device of the kernel (mlx5_0, rxe0; with -R also one of iWARP, siw0), or an engine in user
space (roce@ADDRESS or roce@NETDEV). Without -d the program uses the first device that can be opened and has an active
port, otherwise the first engine, and prints its name on standard error. Options that only perftest
supports are rejected by name. "rdmactl bench" has the same tests with percentiles, JSON and CSV.`,
		run: func(ctx context.Context, env *Env) int { return runPerftest(ctx, env, test) },
	}
	for _, o := range classic.Help(test) {
		a.Options = append(a.Options, Option{Flags: o.Flags, Help: o.Help})
	}
	return a
}

func runPerftest(ctx context.Context, env *Env, test bench.Test) int {
	return classic.Main(ctx, test, env.Args, classic.Env{
		Name: env.Name, Device: env.Device, Stdout: throughWriter{env.Stdout}, Stderr: env.Stderr, Open: env.Open,
		ChooseGID: env.ChooseGID, Hints: env.Hints,
	})
}

// throughWriter flushes after each write, so that a measurement shows its lines as they are
// printed.
type throughWriter struct{ w io.Writer }

// Write implements io.Writer.
func (t throughWriter) Write(b []byte) (int, error) {
	n, err := t.w.Write(b)
	if f, ok := t.w.(interface{ Flush() error }); ok && err == nil {
		err = f.Flush()
	}
	return n, err
}
