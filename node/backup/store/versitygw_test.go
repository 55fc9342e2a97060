package store

import (
	"testing"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
)

func TestGateway(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	for _, prefix := range []string{"", "/deep/er"} {
		st, err := Open("s3://"+name+prefix, Config{S3: bucket.S3Config{Endpoint: endpoint}, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		contract(t, st)
		for _, name := range []string{"a/bc", "z"} {
			if err := st.Remove(wait(t), name); err != nil {
				t.Fatal(err)
			}
		}
	}
}
