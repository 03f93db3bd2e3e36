# What the test scripts share: `ok N - text` lines. They run with the environment `make test` and `make check` set.
: "${TESSERA_LIB:?run this through make check or make test}"
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd); top=$(cd "$here/../.." && pwd)
mkdir -p "$TESSERA_BUILD"; tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
number=0; failures=0
ok()     { echo "ok $((++number)) - $*"; }
notok()  { echo "not ok $((++number)) - $*"; failures=$((failures + 1)); }
skip()   { echo "ok $((++number)) - $1 # SKIP $2"; }
finish() { echo "1..$number"; [ $failures = 0 ]; exit; }

# What a program said, without PETSc's page of configure options.
show()   { grep -v 'Configure options' "$tmp/log" | tail -n 60 | sed 's/^/# /'; }

# try TEXT COMMAND...: ok if the command succeeds; its last line, or all of it after a failure, is shown.
try() {
  local text=$1; shift
  if "$@" >"$tmp/log" 2>&1; then local last; last=$(tail -n 1 "$tmp/log"); ok "$text${last:+: $last}"; else notok "$text"; show; fi
}
# message TEXT PATTERN COMMAND...: ok if the command fails and its output has the pattern.
message() {
  local text=$1 pattern=$2; shift 2
  if "$@" >"$tmp/log" 2>&1; then notok "$text (it was accepted)"; show
  elif grep -Eq -- "$pattern" "$tmp/log"; then ok "$text: $(grep -Eom1 -- "$pattern" "$tmp/log")"
  else notok "$text (no such message: $pattern)"; show; fi
}
# compile SOURCE.c: prints the path of the program.
compile() {
  local program; program=$TESSERA_BUILD/$(basename "$1" .c)
  $CC -O2 -Wall $PETSC_CFLAGS "$1" $PETSC_LIBS -lm -o "$program" && echo "$program"
}
