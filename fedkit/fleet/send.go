package fleet

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// send uploads an object in the library's format, with backpressure. The library itself fails with large objects: it sends all
// chunks at once, of which the hub refuses those that it has no room for yet, and leaves an entry without chunks behind.
func (s *store) send(ctx context.Context, hash string, b []byte) (err error) {
	const window = 16 // unacknowledged chunks
	sum, err := hex.DecodeString(hash)
	if err != nil {
		return err
	}
	name := nuid.Next()
	chunks := fmt.Sprintf("$O.%s.C.%s", bucket, name)
	defer func() {
		if err != nil {
			go s.purge(chunks)
		}
	}()
	var sent []jetstream.PubAckFuture
	for rest := bytes.NewBuffer(b); rest.Len() > 0; {
		one, err := s.fleet.js.PublishAsync(chunks, rest.Next(chunk))
		if err != nil {
			return err
		}
		if sent = append(sent, one); len(sent) >= window {
			if err := acknowledged(ctx, sent[0]); err != nil {
				return err
			}
			sent = sent[1:]
		}
	}
	for _, one := range sent {
		if err := acknowledged(ctx, one); err != nil {
			return err
		}
	}
	info := jetstream.ObjectInfo{Bucket: bucket, NUID: name, ModTime: time.Now().UTC(), Size: uint64(len(b)), Chunks: uint32((len(b) + chunk - 1) / chunk),
		Digest: "SHA-256=" + base64.URLEncoding.EncodeToString(sum)}
	info.Name, info.Opts = hash, &jetstream.ObjectMetaOptions{ChunkSize: chunk}
	entry := nats.NewMsg(fmt.Sprintf("$O.%s.M.%s", bucket, base64.URLEncoding.EncodeToString([]byte(hash))))
	entry.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if entry.Data, err = json.Marshal(info); err != nil {
		return err
	}
	_, err = s.fleet.js.PublishMsg(ctx, entry)
	return err
}

// acknowledged waits until the hub acknowledges a chunk.
func acknowledged(ctx context.Context, chunk jetstream.PubAckFuture) error {
	select {
	case <-chunk.Ok():
		return nil
	case err := <-chunk.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(chunkTimeout):
		return errors.New("no answer")
	}
}

// purge removes the chunks of an incomplete upload.
func (s *store) purge(chunks string) {
	ctx, cancel := context.WithTimeout(s.fleet.ctx, chunkTimeout)
	defer cancel()
	if objects, err := s.fleet.js.Stream(ctx, "OBJ_"+bucket); err == nil {
		_ = objects.Purge(ctx, jetstream.WithPurgeSubject(chunks)) // if this fails, they take room for a day
	}
}
