package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// build makes the image, with the same configuration as the last stage of the Dockerfile.
func build(root *rootFS, version string, made time.Time) (v1.Image, error) {
	// Use two layers: the program changes with every version, the other files rarely.
	base, err := layer(root, made, func(f file) bool { return f.name != "usr/bin/cordwood" })
	if err != nil {
		return nil, err
	}
	program, err := layer(root, made, func(f file) bool { return f.name == "usr/bin/cordwood" })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), base, program)
	if err != nil {
		return nil, err
	}
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Architecture, config.OS, config.Created = root.arch, "linux", v1.Time{Time: made}
	for i := range config.History {
		config.History[i].Created = v1.Time{Time: made}
	}
	user := strconv.Itoa(userID)
	config.Config = v1.Config{
		User: user + ":" + user, WorkingDir: "/data",
		Entrypoint: []string{"/usr/bin/cordwood"}, Cmd: []string{"serve"},
		Env: []string{
			"PATH=/usr/bin", "CORDWOOD_DATA_DIR=/data", "CORDWOOD_HTTP_ADDR=:4000", "CORDWOOD_RPC_ADDR=:4001",
			"CORDWOOD_LOG_FORMAT=json",
		},
		ExposedPorts: map[string]struct{}{"4000/tcp": {}, "4001/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		StopSignal:   "SIGTERM",
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/usr/bin/cordwood", "health"},
			Interval: 10 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute, Retries: 6,
		},
		Labels: map[string]string{"org.opencontainers.image.title": "cordwood", "org.opencontainers.image.version": version},
	}
	return mutate.ConfigFile(image, config)
}

// layer packs the files for which want returns true. The same files give the same bytes.
func layer(root *rootFS, made time.Time, want func(file) bool) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range root.files {
		if !want(f) {
			continue
		}
		h := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.uid, ModTime: made, Typeflag: tar.TypeReg,
			Size: int64(len(f.data)), Format: tar.FormatPAX,
		}
		if f.dir {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

func writeLayout(dir string, image v1.Image, arch string) error {
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s exists: remove it, or choose another folder", dir)
	}
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write the layout: %w", err)
	}
	return at.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
}

func writeTar(file, ref string, image v1.Image) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return fmt.Errorf("-name: %w", err)
	}
	return tarball.WriteToFile(file, tag, image)
}
