package iceberg

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestPages reads a list of tables and of namespaces by pages of all sizes.
func TestPages(t *testing.T) {
	f := &fake{}
	var want []string
	for i := range 25 {
		name := fmt.Sprintf("t%02d", i)
		want = append(want, name)
		f.tables = append(f.tables, Table{"d", name, "u", "s3://b/" + name}, Table{name, "x", "u", "s3://b/x" + name})
	}
	slices.Reverse(f.tables)
	call := serve(t, f, nil)
	for _, path := range []string{"/namespaces/d/tables", "/namespaces"} {
		for size := 1; size < 30; size++ {
			var got []string
			token := ""
			for pages := 0; ; pages++ {
				w := call("GET", fmt.Sprintf("/iceberg/v1%s?pageToken=%s&pageSize=%d", path, url.QueryEscape(token), size))
				var page struct {
					Identifiers []identifier
					Namespaces  [][]string
					Next        *string `json:"next-page-token"`
				}
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != 200 {
					t.Fatal(w.Code, w.Body)
				}
				if n := len(page.Identifiers) + len(page.Namespaces); n > size || n == 0 {
					t.Fatalf("a page of %d with %d names", size, n)
				}
				for _, one := range page.Identifiers {
					got = append(got, one.Name)
				}
				for _, one := range page.Namespaces {
					got = append(got, one[0])
				}
				if page.Next == nil {
					break
				}
				if token = *page.Next; pages > 30 {
					t.Fatal("the pages have no end")
				}
			}
			got = slices.DeleteFunc(got, func(name string) bool { return name == "d" })
			if !slices.Equal(got, want) {
				t.Fatalf("%s by %d: %v", path, size, got)
			}
		}
	}
}

// TestPageParameters checks wrong parameters, and lists that are too long for one answer.
func TestPageParameters(t *testing.T) {
	f := &fake{}
	for i := range maxPage + 1 {
		name := fmt.Sprintf("t%05d", i)
		f.tables = append(f.tables, Table{"d", name, "u", "s3://b/" + name})
	}
	call := serve(t, f, nil)
	for query, want := range map[string]string{
		"pageToken=%25":         "is not a token of an earlier answer",
		"pageToken=&pageSize=0": "is not a positive number",
		"pageSize=x":            "is not a positive number",
		"pageSize=1&pageSize=2": "is given 2 times",
		"":                      "an answer has at most 10000",
		"pageSize=5":            "an answer has at most 10000", // without pageToken, a client asks for all
	} {
		w := call("GET", "/iceberg/v1/namespaces/d/tables?"+query)
		if w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d %.300s", query, w.Code, w.Body)
		}
	}
	w := call("GET", "/iceberg/v1/namespaces/d/tables?pageToken=")
	var page identifiers
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || len(page.Identifiers) != maxPage || page.Next == nil {
		t.Errorf("a page without a size: %v, %d names", err, len(page.Identifiers))
	}
}
