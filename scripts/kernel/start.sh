#!/usr/bin/env bash
# Starts GoNB so that cells can import fedkit, at the versions in go.mod, with nothing to set up in the notebook.
set -euo pipefail

own=$(cd -P "$(dirname "$0")/../.." && pwd) # the checkout this kernel belongs to
root=${FEDKIT_ROOT:-$own}
work=$root

command -v go >/dev/null || { echo "the fedkit kernel needs Go (https://go.dev/dl): no 'go' on PATH" >&2; exit 1; }
# A notebook in a Go module sees that module: another checkout of fedkit replaces this one, any other module is added to it.
module=$(GOWORK=off go env GOMOD)
case $module in
"$root"/go.mod | /dev/null | "") ;;
*/go.mod)
	if grep -q '^module fedkit\.example$' "$module"; then work=${module%/go.mod}; else work=$root,${module%/go.mod}; fi
	;;
esac

# What stands in for go shows a cell's last line and adds hints to the compiler's messages; see fedkit/cmd/cell.
FEDKIT_GO=${FEDKIT_GO:-$(command -v go)} # a kernel that a cell starts finds the stand-in first
export FEDKIT_GO PATH="$own/scripts/kernel:$own/.venv/cell:$own/.venv/bin:$PATH"
for tool in gonb "$own"/.venv/{bin/goimports,cell/go}; do
	command -v "$tool" >/dev/null || { echo "the fedkit kernel is not set up: run $own/scripts/lab once" >&2; exit 1; }
done
# GoNB goes on without help, and says nothing.
if ! gopls version >/dev/null 2>&1; then
	echo "no completion and no contextual help in this notebook: gopls does not start; run $own/scripts/lab setup" >&2
fi

export FEDKIT_PYTHON=${FEDKIT_PYTHON:-$own/.venv/python/bin/python} # draws what Figure.Save writes as .png and .svg
unset GOWORK # GoNB makes its own workspace
export GOPROXY=${FEDKIT_GOPROXY:-off} # cells use what is installed, and fetch nothing
export CGO_ENABLED=1 GOMLX_NO_AUTO_INSTALL=1 TF_CPP_MIN_LOG_LEVEL=${TF_CPP_MIN_LOG_LEVEL:-2}
# Without symbols a cell links in half the time. Setup has found out which linker works.
ldflags=${FEDKIT_LDFLAGS:-$(cat "$own/.venv/cell-ldflags" 2>/dev/null || echo -s)}
# shellcheck disable=SC2089 # the quotes are for go to read
GOFLAGS="$(go env GOFLAGS) '-ldflags=$ldflags'"
# shellcheck disable=SC2090
export GOFLAGS

exec "$own/scripts/malloc" gonb --kernel "$1" -logtostderr=false -stderrthreshold=FATAL -log_file=/dev/null -raw_error -go_work="$work"
