package forward

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/tinylib/msgp/msgp"

	"cordwood/proto/errs"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/vrl/jsonscan"
)

var errNoRecord = errs.New(errs.InvalidArguments, "the record is not a map with at most %d levels", maxDepth)

// textBytes is the size of the pieces in which memory for texts is allocated.
const textBytes = 64 << 10

// give passes records to a pipeline as JSON.
func give(records []sockreceiver.Record, eventTime bool, to *ingest.Sink) error {
	var json []byte // each record's text has separate memory, because pipelines point into it
	for i := range records {
		r := &records[i]
		if eventTime {
			to.At(r.At)
		}
		if cap(json)-len(json) < textBytes/8 {
			json = make([]byte, 0, textBytes)
		}
		var ok bool
		json, ok = appendRecord(json[len(json):], r)
		if !ok {
			if err := to.Refuse(jsonscan.AppendQuotedBytes(nil, r.Data), errNoRecord); err != nil {
				return err
			}
			continue
		}
		json = append(json, make([]byte, body.Pad)...)
		if err := to.JSON(json[:len(json)-body.Pad]); err != nil {
			return err
		}
	}
	return nil
}

// appendRecord appends a record as a JSON object with the tag. If the record already has a field tag, the tag goes
// into fluent_tag.
func appendRecord(to []byte, r *sockreceiver.Record) ([]byte, bool) {
	if msgp.NextType(r.Data) != msgp.MapType {
		return to, false
	}
	start := len(to)
	c := converter{to: to}
	if _, ok := c.value(r.Data, 0); !ok {
		return to, false
	}
	name := `"tag":`
	if c.tagged {
		name = `"fluent_tag":`
	}
	out := c.to[:len(c.to)-1]
	if len(out) > start+1 {
		out = append(out, ',')
	}
	out = jsonscan.AppendQuoted(append(out, name...), r.From)
	return append(out, '}'), true
}

// converter converts MessagePack values to JSON.
type converter struct {
	to []byte
	// tagged is set if the record has a field tag.
	tagged bool
}

// value appends the first value of b. It returns the bytes after it, and whether it is valid.
func (c *converter) value(b []byte, depth int) (rest []byte, ok bool) {
	if depth > maxDepth {
		return nil, false
	}
	var err error
	switch msgp.NextType(b) {
	case msgp.MapType:
		return c.object(b, depth)
	case msgp.ArrayType:
		return c.array(b, depth)
	case msgp.StrType, msgp.BinType:
		var text []byte
		if text, rest, err = readText(b); err == nil {
			c.to = jsonscan.AppendQuotedBytes(c.to, text)
		}
	case msgp.NilType:
		c.to = append(c.to, "null"...)
		rest, err = msgp.ReadNilBytes(b)
	case msgp.BoolType:
		var v bool
		v, rest, err = msgp.ReadBoolBytes(b)
		c.to = strconv.AppendBool(c.to, v)
	case msgp.IntType:
		var v int64
		v, rest, err = msgp.ReadInt64Bytes(b)
		c.to = strconv.AppendInt(c.to, v, 10)
	case msgp.UintType:
		var v uint64
		v, rest, err = msgp.ReadUint64Bytes(b)
		c.to = strconv.AppendUint(c.to, v, 10)
	case msgp.Float64Type:
		var v float64
		v, rest, err = msgp.ReadFloat64Bytes(b)
		c.to = jsonscan.AppendNumber(c.to, v)
	case msgp.Float32Type:
		var v float32
		v, rest, err = msgp.ReadFloat32Bytes(b)
		c.to = jsonscan.AppendNumber(c.to, float64(v))
	default:
		return c.extension(b)
	}
	return rest, err == nil
}

// extension appends an EventTime as RFC 3339 text, and other extensions in base64.
func (c *converter) extension(b []byte) (rest []byte, ok bool) {
	_, data, ok := extension(b)
	if !ok {
		return nil, false
	}
	if ns, ok := eventTime(b); ok {
		c.to = append(c.to, '"')
		c.to = time.Unix(0, ns).UTC().AppendFormat(c.to, time.RFC3339Nano)
	} else {
		c.to = append(c.to, '"')
		c.to = base64.StdEncoding.AppendEncode(c.to, data)
	}
	c.to = append(c.to, '"')
	rest, err := msgp.Skip(b)
	return rest, err == nil
}

// object appends a map. A key that is not a text is converted to its JSON text.
func (c *converter) object(b []byte, depth int) (rest []byte, ok bool) {
	n, b, err := msgp.ReadMapHeaderBytes(b)
	if err != nil {
		return nil, false
	}
	c.to = append(c.to, '{')
	for i := range n {
		if i > 0 {
			c.to = append(c.to, ',')
		}
		if text, after, err := readText(b); err == nil {
			c.to = jsonscan.AppendQuotedBytes(c.to, text)
			c.tagged = c.tagged || depth == 0 && string(text) == "tag"
			b = after
		} else {
			key := converter{}
			if b, ok = key.value(b, depth+1); !ok {
				return nil, false
			}
			c.to = jsonscan.AppendQuotedBytes(c.to, key.to)
		}
		c.to = append(c.to, ':')
		if b, ok = c.value(b, depth+1); !ok {
			return nil, false
		}
	}
	c.to = append(c.to, '}')
	return b, true
}

// array appends an array.
func (c *converter) array(b []byte, depth int) (rest []byte, ok bool) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil {
		return nil, false
	}
	c.to = append(c.to, '[')
	for i := range n {
		if i > 0 {
			c.to = append(c.to, ',')
		}
		if b, ok = c.value(b, depth+1); !ok {
			return nil, false
		}
	}
	c.to = append(c.to, ']')
	return b, true
}
