//go:build !linux

package fleet

import "errors"

// UseCores lets the process run on some processors only. It can be done on Linux.
func UseCores(string) error {
	return errors.New("fleet: cores can be chosen on Linux only")
}
