#!/bin/sh
# exported.sh OBJECT... - a function or table that no other object of the program uses is static,
# unless tests/lint/exported.txt lists it with the reason.
list=$(dirname "$0")/exported.txt
nm -A -g "$@" | awk -v list="$list" '
BEGIN {
    while ((getline line < list) > 0)
        if (line !~ /^#/ && split(line, word) > 0) listed[word[1]] = 1
}
{ object = $1; sub(/:.*/, "", object) }
NF == 3 && $2 ~ /[Uw]/ { used[$3] = 1 }
NF == 3 && $2 !~ /[Uw]/ { owner[$3] = object }
END {
    for (symbol in owner)
        if (!(symbol in used) && !(symbol in listed)) {
            print owner[symbol] ": " symbol " is used in no other object: make it static, or give the reason in " list
            failed = 1
        }
    for (symbol in listed)
        if (!(symbol in owner) || symbol in used) {
            print list ": " symbol " is not exported, or used by the program: remove the line"
            failed = 1
        }
    exit failed
}'
