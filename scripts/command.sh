# Sourced by fedkit, study and worker: `build FILE` sets up what is missing and writes the fedkit command to FILE, and `build FOLDER/ PACKAGE…`
# commands to a folder.
# shellcheck shell=bash
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

build() {
	local file=$1
	shift
	[ $# != 0 ] || set -- ./fedkit/cmd/fedkit
	case $file in
	/*) ;;
	*) file=$PWD/$file ;;
	esac
	setup
	lock # tasks may be started side by side; Go leaves a program alone that is up to date
	(cd "$root" && go build -buildvcs=auto -ldflags=-s -o "$file" "$@") || die "the fedkit command cannot be built"
	exec 9>&-
}
