#!/usr/bin/env bash
# race-packages.sh: the packages whose tests run under the race detector, which makes them three to
# ten times as slow: those whose code or tests start goroutines, or whose code holds locks or uses
# atomics.
#
# Left out are packages whose tests compare output line by line around a goroutine or a lock or two:
# golden files tell as much without the detector. What meets there runs by name, see the Makefile.
set -euo pipefail
cd "$(dirname "$0")/.."
starts='^\s*go (func\b|[A-Za-z0-9_.]+[(\[])|\.Go\((func|[a-z])|AfterFunc|signal\.Notify'
shares='\bsync\.(Mutex|RWMutex|Cond|Map|Pool|OnceFunc)\b|"sync/atomic"|make\(chan '
compares='^\./(fabric|integration/(kernel|bench/fabric)|internal/cli/(commands|gendocs)|internal/compat/ibdiags|internal/record/(bundle|nodetree)|internal/testkit/ibsimtest)$'
find=(grep -rlE --include='*.go' --exclude-dir=testdata)
{ "${find[@]}" "$starts" .; "${find[@]}" --exclude='*_test.go' "$shares" .; } |
  xargs -n1 dirname | sort -u | grep -vE "$compares"
