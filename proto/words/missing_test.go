package words

import (
	"fmt"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	for _, m := range []Missing{
		{Table: "public.logs", Shard: 3, Reason: "node n1: it has no leader; node n2: connection refused"},
		{Table: "public.logs", Segment: "12.parquet", Reason: "it is damaged and has 5 rows"},
		{Shard: 3, Reason: "its size is not known: no answer"},
		{Reason: "public.logs: 2 objects in object storage, 7 rows: timeout"},
		{Reason: "node n2: shard 3: no answer"},
		{Reason: "shard x: no answer"},
		{Reason: "shard 7"},
	} {
		if got := ParseMissing(m.String()); got != m {
			t.Errorf("%q is read as %+v, want %+v", m, got, m)
		}
	}
}

func TestJoinMissing(t *testing.T) {
	list := []Missing{
		{Table: "public.logs", Shard: 3, Reason: "no leader"},
		{Table: "public.logs", Shard: 1, Reason: "no leader"},
		{Table: "public.other", Shard: 1, Reason: "no leader"},
		{Table: "public.logs", Shard: 2, Reason: "no answer"},
		{Table: "public.logs", Segment: "7", Reason: "damaged"},
		{Reason: "node n2: no answer"},
	}
	want := "public.logs: shards 1, 3: no leader; public.other: shard 1: no leader; public.logs: shard 2: no answer; " +
		"public.logs: segment 7: damaged; node n2: no answer"
	if got := JoinMissing(list, 1000); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for most := range len(want) + 2 {
		got := JoinMissing(list, most)
		if len(got) > most && most > 3 {
			t.Fatalf("%d bytes of at most %d: %s", len(got), most, got)
		}
		if most >= len(want) && got != want {
			t.Errorf("%d bytes are enough, but the text is %s", most, got)
		}
		if most >= 60 && most < len(want) {
			whole, n, ok := strings.Cut(got, "; and ")
			left := 0
			if _, err := fmt.Sscanf(n, "%d more", &left); !ok || err != nil || !strings.HasPrefix(want, whole+"; ") ||
				left+strings.Count(whole, "; ")+1 != 5 {
				t.Errorf("%d bytes: %s", most, got)
			}
		}
	}
	long := []Missing{{Reason: strings.Repeat("x", 100)}}
	if got := JoinMissing(long, 50); len(got) != 50 || !strings.HasSuffix(got, "...") {
		t.Errorf("a long text becomes %s", got)
	}
}
