package elasticsearch

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/router/ingest/httpreceiver/receivertest"
)

func unzip(t testing.TB, zip []byte) []byte {
	t.Helper()
	in, err := gzip.NewReader(bytes.NewReader(zip))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// FuzzZipped checks that the decompressed output equals the text, wherever the text repeats.
func FuzzZipped(f *testing.F) {
	f.Add([]byte("abcabcabc"), uint64(1))
	f.Add([]byte("é\xff\x00aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), uint64(7))
	f.Fuzz(func(t *testing.T, seed []byte, number uint64) {
		random := rand.New(rand.NewPCG(number, 1))
		var out bytes.Buffer
		z := newZipped(&out)
		z.literal(seed)
		text := bytes.Clone(seed)
		for range 50 {
			if len(text) == 0 {
				break
			}
			distance := 1 + random.IntN(min(len(text), 2*maxDistance))
			from, n := len(text), random.IntN(5*maxMatch)
			for range n {
				text = append(text, text[len(text)-distance])
			}
			z.repeat(text[from:], distance)
		}
		z.end()
		if got := unzip(t, out.Bytes()); !bytes.Equal(got, text) {
			t.Errorf("%d bytes of %d, %.40q", len(got), len(text), got)
		}
	})
}

// TestZippedLengths repeats texts of every length at every kind of distance.
func TestZippedLengths(t *testing.T) {
	var out bytes.Buffer
	z := newZipped(&out)
	text := make([]byte, 2*maxDistance)
	for i := range text {
		text[i] = byte(rand.Uint32())
	}
	z.literal(text)
	for n := range 3 * maxMatch {
		for distance := 1; distance <= 2*maxDistance; distance = 2*distance + n%3 {
			from := len(text)
			for range n {
				text = append(text, text[len(text)-distance])
			}
			z.repeat(text[from:], distance)
		}
	}
	z.end()
	if !bytes.Equal(unzip(t, out.Bytes()), text) {
		t.Error("the text differs")
	}
}

// FuzzAnswer checks that the compressed answer equals the uncompressed answer, for any ids and commands.
func FuzzAnswer(f *testing.F) {
	f.Add("logs", "a", uint16(20))
	f.Add(strings.Repeat("é", 130), "\"\xff", uint16(9))
	for n := range uint16(8) {
		f.Add("logs", "", n)
		f.Add("logs", "", 300+n)
	}
	f.Fuzz(func(t *testing.T, index, id string, n uint16) {
		commands := []*command{{verb: verbCreate, index: index}, {verb: verbIndex, index: index}}
		random := rand.New(rand.NewPCG(uint64(n), 1))
		operations := make([]operation, 1+n%500)
		for i := range operations {
			o := &operations[i]
			o.command, o.status = commands[0], http.StatusCreated
			if n/2%2 == 0 && random.IntN(20) < int(n/4%20) {
				o.command = commands[1]
			}
			if random.IntN(3) > 0 && n%2 == 0 {
				o.id = fmt.Appendf(nil, "%s%d", id, random.IntN(1000)*random.IntN(1000))
			}
		}
		// Both answers have the same generated ids.
		a, b := newNames(), newNames()
		*b.ids = *a.ids
		plain := httptest.NewRecorder()
		rest := writeItems(plain, []byte(`{"items":[`), operations, true, a)
		want := append(plain.Body.Bytes(), append(bytes.TrimSuffix(rest, []byte{','}), '}', '\n')...)
		var zip bytes.Buffer
		writeZipped(&zip, []byte(`{"items":[`), operations, b)
		if got := unzip(t, zip.Bytes()); !bytes.Equal(got, want) {
			t.Errorf("in gzip\n%s\nelse\n%s", got, want)
		}
	})
}

// TestZippedAnswer checks that a client that accepts gzip gets a compressed answer with the same items.
func TestZippedAnswer(t *testing.T) {
	for accepted, want := range map[string]bool{
		"": false, "gzip": true, "deflate, GZip;q=0.5": true, "gzip;q=0": false, "gzip; q=0.00": false, "br, zstd": false,
		"xgzip": false,
	} {
		d, _ := receiver(t)
		r := httptest.NewRequest(http.MethodPost, "/x/_bulk",
			strings.NewReader(strings.Repeat("{\"create\":{\"_index\":\"logs\"}}\n{\"a\":1}\n", 3000)))
		r.Header.Set("Accept-Encoding", accepted)
		w := receivertest.Serve(d.Bulk, Refuse, r)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: gzip %v, want %v", accepted, got, want)
			continue
		}
		if want {
			w.Body = bytes.NewBuffer(unzip(t, w.Body.Bytes()))
		}
		ids := map[string]bool{}
		answer := parse(t, w)
		for _, item := range answer.Items {
			if it := item["create"]; it.Status != http.StatusCreated || it.Index != "logs" {
				t.Fatalf("%q: %+v", accepted, it)
			}
			ids[item["create"].ID] = true
		}
		if answer.Errors || len(ids) != 3000 {
			t.Errorf("%q: errors %v, %d ids", accepted, answer.Errors, len(ids))
		}
	}
	// The item of a document that fails is written by the general path.
	d, _ := receiver(t)
	r := httptest.NewRequest(http.MethodPost, "/logs/_bulk",
		strings.NewReader(strings.Repeat("{\"create\":{}}\n{\"a\":1}\n", 20)+"{\"create\":{}}\n7\n"))
	r.Header.Set("Accept-Encoding", "gzip")
	if w := receivertest.Serve(d.Bulk, Refuse, r); w.Header().Get("Content-Encoding") != "" || !parse(t, w).Errors {
		t.Errorf("%s %.300s", w.Header(), w.Body)
	}
}
