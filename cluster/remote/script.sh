# What a host runs: sh -c 'THIS', with comments and line ends removed. It must survive any login
# shell, so it has no single quote, backslash or exclamation mark, and every line ends with what the
# grammar allows before a blank. @MARK@ is a random word that begins each line of the dialog:
#
#   > MARK hello 1 | system Linux | machine x86_64 | loader /lib64/ld-linux-x86-64.so.2 | ask
#   < copy SHA256 SIZE              or: path, and a line with a file
#   > MARK need gzip | need plain   only if it isn't there
#   < LENGTH, and as many bytes     nothing follows before the answer: some heads read ahead
#   > MARK ready OUTPUT-OF-VERSION
#   < start COUNT, and as many lines with an argument each
#   > MARK start                    then the streams belong to the program
#
# A failure is "MARK fail STEP TEXT"; after that of a program that does not run ("run"), the leader
# may ask for another one. The script ends when its standard input does.
m=@MARK@;
say() { printf %s "$m $*"; echo; };
fail() { say fail "$@"; };
sum() { command -v sha256sum >/dev/null 2>&1 || return 0; s=$(sha256sum <"$1"); [ "${s%% *}" = "$hash" ]; };
good() { [ -f "$1" ] && [ -O "$1" ] && [ $(($(wc -c <"$1"))) -eq "$size" ] && sum "$1"; };
folder() {
  case ${XDG_CACHE_HOME:-} in
    /*) d=$XDG_CACHE_HOME ;;
    *) case ${HOME:-} in /*) d=$HOME/.cache ;; *) fail cache "HOME is not set"; return 1 ;; esac ;;
  esac;
  d=$d/rdmakit;
  e=$( { LC_ALL=C; export LC_ALL; umask 077; mkdir -p "$d"; } 2>&1) || { fail cache $e; return 1; };
  [ -O "$d" ] || { fail cache "$d belongs to another user"; return 1; };
  chmod go-w "$d";
};
unpack() { if [ $z = gzip ]; then gzip -dc; else cat; fi; };
receive() {
  t=$f.$m;
  e=$( { LC_ALL=C; export LC_ALL; umask 077; true >"$t"; } 2>&1) || { fail cache $e; return 1; };
  z=plain; if command -v gzip >/dev/null 2>&1; then z=gzip; fi;
  say need $z;
  read -r n || exit 4;
  e=$( { LC_ALL=C; export LC_ALL; { head -c "$n" | unpack; } >"$t"; } 2>&1);
  if good "$t" 2>/dev/null; then
    e=$( { LC_ALL=C; export LC_ALL; chmod 700 "$t" && mv -f "$t" "$f"; } 2>&1) && return 0;
  fi;
  k=$(($(wc -c <"$t")));
  rm -f "$t";
  fail copy "$k of $size bytes written" $e;
  exit 5;
};
copy() {
  folder || return 1;
  f=$d/rdmactl-$hash;
  if good "$f" 2>/dev/null; then chmod 700 "$f"; touch "$f"; return 0; fi;
  receive || return 1;
  find "$d" -type f -name "rdmactl-*" -mtime +30 -exec rm -f {} + 2>/dev/null;
  return 0;
};
probe() {
  v=$( { LC_ALL=C; export LC_ALL; "$f" version </dev/null; } 2>&1); r=$?;
  if [ $r -eq 0 ]; then say ready $v; else fail run $r $v; fi;
};
say hello 1;
say system $(uname -s);
say machine $(uname -m);
for l in /lib/ld-* /lib64/ld-*; do [ -e "$l" ] && say loader "$l"; done;
set -f;
say ask;
while read -r verb hash size; do
  case $verb in
    copy) if copy; then probe; fi ;;
    path) IFS= read -r f || exit 4; probe ;;
    start)
      set --;
      while [ $# -lt "$hash" ]; do IFS= read -r a || exit 4; set -- "$@" "$a"; done;
      set +f;
      say start;
      exec "$f" "$@" ;;
    *) exit 4 ;;
  esac;
done
