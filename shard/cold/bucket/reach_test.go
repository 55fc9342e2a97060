package bucket

import "testing"

// TestReach: readers of the bucket, such as those of Iceberg, need what the environment and default values say, too.
func TestReach(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	for _, c := range []struct {
		of               S3Config
		endpoint, region string
		path             bool
	}{
		{S3Config{}, "", "", false},
		{S3Config{Region: "eu-west-1"}, "", "eu-west-1", false},
		{S3Config{PathStyle: true}, "", "us-east-1", true},
		{S3Config{Endpoint: "https://s3.amazonaws.com"}, "", "", false},
		{S3Config{Endpoint: "s3.eu-west-1.amazonaws.com"}, "https://s3.eu-west-1.amazonaws.com", "", false},
		{S3Config{Endpoint: "http://minio:9000/"}, "http://minio:9000", "us-east-1", true},
		{S3Config{Endpoint: "minio.example.com", Region: "x"}, "https://minio.example.com", "x", true},
	} {
		endpoint, region, path := c.of.Reach()
		if endpoint != c.endpoint || region != c.region || path != c.path {
			t.Errorf("%+v: %q, %q, %v", c.of, endpoint, region, path)
		}
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://store:9000")
	t.Setenv("AWS_DEFAULT_REGION", "here")
	if endpoint, region, path := (S3Config{}).Reach(); endpoint != "http://store:9000" || region != "here" || !path {
		t.Errorf("from the environment: %q, %q, %v", endpoint, region, path)
	}
}
