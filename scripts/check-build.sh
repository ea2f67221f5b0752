#!/usr/bin/env bash
# check-build.sh BIN VERSION: run the two binaries in folder BIN. The static one must run in an
# empty chroot, both must print the stamped version and their kind of build, and "make install" and
# an image with the applets must have all their files.
set -euo pipefail
bin=$1 version=$2
die() { echo "check-build: $*" >&2; exit 1; }

# expect WHAT PATTERN COMMAND...: the command must succeed, and its output must contain PATTERN
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
expect "rdmactl-static prints what it can't do" "this build doesn't load libibverbs" chroot "$jail" /rdmactl-static version

# Without /sys there is nothing to detect: rdmactl must print the reason and exit with status 3, or
# 7 if reading failed too.
rc=0
out=$(chroot "$jail" /rdmactl-static detect 2>&1) || rc=$?
case $rc in 3 | 7) ;; *) die "rdmactl-static detect in an empty chroot: exit status $rc: $out" ;; esac
[ -n "$out" ] || die "rdmactl-static detect in an empty chroot printed no reason"
echo "ok   rdmactl-static detect in an empty chroot: exit status $rc"
[ "$(ls -A "$jail")" = rdmactl-static ] || die "rdmactl-static left files behind: $(ls -A "$jail")"

# The two steps of docs/applets.md that make an image from nothing, and an applet by its link. The
# other binary doesn't start there: the kernel finds no loader.
image=$jail/image
install -D -m 755 "$bin/rdmactl-static" "$image/usr/local/bin/rdmactl"
expect "applet install in an empty chroot" ibstat chroot "$image" /usr/local/bin/rdmactl applet install /usr/local/bin
out=$(chroot "$image" /usr/local/bin/ibv_devices 2>&1) && die "ibv_devices found a device in an empty chroot: $out"
grep -qF 'Failed to get IB devices list' <<<"$out" || die "ibv_devices in an empty chroot: $out"
echo "ok   ibv_devices in an empty chroot: $out"
cp "$bin/rdmactl" "$image/dynamic"
rc=0
chroot "$image" /dynamic version 2>/dev/null || rc=$?
[ "$rc" = 127 ] || die "rdmactl in an empty chroot: exit status $rc, where the documents say 127"

prefix=$jail/prefix
expect "make install" "in $prefix" make -s install PREFIX="$prefix" DESTDIR=
expect "installed rdmactl" "$version" "$prefix/bin/rdmactl" version
for file in man/man1/rdmactl-detect.1 bash-completion/completions/rdmactl zsh/site-functions/_rdmactl \
  fish/vendor_completions.d/rdmactl.fish; do
  [ -s "$prefix/share/$file" ] || die "make install: no share/$file"
done

for b in rdmactl rdmactl-static; do
  mib=$(($(stat -c %s "$bin/$b") / 1048576))
  [ "$mib" -le 45 ] || die "$b has $mib MiB, 45 at most"
  echo "ok   $b: $mib MiB"
done
