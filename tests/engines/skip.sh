# SPDX-License-Identifier: Apache-2.0
# Sourced: ends the test as skipped where the module could not be built.
if [ -z "$BUILD" ] || [ ! -e "$BUILD/pg_culprit.so" ]; then
	echo "skipped: PostgreSQL 15's headers are missing (cmake/setup.sh engines), or this is an instrumented build"
	exit 77
fi
