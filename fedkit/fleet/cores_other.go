//go:build !linux

package fleet

import "errors"

// UseCores pins the process to some processors. It needs Linux.
func UseCores(string) error {
	return errors.New("fleet: cores can be chosen on Linux only")
}
