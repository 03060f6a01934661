package fleet

import (
	"fmt"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats-server/v2/server"
)

// What is said where. Calls wait in a stream, from which desks give them to workers of a kind; the rest is said at once or not at all.
// The hub sees to it that a worker says nothing under a subject that has the name of another.
const (
	stream = "fedkit-calls" // of subjects queue.KIND
	bucket = "fedkit"       // of objects by their hash

	queue    = "fedkit.call."    // + kind: a call, for the first worker that takes it
	answers  = "fedkit.answer."  // + notebook.worker: what came of it
	beats    = "fedkit.beat."    // + worker: that it is there, and what it does
	hellos   = "fedkit.hello."   // + notebook: that it is there
	goodbyes = "fedkit.goodbye." // + notebook: that a run is over, and its results can be forgotten
	asks     = "fedkit.worker."  // + worker + one of:
	askRun   = ".run"            // a call on results that the worker keeps
	askRead  = ".read"           // some bytes of a result
	askHash  = ".hash"           // hashes of results
	forget   = ".forget"         // results
	leave    = ".leave"          // its work, since its results are wrong, or its fleet was stopped
	desks    = "fedkit.desk."    // + worker + one of:
	wantCall = ".call"           // of the queue that is named
	wantData = ".data"           // some of an object
	renew    = ".renew"          // a lease
	done     = ".done"           // a call
	back     = ".back"           // a call, for somebody else

	notebookInbox = "_NOTEBOOK"
	workerInbox   = "_WORKER." // + worker
)

// queueOf names the queue of a kind. Workers of another version have others, as they do not understand these calls.
func queueOf(kind string) string { return fmt.Sprintf("v%d-%s", remote.Protocol, kind) }

// Times.
const (
	beat   = 500 * time.Millisecond // from one beat to the next, of workers and notebooks
	silent = 3 * time.Second        // without a beat: lost
	late   = 2 * time.Second        // a reply that has not come
	lease  = 30 * time.Second       // after which the queue gives a call to somebody else, unless it is renewed: its notebook does much sooner
	thrice = 3                      // workers that were lost with a call, after which it is given up
)

// workerMay is what a worker is allowed: to speak under its name, and to hear what is for it and from notebooks. It cannot reach JetStream,
// where a request names the subject of its reply, and a consumer that of its messages, which the hub would then publish for it.
func workerMay(name string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{beats + name, answers + "*." + name, desks + name + ".*"}},
		Subscribe: &server.SubjectPermission{Allow: []string{asks + name + ".*", hellos + "*", goodbyes + "*", workerInbox + name + ".>"}},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: 10 * time.Minute},
	}
}
