#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The module shows PostgreSQL what it looks up and nothing of libcancel; what it takes from outside is not libcancel's.
# usage: symbols.sh BUILD-FOLDER NM
set -eu
BUILD=$1 nm=$2
. "$(dirname "$0")/skip.sh"
shown=$("$nm" -D --defined-only "$BUILD/pg_culprit.so" | awk '{ print $3 }')
[ -n "$shown" ] || { echo "no symbols read" >&2; exit 1; }
wrong=$(echo "$shown" | grep -vE '^(_PG_init|Pg_magic_func|(pg_finfo_)?pg_culprit_(decisions|tasks|status|cancel)|pg_culprit_worker_main)$' || true)
[ -z "$wrong" ] || { echo "shown, but nobody's business: $wrong" >&2; exit 1; }
wrong=$("$nm" -D --undefined-only "$BUILD/pg_culprit.so" | grep -E ' (cancel|pg_culprit)_' || true)
[ -z "$wrong" ] || { echo "missing: $wrong" >&2; exit 1; }
