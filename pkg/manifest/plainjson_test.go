package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

// FuzzDecodePlain compares the result with that of encoding/json.
func FuzzDecodePlain(f *testing.F) {
	seeds(f)
	for _, text := range []string{
		``, ` `, `{}`, `[]`, ` { "a" : [ 1 , -2, 0, -0, true, false, null, "x" ] , "a" : {} } `, `{"a":1.5}`, `{"a":1e3}`, `[9223372036854775807, -9223372036854775808, 9223372036854775808]`,
		`{"a":"\u00e9\n\"\\"}`, `{"a":"é 日本"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}", `{"a":"\ud800"}`, `{"a":"\x"}`, `{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":1.}`, `{"a":truex}`,
		`{"a":1,}`, `{,"a":1}`, `[1,]`, `[,1]`, `{"a" 1}`, `{"a":1}}`, `{"a":1} x`, `{"a":1`, `{"a`, `{"a\`, `{a:1}`, `[1 2]`, "\ufeff{}", "{}\x00", "\x00",
		strings.Repeat("[", 150) + strings.Repeat("]", 150), strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		got, plain := decodePlain(text)
		require.Equal(t, before, string(text))
		if !plain {
			return
		}
		var want any
		require.NoError(t, kjson.Unmarshal(text, &want))
		require.Equal(t, want, got)
	})
}

func TestDecodePlainReadsServerJSON(t *testing.T) {
	for _, text := range []string{`{"a":{"b":[1,-2,"x",true,false,null,{}]},"c":"a \"word\"\n"}`, "{}\n", `{"a":"é"}`} {
		_, plain := decodePlain([]byte(text))
		require.True(t, plain, text)
	}
}
