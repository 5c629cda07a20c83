#!/bin/sh
# needs_peers.sh NAME.. - the unit tests that include the room of one of these systems, or of all.
cd "$(dirname "$0")/unit" || exit 1
names=$(echo "$*" | tr ' ' '|')
pattern="peers/($names)[/.]|core/peers/propagators[.]h"
shared=$(grep -lE "$pattern" ./*.h | sed 's,^./,,' | tr '\n' '|')
grep -lE "$pattern|\"tests/unit/(${shared}none)\"" test_*.c | sed 's,^,tests/unit/,'
