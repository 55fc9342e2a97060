package loki

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// TestDashboard checks that Loki's API supports the queries of the logs dashboard, and that its data sources are
// provisioned.
func TestDashboard(t *testing.T) {
	t.Parallel()
	grafana := filepath.Join("..", "..", "deploy", "grafana")
	text, err := os.ReadFile(filepath.Join(grafana, "logs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct {
				Expr, RawSQL string
				Datasource   struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	var sources struct {
		Datasources []struct{ Type, URL string }
	}
	if text, err = os.ReadFile(filepath.Join(grafana, "datasources.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &sources); err != nil {
		t.Fatal(err)
	}
	s := start(t)
	s.push([]sent{{line: "an error", labels: map[string]string{"app": "web"}}}, time.Second)
	places := strings.NewReplacer("$table", "loki_logs", "$search", "error", "$__auto", "60s")
	used := map[string]bool{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			used[target.Datasource.Type] = true
			if target.Expr == "" {
				continue
			}
			status, got := s.query("query_range", "query", places.Replace(target.Expr), "step", "60")
			if status != 200 || len(got.Data.Result) == 0 {
				t.Errorf("%s: %d %s, %d results", p.Title, status, got.Message, len(got.Data.Result))
			}
		}
	}
	for _, source := range sources.Datasources {
		if !used[source.Type] {
			t.Errorf("no panel uses %s", source.Type)
		}
		delete(used, source.Type)
	}
	if len(used) > 0 {
		t.Errorf("%v are not provisioned", used)
	}
}
