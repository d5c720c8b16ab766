#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where cmocka is missing, the project configures without tests and says what to install; a run of the tests fails.
# usage: without_cmocka.sh CMAKE CTEST SOURCE-DIR
set -eu
cmake=$1 ctest=$2 source=$3
real=$(command -v pkg-config)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/pkg-config" <<END
#!/bin/sh
case "\$*" in
*cmocka*) exit 1 ;;
esac
exec "$real" "\$@"
END
chmod +x "$work/pkg-config"
fail() {
	echo "$1" >&2
	cat "$work/log" >&2
	exit 1
}
$cmake -S "$source" -B "$work/build" -G Ninja -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" >"$work/log" 2>&1 ||
	fail "it does not configure"
grep -q '^The tests are not built, .*cmake/setup.sh check .*libcmocka-dev' "$work/log" || fail "it does not say what to install"
if grep -E 'CMake (Error|Warning)' "$work/log" >&2; then
	fail "it complains"
fi
if (cd "$work/build" && $ctest --no-tests=error) >"$work/log" 2>&1; then
	fail "a run of no tests passes"
fi
