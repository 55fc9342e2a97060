// Command image builds the container image of cordwood from a binary, without a daemon and
// without a registry, or only writes its files.
//
//	go run ./image -bin bin/cordwood -licences dist/licences -oci dist/image        an OCI layout
//	go run ./image -bin bin/cordwood -licences dist/licences -tar dist/image.tar    for docker load
//	go run ./image -bin bin/cordwood -licences dist/licences -rootfs /rootfs        the files, for a Dockerfile
//
// The image contains the binary, the shared libraries that it needs, certificates of public
// authorities, time zones, the licence texts of all of these, and an unprivileged user, but no shell.
// The same input gives the same bytes. Licence texts of system files come from the Debian
// packages, so the system must be Debian or a derivative.
package main

import (
	"flag"
	"fmt"
	"os"

	"cordwood/deploy/tools/epoch"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "", "the `FILE` of the program")
	flag.StringVar(&o.sysroot, "sysroot", "/", "`FOLDER` where the libraries of the program's architecture are")
	flag.StringVar(&o.version, "version", "", "version that the image is labelled with")
	flag.StringVar(&o.ref, "name", "cordwood:latest", "name of the image in a file for docker load")
	flag.StringVar(&o.licences, "licences", "",
		"`FOLDER` with the licence texts of what is linked into the program, by ./release")
	flag.StringVar(&o.oci, "oci", "", "write an OCI layout to this `FOLDER`, which must not exist")
	flag.StringVar(&o.tar, "tar", "", "write a `FILE` for docker load")
	flag.StringVar(&o.rootfs, "rootfs", "", "write the files to this `FOLDER`, which must not exist")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, sysroot, version, ref string
	licences                   string
	oci, tar, rootfs           string
}

func run(o options) error {
	if o.bin == "" || o.licences == "" || o.oci == "" && o.tar == "" && o.rootfs == "" {
		return fmt.Errorf("-bin, -licences and one of -oci, -tar and -rootfs are needed")
	}
	made, err := epoch.Of(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	root, err := collect(o.bin, o.sysroot, o.licences)
	if err != nil {
		return err
	}
	if o.rootfs != "" {
		if err := root.writeTo(o.rootfs); err != nil {
			return err
		}
	}
	if o.oci == "" && o.tar == "" {
		return nil
	}
	image, err := build(root, o.version, made)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	if o.oci != "" {
		if err := writeLayout(o.oci, image, root.arch); err != nil {
			return err
		}
	}
	if o.tar != "" {
		if err := writeTar(o.tar, o.ref, image); err != nil {
			return err
		}
	}
	fmt.Println(digest)
	return nil
}
