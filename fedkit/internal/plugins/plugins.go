// Package plugins says where XLA's plugins are. Those beside the program come first, as in a folder that ./scripts/study --build made.
//
// go-xla reads its search path while it is initialized, and a plugin that is opened by its path instead is another device by name. Go
// initializes packages in the order of their import paths, each once what it imports is: this one imports less than go-xla, and comes
// before it.
package plugins

import (
	"os"
	"path/filepath"
	"strings"
)

const pathsEnv = "PJRT_PLUGIN_LIBRARY_PATH" // go-xla's search path

func init() {
	program, err := os.Executable()
	if _, named := os.LookupEnv(pathsEnv); named || err != nil {
		return
	}
	if beside := withNVIDIA(filepath.Dir(program), filepath.Join(filepath.Dir(program), "go-xla")); len(in(beside)) > 0 {
		_ = os.Setenv(pathsEnv, strings.Join(append(beside, Folders()...), string(filepath.ListSeparator)))
	}
}

// Folders are those of go-xla's search path or, if that is not set, where set-up and go-xla install plugins.
func Folders() []string {
	if named, ok := os.LookupEnv(pathsEnv); ok {
		return filepath.SplitList(named)
	}
	installed := []string{"/usr/local/lib/go-xla"}
	if home, err := os.UserHomeDir(); err == nil {
		installed = append([]string{filepath.Join(home, ".local", "lib", "go-xla")}, installed...)
	}
	return withNVIDIA(installed...)
}

func withNVIDIA(folders ...string) (all []string) {
	for _, f := range folders {
		all = append(all, f, filepath.Join(f, "nvidia"))
	}
	return all
}

// Installed are the plugins in these folders.
func Installed() []string { return in(Folders()) }

func in(folders []string) (paths []string) {
	for _, folder := range folders {
		some, _ := filepath.Glob(filepath.Join(folder, "pjrt_c_api_*_plugin.so"))
		paths = append(paths, some...)
	}
	return paths
}
