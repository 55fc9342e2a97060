package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// TestRecoverManyObjects makes a cluster anew from a bucket with 100,000 objects of one shard, and reports how long it
// takes until the first answers.
func TestRecoverManyObjects(t *testing.T) {
	if os.Getenv("CORDWOOD_CHAOS") == "" {
		t.Skip("set CORDWOOD_CHAOS for this long test")
	}
	const objects = 100_000
	dir := t.TempDir()
	url := "file://" + dir
	args := []string{
		"--shards", "2", "--object-storage-url", url, "--object-storage-upload-after", "1s", "--object-storage-local-for",
		"1s", "--shard-flush-age", "1s",
	}
	old := New(t, args...)
	old.Start()
	loadCold(t, old)
	place := states.Place{Bucket: bucket.NewDir(dir), Cluster: mustIdentity(t, old).ClusterID}
	Eventually(t, time.Minute, func() error {
		_, _, _, err := stateOf(t, place)
		return err
	})
	awaitStates(t, place)
	old.Kill()

	rows := copyObjects(t, place, dir, objects)
	n := New(t, args...)
	began := time.Now()
	cmd := exec.Command(n.bin, "recover", "--from-bucket", url, "--data-dir", n.Dir, "--others-are-gone",
		"--accept-data-loss")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	recovered := time.Since(began)
	n.Start()
	if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM app")); got != fmt.Sprintf("[[%d]]", rows) {
		t.Errorf("%s rows, want %d", got, rows)
	}
	counted := time.Since(began)
	n.Rows(t, "SELECT text FROM small LIMIT 10")
	t.Logf("%d objects: recovered after %s, rows counted after %s, some of another table read after %s", objects,
		recovered.Round(time.Millisecond), counted.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if counted > time.Minute {
		t.Errorf("the first query was answered after %s", counted)
	}
}

// stateOf returns the newest state of the shard that has objects of the table app, the one with most rows, and the
// first of these.
func stateOf(t *testing.T, place states.Place) (h states.Header, st *manifest.State, first *cold.Object, err error) {
	groups, err := place.List(t.Context())
	if err != nil {
		return h, nil, nil, err
	}
	for shard, list := range groups {
		if shard == 0 {
			continue
		}
		h, body, err := place.Read(t.Context(), &list[0])
		if err != nil {
			return h, nil, nil, err
		}
		if st, err = manifest.DecodeState("the state", body); err != nil {
			return h, nil, nil, err
		}
		for i := range st.Sets {
			for k := range st.Sets[i].Objects {
				if o := &st.Sets[i].Objects[k]; len(o.Spans()) == 1 && o.Meta.Rows > 100 {
					return h, st, o, nil
				}
			}
		}
	}
	return h, nil, nil, errors.New("no state has objects of the table")
}

// linksOfFile is how many names a file gets. File systems have limits.
const linksOfFile = 1000

// copyObjects adds sets of the table app to the newest state of its shard, with a number of objects that have the
// content of the first one. It returns the rows that the table has then.
func copyObjects(t *testing.T, place states.Place, dir string, objects int) (rows int64) {
	t.Helper()
	h, st, first, err := stateOf(t, place)
	if err != nil {
		t.Fatal(err)
	}
	content, order := *first, uint64(0)
	for _, o := range st.CutOrders {
		order = max(order, o.Order)
	}
	table := content.Spans()[0].TableID
	for _, set := range st.Sets {
		for _, o := range set.Objects {
			for _, span := range o.Spans() {
				if span.TableID == table {
					rows += span.Rows
				}
			}
		}
	}
	source := filepath.Join(dir, content.Key)
	data, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		st.Cold.LastCut++
		o := content
		o.Cut = st.Cold.LastCut
		o.Key = fmt.Sprintf("%s/%d-%06d.parquet", filepath.Dir(content.Key), o.Cut, i)
		if i%linksOfFile == 0 {
			source = filepath.Join(dir, o.Key)
			err = os.WriteFile(source, data, 0o600)
		} else {
			err = os.Link(source, filepath.Join(dir, o.Key))
		}
		if err != nil {
			t.Fatal(err)
		}
		st.Sets = append(st.Sets, manifest.Set{Number: o.Cut, Index: st.AppliedIndex, Objects: []cold.Object{o}})
		st.CutOrders = append(st.CutOrders, manifest.CutOrder{
			Number: o.Cut, TableID: table, Order: order + 1 + uint64(i),
		})
		rows += o.Meta.Rows
	}
	h.Written = h.Written.Add(time.Second)
	h.Index++
	st.AppliedIndex++
	if err := place.Put(t.Context(), h, st.Encode()); err != nil {
		t.Fatal(err)
	}
	return rows
}
