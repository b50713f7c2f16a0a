#!/bin/sh
# Installs git-empirica @VERSION@: the program, its manual pages and completions. No other file is changed.
#
# usage: install.sh [--prefix DIR]     DIR is ~/.local by default; the program is DIR/bin/git-empirica
#
# The archive is downloaded from EMPIRICA_RELEASE, by default the release that this script belongs to, and must have the checksum below.
set -eu
release=${EMPIRICA_RELEASE:-@URL@}

# everything is in a function: a script that arrives only in part does nothing
main() {
	# for all users of the prefix, whatever the umask is
	umask 022
	prefix=${HOME:+$HOME/.local}
	while [ $# -gt 0 ]; do
		case $1 in
		--prefix) [ $# -gt 1 ] || fail 'cannot read --prefix: it needs a folder' && prefix=$2 && shift ;;
		--prefix=*) prefix=${1#*=} ;;
		-h | --help) echo 'usage: install.sh [--prefix DIR]' && exit 0 ;;
		*) fail "cannot read '$1': use --prefix DIR" ;;
		esac
		shift
	done
	[ -n "$prefix" ] || fail 'cannot choose a folder: HOME is not set; use --prefix DIR'
	case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
	system=$(uname -s)-$(uname -m)
	case $system in
	Linux-x86_64 | Linux-amd64) target=x86_64-unknown-linux-musl ;;
	Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-musl ;;
	Darwin-x86_64) target=x86_64-apple-darwin ;;
	Darwin-arm64) target=aarch64-apple-darwin ;;
	*) target= ;;
	esac
	case $target in
@CASES@
	*) fail "cannot install for $system: this release has no program for it; build it with cargo" ;;
	esac
	name=git-empirica-@VERSION@-$target
	folder=$(mktemp -d)
	trap 'rm -rf "$folder"' EXIT
	trap 'exit 1' HUP INT TERM
	download "$release/$name.tar.gz" "$folder/archive"
	command -v sha256sum >/dev/null 2>&1 || command -v shasum >/dev/null 2>&1 || fail "cannot verify $name.tar.gz: neither sha256sum nor shasum is on PATH"
	found=$(digest "$folder/archive")
	[ "$found" = "$wanted" ] || fail "cannot trust $name.tar.gz: its SHA-256 is $found, not $wanted"
	tar -xzf "$folder/archive" -C "$folder"
	(cd "$folder/$name" && find bin share -type f) | while read -r file; do
		mkdir -p "$prefix/$(dirname "$file")"
		# a program that runs is replaced, not overwritten
		cp "$folder/$name/$file" "$prefix/$file.new" && mv -f "$prefix/$file.new" "$prefix/$file" || fail "cannot write $prefix/$file"
	done
	"$prefix/bin/git-empirica" --version >/dev/null || fail "cannot run $prefix/bin/git-empirica"
	echo "Installed git-empirica @VERSION@ in $prefix."
	case :$PATH: in
	*:"$prefix/bin":*) echo 'Try it: git empirica demo' ;;
	*) echo "Add $prefix/bin to PATH, then try it: git empirica demo" ;;
	esac
}

fail() {
	printf 'error: %s\n' "$1" >&2
	exit 1
}

download() {
	if command -v curl >/dev/null 2>&1; then
		curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" || fail "cannot download $1"
	elif command -v wget >/dev/null 2>&1; then
		wget -q -O "$2" "$1" || fail "cannot download $1"
	else
		fail "cannot download $1: neither curl nor wget is on PATH"
	fi
}

digest() {
	if command -v sha256sum >/dev/null 2>&1; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

main "$@"
