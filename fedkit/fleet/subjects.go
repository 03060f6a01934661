package fleet

import (
	"fmt"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats-server/v2/server"
)

// What is said where. Calls wait in a stream, from which workers of a kind take them; the rest is said at once or not at all.
const (
	stream = "fedkit-calls" // of subjects queue.KIND
	bucket = "fedkit"       // of objects by their hash

	queue    = "fedkit.call."    // + kind: a call, for the first worker that takes it
	answers  = "fedkit.answer."  // + notebook: what came of it
	beats    = "fedkit.beat."    // + worker: that it is there, and what it does
	hellos   = "fedkit.hello."   // + notebook: that it is there
	goodbyes = "fedkit.goodbye." // + notebook: that a run is over, and its results can be forgotten
	asks     = "fedkit.worker."  // + worker + one of:
	askRun   = ".run"            // a call on results that the worker keeps
	askRead  = ".read"           // some bytes of a result
	askHash  = ".hash"           // hashes of results
	forget   = ".forget"         // results
	leave    = ".leave"          // its work, since its results are wrong
)

// queueOf names the queue of a kind. Workers of another version have others, as they do not understand these calls.
func queueOf(kind string) string { return fmt.Sprintf("v%d-%s", remote.Protocol, kind) }

// Times.
const (
	beat   = 500 * time.Millisecond // from one beat to the next, of workers and notebooks
	silent = 3 * time.Second        // without a beat: lost
	lease  = 2 * time.Second        // after which a call is given to somebody else, unless it is renewed
	thrice = 3                      // deliveries of a call, and workers that were lost with it, after which it is given up
)

// workerMay is what workers are allowed: to take work, to answer, and to fetch objects.
var workerMay = &server.Permissions{
	Publish: &server.SubjectPermission{Allow: []string{
		beats + "*", answers + "*",
		"$JS.API.CONSUMER.INFO." + stream + ".*", "$JS.API.CONSUMER.MSG.NEXT." + stream + ".*", "$JS.ACK." + stream + ".>",
		"$JS.API.STREAM.INFO.OBJ_" + bucket, "$JS.API.STREAM.MSG.GET.OBJ_" + bucket, "$JS.API.DIRECT.GET.OBJ_" + bucket + ".>",
		"$JS.API.CONSUMER.CREATE.OBJ_" + bucket + ".>", "$JS.API.CONSUMER.DELETE.OBJ_" + bucket + ".>", "$JS.FC.OBJ_" + bucket + ".>",
	}},
	Subscribe: &server.SubjectPermission{Allow: []string{asks + ">", hellos + "*", goodbyes + "*", worker.inbox() + ".>"}},
	Response:  &server.ResponsePermission{MaxMsgs: 1, Expires: 10 * time.Minute},
}
