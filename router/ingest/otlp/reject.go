package otlp

import (
	"encoding/hex"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cordwood/router/vrl/jsonscan"
)

// text returns a JSON request with only the current record, for the rejects. Rejects are few, so protobuf records
// are converted with the generated types.
func (q *request) text() []byte {
	r := q.current
	parts := [3][]byte{r.rawResource, r.scope.raw, r.raw}
	if !q.json {
		for i, message := range []proto.Message{&resource.Resource{}, &common.InstrumentationScope{}} {
			parts[i] = inJSON(parts[i], message)
		}
		parts[2] = recordInJSON(r.raw)
	}
	for i := range parts {
		if len(parts[i]) == 0 {
			parts[i] = []byte("{}")
		}
	}
	out := append([]byte(`{"resourceLogs":[{"resource":`), parts[0]...)
	out = jsonscan.AppendQuotedBytes(append(out, `,"schemaUrl":`...), r.resourceURL)
	out = append(append(out, `,"scopeLogs":[{"scope":`...), parts[1]...)
	out = jsonscan.AppendQuotedBytes(append(out, `,"schemaUrl":`...), r.schemaURL)
	out = append(append(out, `,"logRecords":[`...), parts[2]...)
	return append(out, `]}]}]}`...)
}

// inJSON converts a protobuf message to JSON. It returns nil if the message cannot be read.
func inJSON(raw []byte, message proto.Message) []byte {
	if proto.Unmarshal(raw, message) != nil {
		return nil
	}
	out, err := protojson.Marshal(message)
	if err != nil {
		return nil
	}
	return out
}

// recordInJSON is like inJSON, for a record, whose ids are hexadecimal in OTLP's JSON. If the record cannot be read,
// its bytes are kept.
func recordInJSON(raw []byte) []byte {
	m := &logs.LogRecord{}
	if proto.Unmarshal(raw, m) != nil {
		return appendUnreadable(raw)
	}
	trace, span := m.TraceId, m.SpanId
	m.TraceId, m.SpanId = nil, nil
	out, err := protojson.Marshal(m)
	if err != nil {
		return appendUnreadable(raw)
	}
	ids := ""
	if len(trace) > 0 {
		ids += `,"traceId":"` + hex.EncodeToString(trace) + `"`
	}
	if len(span) > 0 {
		ids += `,"spanId":"` + hex.EncodeToString(span) + `"`
	}
	if ids == "" {
		return out
	}
	if len(out) == 2 {
		return []byte("{" + ids[1:] + "}")
	}
	return append(append(out[:len(out)-1], ids...), '}')
}

// appendUnreadable returns a record whose body has the bytes of a record that cannot be read.
func appendUnreadable(raw []byte) []byte {
	return append(appendBase64([]byte(`{"body":{"bytesValue":"`), raw), `"}}`...)
}
