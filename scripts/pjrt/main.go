// Command pjrt runs go-xla's own installer of XLA plugins (the CPU's, and CUDA's where a GPU is seen), which waits for ever
// and panics where there is no network, with limits on how long a server may take to answer.
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
	// No cache: downloads of hundreds of megabytes are not left in the user's folders.
	if err := installer.AutoInstall("", false, installer.Normal); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
