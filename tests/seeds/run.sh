#!/bin/sh
# run.sh [NAME] - the features of the five documents that dimscope grew from, each with its command and
# what it must print; those whose file or title contains NAME. See README.md.
cd "$(dirname "$0")/../.." || exit 1
exec python3 tests/seeds/cases.py ${1:+"$1"}
