package otlp

import (
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"

	"cordwood/router/ingest/httpreceiver/receivertest"
)

// repeatedKeys returns a request in which all attributes have keys that occur twice, with few and many
// attributes.
func repeatedKeys() *collector.ExportLogsServiceRequest {
	twice := []*common.KeyValue{pair("a", number(1)), pair("b", text(",")), pair("a", object(pair("x", number(2))))}
	many := make([]*common.KeyValue, 0, 2*fewKeys)
	for range fewKeys {
		many = append(many, pair("k", number(1)), pair("l", number(2)))
	}
	q := export(&logs.LogRecord{Attributes: twice}, &logs.LogRecord{Attributes: many})
	q.ResourceLogs[0].Resource.Attributes = twice
	q.ResourceLogs[0].ScopeLogs[0].Scope.Attributes = twice
	return q
}

// sharedAttributes returns a request with random records. Many have the same first attributes as the record before, and
// some have repeated keys, an event name, or an attribute that cannot be stored.
func sharedAttributes(records int) *collector.ExportLogsServiceRequest {
	deep := text("x")
	for range maxDepth + 1 {
		deep = list(deep)
	}
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]*logs.LogRecord, records)
	for i := range list {
		list[i] = &logs.LogRecord{}
		if random.IntN(6) == 0 {
			list[i].EventName = "started"
		}
		for k := range random.IntN(6) {
			value := text(strings.Repeat("v", random.IntN(3)))
			if random.IntN(60) == 0 {
				value = deep
			}
			key := "k" + strconv.Itoa(k)
			if random.IntN(20) == 0 {
				key = "k0"
			}
			list[i].Attributes = append(list[i].Attributes, pair(key, value))
		}
	}
	return export(list...)
}

// checkAlone compares a record with the same message read without the record before it.
func checkAlone(t *testing.T, r *record) {
	t.Helper()
	var alone record
	_ = alone.read(r.raw, &scope{}) // the caller examines the error
	if string(alone.attributes) != string(r.attributes) {
		t.Errorf("attributes %s after other records, want %s", r.attributes, alone.attributes)
	}
}

// TestSharedAttributes checks that attributes that equal those of the previous record give the same JSON.
func TestSharedAttributes(t *testing.T) {
	const records = 5000
	n, refused, repeated := 0, 0, 0
	err := readProto(forms(t, sharedAttributes(records))[typeProto], func(r *record, err error) error {
		checkAlone(t, r)
		n++
		if err != nil {
			refused++
		}
		if r.members.known > 0 && len(r.members.messages) > 0 {
			repeated++
		}
		return nil
	})
	if err != nil || n != records || refused == 0 || repeated == 0 {
		t.Errorf("%d records, %d refused, %d with the attributes of the record before, %v", n, refused, repeated, err)
	}
}

// TestRepeatedKeys checks that the last of several attributes with the same key is stored, and that the answer reports
// the repetition.
func TestRepeatedKeys(t *testing.T) {
	for form, body := range forms(t, repeatedKeys()) {
		d, st := receiver(t)
		w := send(d, form, body)
		rows := st.Rows("public.opentelemetry_logs")
		if w.Code != http.StatusOK || len(rows) != 2 {
			t.Fatalf("%s: %d %s", form, w.Code, w.Body)
		}
		const want = `{"b":",","a":{"x":2}}`
		for _, column := range []string{"log_attributes", "resource_attributes", "scope_attributes"} {
			if rows[0][column] != want {
				t.Errorf("%s: %s is %v", form, column, rows[0][column])
			}
		}
		if rows[1]["log_attributes"] != `{"k":1,"l":2}` {
			t.Errorf("%s: %v", form, rows[1]["log_attributes"])
		}
		warnings := w.Header().Get("X-Svc-Warnings")
		if !strings.HasPrefix(warnings, strconv.Itoa(3+2*(fewKeys-1))+" keys occurred more than once") {
			t.Errorf("%s: warning %q", form, warnings)
		}
	}
}

// TestBadResource checks that only the records of a resource or scope are refused if its attributes cannot be stored.
func TestBadResource(t *testing.T) {
	deep := text("x")
	for range maxDepth + 1 {
		deep = list(deep)
	}
	bad := []*common.KeyValue{pair("deep", deep)}
	for _, of := range []string{"resource", "scope"} {
		q := export(&logs.LogRecord{Body: text("bad")}, &logs.LogRecord{Body: text("bad")})
		q.ResourceLogs = append(q.ResourceLogs, export(&logs.LogRecord{Body: text("good")}).ResourceLogs...)
		if of == "scope" {
			q.ResourceLogs[0].ScopeLogs[0].Scope.Attributes = bad
		} else {
			q.ResourceLogs[0].Resource.Attributes = bad
		}
		for form, body := range forms(t, q) {
			d, st := receiver(t)
			w := send(d, form, body)
			rows := st.Rows("public.opentelemetry_logs")
			if w.Code != http.StatusOK || len(rows) != 1 || rows[0]["body"] != "good" ||
				!strings.Contains(w.Body.String(), "record 0: "+errDepth.Error()) {
				t.Errorf("%s, %s: %d %s %v", of, form, w.Code, w.Body, rows)
			}
		}
	}
}

// TestExtractFromLargeResource checks that the attributes that records share are searched only once for the ones that
// become columns. Otherwise a body of 600 KB takes minutes.
func TestExtractFromLargeResource(t *testing.T) {
	const records, keys = 100_000, 64
	attributes := make([]*common.KeyValue, 0, 10_000)
	for i := range cap(attributes) {
		attributes = append(attributes, pair("k"+strconv.Itoa(i), text("v")))
	}
	attributes = append(attributes, pair("last", text("y")))
	list := make([]*logs.LogRecord, records)
	for i := range list {
		list[i] = &logs.LogRecord{}
	}
	q := export(list...)
	q.ResourceLogs[0].Resource.Attributes = attributes
	names := make([]string, 0, keys)
	for i := range keys - 1 {
		names = append(names, "none"+strconv.Itoa(i))
	}
	names = append(names, "last")
	for form, body := range forms(t, q) {
		in := &request{body: body, read: readProto, extract: names}
		if in.json = form == typeJSON; in.json {
			in.read = readJSON
		}
		n := 0
		err := in.each(func(r *record, err error) error {
			n++
			in.search(r)
			if found := r.scope.foundResource; len(found) != keys || string(found[keys-1]) != `"y"` {
				t.Fatalf("%s: found %q", form, found)
			}
			return err
		})
		if err != nil || n != records {
			t.Errorf("%s: %d records, %v", form, n, err)
		}
	}
}

// TestLateObservedTime checks that a pipeline never gets a wrong time.
func TestLateObservedTime(t *testing.T) {
	q := export(&logs.LogRecord{TimeUnixNano: 1, ObservedTimeUnixNano: math.MaxUint64})
	for form, body := range forms(t, q) {
		d, st := receivertest.New(t)
		st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: .\n")
		w := send(New(d), form, body, "x-svc-pipeline-name", "p")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), errObserved.Error()) {
			t.Errorf("%s: %d %s", form, w.Code, w.Body)
		}
	}
}
