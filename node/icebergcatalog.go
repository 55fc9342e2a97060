package node

import (
	"context"
	"strconv"
	"strings"

	"cordwood/node/config"
	"cordwood/node/iceberg"
	catalog "cordwood/router/iceberg"
)

// icebergSource gives the commits of Iceberg tables to the router.
type icebergSource struct{ commits *iceberg.Catalog }

// Table implements router/iceberg.Source.
func (s icebergSource) Table(ctx context.Context, database, name string) (catalog.Table, bool, error) {
	t, ok, err := s.commits.Table(ctx, database, name)
	return catalog.Table(t), ok, err
}

// Tables implements router/iceberg.Source.
func (s icebergSource) Tables(ctx context.Context) ([]catalog.Table, error) {
	list, err := s.commits.Tables(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]catalog.Table, len(list))
	for i, t := range list {
		out[i] = catalog.Table(t)
	}
	return out, nil
}

// Metadata implements router/iceberg.Source.
func (s icebergSource) Metadata(ctx context.Context, t catalog.Table) ([]byte, error) {
	return s.commits.Metadata(ctx, iceberg.Table(t))
}

// icebergProperties returns the settings with which clients of the Iceberg catalog reach the bucket, under the names
// that Iceberg's Java library and PyIceberg have for them. They have no credentials.
func icebergProperties(o *config.ObjectStorage) map[string]string {
	out := map[string]string{}
	if !strings.HasPrefix(o.URL, "s3://") {
		return out
	}
	endpoint, region, pathStyle := o.S3.Reach()
	if endpoint != "" {
		out["s3.endpoint"] = endpoint
	}
	if region != "" {
		out["s3.region"], out["client.region"] = region, region
	}
	if pathStyle {
		out["s3.path-style-access"] = strconv.FormatBool(true)
		out["s3.force-virtual-addressing"] = strconv.FormatBool(false)
	}
	return out
}
