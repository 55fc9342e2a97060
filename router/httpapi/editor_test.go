package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cordwood/router/pipeline/processor"
)

// Editors get the processors with their options, and the functions with their signatures.
func TestEditor(t *testing.T) {
	f := newPipelineFixture(t)
	w := f.call(http.MethodGet, "/v1/pipelines/_schema", "")
	var schema struct {
		Properties struct {
			Processors struct {
				Items struct {
					AnyOf []struct {
						Required   []string
						Properties map[string]struct {
							Properties map[string]struct{ Description string }
						}
					}
				}
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &schema); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v", w.Code, err)
	}
	var kinds []string
	for _, one := range schema.Properties.Processors.Items.AnyOf {
		kinds = append(kinds, one.Required[0])
		if one.Required[0] == "date" && one.Properties["date"].Properties["timezone"].Description == "" {
			t.Error("the option timezone of date has no description")
		}
	}
	if !slices.Equal(kinds, processor.KindNames()) {
		t.Errorf("the processors are %s", kinds)
	}

	w = f.call(http.MethodGet, "/v1/vrl/functions", "")
	var list struct {
		Functions []struct {
			Name, Signature, Help string
			Example               struct{ Source string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || w.Code != http.StatusOK || len(list.Functions) < 100 {
		t.Fatalf("%d, %d functions, %v", w.Code, len(list.Functions), err)
	}
	for _, one := range list.Functions {
		if one.Name == "" || one.Help == "" || one.Example.Source == "" || !strings.HasPrefix(one.Signature, one.Name+"(") {
			t.Errorf("%+v", one)
		}
	}
}
