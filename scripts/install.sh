#!/usr/bin/env bash
# install.sh BINARY NATIVE PREFIX: install BINARY as PREFIX/bin/rdmactl with its manual pages and
# completions, which NATIVE writes: BINARY itself or, where that is for another machine, a build
# that runs on this one. It builds nothing, so that root needs no Go.
set -euo pipefail
binary=$1 native=$2 prefix=$3
die() { echo "install: $*" >&2; exit 1; }

[ -x "$binary" ] || die "$binary doesn't exist: run make build first"
"$native" version >/dev/null 2>&1 ||
  die "$native doesn't run on this machine: name a build that does with RDMACTL=FILE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$native" man -q "$work/man" >/dev/null
"$native" completion bash >"$work/bash"
"$native" completion zsh >"$work/zsh"
"$native" completion fish >"$work/fish"

install -D -m 755 "$binary" "$prefix/bin/rdmactl"
install -d -m 755 "$prefix/share/man/man1"
install -m 644 "$work"/man/*.1 "$prefix/share/man/man1"
install -D -m 644 "$work/bash" "$prefix/share/bash-completion/completions/rdmactl"
install -D -m 644 "$work/zsh" "$prefix/share/zsh/site-functions/_rdmactl"
install -D -m 644 "$work/fish" "$prefix/share/fish/vendor_completions.d/rdmactl.fish"
echo "installed rdmactl, $(find "$work/man" -name '*.1' | wc -l) manual pages and completions for bash, zsh and fish in $prefix"
