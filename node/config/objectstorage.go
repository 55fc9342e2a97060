package config

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"cordwood/shard/cold/bucket"
)

// ObjectStorage contains the settings of the object storage for old rows.
type ObjectStorage struct {
	// URL is the location, s3://BUCKET/PREFIX or file:///DIRECTORY. If it is empty, all rows stay on local disks.
	URL string
	// S3 describes how to reach a bucket. Credentials come from the environment.
	S3 bucket.S3Config
	// CacheDir is the folder in which the node makes a folder for parts of objects that queries read; empty means cache in
	// the data folder.
	CacheDir string
	// CacheBytes is the maximum size of this folder; 0 means a fifth of its disk, but at least 10 GiB, and at most half of
	// the disk.
	CacheBytes ByteSize
	// UploadAfter is the time from when rows were written to segments until they go to object storage. Default 1h.
	UploadAfter time.Duration
	// LocalFor is how long rows stay on local disks too, by their time index; 0 means always. Default 24h.
	LocalFor time.Duration
	// UploadBytes is the size of the segments of a table from which its rows go earlier. Default 256MiB.
	UploadBytes ByteSize
	// UploadRate is the maximum number of bytes of objects that this node sends in a second; 0 means any number.
	UploadRate ByteSize
	// Log is how often the log of the shards and the metadata are stored; 0 means that the log is not stored.
	Log time.Duration
	// IcebergEvery is how often tables with the option iceberg are committed. Default 10m.
	IcebergEvery time.Duration
}

// readStall is how long a read waits for the next byte of object storage: two of them are shorter than the time limit
// of a query.
const readStall = 8 * time.Second

const (
	defaultUploadAfter = time.Hour
	defaultLocalFor    = 24 * time.Hour
	defaultUploadBytes = 256 << 20

	defaultIcebergEvery = 10 * time.Minute
)

// minCache is the smallest useful size of the cache: a query needs all that it reads at once.
const minCache = 64 << 20

// minUploadRate is the smallest useful rate: an object of 192 MiB takes three minutes.
const minUploadRate = 1 << 20

// flags declares the settings on fs.
func (o *ObjectStorage) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "object-storage-url", "", "`LOCATION` for old rows, "+
		"s3://BUCKET/PREFIX or file:///DIRECTORY, the same on all nodes with the roles shard and meta; by default, all rows "+
		"are only on local disks. Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the "+
		"files of ~/.aws, a web identity, or the role of the machine")
	S3Flags(fs, &o.S3, "object-storage-")
	fs.StringVar(&o.CacheDir, "object-storage-cache-dir", "", "existing `FOLDER` in which the node makes a folder "+
		"for the parts of objects that queries have read; by default cache in the data folder")
	fs.Var(&o.CacheBytes, "object-storage-cache-bytes", "size limit of the cache of parts of objects, and of what all "+
		"queries together read of object storage at the same time; 0: a fifth of the disk, but at least "+
		"10GiB, and at most half of the disk")
	durationVar(fs, &o.UploadAfter, "object-storage-upload-after", defaultUploadAfter,
		"how long rows are in segments before they go to object storage")
	durationVar(fs, &o.LocalFor, "object-storage-local-for", defaultLocalFor, "how long rows in object storage "+
		"stay on local disks too, by their time index; 0: always")
	durationVar(fs, &o.IcebergEvery, "object-storage-iceberg-every", defaultIcebergEvery, "how often tables with the "+
		"option iceberg are committed as Apache Iceberg, if they have changed")
	durationVar(fs, &o.Log, "object-storage-log", 0, "how often the log and the metadata are stored in object storage, "+
		"so that no more is lost if all disks are lost, such as 10s; 0: rows go there after --object-storage-upload-after, "+
		"metadata every 10m")
	o.UploadBytes = defaultUploadBytes
	fs.Var(&o.UploadBytes, "object-storage-upload-bytes", "size of the segments of a table in one shard from which its "+
		"rows go to object storage before that time")
	fs.Var(&o.UploadRate, "object-storage-upload-rate", "bytes per second that the node sends to object storage, for all "+
		"shards together; 0: as many as it can")
}

