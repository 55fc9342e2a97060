package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom returns the parts of the program as an SBOM in CycloneDX 1.6.
func (c *content) sbom(version string, made time.Time) ([]byte, error) {
	root := cdx.Component{
		BOMRef: "cordwood", Type: cdx.ComponentTypeApplication, Name: "cordwood", Version: version,
		Description: "Log ingestion database, for " + c.os + "/" + c.arch,
		Licenses:    choices([]string{"Apache-2.0"}),
	}
	var components []cdx.Component
	var refs []string
	for _, p := range c.parts {
		component := cdx.Component{
			BOMRef: p.purl(), PackageURL: p.purl(), Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version,
			Scope: cdx.ScopeRequired, Licenses: choices(p.licences()),
		}
		if p.sum != "" {
			component.Properties = &[]cdx.Property{{Name: "go.sum", Value: p.sum}}
		}
		components = append(components, component)
		refs = append(refs, component.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: made.Format(time.RFC3339), Component: &root}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: "cordwood", Dependencies: &refs}}
	// The serial number depends only on the content.
	h := sha256.Sum256(fmt.Append(nil, version, c.os, c.arch, made.Unix(), refs))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8: its content is application-specific
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom,
		cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write the SBOM: %w", err)
	}
	return out.Bytes(), nil
}

// purl returns the part's package URL.
func (p *part) purl() string {
	switch p.kind {
	case goItself:
		return "pkg:golang/std@" + strings.TrimPrefix(p.version, "go")
	case native:
		return "pkg:generic/" + p.name + "@" + p.version
	case ofPage:
		return "pkg:npm/" + strings.ReplaceAll(p.name, "@", "%40") + "@" + p.version
	}
	return "pkg:golang/" + p.name + "@" + strings.ReplaceAll(p.version, "+", "%2B")
}

// choices converts licences to the form of CycloneDX.
func choices(names []string) *cdx.Licenses {
	var out cdx.Licenses
	for _, name := range names {
		out = append(out, cdx.LicenseChoice{License: &cdx.License{ID: name}})
	}
	return &out
}
