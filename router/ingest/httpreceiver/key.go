package httpreceiver

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
)

// headerDedupe is the header that decides how a repeated request without a key is recognised: body or off.
const headerDedupe = "X-Svc-Dedupe"

// SetKey sets the key of the batch to the client's key and the body. Another body with the same key is another
// batch, because clients of other protocols cannot handle a refusal. The batches of a request share its key.
func (c *Call) SetKey(b *ingest.Batch, key string) {
	if c.sum == nil {
		sum := sha256.Sum256(c.Body)
		c.sum = sum[:]
	}
	h := sha256.New()
	parts := []string{key, b.Database, b.Table}
	if b.Pipeline != "" && b.Pipeline != ingest.IdentityPipeline {
		parts = append(parts, b.Pipeline) // a request may have batches for one table with several pipelines
	}
	for _, part := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(part), part) // writing to a hash does not fail
	}
	_, _ = h.Write(c.sum)
	b.Key = string(c.receiver.Protocol) + "-" + hex.EncodeToString(h.Sum(nil))
}

// KeyByBody uses the body as the key of the batch, unless it has another key or the request forbids it
// (x-svc-dedupe: off).
func (c *Call) KeyByBody(b *ingest.Batch) {
	if b.Key == "" && params.Header(c.r.Header, headerDedupe) == "" {
		c.SetKey(b, "")
	}
}
