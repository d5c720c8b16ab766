#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of packages.txt that are missing; names them when it may not.
# usage: cmake/setup.sh build|check|engines|drivers
set -eu
kind=${1:-build}
list=$(dirname "$0")/packages.txt
wanted=$(awk -v kind="$kind" '$1 == "build" || $1 == kind { print $2 }' "$list")
missing=
for package in $wanted; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -eq 0 ]; then
	as_root=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
	as_root=sudo
else
	echo "missing Debian packages:$missing" >&2
	echo "install them with: apt-get install$missing" >&2
	exit 2
fi
echo "installing:$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
