#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed works: the programs run, and a host builds against the library by pkg-config, shared and static, and
# by CMake; with functions of its own that have names the library uses inside.
# usage: install.sh CMAKE CC BUILD-DIR SOURCE-DIR
set -eu
cmake=$1 cc=$2 build=$3 source=$4
case $cc in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$cmake --install "$build" --component library --prefix "$work/usr" >"$work/install.log"
pc=$(find "$work/usr" -name libcancel.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH="$(dirname "$pc")"
pkg-config --exists --print-errors libcancel
# Every page about a program comes with the program.
$cmake --install "$build" --component programs --prefix "$work/usr" >"$work/install.log"
for page in demo-db cancel-bench cancel-sim $(find "$work/usr" -name '*.1' -exec basename {} .1 ';'); do
	"$work/usr/bin/$page" --help >"$work/help"
done
# The headers by themselves, as C and as C++, with the calls and without.
includes=$(pkg-config --cflags libcancel)
for header in $(cd "$work/usr/include" && ls cancel/*.h | grep -v off.h); do
	for off in '' -DCANCEL_OFF; do
		echo "#include <$header>" >"$work/one.c"
		$cc -std=c17 -Wall -Wextra -Wpedantic -Werror $off $includes -fsyntax-only "$work/one.c"
		$cxx -x c++ -std=c++17 -Wall -Wextra -Werror $off $includes -fsyntax-only "$work/one.c"
	done
done
# shellcheck disable=SC2046
$cc -std=c17 -Wall -Wextra -Werror $(pkg-config --cflags libcancel) "$source/host.c" -o "$work/shared" \
	$(pkg-config --libs libcancel) "-Wl,-rpath,$libdir"
"$work/shared"
# shellcheck disable=SC2046
$cc -std=c17 $(pkg-config --cflags libcancel) "$source/host.c" -o "$work/static" \
	"$libdir/libcancel.a" $(pkg-config --static --libs-only-other libcancel) -lunwind -ldl
"$work/static"
mkdir "$work/cmake"
cp "$source/host.c" "$work/cmake/"
cat >"$work/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(host C)
find_package(cancel 0.1 REQUIRED)
add_executable(with_shared host.c)
target_link_libraries(with_shared cancel::cancel)
add_executable(with_static host.c)
target_link_libraries(with_static cancel::static)
END
$cmake -S "$work/cmake" -B "$work/cmake/build" -DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_C_COMPILER="$cc" \
	>"$work/configure.log"
$cmake --build "$work/cmake/build" >"$work/build.log"
"$work/cmake/build/with_shared"
"$work/cmake/build/with_static"
