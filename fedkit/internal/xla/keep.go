package xla

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "keep.h"
*/
import "C"

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// Compiled programs are kept on disk, since every cell of a notebook is a process of its own: XLA takes a second for a program that
// is loaded in ten milliseconds. go-xla calls the plugin by a table of C functions, and takes one from the code that registers a plugin under the
// same name: here a copy, whose function that compiles looks for a file first. A file is named by all that its content follows from: the program's text and options, the plugin, the processor,
// the threads and the flags. So a program that another plugin or processor made is never loaded.

// keptEnv names the folder of compiled programs, or is "off". Default: programs within FEDKIT_CACHE or the user's cache.
const keptEnv = "FEDKIT_PROGRAMS"

const (
	keptMagic = "fedkit program 2\n" // and the program's key, and the SHA-256 of that and the program, which follows
	keptMost  = 1 << 30              // bytes in the folder, beyond which the files used longest ago are removed
)

var plain *C.pjrt_api // the plugin's own functions

// intercept lets a plugin, by its name or path, compile by fedkitCompile. One that cannot be opened is left for go-xla to report.
func intercept(plugin string) {
	if plain != nil {
		return
	}
	names := gxla.GetAvailablePlugins()
	if !filepath.IsAbs(plugin) && !slices.Contains(names, plugin) {
		if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, plugin+"_v") }); i >= 0 {
			plugin = names[i]
		}
	}
	p, err := pjrt.GetPlugin(plugin)
	if err != nil {
		return
	}
	path := C.CString(p.Path())
	defer C.free(unsafe.Pointer(path))
	api := C.opened(path)
	if ours := C.intercepted(api); ours != nil {
		if plain = api; pjrt.RegisterPreloadedPlugin(plugin, uintptr(unsafe.Pointer(ours))) != nil {
			plain = nil
			return
		}
		keptPlugin, keptMade = p.Path(), made(p.Path())
	}
}

var (
	keptLoads  atomic.Int64 // programs loaded so far
	keptPlugin string       // its path, which go-xla does not know of a plugin that is registered
	keptMade   []byte       // what programs follow from, beside their text and options
)

// made says what makes programs. A plugin is known by its size and time, since it takes a second to read.
func made(plugin string) []byte {
	about := "none"
	if info, err := os.Stat(plugin); err == nil {
		about = fmt.Sprint(info.Size(), info.ModTime().UnixNano())
	}
	model, more := Processor()
	return fmt.Appendf(nil, "%s%q %q %q %d %q", keptMagic, about, model, more, Threads(), Flags())
}

// keptFolder is the folder of compiled programs, "" if there is none. What is in it is run, so it must belong to the user alone.
var keptFolder = sync.OnceValue(func() string {
	dir := os.Getenv(keptEnv)
	if dir == "off" {
		return ""
	}
	if dir == "" {
		cache := os.Getenv("FEDKIT_CACHE")
		if cache == "" {
			user, err := os.UserCacheDir()
			if err != nil {
				return ""
			}
			cache = filepath.Join(user, "fedkit")
		}
		dir = filepath.Join(cache, "programs")
	}
	_ = os.MkdirAll(dir, 0o700)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return ""
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && int(of.Uid) != os.Getuid() {
		return ""
	}
	return dir
})

// fedkitCompile is PJRT_Client_Compile. Whatever goes wrong with a file, the plugin compiles.
//
//export fedkitCompile
func fedkitCompile(args *C.compile_args) unsafe.Pointer {
	// go-xla writes a program's text once more, without the version that calls of kernels have.
	if code, size := args.program.code, args.program.code_size; bytes.Contains(view(code, size), []byte(kernelTarget)) {
		text := withKernels(view(code, size))
		args.program.code, args.program.code_size = (*C.char)(C.CBytes(text)), C.size_t(len(text))
		defer func() {
			C.free(unsafe.Pointer(args.program.code))
			args.program.code, args.program.code_size = code, size
		}()
	}
	if keptFolder() == "" {
		return C.pjrt_compile(plain, args)
	}
	key := sha256.New()
	key.Write(keptMade)
	for _, part := range [][]byte{view(args.program.format, args.program.format_size), view(args.options, args.options_size), view(args.program.code, args.program.code_size)} {
		fmt.Fprintln(key, len(part))
		key.Write(part)
	}
	name := key.Sum(nil)
	if b := keptProgram(name); b != nil {
		code := C.CBytes(b)
		args.loaded = C.pjrt_load(plain, args, (*C.char)(code), C.size_t(len(b)))
		C.free(code)
		if args.loaded != nil {
			keptLoads.Add(1)
			return nil
		}
	}
	if err := C.pjrt_compile(plain, args); err != nil {
		return err
	}
	var n C.size_t
	if b := C.pjrt_serialize(plain, args.loaded, &n); b != nil {
		keep(name, view(b, n))
		C.free(unsafe.Pointer(b))
	}
	return nil
}

func view(p *C.char, n C.size_t) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n)) }

// keptProgram reads the program with a key, nil if there is none, or its file is damaged, another program's or no regular file.
func keptProgram(key []byte) []byte {
	path := filepath.Join(keptFolder(), fmt.Sprintf("%x", key))
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	b, err := os.ReadFile(path)
	if head := len(keptMagic) + len(key) + sha256.Size; err != nil || len(b) < head || !bytes.Equal(b[:head], keptHead(key, b[head:])) {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now)
	return b[len(keptMagic)+len(key)+sha256.Size:]
}

// keptHead is what stands before a program in its file.
func keptHead(key, program []byte) []byte {
	sum := sha256.Sum256(slices.Concat(key, program))
	return slices.Concat([]byte(keptMagic), key, sum[:])
}

// keep writes a program to its file, as far as that can be done.
func keep(key, program []byte) {
	tidy()
	path := filepath.Join(keptFolder(), fmt.Sprintf("%x", key))
	f, err := os.CreateTemp(filepath.Dir(path), "."+strconv.Itoa(os.Getpid())+".*")
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(f.Name()) }() // after an error
	_, err = f.Write(append(keptHead(key, program), program...))
	if cmp.Or(err, f.Close()) == nil {
		_ = os.Rename(f.Name(), path)
	}
}

// tidy removes the files used longest ago if all take too much room, and those that a killed process has left.
var tidy = sync.OnceFunc(func() {
	entries, _ := os.ReadDir(keptFolder())
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			total += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, f := range files {
		left := strings.HasPrefix(f.Name(), ".") && time.Since(f.ModTime()) > time.Hour
		if left || total > keptMost {
			_ = os.Remove(filepath.Join(keptFolder(), f.Name()))
			total -= f.Size()
		}
	}
})
