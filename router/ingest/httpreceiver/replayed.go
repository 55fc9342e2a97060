package httpreceiver

import (
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/ingest"
)

// The limits of the header with ids of rejects: the number of ids, and the length of each.
const (
	maxReplayed = 1000
	maxReplayID = 64
)

// Replayed reads the header with the ids of rejects that are sent again; nil if there is none.
func Replayed(h http.Header, key string) (*ingest.Replayed, error) {
	text := strings.TrimSpace(h.Get(ingest.HeaderReplayed))
	if text == "" {
		return nil, nil
	}
	ids := strings.Split(text, ",")
	if len(ids) > maxReplayed {
		return nil, errs.New(errs.InvalidArguments, "the header %s lists %d records: send at most %d in a request",
			ingest.HeaderReplayed, len(ids), maxReplayed)
	}
	for i, id := range ids {
		if ids[i] = strings.TrimSpace(id); ids[i] == "" || len(id) > maxReplayID {
			return nil, errs.New(errs.InvalidArguments,
				"the header %s must have the ids of records, separated by commas, of 1 to %d characters",
				ingest.HeaderReplayed, maxReplayID)
		}
	}
	if key == "" {
		return nil, errs.New(errs.InvalidArguments, "the header %s requires the header Idempotency-Key",
			ingest.HeaderReplayed)
	}
	return &ingest.Replayed{IDs: ids}, nil
}
