package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node"
	"cordwood/node/config"
	"cordwood/node/recovery"
	"cordwood/node/secret"
	"cordwood/shard/cold/bucket"
)

// fromBucket has the flags of 'cordwood recover --from-bucket'.
type fromBucket struct {
	url, cluster, secretFile string
	allowMissing             bool
	bucket                   bucket.Config
	timeout                  time.Duration
}

// bucketFlags are the names of flags that only --from-bucket has.
var bucketFlags = []string{
	"cluster", "cluster-secret-file", "allow-missing", "endpoint", "region", "path-style", "ca-file", "timeout",
}

func (f *fromBucket) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.url, "from-bucket", "", "`LOCATION` of object storage of a lost cluster, s3://BUCKET/PREFIX or "+
		"file:///DIRECTORY: make a new cluster from it")
	fs.StringVar(&f.cluster, "cluster", "", "`ID` of the lost cluster, if the location has several")
	fs.StringVar(&f.secretFile, "cluster-secret-file", "", "`FILE` with the secret of the lost cluster, by which its "+
		"users, roles, grants and tokens are encrypted")
	fs.BoolVar(&f.allowMissing, "allow-missing", false, "go on without the rows of objects that are missing")
	config.S3Flags(fs, &f.bucket.S3, "")
	fs.DurationVar(&f.timeout, "timeout", time.Hour, "`TIME` for all requests together")
}

// any reports whether one of the flags is set.
func (f *fromBucket) any(cmd *cobra.Command) bool {
	for _, name := range bucketFlags {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (f *fromBucket) run(cmd *cobra.Command, cfg *recovery.Config) error {
	switch {
	case cfg.Group != "" || cfg.Retire || len(cfg.Compare) > 0:
		return cli.WrongUsage(errors.New("--group, --compare and --retire are not for --from-bucket"))
	case cfg.DataDir == "":
		return cli.WrongUsage(errors.New("give the folder of the new node, which is empty or does not exist: " +
			"--data-dir FOLDER"))
	case f.timeout <= 0:
		return cli.WrongUsage(fmt.Errorf("--timeout %s: want a positive time, such as 1h", f.timeout))
	}
	b, err := bucket.OpenURL(f.url, f.bucket)
	if err != nil {
		return cli.WrongUsage(err)
	}
	if d, ok := b.(*bucket.Dir); ok {
		if err := d.Exists(); err != nil {
			return fmt.Errorf("recover from %s: %w", f.url, err)
		}
	}
	guard := bucket.NewGuard(b, bucket.GuardConfig{
		Write: bucket.Policy{Tries: 4, Pause: time.Second, MaxPause: 8 * time.Second},
	})
	c := recovery.BucketConfig{
		Bucket: guard, Cluster: f.cluster, DataDir: cfg.DataDir, Accept: cfg.Accept, AllowMissing: f.allowMissing,
		OthersGone: cfg.OthersGone, Now: time.Now,
	}
	if f.secretFile != "" {
		s, err := secret.Read(f.secretFile)
		if err != nil {
			return err
		}
		c.Keys = s.Keys(node.StatesKey)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	return recovery.FromBucket(ctx, c, cmd.OutOrStdout())
}
