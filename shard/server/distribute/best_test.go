package distribute

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/shard/query"
)

// countsStream returns the groups that a node sends: those with the largest counts.
func countsStream(t *testing.T, groups map[string]int64, rows uint64) []byte {
	t.Helper()
	names := make([]string, 0, len(groups))
	for g := range groups {
		names = append(names, g)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(groups[b], groups[a]), cmp.Compare(a, b))
	})
	names = names[:min(len(names), int(rows))]
	keys, counts := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	for _, g := range names {
		if g == "" {
			keys.AppendNull()
		} else {
			keys.Append(g)
		}
		counts.Append(groups[g])
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "g", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	rec := array.NewRecordBatch(schema, []arrow.Array{keys.NewArray(), counts.NewArray()}, int64(len(names)))
	if err := w.Write(rec); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// first returns the groups with the largest counts; among equal counts, those with the lesser
// names.
func first(groups map[string]int64, n uint64) []string {
	var list []string
	for g, c := range groups {
		list = append(list, fmt.Sprintf("%012d %s", 1e9-c, g))
	}
	slices.Sort(list)
	return list[:min(len(list), int(n))]
}

// TestBestGroupsProveTheAnswer compares, for random groups on up to five nodes, the answer computed
// from the groups that the nodes send with the answer from all groups, whenever the former counts
// as certain.
func TestBestGroupsProveTheAnswer(t *testing.T) {
	t.Parallel()
	const rounds = 5000
	proved := 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := &query.Best{Rows: 1 + r.Uint64N(8), Groups: 1, Count: 1, First: 1 + r.Uint64N(4)}
		whole, sent := map[string]int64{}, map[string]int64{}
		var streams [][]byte
		skew := 1 + r.IntN(60)
		for range 1 + r.IntN(5) {
			groups := map[string]int64{}
			for g := range 1 + r.IntN(12) {
				if r.IntN(4) == 0 {
					continue
				}
				name := fmt.Sprint(g)
				if g == 3 {
					name = "" // the group of null
				}
				groups[name] = 1 + int64(r.IntN(1+skew/(g+1)))
				whole[name] += groups[name]
			}
			stream := countsStream(t, groups, b.Rows)
			streams = append(streams, stream)
			list, err := readCounts(stream, b)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range list {
				name := ""
				if g.key != "-" {
					name = g.key[2:]
					if len(name) > 0 && name[0] == ':' {
						name = name[1:]
					}
				}
				sent[name] += g.count
			}
		}
		if !provesBest(streams, b) {
			continue
		}
		proved++
		if want, got := first(whole, b.First), first(sent, b.First); !slices.Equal(want, got) {
			t.Fatalf("seed %d: the groups %v count as certain, but the answer is %v", seed, got, want)
		}
	}
	if proved < rounds/10 || proved > rounds*9/10 {
		t.Errorf("%d of %d answers were proved", proved, rounds)
	}
}

// TestGroupsWithoutUniqueTexts checks that provesBest returns false if the groups are doubles.
func TestGroupsWithoutUniqueTexts(t *testing.T) {
	t.Parallel()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "g", Type: arrow.PrimitiveTypes.Float64}, {Name: "n", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := &query.Best{Rows: 5, Groups: 1, Count: 1, First: 1}
	if provesBest([][]byte{out.Bytes()}, b) {
		t.Error("the answer counts as certain, although the groups are doubles")
	}
	if provesBest([][]byte{[]byte("no stream")}, b) {
		t.Error("the answer counts as certain, although a stream cannot be read")
	}
}
