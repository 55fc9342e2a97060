// Package helmtest renders the Helm chart and tests it.
package helmtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// chartDir is the path of the chart, relative to this package.
const chartDir = "../../helm/cordwood"

// request has the inputs of a rendering.
type request struct {
	values  string // YAML
	upgrade bool
	// live provides the objects of the cluster, for lookup; nil if there is no cluster.
	live engine.ClientProvider
}

// render returns the objects of the chart, each as YAML, by their template file. It first validates
// the values against the schema, as helm does.
func render(r request) (map[string][]string, error) {
	c, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if err := yaml.Unmarshal([]byte(r.values), &given); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{
		Name: "demo", Namespace: "logs", Revision: 1, IsInstall: !r.upgrade, IsUpgrade: r.upgrade,
	}
	values, err := chartutil.ToRenderValues(c, given, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := renderFiles(c, values, r.live)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for name, text := range files {
		name = strings.TrimPrefix(name, "cordwood/templates/")
		for _, doc := range strings.Split("\n"+text, "\n---") {
			if doc = strings.TrimSpace(doc); doc != "" && !onlyComments(doc) {
				out[name] = append(out[name], doc+"\n")
			}
		}
	}
	return out, nil
}

func renderFiles(c *chart.Chart, values chartutil.Values, live engine.ClientProvider) (map[string]string, error) {
	if live == nil {
		return engine.Render(c, values)
	}
	return engine.RenderWithClientProvider(c, values, live)
}

func onlyComments(doc string) bool {
	for _, line := range strings.Split(doc, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// random matches the values that the chart generates at random when there is no cluster.
var random = regexp.MustCompile(`(?m)^(  secret: )[A-Za-z0-9+/=]{64}$`)

// golden returns the whole rendering as one text, in a fixed order.
func golden(files map[string][]string) string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	for _, name := range names {
		for _, doc := range files[name] {
			fmt.Fprintf(&b, "--- # %s\n%s", name, random.ReplaceAllString(doc, "${1}RANDOM"))
		}
	}
	return b.String()
}

// readme returns the README of the chart: its template, and a table of the values.
func readme() (string, error) {
	head, err := os.ReadFile(filepath.Join(chartDir, "README.md.in"))
	if err != nil {
		return "", err
	}
	values, err := os.ReadFile(filepath.Join(chartDir, "values.yaml"))
	if err != nil {
		return "", err
	}
	rows, err := valueRows(values)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString("\n| value | default | what it is |\n|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.key, strings.ReplaceAll(r.value, "|", "\\|"),
			strings.ReplaceAll(r.text, "|", "\\|"))
	}
	return b.String(), nil
}
