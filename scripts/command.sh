# Sourced by commands: `build FILE` sets up what is missing and writes the fedkit command to FILE.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

build() {
	local file=$1
	case $file in
	/*) ;;
	*) file=$PWD/$file ;;
	esac
	setup
	lock # commands may be started side by side; Go leaves a program alone that is up to date
	(cd "$root" && go build -buildvcs=auto -ldflags=-s -o "$file" ./fedkit/cmd/fedkit) || die "the fedkit command cannot be built"
	exec 9>&-
}
