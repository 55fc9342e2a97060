package exchange

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWriteJSONLength checks that answers of all sizes have a length, which net/http sets for small ones.
func TestWriteJSONLength(t *testing.T) {
	for _, n := range []int{2, counted - 1, counted, counted + 1, 100_000} {
		body := `"` + strings.Repeat("a", n-2) + `"`
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			WriteJSON(w, http.StatusOK, []byte(body))
		}))
		answer, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		if err != nil || string(got) != body+"\n" || answer.ContentLength != int64(n+1) {
			t.Errorf("a body of %d bytes: length %d, %d bytes, %v", n, answer.ContentLength, len(got), err)
		}
		_ = answer.Body.Close()
		srv.Close()
	}
}
