// Command pjrt runs go-xla's own installer of XLA plugins: the CPU's, and CUDA's if there is a GPU. By itself the installer
// waits forever or panics without a network, so here servers have a limited time to answer.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/gomlx/go-xla/installer"
)

func main() {
	t := http.DefaultTransport.(*http.Transport)
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 10 * time.Second
	t.ResponseHeaderTimeout = 20 * time.Second
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintln(os.Stderr, p)
			os.Exit(1)
		}
	}()
	// Without the cache, no downloads of hundreds of megabytes are left in the user's folders.
	if err := installer.AutoInstall("", false, installer.Normal); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
