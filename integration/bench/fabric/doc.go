// Command fabric measures sweeps of simulated InfiniBand subnets as whole processes: rdmactl's
// ibnetdiscover, iblinkinfo and ibqueryerrors against those of infiniband-diags, on nets of 1,088
// and 10,212 nodes under one ibsim, in three ways: at the simulator itself, through a relay that
// makes each answer 100 µs late, and through one that makes 1 % of the nodes dead too.
//
//	integration/bench/fabric/run -n 5
//	integration/bench/fabric/run -quick   # 100 nodes, one round: is everything equal?
//
// Runs are interleaved, so that what else the machine does hits all of them; each figure is a
// median. Each run's output must have the expected number of nodes and cables and, dates aside, the
// lines of the C tool's. The result is a table in Markdown on standard output, with the targets of
// the project beside it. With -check a missed target makes the exit code 1; a sweep that finds
// another net than the one generated does so always.
//
// A dead node answers nothing. rdmactl has a clock and finds out by itself. libumad2sim, on which
// the C tools stand here, has no timers: a request without an answer would stop them for ever. For
// them the relay keeps the request as long as libibnetdisc would wait by its defaults (1 s for each
// of 1 + 3 tries), and then returns it with status 110 (ETIMEDOUT), as the simulator itself returns
// what it can't deliver. So they have a real library's loss, less the three retries' traffic.
package main
