#!/bin/sh
# lengths.sh FILE... - files have at most 700 lines, functions at most 70, no TODO is left, each
# header's guard is its path in capitals, and no file defines a type of a name that another header
# has.
failed=0
wc -l "$@" | awk '$2 != "total" && $1 > 700 { print $2 ": " $1 " lines, more than 700"; bad = 1 }
    END { exit bad }' || failed=1
ctags --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne --sort=no -o - "$@" | awk -F'\t' '
    { first = last = 0
      for (i = 4; i <= NF; i++) {
          if ($i ~ /^line:/) first = substr($i, 6)
          if ($i ~ /^end:/) last = substr($i, 5)
      }
      n = last - first + 1
      if (last > 0 && n > 70) { print $2 ":" first ": " $1 "() has " n " lines, more than 70"; bad = 1 } }
    END { exit bad }' || failed=1
if grep -nE '\b(TODO|FIXME|XXX)\b' "$@"; then
    failed=1
fi
headers=$(echo "$@" | tr ' ' '\n' | grep '[.]h$')
[ -z "$headers" ] || ctags --languages=C --langmap=C:.c.h --kinds-C=t --fields=+t --sort=no -o - "$@" | awk -F'\t' '
    $2 ~ /[.]c$/ { if (!index($0, "typeref:struct:" $1)) in_source[$1] = in_source[$1] " " $2; next }
    { all[$1] }
    $0 ~ "typeref:(struct|union):" $1 "$" { declared[$1] = declared[$1] " " $2; next }
    { defined[$1] = defined[$1] " " $2; n[$1]++ }
    END { for (name in all)
              if (n[name] > 1 || ((name in defined) + (name in declared) + (name in in_source)) > 1) {
                  print name ": a type of this name is defined by" defined[name] declared[name] in_source[name]
                  bad = 1 }
          exit bad }' || failed=1
for header in $headers; do
    guard=$(echo "$header" | tr 'a-z/.' 'A-Z__')
    grep -qx "#ifndef $guard" "$header" || { echo "$header: its guard is not $guard"; failed=1; }
done
exit $failed
