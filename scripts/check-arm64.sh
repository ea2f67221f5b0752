#!/usr/bin/env bash
# check-arm64.sh: build both binaries for linux/arm64 and run them under qemu-user. What they print
# about recorded nodes must be what the native build prints, and the two must exchange data over
# loopback.
set -euo pipefail
cd "$(dirname "$0")/.."
die() { echo "check-arm64: $*" >&2; exit 1; }

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/native" ./cmd/rdmactl
GOARCH=arm64 go build -o "$work/rdmactl" ./cmd/rdmactl
GOARCH=arm64 go build -tags nodl -o "$work/rdmactl-static" ./cmd/rdmactl

# arm64 NAME ARGUMENT...: run a binary for arm64; rdmactl finds its loader and libc below -L
arm64() { timeout 120 qemu-aarch64 -L /usr/aarch64-linux-gnu "$work/$1" "${@:2}"; }

# same BINARY ARGUMENT...: it prints what the native build prints, with the same exit status
same() {
  local b=$1 want got rc=0 status=0
  shift
  want=$("$work/native" "$@" 2>&1) || rc=$?
  got=$(arm64 "$b" "$@" 2>&1) || status=$?
  [ "$status" = "$rc" ] || die "$b $*: exit status $status, $rc natively: $got"
  [ "$got" = "$want" ] || die "$b $*: differs from native: $(diff <(echo "$want") <(echo "$got"))"
  echo "ok   arm64 $b $*: as natively, exit status $rc"
}

for b in rdmactl rdmactl-static; do
  out=$(arm64 $b version) || die "$b version: exit status $?"
  grep -qF linux/arm64 <<<"$out" || die "$b version doesn't say linux/arm64: $out"
  echo "ok   arm64 $b: $(head -1 <<<"$out")"
done
same rdmactl demo node
same rdmactl-static detect -o json --from internal/testkit/testtrees/40_pf_vfs.tree
same rdmactl-static doctor --from internal/testkit/testtrees/57_memlock_small.tree
same rdmactl-static env --explain --from internal/testkit/testtrees/47_gpu_switches.tree
same rdmactl-static fabric trace host0 host9 --from internal/cli/commands/testdata/fabric/sound.json
same rdmactl-static k8s impact examples/kubernetes/eight-vfs.yaml --nodes examples/kubernetes/cluster.yaml

# the RoCE engine: memory order and byte order show here, where two processes exchange packets
arm64 rdmactl bench write-bw -d roce@127.0.0.51 -n 200 >"$work/server.out" 2>&1 &
server=$!
for attempt in 1 2 3 4 5; do
  sleep 2
  rc=0
  arm64 rdmactl-static bench write-bw -d roce@127.0.0.52 -n 200 127.0.0.51 >"$work/client.out" 2>&1 || rc=$?
  [ "$rc" = 0 ] && break
done
[ "$rc" = 0 ] || die "bench write-bw: exit status $rc after $attempt attempts: $(cat "$work/client.out" "$work/server.out")"
wait "$server" || die "bench write-bw, server: exit status $?: $(cat "$work/server.out")"
server=
echo "ok   arm64 bench write-bw: $(tail -1 "$work/client.out")"
