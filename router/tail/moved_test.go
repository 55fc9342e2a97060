package tail

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// handedOver is a catalog in which public.t gets another id once it has been followed.
type handedOver struct {
	catalog
	moved atomic.Bool // before the shards say so
}

func (c *handedOver) Table(database, name string) (*schema.Table, bool) {
	t, ok := c.catalog.Table(database, name)
	if c.moved.Load() {
		t.ID, t.OriginID = 9, 1
	}
	return t, ok
}

func (c *handedOver) TableByID(uint64) (*schema.Table, bool) {
	return c.catalog.Table("public", map[bool]string{false: "t", true: "gone"}[c.moved.Load()])
}

// TestHandedOver has the rows of a table that is followed be handed over: following again
// helps, and commands do so by themselves.
func TestHandedOver(t *testing.T) {
	meta := &handedOver{}
	r := newRig(t, func(c *Config) { c.Meta = meta })
	resp := r.get("table=t&since=1h")
	a, _ := r.twoFeeds()
	a.end = errs.New(errs.TableNotFound, "gone").WithReason(errs.TableGone)
	meta.moved.Store(true)
	close(a.answers)
	rest, err := io.ReadAll(resp.Body)
	if want := `{"error":"the rows of table public.t were moved to other shards; follow again","code":4008}` + "\n"; err != nil || !strings.HasSuffix(string(rest), want) {
		t.Errorf("the end is %q, %v, want %q", rest, err, want)
	}
}
