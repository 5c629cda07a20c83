#!/bin/sh
# map.sh HEADER... - the index of headers: per folder each header and what it is, from its first line
# "/* name.h - what it is." (or the sentence that begins there).
for header; do
    awk -v name="${header##*/}" -v folder="${header%/*}" '
        NR == 1 && index($0, "/* " name " - ") != 1 { print folder "\t" name "\t"; exit }
        { line = $0; sub(/^(\/\*| \*) ?/, "", line)
          if (line == "" || line == "/") { exit }
          ends = sub(/ *\*\/.*$/, "", line)
          text = text (text == "" ? "" : " ") line
          if (ends || text ~ /[.]( |$)/) exit }
        END { if (text != "") { sub(/^[^ ]+ - /, "", text); sub(/[.] .*/, ".", text); print folder "\t" name "\t" text } }' "$header"
done | sort | awk -F'\t' '
    $1 != folder { folder = $1; print (NR > 1 ? "\n" : "") folder }
    { printf "    %-24s %s\n", $2, $3 }'
