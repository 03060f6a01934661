# Sourced by lab, test and bench. It sets $root and $tools; `setup` installs everything that is missing, and `setup tests` also
# what only tests need.
# All of it goes into .venv (ignored by git), the Go caches and go-xla's plugin folder. An interrupted setup resumes: each
# step leaves a stamp of its inputs only when it has succeeded.
# shellcheck shell=bash

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tools=$root/.venv
python=$tools/python/bin/python

say() { printf '%s\n' "$*" >&2; }
die() {
	say "fedkit: $*"
	[ -z "${ticker:-}" ] || kill "$ticker" 2>/dev/null || :
	jobs -p | while read -r pid; do kill "$pid" 2>/dev/null || :; done
	exit 1
}

# --- what the machine must have ---------------------------------------------------------------------------------------

# refuses FOLDER is silent if a megabyte can be written there, and else says why not.
refuses() {
	local said
	# shellcheck disable=SC2030 # a name for this shell alone
	said=$({ mkdir -p "$1" && room=$(mktemp "$1/.room.XXXXXX") && trap 'rm -f "$room"' EXIT && head -c 1000000 /dev/zero >"$room"; } 2>&1) || printf '%s' "${said##*: }"
}

need_home() {
	local why
	# Go and XLA keep their files under HOME. If the variable is missing, Bash knows the account's home folder.
	[ -n "${HOME:-}" ] || { unset HOME; export HOME=~; }
	why=$(refuses "$HOME")
	[ -z "$why" ] || die "HOME=$HOME cannot be written to ($why); set HOME to a folder that can (Go's caches and the XLA plugin go there)"
}

need_tmp() {
	local dir=${TMPDIR:-/tmp} why try
	why=$({ try=$(mktemp "$dir/.run.XXXXXX") && trap 'rm -f "$try"' EXIT && printf '#!/bin/sh\n' >"$try" && chmod +x "$try" && "$try"; } 2>&1) ||
		die "no program can be run in ${TMPDIR:+TMPDIR=}$dir (${why##*: }), where Go builds cells and tests: it may be mounted noexec; set TMPDIR to another folder"
}

need_tools() {
	local why
	why=$(refuses "$tools")
	[ -z "$why" ] || die "$tools cannot be written to ($why); setup needs a copy of the repository that can, with 1 GB of room"
	mkdir -p "$tools"/{bin,log,stamps,jupyter}
}

# older FOUND WANT compares Go's versions, such as go1.19.8 and 1.26.5.
older() {
	case $1 in go[0-9]*) ;; *) return 1 ;; esac
	awk -v a="${1#go}" -v b="$2" 'BEGIN { split(a, x, /[^0-9]/); split(b, y, /[^0-9]/); for (i = 1; i < 4; i++) if (x[i] + 0 != y[i] + 0) exit (x[i] + 0 > y[i] + 0); exit 1 }'
}

need_go() {
	local want found here
	want=$(awk '$1 == "go" { print $2 }' "$root/go.mod")
	command -v go >/dev/null || die "needs Go $want or newer (https://go.dev/dl); no 'go' on PATH"
	here=$(cd / && GOTOOLCHAIN=local go env GOVERSION) || die "needs Go $want or newer (https://go.dev/dl); the 'go' on PATH does not run"
	if older "$here" "$want"; then # from 1.21 on, Go may fetch newer toolchains by itself
		if older "$here" 1.21 || [ "$(cd / && go env GOTOOLCHAIN)" = local ]; then die "needs Go $want or newer (https://go.dev/dl); found $here"; fi
		say "setting up: Go $want, which $here fetches"
	fi
	found=$(cd "$root" && go env GOVERSION 2>/dev/null) || die "needs Go $want or newer (https://go.dev/dl); found $here, which cannot fetch it"
	go_version=$found
}

need_cc() {
	local cc
	cc=$(cd "$root" && go env CC)
	# shellcheck disable=SC2086 # CC may carry flags
	printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | ${cc:-cc} -x c -fsyntax-only - 2>/dev/null ||
		die "needs a C compiler and the C library's headers (Debian: apt install build-essential; macOS: xcode-select --install); '${cc:-cc}' does not compile"
	export CGO_ENABLED=1
}

