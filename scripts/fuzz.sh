#!/usr/bin/env bash
# fuzz.sh [-smoke] [TIME]: run each fuzz target of the module for TIME (2s), one after the other;
# with -smoke those that integration/fuzz selects by the changes since FUZZ_BASE, as many as
# FUZZ_BUDGET seconds (90) allow.
#
# It shows that each target still runs and survives a short search. To run one target for longer: go
# test -run='^$' -fuzz='^FuzzName$' ./its/package. With FUZZ_COUNTS=FILE it appends
# "fuzz<TAB>passed<TAB>failed<TAB>skipped" to FILE.
set -euo pipefail
smoke=()
[ "${1:-}" != -smoke ] || { smoke=(-smoke); shift; }
time=${1:-2s} budget=${FUZZ_BUDGET:-90}
passed=0 late=0 failed=()
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
log=$tmp/log corpus=$(go env GOCACHE)/fuzz

# build DIR: build the instrumented test of a package, unless it was the last one built. With -smoke
# the build is stopped with status 124 when the time is over: with an empty cache, compiling the
# standard library and the dependencies of internal/cli for fuzzing takes two cores a minute. Later
# each package takes about three seconds.
built=
build() {
  [ "$built" != "$1" ] || return 0
  built=
  "${limit[@]}" go test -c -fuzz=. -o "$tmp/fuzz.test" "$1" >"$log" 2>&1 || return
  built=$1
}

# search DIR PATH TARGET: one short search as go test -fuzz runs it, its output in $log
search() {
  (cd "$1" && exec "$tmp/fuzz.test" -test.run='^$' -test.fuzz="^$3\$" -test.fuzztime="$time" -test.fuzzminimizetime=5s \
    -test.fuzzcachedir="$corpus/$2" -test.paniconexit0) >"$log" 2>&1
}

# missed_stop: the search failed only because go test's stop came between two steps of its
# coordinator (golang.org/issue/75804, fixed in Go 1.27); a finding always names the input that it
# wrote
missed_stop() {
  grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input|panic|minimizing' "$log"
}

go run ./integration/fuzz "${smoke[@]}" >"$tmp/targets" 2>"$log" || { cat "$log" >&2; exit 1; }
cat "$log"
total=$(wc -l <"$tmp/targets")
while IFS=$'\t' read -r -u 3 dir path target; do
  limit=() rc=0
  if [ ${#smoke[@]} -gt 0 ] && [ $((passed + ${#failed[@]})) -gt 0 ]; then # at least one must run
    left=$((budget - SECONDS))
    limit=(timeout $left)
    [ $left -gt 0 ] || rc=124
  fi
  [ $rc -ne 0 ] || build "$dir" || rc=$?
  if [ $rc -eq 124 ]; then
    late=$((late + 1))
  elif [ $rc -ne 0 ]; then
    cat "$log"
    failed+=("$dir $target (does not build)")
  elif search "$dir" "$path" "$target" ||
    { missed_stop && echo "again: $dir $target" && search "$dir" "$path" "$target"; }; then
    passed=$((passed + 1))
    printf 'ok   %s %s: %s\n' "$dir" "$target" "$(grep -oE 'execs: [0-9]+' "$log" | tail -1)"
  else
    failed+=("$dir $target")
    cat "$log"
    printf 'FAIL %s %s\n' "$dir" "$target"
  fi
done 3<"$tmp/targets"

[ -z "${FUZZ_COUNTS:-}" ] || printf 'fuzz\t%d\t%d\t0\n' "$passed" "${#failed[@]}" >>"$FUZZ_COUNTS"
[ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
[ "$late" -eq 0 ] || echo "$late of $total left out: the budget of $budget s was used up"
echo "$passed passed, ${#failed[@]} failed"
[ $((passed + ${#failed[@]})) -gt 0 ] || { echo "fuzz: no target ran" >&2; exit 1; }
[ ${#failed[@]} -eq 0 ]
