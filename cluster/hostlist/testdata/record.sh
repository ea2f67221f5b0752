#!/bin/bash
# Records how Slurm, pdsh and ClusterShell expand lists of hosts, and how Slurm and ClusterShell fold
# them, into expand.txt and fold.txt beside this script. Debian 12 has the tools in slurm-client, pdsh
# and clustershell; no daemon is needed.
#
# Fields are separated by tabs: in expand.txt the list and the names of scontrol show hostnames, of
# pdsh -Q -w and of nodeset -e, in fold.txt the names and the output of scontrol show hostlist and of
# nodeset -f. Instead of names, ! means that the tool rejects the list. ClusterShell's names are
# sorted and have no duplicates. As Slurm's exit code is 0 in any case, its messages are looked for.
set -uo pipefail
cd "$(dirname "$0")" || exit
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export SLURM_CONF=$tmp/slurm.conf LC_ALL=C.UTF-8
printf '%s\n' ClusterName=x SlurmctldHost=localhost 'NodeName=localhost' 'PartitionName=p Nodes=localhost' >"$SLURM_CONF"

# random N SEED: lists in the syntax of all tools, and some with mistakes
random() {
  awk -v n="$1" -v seed="$2" '
  function r(k) { return int(rand() * k) }
  function number(w, v) { return sprintf("%0" w "d", v) }
  function range(  w, low, high) {
    w = 1 + r(3); low = r(120); high = low + r(5)
    if (r(4) == 0) return number(w, low)
    if (r(25) == 0) { high = low; low += 1 + r(3) }
    return number(w, low) "-" number(r(20) ? w : 1 + r(4), high)
  }
  function group(  s, k) { s = range(); for (k = r(3); k > 0; k--) s = s "," range(); return "[" s "]" }
  function element(  s) {
    s = word[r(words)]
    if (r(6)) { s = s group(); if (!r(5)) s = s word[r(words)] group(); if (!r(6)) s = s suffix[r(suffixes)] }
    else if (r(2)) s = s r(200)
    return s
  }
  function spoil(s,  i) {
    i = 1 + r(length(s))
    return substr(s, 1, i - 1) substr("[]-,,--0o1 x", 1 + r(12), r(2)) substr(s, i + r(2))
  }
  BEGIN {
    srand(seed)
    words = split("gpu node- n rack1n dgx login a.b gpu_ c0-", w0, " "); for (i = 1; i <= words; i++) word[i - 1] = w0[i]
    suffixes = split("-ib0 .cluster x -eth1.example.org", s0, " "); for (i = 1; i <= suffixes; i++) suffix[i - 1] = s0[i]
    while (made < n) {
      s = element(); for (k = r(3); k > 0; k--) s = s "," element()
      if (!r(4)) s = spoil(s)
      if (s !~ /^[-\/^]|[,]-/ && s != "" && length(s) < 50) { print s; made++ }
    }
  }'
}

lists() {
  cat lists.txt
  random 400 7
}

slurm() { # the names, or !
  local out
  out=$(scontrol show hostnames "$1" 2>&1 | paste -sd' ')
  case $out in *nvalid* | *'Too many'* | '') echo '!' ;; *) echo "$out" ;; esac
}

pdshnames() {
  local out
  if out=$(pdsh -R exec -Q -w "$1" 2>&1); then tail -1 <<<"$out" | tr ',' ' '; else echo '!'; fi
}

nodes() { nodeset -e -- "$1" 2>/dev/null || echo '!'; }

# one LIST: print its line, unless a tool expands it to very many names
one() {
  local s p c
  s=$(slurm "$1") p=$(pdshnames "$1") c=$(nodes "$1")
  [ $((${#s} + ${#p} + ${#c})) -gt 2500 ] || printf '%s\t%s\t%s\t%s\n' "$1" "$s" "$p" "$c"
}

versions() {
  echo "# $(scontrol --version), $(pdsh -V | head -1 | cut -d' ' -f1), $(nodeset --version | sed 's/nodeset/ClusterShell/'); recorded by record.sh"
}

{
  versions
  lists | awk '!seen[$0]++' | while IFS= read -r list; do one "$list"; done
} >expand.txt

# The names that Slurm made of the lists, as they are and with neighbours exchanged
{
  versions
  {
    cat folds.txt
    awk -F'\t' '!/^#/ && $2 != "!" && $2 !~ /[^-._a-z0-9 ]|(^| )-/ && length($2) < 400 {
      gsub(" ", ",", $2); print $2
      n = split($2, x, ","); if (n > 3 && NR % 3 == 0) {
        t = x[2]; x[2] = x[3]; x[3] = t; s = x[1]; for (i = 2; i <= n; i++) s = s "," x[i]; print s
      }
    }' expand.txt | awk 'NR % 2'
  } | awk '!seen[$0]++' | while IFS= read -r names; do
    printf '%s\t%s\t%s\n' "$names" "$(scontrol show hostlist "$names")" "$(nodeset -f "$names")"
  done
} >fold.txt
