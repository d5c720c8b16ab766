#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The library alone is built and installed in the ways packagers do it, and a host builds and runs against each: an
# installed tree of Debian's shape, an absolute include folder, make instead of ninja, link-time optimization, and a
# host linked with nothing shared. C++ hosts hear no warning from the headers.
# usage: hosts.sh CMAKE CC SOURCE-DIR
set -eu
cmake=$1 cc=$2 source=$3
case $cc in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
here=$source/tests/tidy
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# quietly COMMAND …: what it said is shown when it fails.
quietly() {
	"$@" >"$work/log" 2>&1 || {
		tail -20 "$work/log" >&2
		echo "failed: $*" >&2
		exit 1
	}
}

# installed NAME FLAGS [SETTING …]: builds the library with these compiler flags and settings, and installs it.
installed() {
	name=$1 flags=$2
	shift 2
	CFLAGS=$flags quietly $cmake -S "$source" -B "$work/$name/build" -DCMAKE_C_COMPILER="$cc" -DBUILD_TESTING=OFF \
		-DCMAKE_INSTALL_PREFIX="$work/$name/usr" "$@"
	quietly $cmake --build "$work/$name/build" -j 8 --target cancel_packed --target cancel_dynamic
	if command -v scdoc >"$work/log"; then
		quietly $cmake --build "$work/$name/build" --target man
	fi
	quietly $cmake --install "$work/$name/build" --component library
	pc=$(find "$work/$name/usr" -name libcancel.pc)
	libdir=$(dirname "$(dirname "$pc")")
	PKG_CONFIG_PATH=$(dirname "$pc")
	export PKG_CONFIG_PATH
}

# host WAY FLAG …: a host with these flags builds without a warning and runs; pkg-config says the rest.
host() {
	way=$1
	shift
	# shellcheck disable=SC2046
	quietly $cc -std=c17 -Wall -Wextra -Werror "$@" $(pkg-config --cflags libcancel) "$here/host.c" -o "$work/host" \
		$(pkg-config $way --libs libcancel) "-Wl,-rpath,$libdir"
	quietly "$work/host"
}

# archive_host FLAG …: the same, with the static library and everything else shared.
archive_host() {
	# shellcheck disable=SC2046
	quietly $cc -std=c17 "$@" $(pkg-config --cflags libcancel) "$here/host.c" -o "$work/host" \
		"$libdir/libcancel.a" $(pkg-config --static --libs libcancel | sed 's/-lcancel//')
	quietly "$work/host"
}

# by_cmake NAME: a project in C and one in C++ find the package and link it both ways.
by_cmake() {
	mkdir "$work/$1/host"
	cp "$here/host.c" "$work/$1/host/"
	cat >"$work/$1/host/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(host C)
find_package(cancel 0.1 REQUIRED)
foreach(way cancel static)
	add_executable(with_${way} host.c)
	target_link_libraries(with_${way} cancel::${way})
endforeach()
END
	quietly $cmake -S "$work/$1/host" -B "$work/$1/host/build" -DCMAKE_PREFIX_PATH="$work/$1/usr" -DCMAKE_C_COMPILER="$cc"
	quietly $cmake --build "$work/$1/host/build"
	quietly "$work/$1/host/build/with_cancel"
	quietly "$work/$1/host/build/with_static"
}

installed multiarch '' -G 'Unix Makefiles' -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu \
	-DCMAKE_INSTALL_INCLUDEDIR="$work/elsewhere/include"
host ''
host --static -static
archive_host
by_cmake multiarch
for header in $(cd "$source/include" && ls cancel/*.h cancel/*/*.h | grep -v off.h); do
	for off in '' -DCANCEL_OFF; do
		echo "#include <$header>" >"$work/one.cc"
		# shellcheck disable=SC2046
		quietly $cxx -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror $off \
			$(pkg-config --cflags libcancel) -fsyntax-only "$work/one.cc"
	done
done

installed optimized -flto=auto -DCMAKE_INSTALL_LIBDIR=lib
mv "$work/optimized" "$work/moved"
libdir=$(echo "$libdir" | sed 's|/optimized/|/moved/|')
PKG_CONFIG_PATH=$libdir/pkgconfig
host '' -flto=auto
archive_host -flto=auto
by_cmake moved
