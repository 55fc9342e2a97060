package tail

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// handedOver is a catalog in which a table gets another id after a tail of it has started.
type handedOver struct {
	catalog
	database, name string
	moved          atomic.Bool // set before the shards report it
}

func (c *handedOver) Table(database, name string) (*schema.Table, bool) {
	t, _ := c.catalog.Table(database, name)
	if c.moved.Load() {
		t.ID, t.OriginID = 9, 1
	}
	return t, database == c.database && name == c.name
}

func (c *handedOver) TableByID(uint64) (*schema.Table, bool) {
	t, _ := c.catalog.Table(c.database, c.name)
	return t, !c.moved.Load()
}

// TestHandedOver checks that, when the rows of a followed table are handed over, the client can follow again, and
// commands do so automatically.
func TestHandedOver(t *testing.T) {
	for _, name := range [][2]string{{"public", "t"}, {"we.b", "t.x"}} {
		meta := &handedOver{database: name[0], name: name[1]}
		r := newRig(t, func(c *Config) { c.Meta = meta })
		resp := r.get("db=" + name[0] + "&table=" + name[1] + "&since=1h")
		a, _ := r.twoFeeds()
		a.end = errs.New(errs.TableNotFound, "gone").WithReason(errs.TableGone)
		meta.moved.Store(true)
		close(a.answers)
		rest, err := io.ReadAll(resp.Body)
		want := `{"error":"the rows of table ` + strings.ReplaceAll(schema.FormatTableName(name[0], name[1]), `"`, `\"`) +
			` were moved to other shards; follow again","code":4008}` + "\n"
		if err != nil || !strings.HasSuffix(string(rest), want) {
			t.Errorf("the end is %q, %v, want %q", rest, err, want)
		}
	}
}
