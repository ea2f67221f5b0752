// Command fabric measures sweeps of simulated InfiniBand subnets as whole processes: rdmactl's
// ibnetdiscover, iblinkinfo and ibqueryerrors against those of infiniband-diags, on nets of 1,088
// and 10,212 nodes under one ibsim, under three conditions: directly at the simulator, through a
// relay that delays each answer by 100 µs, and through a relay with 1 % dead nodes in addition.
//
//	integration/bench/fabric/run -n 5
//	integration/bench/fabric/run -quick   # 100 nodes, one round: is everything equal?
//
// Runs are interleaved, so that other load on the machine affects all of them; each result is a
// median. Each run's output must have the expected numbers of nodes and cables and, except for
// dates, the same lines as the C tool's output. The result is a Markdown table on standard output,
// including the project's targets. With -check a missed target makes the exit code 1; a sweep that
// doesn't find the generated net always does.
//
// A dead node answers nothing. rdmactl detects that with its own timeouts. libumad2sim, which the C
// tools use here, has no timers: a request without an answer would block them forever. For them the
// relay keeps the request as long as libibnetdisc would wait by default (1 s for each of 1 + 3
// tries), and then returns it with status 110 (ETIMEDOUT), as the simulator returns requests that
// it can't deliver. So the C tools lose as much time as with a real port, without the traffic of
// the three retries.
package main
