// Package gonb shows figures, tables and the progress of runs in the notebook cell that runs the program. Package chart imports it, and
// so do the cells of the kernel "Go (fedkit)". In the stock GoNB kernel, cells without figures import it themselves, else
// their tables are text:
//
//	import _ "fedkit.example/fedkit/gonb"
package gonb

import (
	"encoding/gob"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"fedkit.example/fedkit/internal/display"
)

func init() {
	gob.Register(map[string]any{}) // what a specification is made of
	gob.Register([]any{})
	if gonbui.IsNotebook {
		display.Use(cell{})
	}
}

type cell struct{}

func (cell) Send(id string, forms, metadata map[string]any) error {
	data := &protocol.DisplayData{Data: map[protocol.MIMEType]any{}, Metadata: metadata, DisplayID: id}
	for mime, form := range forms {
		data.Data[protocol.MIMEType(mime)] = form
	}
	gonbui.SendData(data)
	return gonbui.Error()
}

// Sync does not wait forever: a notebook that has gone away would hold up a run that is otherwise fine.
func (cell) Sync() {
	done := make(chan struct{})
	go func() { gonbui.Sync(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
	}
}

// Listen asks only pages of a Jupyter server, which names the session: no other could answer, and the script with which GoNB asks
// would stay in the notebook.
func (cell) Listen(address string, hear func(text string)) bool {
	if os.Getenv("JPY_SESSION_NAME") == "" {
		return false
	}
	comms.Subscribe(address, func(_, text string) { hear(text) })
	return gonbui.Error() == nil
}
