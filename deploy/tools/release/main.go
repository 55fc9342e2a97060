// Command release builds the release files of cordwood from a binary: the archive with
// the program and its files, the list of its parts (SBOM), and the licence texts.
//
//	go run ./release -bin bin/cordwood -licences dist/licences     a folder of licence texts
//	go run ./release -bin bin/cordwood -version V -out dist        the archive and the SBOM
//	go run ./release -sums dist                                    SHA256SUMS of the archives and SBOMs
//
// The linked libraries are read from the binary itself, so none is missed. The same input
// gives the same bytes; SOURCE_DATE_EPOCH is the time of all files.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cordwood/deploy/tools/epoch"
)

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "", "the `FILE` of the program")
	flag.StringVar(&o.runs, "runs", "",
		"the `FILE` of the program that this machine can run, for shell completions; -bin if empty")
	flag.StringVar(&o.repo, "repo", "../..", "the `FOLDER` of the repository")
	flag.StringVar(&o.version, "version", "", "version of the release")
	flag.StringVar(&o.licences, "licences", "", "write the licence texts to this `FOLDER`, which is replaced")
	flag.StringVar(&o.out, "out", "", "write the archive and the SBOM to this `FOLDER`")
	flag.StringVar(&o.sums, "sums", "", "write SHA256SUMS of the archives and SBOMs in this `FOLDER`")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

type options struct {
	bin, runs, repo, version string
	licences, out, sums      string
}

func run(o options) error {
	if o.bin == "" && o.sums == "" || o.bin != "" && o.licences == "" && o.out == "" {
		return fmt.Errorf("give -sums, or -bin with -licences or -out")
	}
	made, err := epoch.Of(os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	if o.bin != "" {
		c, err := contents(o.bin, o.repo)
		if err != nil {
			return err
		}
		if o.licences != "" {
			if err := writeFolder(o.licences, c.licenceFiles()); err != nil {
				return err
			}
		}
		if o.out != "" {
			if err := release(o, c, made); err != nil {
				return err
			}
		}
	}
	if o.sums != "" {
		return writeSums(o.sums)
	}
	return nil
}

// release writes the archive and the SBOM.
func release(o options, c *content, made time.Time) error {
	if o.version == "" {
		return fmt.Errorf("-version is needed for an archive")
	}
	name := fmt.Sprintf("cordwood_%s_%s_%s", o.version, c.os, c.arch)
	sbom, err := c.sbom(o.version, made)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, name+".cdx.json"), sbom, 0o644); err != nil {
		return err
	}
	if o.runs == "" {
		o.runs = o.bin
	}
	files, err := archiveFiles(o, c)
	if err != nil {
		return err
	}
	files = append(files, file{name: "sbom.cdx.json", data: sbom, mode: 0o644})
	return writeArchive(filepath.Join(o.out, name+".tar.gz"), name, files, made)
}
