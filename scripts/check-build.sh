#!/usr/bin/env bash
# check-build.sh BIN VERSION: try the two binaries in folder BIN. The static one must run in a
# chroot that holds nothing else, and both must tell the stamped version and which build they are.
set -euo pipefail
bin=$1 version=$2
die() { echo "check-build: $*" >&2; exit 1; }

# expect WHAT PATTERN COMMAND...: the command succeeds, and a line of its output has PATTERN in it
expect() {
  local what=$1 pattern=$2 out
  shift 2
  out=$("$@" 2>&1) || die "$what: exit status $?: $out"
  grep -qF -- "$pattern" <<<"$out" || die "$what: no '$pattern' in: $out"
  echo "ok   $what: $(head -1 <<<"$out")"
}

[ "$(id -u)" -eq 0 ] || die "chroot needs root"
jail=$(mktemp -d)
trap 'rm -rf "$jail"' EXIT
chmod 755 "$jail"
cp "$bin/rdmactl-static" "$jail/"

expect "rdmactl version" "$version" "$bin/rdmactl" version
expect "rdmactl is the dynamic build" dynamic "$bin/rdmactl" version
expect "rdmactl-static in an empty chroot" "$version" chroot "$jail" /rdmactl-static version
expect "rdmactl-static is the static build" nodl chroot "$jail" /rdmactl-static version
expect "rdmactl-static says what it lacks" 'without: opening libibverbs' chroot "$jail" /rdmactl-static version

# With no /sys there is nothing to detect: that is a verdict with a reason (exit status 3, or 7
# where reading failed too), no crash.
rc=0
out=$(chroot "$jail" /rdmactl-static detect 2>&1) || rc=$?
case $rc in 3 | 7) ;; *) die "rdmactl-static detect in an empty chroot: exit status $rc: $out" ;; esac
[ -n "$out" ] || die "rdmactl-static detect in an empty chroot gave no reason"
echo "ok   rdmactl-static detect in an empty chroot: exit status $rc"
[ "$(ls -A "$jail")" = rdmactl-static ] || die "rdmactl-static left files behind: $(ls -A "$jail")"

for b in rdmactl rdmactl-static; do
  mib=$(($(stat -c %s "$bin/$b") / 1048576))
  [ "$mib" -le 45 ] || die "$b has $mib MiB, 45 at most"
  echo "ok   $b: $mib MiB"
done
