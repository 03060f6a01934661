package fleet

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Subjects. A notebook sends each call to the worker that it chose, as a request; only objects lie in JetStream. The hub sees to it that
// a worker publishes under its own name alone, and replies only to what it was asked.
const (
	bucket = "fedkit" // of objects by their hash

	beats    = "fedkit.beat."    // + worker: that it is there, and what it does
	hellos   = "fedkit.hello."   // + notebook: that it is there
	goodbyes = "fedkit.goodbye." // + notebook: that a run is over, and its results can be forgotten
	asks     = "fedkit.worker."  // + worker + one of:
	askRun   = ".run"            // a call
	askRead  = ".read"           // some bytes of a result
	askHash  = ".hash"           // hashes of results
	forget   = ".forget"         // results that nobody needs
	leave    = ".leave"          // the fleet, since its results are wrong, or the fleet was stopped
	desks    = "fedkit.desk."    // + worker + wantData
	wantData = ".data"           // some of an object

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

// workerMay is what a worker is allowed: to publish under its name, and to subscribe to what is for it and from notebooks. It cannot reach
// JetStream, where a request names the subject of its reply, and a consumer that of its messages, which the hub would then publish for it.
func workerMay(name string) *server.Permissions {
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{beats + name, desks + name + wantData}},
		Subscribe: &server.SubjectPermission{Allow: []string{asks + name + ".*", hellos + "*", goodbyes + "*", workerInbox + name + ".>"}},
		Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: replyExpires},
	}
}
