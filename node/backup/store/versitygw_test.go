package store

import (
	"testing"

	"cordwood/node/backup/store/storetest"
)

func TestGateway(t *testing.T) {
	endpoint, bucket := storetest.Serve(t)
	for _, prefix := range []string{"", "/deep/er"} {
		st, err := Open("s3://"+bucket+prefix, Config{S3: S3Config{Endpoint: endpoint}, TempDir: t.TempDir()})
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
