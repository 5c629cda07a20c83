#!/bin/sh
# run.sh - checks the documents: each file or folder that README.md and ARCHITECTURE.md name in
# backticks exists, each header starts with its name and one sentence (`make map` prints them), and
# the examples of README.md, of the pages under samples/ (pages.py) and of the help (help.py) do what
# these say.
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0

check()
{
    if [ "$1" = yes ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$2"
    fi
}

for page in README.md ARCHITECTURE.md samples/README.md samples/tutorial/*.md; do
    for path in $(grep -oE '`(core|tui|viz|scripts|samples|tests)/[A-Za-z0-9_./-]+`' "$page" | tr -d '`' | sort -u); do
        there=no
        [ -e "$path" ] && there=yes
        check $there "$page names $path, which is not there"
    done
done
for header in $(find core tui viz scripts -name '*.h'); do
    named=no
    head -n 1 "$header" | grep -q "^/[*] ${header##*/} - [^ ]" && named=yes
    check $named "$header does not begin with \"/* ${header##*/} - what it is.\""
done
lines=$(wc -l <ARCHITECTURE.md)
short=no
[ "$lines" -le 170 ] && short=yes
check $short "ARCHITECTURE.md has $lines lines, more than 170"

pages=$(python3 tests/docs/pages.py README.md samples/README.md samples/tutorial/*.md)
help=$(python3 tests/docs/help.py)
for said in "$pages" "$help"; do
    echo "$said" | sed '$d'
    set -- $(echo "$said" | tail -n 1 | tr -d ,)
    passed=$((passed + ${1:-0}))
    failed=$((failed + ${3:-1}))
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
