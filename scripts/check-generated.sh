#!/usr/bin/env bash
# check-generated.sh: fail if `make generate` changes anything. It compares the state before and
# after, so it also works in a tree with local changes.
set -euo pipefail
state() {
  git status --porcelain=v1 --untracked-files=all
  { git diff HEAD --binary || git diff --binary; } 2>/dev/null
  git ls-files --others --exclude-standard -z | xargs -0r sha256sum
}
before=$(state)
make --no-print-directory generate
after=$(state)
if [ "$before" != "$after" ]; then
  diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") || true
  echo "generated files are stale: run 'make generate' and commit the result" >&2
  exit 1
fi
