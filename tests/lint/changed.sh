#!/bin/sh
# changed.sh - prints the C files that a submission changed, those of the latest commit first; exit 1
# if that is not known.
#
# Changed is what differs from where this branch left the main one; on the main branch itself, or
# without one, from ten commits ago, or from the oldest commit of a shallow clone.
git rev-parse --verify -q HEAD >/dev/null || exit 1
head=$(git rev-parse HEAD)
base=
for main in origin/HEAD origin/main origin/master main master; do
    base=$(git merge-base "$main" HEAD 2>/dev/null) || continue
    [ "$base" = "$head" ] || break
    base=
done
[ -n "$base" ] || base=$(git rev-list --first-parent --max-count=11 HEAD | tail -n 1)
[ "$base" != "$head" ] || exit 1
{ git diff --name-only HEAD; git log --name-only --format= "$base..HEAD"; } |
    grep -E '^(core|tui|viz|scripts|tests)/.*[.][ch]$' | awk '!seen[$0]++' |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done
exit 0
