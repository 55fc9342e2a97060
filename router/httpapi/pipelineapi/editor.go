package pipelineapi

import (
	"encoding/json"
	"net/http"
	"sync"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline"
	"cordwood/router/vrl"
)

// Information for editors of pipelines: the JSON Schema of a pipeline, and the functions of VRL. Neither changes
// while the server runs, so each is computed once.

var pipelineSchema = sync.OnceValues(func() ([]byte, error) { return json.Marshal(pipeline.JSONSchema()) })

// vrlFunction describes a VRL function.
type vrlFunction struct {
	Name      string      `json:"name"`
	Group     string      `json:"group"`
	Signature string      `json:"signature"`
	Help      string      `json:"help"`
	Fallible  bool        `json:"fallible"`
	Params    []vrlParam  `json:"params"`
	Example   *vrlExample `json:"example,omitempty"`
}

type vrlParam struct {
	Name     string `json:"name"`
	Help     string `json:"help"`
	Optional bool   `json:"optional"`
}

type vrlExample struct {
	Title  string `json:"title"`
	Source string `json:"source"`
	Event  string `json:"event,omitempty"`
	Result string `json:"result,omitempty"`
}

var vrlFunctions = sync.OnceValues(func() ([]byte, error) {
	list := []vrlFunction{}
	for _, f := range vrl.Functions() {
		one := vrlFunction{
			Name: f.Name, Group: string(f.Group), Signature: f.Signature(), Help: f.Doc, Fallible: f.Fallible,
			Params: []vrlParam{},
		}
		for _, p := range f.Params {
			one.Params = append(one.Params, vrlParam{Name: p.Name, Help: p.Doc, Optional: p.Optional})
		}
		if len(f.Examples) > 0 {
			e := f.Examples[0]
			one.Example = &vrlExample{Title: e.Title, Source: e.Source, Event: e.Event, Result: e.Result}
		}
		list = append(list, one)
	}
	return json.Marshal(map[string]any{"functions": list})
})

// Schema answers with the JSON Schema of a pipeline.
func Schema(w http.ResponseWriter, r *http.Request) { answerConstant(w, r, pipelineSchema) }

// Functions answers with the functions of VRL.
func Functions(w http.ResponseWriter, r *http.Request) { answerConstant(w, r, vrlFunctions) }

func answerConstant(w http.ResponseWriter, r *http.Request, body func() ([]byte, error)) {
	out, err := body()
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "describe pipelines"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}
