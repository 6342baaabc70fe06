package observer_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/observer"
)

func TestDroppedNulls(t *testing.T) {
	rows := []struct {
		name, sent, stored string
		lost               []string
	}{
		{"nothing is lost", `[{"a":null}]`, `[{"a":null}]`, nil},
		{"a null in a map is lost", `[{"a":null,"b":{}}]`, `[{"b":{}}]`, []string{"[0].a"}},
		{"nulls below lists are lost", `[{"l":[{"p":null},null,{"n":1}]}]`, `[{"l":[{},null,{"n":1}]}]`, []string{"[0].l[0].p"}},
		{"every one is named", `[{"a":null,"m":{"b":null,"c":"observed"}}]`, `[{"m":{"c":"observed"}}]`, []string{"[0].a", "[0].m.b"}},
		{"some arrived", `[{"a":null,"b":null}]`, `[{"b":null}]`, []string{"[0].a"}},
		{"numbers are numbers", `[{"a":null,"n":1}]`, `[{"n":1.0}]`, []string{"[0].a"}},
		{"a different schema is not compared", `[{"a":null,"b":null}]`, `[{"a":"observed"}]`, nil},
		{"a different number of schemas is not compared", `[{"a":null},{"b":null}]`, `[{"b":null}]`, nil},
		{"a null schema", `[null]`, `[null]`, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			var sent, stored []any
			require.NoError(t, json.Unmarshal([]byte(row.sent), &sent))
			require.NoError(t, json.Unmarshal([]byte(row.stored), &stored))
			assert.Equal(t, row.lost, observer.DroppedNulls(sent, stored))
		})
	}
}
