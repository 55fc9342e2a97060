package exchange

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\r\nSet-Cookie: x": "a  Set-Cookie: x", "tab\tünï": "tab  n ", "±2^53 …": "+/-2^53 ...",
		strings.Repeat("x", 5000): strings.Repeat("x", maxHeaderText),
	} {
		if got := HeaderText(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAppendJSONString(t *testing.T) {
	for _, s := range []string{"", `a"b\c`, "line\nbreak\x00\x1f\x7f", "<script>&", "ünï\U0001F600", "bad\xffutf"} {
		var got string
		out := AppendJSONString(nil, s)
		if err := json.Unmarshal(out, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q: %s (%v)", s, out, err)
		}
	}
	// People copy commands from error texts.
	if got := string(AppendJSONString(nil, "table=<NAME>&x=(d->>'n')::INT")); got != `"table=<NAME>&x=(d->>'n')::INT"` {
		t.Error(got)
	}
}

// deadlines is a connection that notes its write deadline, and that during the first write.
type deadlines struct {
	*httptest.ResponseRecorder
	now, writing time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.now = t; return nil }

func (d *deadlines) Write(p []byte) (int, error) {
	if d.writing.IsZero() {
		d.writing = d.now
	}
	return d.ResponseRecorder.Write(p)
}

// TestReadingTime checks that a client that does not read an answer cannot keep it in memory forever.
func TestReadingTime(t *testing.T) {
	begin := time.Now()
	for n, least := range map[int]time.Duration{counted: readingTime, 16 << 20: readingTime + 64*time.Second} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		x, _ := Begin(d, httptest.NewRequest(http.MethodPost, "/", nil), slog.New(slog.DiscardHandler))
		WriteJSON(x, http.StatusOK, make([]byte, n))
		if got := d.writing.Sub(begin); got < least || d.writing.After(time.Now().Add(least+time.Second)) {
			t.Errorf("%d bytes may be written for %s, want %s", n, got, least)
		}
		if !d.now.IsZero() {
			t.Error("the deadline stays for the next request")
		}
	}
}

// TestUnread checks that large answers are refused while too many others are not read.
func TestUnread(t *testing.T) {
	answer := func(n int) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		WriteJSON(w, http.StatusOK, make([]byte, n))
		return w
	}
	was := unread.Load()
	unread.Add(maxUnread())
	if w := answer(largeAnswer); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" ||
		!json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := answer(largeAnswer - 1); w.Code != http.StatusOK {
		t.Errorf("a small answer: %d", w.Code)
	}
	unread.Add(-maxUnread())
	if w := answer(largeAnswer); w.Code != http.StatusOK || w.Body.Len() < largeAnswer || unread.Load() != was {
		t.Errorf("%d with %d bytes, and %d bytes stay counted", w.Code, w.Body.Len(), unread.Load()-was)
	}
}

// TestQuotaAnswer checks the answer to a request beyond a quota: its figures, and when to try again.
func TestQuotaAnswer(t *testing.T) {
	q := errs.Quota{Database: "app", Name: "quota.tables", Limit: 2, Value: 3, Unit: "tables"}
	for range 20 {
		w := httptest.NewRecorder()
		x, r := Begin(w, httptest.NewRequest(http.MethodPost, "/", nil), slog.New(slog.DiscardHandler))
		WriteError(x, r, errs.OverQuota(q, time.Minute, "full"))
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil || after < 48 || after > 72 {
			t.Fatalf("Retry-After %d, %v", after, err)
		}
		const want = `"quota":{"database":"app","name":"quota.tables","limit":2,"value":3,"unit":"tables"},` +
			`"retry_after_ms":60000}`
		if body := w.Body.String(); w.Code != 429 || !json.Valid([]byte(body)) || !strings.Contains(body, want) {
			t.Fatalf("%d %s", w.Code, body)
		}
	}
}

// TestQuotaWithoutRetry: a request that would be refused again is not told to come back after 0 ms.
func TestQuotaWithoutRetry(t *testing.T) {
	w := httptest.NewRecorder()
	x, r := Begin(w, httptest.NewRequest(http.MethodPost, "/", nil), slog.New(slog.DiscardHandler))
	e := errs.New(errs.QueryTimeout, "over").WithStatus(http.StatusBadRequest)
	e.Quota = &errs.Quota{Database: "app", Name: "quota.query_duration", Limit: 1, Value: 1, Unit: "ms"}
	WriteError(x, r, e)
	body := w.Body.String()
	if !json.Valid([]byte(body)) || !strings.Contains(body, `"unit":"ms"}`) || strings.Contains(body, "retry_after_ms") {
		t.Error(body)
	}
}
