package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/cold/states"
)

// TestRecoverFromBucket has a cluster lose all its disks. A new one is made from the bucket: it has all rows that were
// there, and the users. The old one, which comes back, does not disturb it.
func TestRecoverFromBucket(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	args := []string{
		"--auth", "on", "--shards", "2", "--object-storage-url", "s3://" + name + "/prod", "--object-storage-endpoint",
		endpoint, "--object-storage-upload-after", "1s", "--object-storage-local-for", "1s", "--object-storage-cache-bytes",
		"64MiB", "--shard-flush-age", "1s",
	}
	old := New(t, args...)
	old.Start()
	const password = "correct horse battery"
	boss := exec.Command(old.bin, "user", "reset-admin", "boss", "--data-dir", old.Dir)
	boss.Stdin = strings.NewReader(password + "\n")
	if out, err := boss.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	signIn := func(n *Node) { n.Client = &http.Client{Transport: signed{"boss", password}} }
	signIn(old)
	want := loadCold(t, old)
	old.mustQuery(t, "CREATE USER ann PASSWORD '"+password+"'")
	old.mustQuery(t, "GRANT SELECT ON public.small TO ann")
	place := states.Place{Cluster: mustIdentity(t, old).ClusterID}
	var err error
	place.Bucket, err = bucket.Open("s3://"+name+"/prod", bucket.Config{S3: bucket.S3Config{Endpoint: endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	awaitStates(t, place)

	secret := filepath.Join(t.TempDir(), "secret")
	text, err := os.ReadFile(filepath.Join(old.Dir, "cluster-secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, text, 0o600); err != nil {
		t.Fatal(err)
	}
	old.Kill()

	n := New(t, args...)
	run := func(more ...string) (string, error) {
		cmd := exec.Command(n.bin, append([]string{
			"recover", "--from-bucket", "s3://" + name + "/prod", "--endpoint", endpoint, "--data-dir", n.Dir,
		}, more...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	refused := func(wanted string, more ...string) {
		t.Helper()
		if out, err := run(more...); err == nil || !strings.Contains(out, wanted) {
			t.Errorf("recover %v: %v, want %q:\n%s", more, err, wanted, out)
		}
	}
	refused("that it runs: stop all its nodes", "--accept-data-loss")
	refused("give --accept-data-loss", "--others-are-gone")
	other := filepath.Join(t.TempDir(), "other")
	mustCommand(t, "new-secret", other)
	refused("with the secret of --cluster-secret-file", "--others-are-gone", "--accept-data-loss", "--cluster-secret-file",
		other)
	out, err := run("--others-are-gone", "--accept-data-loss", "--cluster-secret-file", secret)
	if err != nil {
		t.Fatal(err, out)
	}
	for _, wanted := range []string{
		"table app: 600 rows in ", "table small: 60 rows", "users, roles, grants and tokens as of",
	} {
		if !strings.Contains(out, wanted) {
			t.Errorf("recover does not print %q:\n%s", wanted, out)
		}
	}
	refused("was made from this one", "--accept-data-loss")

	n.Start()
	signIn(n)
	compareCold(t, n, want, "recovered")
	ann := as(n, signed{"ann", password})
	if got, err := ann.Query("SELECT count(*) FROM small"); err != nil || fmt.Sprint(got) != "[[60]]" {
		t.Errorf("ann reads what was granted: %v %v", got, err)
	}
	if _, err := ann.Query("SELECT count(*) FROM app"); err == nil {
		t.Error("ann reads what was not granted")
	}
	// The cluster takes rows, and moves them to the bucket as before.
	for i := range 10 {
		if err := n.Ingest("app", fmt.Appendf(nil, `{"n":%d,"level":"late","text":"after"}`, 1000+i)); err != nil {
			t.Fatal(err)
		}
	}
	n.mustQuery(t, "CREATE TABLE later (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT) WITH (append_mode='true')")
	Eventually(t, 2*time.Minute, func() error {
		if !strings.Contains(n.Log(), "moved rows to object storage") {
			return errors.New("the new rows were not moved")
		}
		return n.onlyObjects("app", "small")
	})
	compareCold(t, n, want, "recovered, with new rows in the bucket")
	if got := fmt.Sprint(n.Rows(t, "SELECT count(*), sum(n) FROM app WHERE level = 'late'")); got != "[[10 10045]]" {
		t.Errorf("the new rows: %s", got)
	}

	// The old cluster comes back.
	old.Start()
	Eventually(t, time.Minute, func() error {
		if log := old.Log(); !strings.Contains(log, "and owns them") {
			return errors.New("the old cluster does not say that it has lost its objects")
		}
		return nil
	})
	old.Kill()
	compareCold(t, n, want, "after the old cluster ran")
	n.Stop()
}

// loadCold loads the rows of coldStatements into a node with two shards, and waits until they are only in objects. It
// returns the answers.
func loadCold(t *testing.T, n *Node) (want map[string]string) {
	t.Helper()
	for _, table := range []string{"app", "small"} {
		n.mustQuery(t, "CREATE TABLE "+table+" (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, level STRING, text STRING) "+
			"WITH (append_mode='true', physical_table='x')")
	}
	for i := range 600 {
		body := fmt.Appendf(nil, `{"n":%d,"level":"%s","text":"row %d of app"}`, i, []string{"info", "error"}[i%2], i)
		if err := n.Ingest("app", body); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			if err := n.Ingest("small", body); err != nil {
				t.Fatal(err)
			}
		}
	}
	want = map[string]string{}
	for _, sql := range coldStatements {
		want[sql] = fmt.Sprint(n.Rows(t, sql))
	}
	Eventually(t, 2*time.Minute, func() error { return n.onlyObjects("app", "small") })
	return want
}

// awaitStates waits until the metadata of now and the shards with objects are stored.
func awaitStates(t *testing.T, place states.Place) {
	t.Helper()
	ctx, began := context.Background(), time.Now()
	Eventually(t, time.Minute, func() error {
		a, err := place.Alive(ctx)
		if err != nil {
			return err
		}
		// Each step notes that the cluster runs, and then stores the metadata if they have changed. At least one whole step
		// began after this function was called.
		if every := time.Duration(a.Every * float64(time.Second)); a.Written.Before(began.Add(2 * every)) {
			return fmt.Errorf("the metadata were looked at last at %s", a.Written)
		}
		groups, err := place.List(ctx)
		if err == nil && len(groups) < 3 {
			err = fmt.Errorf("not all shards have a state: %v", groups)
		}
		return err
	})
}

func mustIdentity(t *testing.T, n *Node) Identity {
	t.Helper()
	id, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}
