package codec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/vrltest"
)

// A message with a field of every kind.
const protoFile = `
file { name: "time.proto" package: "google.protobuf" syntax: "proto3"
  message_type { name: "Timestamp"
    field { name: "seconds" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
    field { name: "nanos" number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL } } }
file { name: "rec.proto" package: "acme" syntax: "proto3" dependency: "time.proto"
  enum_type { name: "Level" value { name: "LOW" number: 0 } value { name: "HIGH" number: 1 } }
  message_type { name: "Rec"
    field { name: "text" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "raw" number: 2 type: TYPE_BYTES label: LABEL_OPTIONAL }
    field { name: "i32" number: 3 type: TYPE_SINT32 label: LABEL_OPTIONAL }
    field { name: "u32" number: 4 type: TYPE_FIXED32 label: LABEL_OPTIONAL }
    field { name: "i64" number: 5 type: TYPE_INT64 label: LABEL_OPTIONAL }
    field { name: "u64" number: 6 type: TYPE_UINT64 label: LABEL_OPTIONAL }
    field { name: "f32" number: 7 type: TYPE_FLOAT label: LABEL_OPTIONAL }
    field { name: "f64" number: 8 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
    field { name: "yes" number: 9 type: TYPE_BOOL label: LABEL_OPTIONAL }
    field { name: "level" number: 10 type: TYPE_ENUM type_name: ".acme.Level" label: LABEL_OPTIONAL }
    field { name: "at" number: 11 type: TYPE_MESSAGE type_name: ".google.protobuf.Timestamp" label: LABEL_OPTIONAL }
    field { name: "list" number: 12 type: TYPE_INT32 label: LABEL_REPEATED }
    field { name: "inner" number: 13 type: TYPE_MESSAGE type_name: ".acme.Rec" label: LABEL_REPEATED }
    field { name: "tags" number: 14 type: TYPE_MESSAGE type_name: ".acme.Rec.TagsEntry" label: LABEL_REPEATED }
    field { name: "by_id" number: 15 type: TYPE_MESSAGE type_name: ".acme.Rec.ByIdEntry" label: LABEL_REPEATED }
    nested_type { name: "TagsEntry" options { map_entry: true }
      field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
      field { name: "value" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
    nested_type { name: "ByIdEntry" options { map_entry: true }
      field { name: "key" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
      field { name: "value" number: 2 type: TYPE_BOOL label: LABEL_OPTIONAL } } } }`

func TestEncodeProto(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := prototext.Unmarshal([]byte(protoFile), set); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "rec.desc")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	encode := func(value, more string) string {
		return fmt.Sprintf("encode_proto!(%s, %q, \"acme.Rec\"%s)", value, path, more)
	}
	back := func(value string) string {
		return fmt.Sprintf("parse_proto!(%s, %q, \"acme.Rec\")", encode(value, ""), path)
	}
	cases := []vrltest.Case{
		{
			Source: `encode_base16(` + encode(`{"text": "hi", "i32": -1, "other": 1, "raw": null}`, "") + `)`,
			Want:   `"0a0268691801"`,
		},
		{
			Name: "all kinds", Source: back(`{"text": "é", "raw": "x", "i32": -5, "u32": 4294967295, "i64": -9, "u64": ` +
				`9, "f32": 0.5, "f64": 2.25, "yes": true, "level": "HIGH"}`),
			Want: `{"text":"é","raw":"x","i32":-5,"u32":4294967295,"i64":-9,"u64":9,"f32":0.5,"f64":2.25,"yes":true,` +
				`"level":"HIGH"}`,
		},
		{
			Name:   "containers",
			Source: back(`{"list": [1, 2], "inner": [{"text": "a"}, {}], "tags": {"k": "v"}, "by_id": {"-7": true}}`),
			Want:   `{"list":[1,2],"inner":[{"text":"a"},{}],"tags":{"k":"v"},"by_id":{"-7":true}}`,
		},
		{Name: "a timestamp", Source: back(`{"at": t'2026-01-02T03:04:05.25Z'}`), Want: `{"at":"2026-01-02T03:04:05.250Z"}`},
		{
			Name:   "numbers",
			Source: back(`{"f64": 3, "level": 1, "i64": t'1970-01-01T00:01:00Z'}`),
			Want:   `{"f64":3.0,"level":"HIGH","i64":60}`,
		},
		{
			Name:   "text of scalars",
			Source: back(`{"text": 1.0, "tags": {"a": true, "b": t'2026-01-02T03:04:05Z'}}`),
			Want:   `{"text":"1","tags":{"a":"true","b":"2026-01-02T03:04:05Z"}}`,
		},
		{
			Name:     "text only",
			Source:   encode(`{"text": 1}`, ", allow_lossy_string_coercion: false"),
			RunError: "field acme.Rec.text",
		},
		{Name: "no object", Source: encode(`[1]`, ""), RunError: "expected object, got array"},
		{Name: "no number", Source: encode(`{"i32": "1"}`, ""), RunError: "field acme.Rec.i32"},
		{Name: "out of range", Source: encode(`{"i32": 2147483648}`, ""), RunError: "does not fit"},
		{Name: "negative", Source: encode(`{"u64": -1}`, ""), RunError: "does not fit"},
		{Name: "no such name", Source: encode(`{"level": "MID"}`, ""), RunError: `no value "MID"`},
		{Name: "no array", Source: encode(`{"list": 1}`, ""), RunError: "field acme.Rec.list"},
		{Name: "no map", Source: encode(`{"tags": []}`, ""), RunError: "field acme.Rec.tags"},
		{Name: "no key", Source: encode(`{"by_id": {"x": true}}`, ""), RunError: `key "x" is not an integer`},
		{Name: "no message", Source: encode(`{"at": "now"}`, ""), RunError: "field acme.Rec.at"},
		{
			Name:         "no such type",
			Source:       fmt.Sprintf(`encode_proto!({}, %q, "acme.Nothing")`, path),
			CompileError: "acme.Nothing is not in the descriptor file",
		},
		{
			Name:         "no such file",
			Source:       fmt.Sprintf(`encode_proto!({}, %q, "acme.Rec")`, path+"x"),
			CompileError: "unable to read descriptor file",
		},
	}
	for i := range cases {
		cases[i].Grants = fn.Files
	}
	cases = append(cases, vrltest.Case{
		Name:     "files are not granted",
		Source:   encode(`{}`, ""),
		RunError: "which this server does not let programs use",
	})
	vrltest.Run(t, cases)
}
