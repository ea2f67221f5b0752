#!/usr/bin/env bash
# race-packages.sh: list the packages whose tests run under the race detector, which makes them
# three to ten times slower: packages whose code or tests start goroutines, or whose code uses locks
# or atomics.
#
# Packages with only a few goroutines or locks whose tests mostly compare output line by line, or score
# verdicts, are left out, because golden files need no race detector. The Makefile selects their tests with
# goroutines by name.
set -euo pipefail
cd "$(dirname "$0")/.."
starts='^\s*go (func\b|[A-Za-z0-9_.]+[(\[])|\.Go\((func|[a-z])|AfterFunc|signal\.Notify'
shares='\bsync\.(Mutex|RWMutex|Cond|Map|Pool|OnceFunc)\b|"sync/atomic"|make\(chan '
compares='^\./(fabric|integration/(kernel|bench/fabric|verify)|internal/cli/(commands|gendocs)|internal/compat/ibdiags|internal/record/(bundle|nodetree)|internal/(sim/cluster|testkit/ibsimtest))$'
find=(grep -rlE --include='*.go' --exclude-dir=testdata)
{ "${find[@]}" "$starts" .; "${find[@]}" --exclude='*_test.go' "$shares" .; } |
  xargs -n1 dirname | sort -u | grep -vE "$compares"
