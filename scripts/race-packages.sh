#!/usr/bin/env bash
# race-packages.sh: the packages whose tests run under the race detector, which makes them three to
# ten times as slow: those whose code or tests start goroutines, hold locks or use atomics.
#
# Left out are packages whose goroutines belong to the test alone, around programs that it compares
# line by line: golden files tell as much without the detector. Those of internal/cli/commands that
# meet signals and terminals run by name (see the Makefile).
set -euo pipefail
cd "$(dirname "$0")/.."
concurrent='^\s*go (func\b|[A-Za-z_.]+\()|\.Go\((func|[a-z])|\bsync\.(Mutex|RWMutex|Cond|Map)\b|"sync/atomic"'
golden='^\./(integration/kernel|internal/cli/(commands|gendocs)|internal/compat/ibdiags|internal/testkit/ibsimtest)$'
grep -rlE --include='*.go' --exclude-dir=testdata "$concurrent" . | xargs -n1 dirname | sort -u | grep -vE "$golden"