need_python() {
	local p v found='' ask='
import sys, importlib.util as u
print("%d.%d.%d" % sys.version_info[:3])
sys.exit(1 if sys.version_info < (3, 10) else 2 if not (u.find_spec("venv") and u.find_spec("ensurepip")) else 0)'
	for p in ${PYTHON:+"$PYTHON"} python3 python3.1{4,3,2,1,0} python; do
		command -v "$p" >/dev/null || continue
		v=$("$p" -c "$ask") && { system_python=$p python_version=$v; return; }
		case $? in
		2) found="$found $p is $v but without venv (Debian: apt install python3-venv);" ;;
		*) found="$found $p is ${v:-broken};" ;;
		esac
	done
	die "needs Python 3.10 or newer with venv; found:${found:- none}"
}

# --- steps and their stamps -------------------------------------------------------------------------------------------

# key FILE… prints one line that changes when a file or stdin does.
key() { cat - "$@" | cksum; }

fresh() { [ "$(cat "$tools/stamps/$1" 2>/dev/null)" = "$2" ]; } # fresh STEP KEY
stamp() { printf '%s\n' "$2" >"$tools/stamps/$1.$$" && mv "$tools/stamps/$1.$$" "$tools/stamps/$1"; }

# doing WHAT says what is set up, and from the first time on every ten seconds what a log says last.
doing() {
	say "setting up: $1"
	[ -z "${ticker:-}" ] || return 0
	while sleep 10 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
		# shellcheck disable=SC2012 # names of steps
		say "  … after $SECONDS s: $(ls -t "$tools/log" | head -n 1 | (read -r log && printf '%s  ' "$log" && tail -n 1 "$tools/log/$log" | cut -c 1-100))"
	done </dev/null 9>&- &
	ticker=$!
	disown
}

# Only one setup at a time. The lock belongs to the open file, so it vanishes with the process, however that ends.
lock() {
	exec 9>"$tools/lock"
	flock9 'fcntl.LOCK_EX | fcntl.LOCK_NB' && return
	say "waiting for another setup of $root"
	flock9 'fcntl.LOCK_EX'
}
flock9() { "$system_python" -c "import fcntl; fcntl.flock(9, $1)" 2>/dev/null; } # flock(1) is not on macOS

install_jupyter() {
	"$python" -m pip install --quiet --no-cache-dir --no-input --disable-pip-version-check -r "$root/scripts/requirements.txt"
	stamp python "$1"
}

# Hundreds of megabytes, so in an environment of its own, which only ./scripts/test makes.
install_packages() {
	"$system_python" -m venv --clear "$tools/test"
	"$tools/test/bin/python" -m pip install --quiet --no-cache-dir --no-input --disable-pip-version-check -r "$root/scripts/requirements-test.txt"
	stamp packages "$1"
}

plugin_name=pjrt_c_api_cpu_v0.104.0_plugin.so # the one go-xla v0.4.0 looks for
plugin_folder() {
	case $(uname -s) in
	Darwin) printf '%s\n' "$HOME/Library/Application Support/go-xla" ;;
	*) printf '%s\n' "$HOME/.local/lib/go-xla" ;;
	esac
}

