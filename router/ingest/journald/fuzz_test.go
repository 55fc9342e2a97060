package journald

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

func newDecoder(r io.Reader, cut *int) *decoder {
	return &decoder{r: bufio.NewReaderSize(r, 4096), hold: func(int) error { return nil }, cut: func() { *cut++ }}
}

// decoded returns the entries of a body as records, and the error.
func decoded(t *testing.T, r io.Reader) (out []string, failed error) {
	cut := 0
	d := newDecoder(r, &cut)
	in := &input{}
	for {
		e := &entry{}
		if err := d.next(e); err != nil {
			return out, err
		}
		if len(e.fields) == 0 || len(e.fields) > maxFields || len(e.data) > maxEntry+maxName+1 {
			t.Errorf("an entry of %d fields and %d bytes", len(e.fields), len(e.data))
		}
		in.at = e
		text := in.text()
		if _, err := value.ParseJSON(string(text), value.JSONOptions{Strict: true}); err != nil || !utf8.Valid(text) {
			t.Errorf("%s: %v", text, err)
		}
		out = append(out, string(text))
	}
}

// FuzzDecoder checks that the result does not depend on how a body is split, and that decoded entries are valid.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(exported(1) + exported(0x1000)))
	f.Add([]byte("MESSAGE=a\nMESSAGE=b\nX=\n=y\n" + binaryField("MESSAGE", "\xff\n=\n") + "\n\n" + exported(7)))
	f.Add([]byte("A\n\xff\xff\xff\xff\xff\xff\xff\x7fx"))
	f.Add([]byte("A=" + strings.Repeat("x", 10_000) + "\n" + strings.Repeat("B=1\n", 100) + "\n"))
	f.Add([]byte("__CURSOR=s=;i=\n__REALTIME_TIMESTAMP=99999999999999999999\n_PID=-1\n_UID=x\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, failed := decoded(t, bytes.NewReader(body))
		bits, failedToo := decoded(t, iotest.OneByteReader(bytes.NewReader(body)))
		if strings.Join(whole, "\n") != strings.Join(bits, "\n") || failed.Error() != failedToo.Error() {
			t.Errorf("whole: %q (%v), in bits: %q (%v)", whole, failed, bits, failedToo)
		}
	})
}

func BenchmarkUpload(b *testing.B) {
	body := []byte(entriesOf(1, 1000))
	b.SetBytes(int64(len(body)))
	cut := 0
	for b.Loop() {
		d := newDecoder(bytes.NewReader(body), &cut)
		var e entry
		for d.next(&e) == nil {
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "entries/s")
}