// S3Flags declares the flags for the access to an S3 service. Their names begin with prefix.
func S3Flags(fs *pflag.FlagSet, to *bucket.S3Config, prefix string) {
	fs.StringVar(&to.Endpoint, prefix+"endpoint", "",
		"`URL` of the S3 service (environment: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL; default: Amazon's)")
	fs.StringVar(&to.Region, prefix+"region", "", "`REGION` of the bucket (environment: AWS_REGION, AWS_DEFAULT_REGION)")
	fs.BoolVar(&to.PathStyle, prefix+"path-style", false,
		"put the bucket into the path also for Amazon's S3, as for other services")
	fs.StringVar(&to.CAFile, prefix+"ca-file", "",
		"`FILE` of certificates that are trusted for the S3 service (PEM; environment: AWS_CA_BUNDLE)")
	fs.StringVar(&to.SSE, prefix+"sse", "none", "how the S3 service encrypts new objects: none (as the bucket does by "+
		"default), s3, kms or kms:KEY")
}

// check checks the settings of object storage.
func (o *ObjectStorage) check(f *faults) {
	if o.URL == "" {
		for _, s := range []struct {
			flag string
			set  bool
		}{
			{"endpoint", o.S3.Endpoint != ""},
			{"region", o.S3.Region != ""},
			{"path-style", o.S3.PathStyle},
			{"ca-file", o.S3.CAFile != ""},
			{"sse", o.S3.SSE != "none"},
			{"cache-dir", o.CacheDir != ""},
			{"cache-bytes", o.CacheBytes != 0},
			{"local-for", o.LocalFor != defaultLocalFor},
			{"upload-after", o.UploadAfter != defaultUploadAfter},
			{"upload-bytes", o.UploadBytes != defaultUploadBytes},
			{"upload-rate", o.UploadRate != 0},
			{"iceberg-every", o.IcebergEvery != defaultIcebergEvery},
			{"log", o.Log != 0},
		} {
			if s.set {
				f.add("--object-storage-%s has no effect without --object-storage-url: set both or neither", s.flag)
			}
		}
		return
	}
	if _, err := o.Open(); err != nil {
		if bad := (*bucket.SettingError)(nil); errors.As(err, &bad) {
			f.add("--object-storage-%s: %w", bad.Setting, err)
		} else {
			f.add("--object-storage-url %w", err)
		}
	}
	if o.S3.SSE != "none" && !strings.HasPrefix(o.URL, "s3://") {
		f.add("--object-storage-sse %s: only a location with s3:// encrypts objects", o.S3.SSE)
	}
	if o.CacheBytes != 0 && o.CacheBytes < minCache {
		f.add("--object-storage-cache-bytes %s: want at least %s, or 0", o.CacheBytes, ByteSize(minCache))
	}
	if o.UploadBytes < 1<<20 {
		f.add("--object-storage-upload-bytes %s: want at least 1MiB", o.UploadBytes)
	}
	if o.UploadRate != 0 && o.UploadRate < minUploadRate {
		f.add("--object-storage-upload-rate %s: want at least %s, or 0", o.UploadRate, ByteSize(minUploadRate))
	}
	if o.LocalFor < 0 {
		f.add("--object-storage-local-for %s: want a positive duration, or 0", o.LocalFor)
	}
	if o.IcebergEvery < time.Second {
		f.add("--object-storage-iceberg-every %s: want at least 1s", o.IcebergEvery)
	}
	if o.Log != 0 && o.Log < time.Second {
		f.add("--object-storage-log %s: want at least 1s, or 0", o.Log)
	}
	if o.UploadAfter < time.Second {
		f.add("--object-storage-upload-after %s: want at least 1s", o.UploadAfter)
	}
}

// StateEvery is how often the states of the metadata and of shards are stored, if they have changed.
func (o *ObjectStorage) StateEvery() time.Duration { return min(10*time.Minute, o.UploadAfter) }

// MetadataEvery is how often it is seen whether the metadata have changed.
func (o *ObjectStorage) MetadataEvery() time.Duration {
	if o.Log > 0 {
		return min(o.Log, o.StateEvery())
	}
	return o.StateEvery()
}

// Root returns the absolute location of the keys of objects, as other programs name it, without a slash at the end.
func (o *ObjectStorage) Root() string {
	b, err := o.Open()
	if err != nil {
		return o.URL
	}
	root := b.Location()
	if _, ok := b.(*bucket.Dir); ok {
		root = "file://" + filepath.ToSlash(filepath.Clean(root))
	}
	return strings.TrimSuffix(root, "/")
}

// Open returns the bucket at URL. It does not connect.
func (o *ObjectStorage) Open() (bucket.Bucket, error) {
	s3 := o.S3
	s3.ReadStall = readStall
	return bucket.OpenURL(o.URL, bucket.Config{S3: s3})
}