# GoNB ends at some lines of text, such as those of log.Lshortfile, a program that prints a million lines fills the notebook with them, and
# a failure ends with paths of temporary folders. So it is built from a copy of its sources in which that is mended.
install_gonb() {
	local from to=$tools/gonb file
	(
		set -e
		cd "$root"
		go mod download github.com/janpfeifer/gonb
		from=$(go list -m -f '{{.Dir}}' github.com/janpfeifer/gonb)
		chmod -R u+w "$to" 2>/dev/null || : # left by a setup that was killed
		rm -rf "$to"
		mkdir "$to"
		cp -R "$from"/*.go "$from"/go.* "$from"/{common,gonbui,internal,version} "$to"
		chmod -R u+w "$to"
		for file in goexec/gonberror.go goexec/execcode.go goexec/goplsclient/{conn,exec}.go jpyexec/jpyexec.go kernel/messages.go specialcmd/specialcmd.go; do
			sed -f scripts/gonb/mended.sed "$from/internal/$file" >"$to/internal/$file"
		done
		cp scripts/gonb/{briefly,ending}.go "$to/internal/jpyexec/"
		cp go.mod "$tools/gonb.mod"
		cp go.sum "$tools/gonb.sum"
		go mod edit -replace github.com/janpfeifer/gonb="$to" "$tools/gonb.mod"
		go build -v -modfile="$tools/gonb.mod" -o "$tools/bin/" github.com/janpfeifer/gonb
		go build -v -o "$tools/bin/" golang.org/x/tools/cmd/goimports ./scripts/pjrt
		stamp tools "$1"
	) >"$tools/log/tools" 2>&1
}

# What stands in for go in the kernel: see fedkit/cmd/cell.
install_cell() {
	(cd "$root" && go build -ldflags=-s -o "$tools/cell/go" ./fedkit/cmd/cell) >"$tools/log/cell-go" 2>&1 && stamp stand-in "$1"
}

install_gopls() {
	(cd "$root/scripts/gopls" && go build -v -ldflags=-s -o "$tools/bin/" golang.org/x/tools/gopls) && stamp gopls "$1"
}

# install_plugin tries go-xla's own installer first. If its downloads cannot be reached, it takes a wheel with the same plugin.
install_plugin() {
	local folder sum
	folder=$(plugin_folder)
	rm -f "$folder/$plugin_name" "$folder/$plugin_name.sha256" # a damaged one; who has it open keeps it
	"$tools/bin/pjrt" && [ -s "$folder/$plugin_name" ] && { record_plugin; return; }
	case $(uname -s)-$(uname -m) in
	Linux-x86_64) sum=55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc ;;
	Linux-aarch64 | Linux-arm64) sum=8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9 ;;
	*) say "no XLA plugin: go-xla's installer failed (above), and no wheel is known for $(uname -s) $(uname -m)"; return 1 ;;
	esac
	say "go-xla's release cannot be downloaded; taking the plugin from the wheel xla-cpu-pjrt 0.0.1"
	unpack_wheel xla-cpu-pjrt==0.0.1 "$sum" xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so "$folder/$plugin_name" ||
		{ say "no XLA plugin: neither go-xla's release nor the wheel could be downloaded"; return 1; }
	record_plugin
}
record_plugin() { "$python" "$root/scripts/plugin.py" record "$(plugin_folder)/$plugin_name" "$tools/stamps/plugin"; }

# unpack_wheel PACKAGE SHA256 MEMBER FILE downloads a package, and installs the library that is a member of its wheel.
unpack_wheel() {
	local tmp
	tmp=$(mktemp -d "$tools/plugin.XXXXXX")
	"$python" -m pip download --quiet --no-deps --no-cache-dir --no-input --disable-pip-version-check --only-binary=:all: -d "$tmp" "$1" ||
		{ rm -rf "$tmp"; return 1; }
	mkdir -p "${4%/*}"
	"$python" "$root/scripts/plugin.py" unpack "$(printf '%s\n' "$tmp"/*.whl)" "$2" "$3" "$4" || { rm -rf "$tmp"; return 1; }
	rm -rf "$tmp"
}

# oneDNN computes convolutions, where it can be had; see fedkit/internal/xla/kernels.go.
onednn_name=libdnnl.so.3.2
has_onednn() { [ "$(uname -s)-$(uname -m)" = Linux-x86_64 ]; }
install_onednn() {
	local file
	file=$(plugin_folder)/$onednn_name
	rm -f "$file" "$file.sha256" # as above
	unpack_wheel onednn-cpu-gomp==2023.2.0 2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb \
		"onednn_cpu_gomp-2023.2.0.data/data/lib/$onednn_name" "$file" &&
		"$python" "$root/scripts/plugin.py" record "$file" "$tools/stamps/onednn"
}

# GOMLX_BACKEND=xla:cuda asks for CUDA's plugin too, which go-xla's installer takes if it sees a GPU.
need_cuda() {
	local plugin
	plugin=$(plugin_folder)/nvidia/pjrt_c_api_cuda_plugin.so
	case ${GOMLX_BACKEND:-} in xla:cuda*) ;; *) return 0 ;; esac
	[ ! -e "$plugin" ] && [ -z "${PJRT_PLUGIN_LIBRARY_PATH:-}" ] || return 0
	doing "XLA's CUDA plugin"
	"$tools/bin/pjrt" >"$tools/log/cuda" 2>&1 || failed cuda
	[ -e "$plugin" ] || say "GOMLX_BACKEND=$GOMLX_BACKEND: no CUDA plugin is installed, since go-xla's installer sees no NVIDIA GPU with its driver on Linux x86-64"
}

# Every cell is a program that is compiled and linked again each time. Go's own linker takes two thirds of the time that the
# C compiler's takes, but it may refuse C code. So it is tried here, on a program like every cell. GoNB builds cells in a
# workspace, which needs more of the modules than `go build` in this one. They are fetched here too, with all that GoMLX
# needs, because a kernel fetches nothing.
prepare_cells() {
	local dir
	dir=$(mktemp -d "$tools/cell.XXXXXX")
	(
		set -e
		unset GOWORK
		cd "$dir"
		go mod init cell
		go work init
		go work use . "$root"
		printf 'package main\n\nimport _ "fedkit.example/fedkit"\nimport _ "github.com/janpfeifer/gonb/gonbui"\n\nfunc main() {}\n' >main.go
		go list -e -deps github.com/gomlx/gomlx/core/... github.com/gomlx/gomlx/ml/... github.com/janpfeifer/must >packages
		(cd "$root" && GOWORK=off go list -e -deps -test ./...) >tested || : # notebooks import what only examples do, and cells fetch nothing
		(cd "$root" && GOWORK=off go list -m all) >modules || : # go doc in a cell reads the go.mod files of all of them; cells run without
		if go build -v -ldflags='-s -linkmode=internal' -o cell . && GOMLX_NO_AUTO_INSTALL=1 ./cell; then
			echo '-s -linkmode=internal' >"$tools/cell-ldflags"
		else
			go build -ldflags=-s -o cell .
			echo '-s' >"$tools/cell-ldflags"
		fi
		stamp cell "$1"
	) >"$tools/log/cell" 2>&1
	rm -rf "$dir"
}

# --- all of it --------------------------------------------------------------------------------------------------------

# in_background STEP COMMAND… writes to a log; finished STEP waits for it and shows the log if it failed.
in_background() {
	local step=$1
	shift
	"$@" </dev/null >"$tools/log/$step" 2>&1 &
	printf -v "pid_$step" %s $!
}
finished() {
	local pid=pid_$1
	[ -n "${!pid:-}" ] || return 0
	wait "${!pid}" || failed "$1"
}

# failed STEP ends setup with the cause or, if that is not known, with all that the step has said.
failed() {
	local why log=$tools/log/$1
	why=$(cause "$log")
	[ -n "$why" ] || grep ' ' "$log" >&2 || : # not what was compiled
	die "setup failed: $1${why:+: $why; $log has all of it}"
}

# uncompiled says so and goes on: whoever is changing fedkit wants to see what is wrong in a notebook too.
uncompiled() {
	[ -z "$(cause "$tools/log/fedkit")" ] || failed fedkit
	grep ' ' "$tools/log/fedkit" >&2 || : # not what was compiled
	say "fedkit does not compile (above): cells that import it will not either"
}

# cause LOG names the two causes that no step can help.
cause() {
	if grep -qiE 'no space left|quota exceeded' "$1" || [ -n "$(refuses "$tools")$(refuses "$HOME")$(refuses "${TMPDIR:-/tmp}")" ]; then
		printf '%s' "no space left on the disk of $tools, HOME or ${TMPDIR:-/tmp}"
	elif grep -qiE "name resolution|no such host|could not resolve|network is unreachable|no route to host|connection (refused|timed out|reset)|new connection|proxyconnect|tunnel connection|i/o timeout|timeout exceeded|TLS handshake" "$1"; then
		printf '%s' "no network, and it has to download something once"
	fi
}

setup() {
	local python_key packages_key go_key tools_key cell_key gopls_key
	need_home
	need_tmp
	need_go
	need_cc
	need_python
	need_tools
	lock
	rm -rf "$tools"/cell.?????? "$tools"/plugin.?????? # left by a setup that was killed
	export PIP_USER=0 PYTHONNOUSERSITE=1
	unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
	export GOWORK=off # go.mod alone decides the versions

	python_key=$(printf '%s\n' "$python_version" | key "$root/scripts/requirements.txt")
	if ! fresh python "$python_key" || ! "$python" -c '' 2>/dev/null; then
		doing "JupyterLab"
		rm -f "$tools/stamps/python"
		"$system_python" -m venv --clear "$tools/python" >"$tools/log/python" 2>&1 || failed python
		in_background jupyter install_jupyter "$python_key"
	fi

	if [ "${1:-}" = tests ]; then
		packages_key=$(printf '%s\n' "$python_version" | key "$root/scripts/requirements-test.txt")
		if ! fresh packages "$packages_key" || ! "$tools/test/bin/python" -c '' 2>/dev/null; then
			doing "pandas, Playwright and other Python packages that only tests need"
			rm -f "$tools/stamps/packages"
			in_background packages install_packages "$packages_key"
		fi
		export FEDKIT_PYTHON=$tools/test/bin/python
	fi

	go_key=$(printf '%s\n' "$go_version" | key "$root/go.mod" "$root/go.sum" "$root/scripts/pjrt/main.go")
	tools_key=$(printf '%s\n' "$go_key" | key "$root"/scripts/gonb/{mended.sed,briefly.go,ending.go})
	if ! fresh tools "$tools_key" || [ ! -x "$tools/bin/gonb" ]; then
		doing "the GoNB kernel"
		rm -f "$tools/stamps/tools"
		# Not in a condition, in which bash would go on past a failed command.
		set +e
		install_gonb "$tools_key"
		set -e
		fresh tools "$tools_key" || failed tools
	fi
	cell_key=$(printf '%s\n' "$go_version" | key "$root/go.mod" "$root/go.sum" "$root"/fedkit/cmd/cell/*.go "$root"/fedkit/internal/nearest/*.go)
	if ! fresh stand-in "$cell_key" || [ ! -x "$tools/cell/go" ]; then
		install_cell "$cell_key" || failed cell-go
	fi
	gopls_key=$(printf '%s\n' "$go_version" | key "$root/scripts/gopls/go.mod" "$root/scripts/gopls/go.sum")
	if ! fresh gopls "$gopls_key" || [ ! -x "$tools/bin/gopls" ]; then
		doing "gopls, for completion and contextual help"
		in_background gopls install_gopls "$gopls_key"
	fi
	local problem
	if ! problem=$("$system_python" "$root/scripts/plugin.py" check "$(plugin_folder)/$plugin_name" "$tools/stamps/plugin"); then
		doing "XLA's CPU plugin ($problem)"
		in_background plugin install_plugin
	fi
	if has_onednn && ! problem=$("$system_python" "$root/scripts/plugin.py" check "$(plugin_folder)/$onednn_name" "$tools/stamps/onednn"); then
		doing "oneDNN, for convolutions ($problem)"
		in_background onednn install_onednn
	fi

	# Built every time: it costs a fraction of a second, and no cell is then left compiling for minutes.
	fresh cell "$go_key" || doing "compiling what cells import (minutes, once)"
	# Commands are left out: they would be linked each time.
	# shellcheck disable=SC2046 # a package path is one word
	(cd "$root" && go build -v $(go list -e -f '{{if ne .Name "main"}}{{.ImportPath}}{{end}}' ./...)) 2>"$tools/log/fedkit" || uncompiled
	if ! fresh cell "$go_key"; then
		set +e # as above
		prepare_cells "$go_key"
		set -e
		fresh cell "$go_key" || failed cell
	fi

	finished jupyter
	finished packages
	finished plugin
	need_cuda
	[ -z "${pid_onednn:-}" ] || wait "$pid_onednn" || say "convolutions will be slower: oneDNN cannot be installed; $tools/log/onednn says why"
	# Cells run without it, so its absence is told, here and at the start of every kernel, but stops nobody.
	[ -z "${pid_gopls:-}" ] || wait "$pid_gopls" || say "no completion and no contextual help: gopls cannot be built; $tools/log/gopls says why"
	mkdir -p "$tools/python/share/jupyter/kernels"
	# A link, so that the kernel is always this checkout's, wherever it is moved.
	ln -sfn ../../../../../scripts/kernel "$tools/python/share/jupyter/kernels/fedkit"
	exec 9>&-
	[ -z "${ticker:-}" ] || kill "$ticker" 2>/dev/null || :

	# From here on nothing touches the network or Jupyter's folders in HOME.
	export GOMLX_NO_AUTO_INSTALL=1
	export JUPYTER_CONFIG_DIR=$tools/jupyter/config JUPYTER_DATA_DIR=$tools/jupyter/data JUPYTER_RUNTIME_DIR=$tools/jupyter/runtime
	export JUPYTERLAB_SETTINGS_DIR=$tools/jupyter/settings JUPYTERLAB_WORKSPACES_DIR=$tools/jupyter/workspaces IPYTHONDIR=$tools/jupyter/ipython
	PATH="$tools/bin:$tools/python/bin:$PATH:$(go env GOROOT)/bin" # gofmt may be there alone
	export PATH
}

# --- doctor -----------------------------------------------------------------------------------------------------------

# checked WHAT VERSION COMMAND… prints a line: what is there, or what the command says that it needs.
checked() {
	local said
	if said=$(("${@:3}") 2>&1) && [ -n "$2" ]; then
		printf 'ok       %-18s %s\n' "$1" "$2"
	else
		printf 'missing  %-18s %s\n' "$1" "${said#fedkit: }"
		missing=yes
	fi
}
module() { "$python" -c 'import sys, importlib.metadata as m; print(m.version(sys.argv[1]))' "$1" 2>/dev/null || :; }
compiler() { command -v go >/dev/null || die "Go says which one"; need_cc; }
installed() { [ -e "$1" ] || { echo "./scripts/lab setup installs it"; return 1; }; }

# doctor says what is installed and what is missing, with the command for it, and changes nothing.
doctor() {
	local missing='' plugin folder set
	export GOTOOLCHAIN=local # it may fetch a newer Go otherwise
	plugin=$(plugin_folder)/$plugin_name
	checked "Go" "$(go env GOVERSION 2>/dev/null)" need_go
	checked "temporary files" "${TMPDIR:-/tmp}" need_tmp
	checked "C compiler" "$(go env CC 2>/dev/null)" compiler
	checked "Python with venv" "$(need_python 2>/dev/null && printf %s "$system_python $python_version")" need_python
	system_python=python3
	[ -n "$missing" ] || need_python
	checked "JupyterLab" "$(module jupyterlab)" installed "$tools/stamps/python"
	checked "GoNB kernel" "$(awk '$1 ~ /janpfeifer.gonb$/ { print $2 }' "$root/go.mod")" installed "$tools/bin/gonb"
	checked "help in cells" "gopls" installed "$tools/bin/gopls"
	checked "cells, compiled" "$(cat "$tools/cell-ldflags" 2>/dev/null)" installed "$tools/cell-ldflags"
	checked "XLA's CPU plugin" "$plugin" sound "$plugin" plugin
	! has_onednn || checked "oneDNN" "${plugin%/*}/$onednn_name" sound "${plugin%/*}/$onednn_name" onednn
	if compgen -G '/usr/lib*/libjemalloc.so.2' >/dev/null || compgen -G '/usr/lib/*/libjemalloc.so.2' >/dev/null; then
		printf 'ok       %-18s %s\n' "jemalloc" "rounds of transformers take a quarter less"
	else
		printf 'none     %-18s %s\n' "jemalloc" "rounds of transformers take a quarter less with it: apt-get install libjemalloc2, for example"
	fi
	if ! command -v nvidia-smi >/dev/null; then
		printf 'none     %-18s %s\n' "GPU" "no nvidia-smi: runs are on the CPU"
	elif ! set=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>&1); then
		printf 'missing  %-18s %s\n' "GPU" "nvidia-smi: ${set##*$'\n'}"
	elif [ -e "$(plugin_folder)/nvidia/pjrt_c_api_cuda_plugin.so" ]; then
		printf 'ok       %-18s %s\n' "GPU" "$set, with XLA's CUDA plugin; GOMLX_BACKEND=xla:cuda uses it"
	else
		printf 'missing  %-18s %s\n' "GPU" "$set, without XLA's CUDA plugin: GOMLX_BACKEND=xla:cuda ./scripts/lab setup installs it"
	fi
	for set in mnist:MNIST cifar-10-batches-bin:CIFAR-10; do
		for folder in "${FEDKIT_DATA:-/dev/null}" "${FEDKIT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/fedkit}"; do
			[ ! -d "$folder/${set%%:*}" ] || { printf 'ok       %-18s %s\n' "${set#*:}" "$folder/${set%%:*}"; continue 2; }
		done
		printf 'none     %-18s %s\n' "${set#*:}" "downloaded at first use, or in a folder that FEDKIT_DATA names; notebooks take the small digits without it"
	done
	[ -z "$missing" ]
}
sound() { local why; why=$("${system_python:-python3}" "$root/scripts/plugin.py" see "$1" "$tools/stamps/$2") || { echo "$why: ./scripts/lab setup installs it"; return 1; }; }
