package fleet

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Subjects. A notebook sends each call as a request to the worker it chose, and each object to a desk. The hub lets a worker
// publish under its own name only, and reply only to requests it received.
const (
	beats    = "fedkit.beat."    // + worker: heartbeat, with what it runs
	hellos   = "fedkit.hello."   // + notebook: heartbeat
	goodbyes = "fedkit.goodbye." // + notebook: a run is over, and its results can be forgotten
	asks     = "fedkit.worker."  // + worker + one of:
	askRun   = ".run"            // a call
	askRead  = ".read"           // some bytes of a result
	askHash  = ".hash"           // hashes of results
	forget   = ".forget"         // results that nobody needs
	leave    = ".leave"          // the fleet, because of wrong results, or because the fleet was stopped
	desks    = "fedkit.desk."    // + desk + one of:
	put      = ".put"            // some of an object, from a notebook
	wantData = ".data"           // some of an object, for a worker, whose "." + name comes before

	notebookInbox = "_NOTEBOOK"
	workerInbox   = "_WORKER." // + worker
)

const (
	beat         = 500 * time.Millisecond // heartbeat interval of workers and notebooks
	silent       = 3 * time.Second        // without a heartbeat: the peer is lost
	late         = 2 * time.Second        // timeout of a flush
	replyExpires = 10 * time.Minute       // after which the hub no longer lets a worker reply to a request
	maxAttempts  = 3                      // workers that may be lost with a call, or wrong answers of a worker, before it is given up
)

// workerMay returns a worker's permissions: to publish under its name, and to subscribe to its own subjects and those of
// notebooks. A server with JetStream must not give it access, where requests name a subject
// that the server then publishes to for them.
func workerMay(name string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{beats + name, desks + hubDesk + "." + name + wantData}},
		Subscribe: &server.SubjectPermission{Allow: []string{asks + name + ".*", hellos + "*", goodbyes + "*", workerInbox + name + ".>"}},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: replyExpires},
	}
}
