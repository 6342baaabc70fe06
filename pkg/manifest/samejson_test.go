package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSameJSON(t *testing.T) {
	for _, row := range []struct {
		name, a, b string
		same       bool
	}{
		{"the order of keys does not matter", `{"a":1,"b":["x"]}`, `{"b": ["x"], "a": 1}`, true},
		{"the order of elements does", `["a","b"]`, `["b","a"]`, false},
		{"a null is something", `{"a":null}`, `{}`, false},
		{"no digit of an integer is lost", `{"a":9007199254740993}`, `{"a":9007199254740992}`, false},
		{"what is no JSON is the same as itself", `{`, `{`, true},
		{"and as nothing else", `{`, `[`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.same, SameJSON([]byte(row.a), []byte(row.b)))
			assert.Equal(t, row.same, SameJSON([]byte(row.b), []byte(row.a)))
		})
	}
}
