package observer_test

import (
	"errors"
	"testing"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

var schemaSeeds = []string{
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"selector":{"app":null},"ports":[{"port":null},{"observer_schema_list_min_length":1,"observer_schema_list_max_length":4}],"sessionAffinity":"observed"}}`,
	`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"observed","uid":null},"stringData":{"a":null},"data":{"b":null}}`,
	`{"apiVersion":"example.com/v1","kind":"Song","metadata":{"name":"x","labels":null},"spec":{"l":[[null,{"observer_schema_list_min_length":0,"observer_schema_list_max_length":0}],{"observer_schema_list_min_length":0,"observer_schema_list_max_length":0,"observer_schema_list_map_keys":["name"]}]}}`,
	`{"apiVersion":"a/b/c","kind":5,"metadata":null,"spec":[],"x":[null],"y":{"observer_schema_list_min_length":1}}`,
	`{"apiVersion":"v1","kind":"X","metadata":{"name":"x","namespace":""},"":{"":null},"a/b~c.d'e":{"ü":null}}`,
}

// FuzzParseAll checks that every schema is either rejected with a validation error, or parsed. The text
// of a parsed schema parses to the same schema.
func FuzzParseAll(f *testing.F) {
	for _, seed := range schemaSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := manifest.DecodeJSON(data)
		if err != nil {
			return
		}
		entries, err := observer.ParseAll([]map[string]any{raw, raw})
		if err != nil {
			var fault *observer.ValidationError
			if !errors.As(err, &fault) {
				t.Fatalf("%v is no fault", err)
			}
			return
		}
		again, err := observer.ParseAll([]map[string]any{entries[0].Raw()})
		if err != nil {
			t.Fatalf("%v\n%v", err, entries[0].Raw())
		}
		if !observer.Equal(again[0].Raw(), entries[0].Raw()) {
			t.Fatalf("%v\n%v", entries[0].Raw(), again[0].Raw())
		}
	})
}
