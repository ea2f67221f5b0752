#!/usr/bin/env bash
# test-arm64.sh: run the tests of the packages that call C libraries as programs for linux/arm64
# under qemu-user. CC_ARM64 is the cross compiler (Debian's gcc-aarch64-linux-gnu), for the
# libraries that the tests compile.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "test-arm64: $*" >&2; exit 1; }

export CC_ARM64=${CC_ARM64:-aarch64-linux-gnu-gcc}
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
for tool in qemu-aarch64 "$CC_ARM64"; do
  command -v "$tool" >/dev/null || die "$tool is missing: make deps installs qemu-aarch64, apt-get install gcc-aarch64-linux-gnu the compiler"
done
[ -e $QEMU_LD_PREFIX/lib/libc.so.6 ] || die "$QEMU_LD_PREFIX/lib/libc.so.6 is missing: make deps"

# Tests start gcc, go and what these have built. The two are the native programs, called in such a
# way that they build for arm64; a program that they have built is replaced by a script that runs it
# under qemu.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
cat >"$work/bin/wrap" <<'WRAP'
#!/usr/bin/env bash
set -euo pipefail
out= shared=
for ((i = 1; i <= $#; i++)); do
  case ${!i} in
    -o) j=$((i + 1)); out=${!j} ;;
    -shared | -c) shared=yes ;;
  esac
done
case ${0##*/} in
  gcc) "$CC_ARM64" -idirafter /usr/include "$@" ;;
  go) GOARCH=arm64 "$REAL_GO" "$@" ;;
esac
[ -n "$out" ] && [ -z "$shared" ] || exit 0
mv "$out" "$out.arm64"
printf '#!/bin/sh\nexec qemu-aarch64 "%s" "$@"\n' "$out.arm64" >"$out"
chmod +x "$out"
WRAP
chmod +x "$work/bin/wrap"
ln -s wrap "$work/bin/gcc"
ln -s wrap "$work/bin/go"
REAL_GO=$(command -v go)
export REAL_GO

for package in internal/edge/dl verbs/provider/ibverbs; do
  GOARCH=arm64 CGO_ENABLED=0 go test -c -o "$work/test" "./$package"
  (cd "$package" && PATH="$work/bin:$PATH" timeout 600 qemu-aarch64 "$work/test" -test.timeout 9m "$@") ||
    die "$package: failed"
  echo "ok   arm64 $package"
done
