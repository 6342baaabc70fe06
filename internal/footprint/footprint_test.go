package footprint_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/footprint"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"replicas":3,
"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"registry.example.com/web:1.2.3",
"args":["--port=80"],"env":[{"name":"A","value":"b"},{"name":"C","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}],"ports":[{"containerPort":80}],
"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"1","memory":"1Gi"}}}]}}}}`

// manyKeys returns a map with n keys.
func manyKeys(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `"%d":0,`, i)
	}
	return "{" + text.String() + `"last":0}`
}

// The estimate is compared with the heap after decoding. It may be too high by more than it may be too low.
func TestTheEstimateIsTheMemory(t *testing.T) {
	repeated := func(element string) string {
		return "[" + strings.Repeat(element+",", (1<<20)/(len(element)+1)) + element + "]"
	}
	texts := map[string]string{"a map with many keys": manyKeys(60_000)}
	for _, element := range []string{
		deployment, "0", "1000", "1.5", "null", "true", "{}", `{"":0}`, "[]", "[[]]", `""`, `"a"`, `"a\"\\"`, `{"a":{"a":{"a":{}}}}`,
		`"` + strings.Repeat("text ", 20) + `"`, `{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0}`,
	} {
		texts[element] = repeated(element)
	}
	for name, text := range texts {
		before := heap()
		var value any
		require.NoError(t, json.Unmarshal([]byte(text), &value), name)
		taken := heap() - before
		runtime.KeepAlive(value)
		ratio := float64(footprint.Estimate([]byte(text)).Bytes) / float64(taken)
		assert.Greater(t, ratio, 0.6, "%.40s: %d MiB", name, taken>>20)
		assert.Less(t, ratio, 2.5, "%.40s: %d MiB", name, taken>>20)
	}
}

func heap() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc) //nolint:gosec // far below 2^63
}

func TestElementsAndDepth(t *testing.T) {
	for _, row := range []struct {
		text            string
		elements, depth int
	}{
		{``, 0, 0},
		{`5`, 0, 0},
		{`{"a":[1,2]}`, 0, 2},
		{`[]`, 0, 1},
		{`[0]`, 1, 1},
		{`[{"a":1,"b":[1,2]},"x,y",3]`, 3, 3},
		{`["[[[","\"]",{}]`, 3, 2},
		{`["\\",["a"]]`, 2, 2},
		{"[ \n 1 , 2 ]", 2, 1},
		{strings.Repeat("[", 1000), 1, 1000},
		{strings.Repeat("[", 9000), 1, 1001},
		{`]]][1,2`, 2, 1},
		{`"no end`, 0, 0},
	} {
		size := footprint.Estimate([]byte(row.text))
		assert.Equal(t, row.elements, size.Elements, "%.40q", row.text)
		assert.Equal(t, row.depth, size.Depth, "%.40q", row.text)
	}
}

func TestAScanAllocatesNothing(t *testing.T) {
	text := []byte(deployment)
	assert.Zero(t, testing.AllocsPerRun(10, func() { footprint.Estimate(text) }))
}

func FuzzEstimate(f *testing.F) {
	f.Add([]byte(deployment))
	f.Add([]byte(`["\\",["a"]]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		size := footprint.Estimate(text)
		if size.Depth > footprint.MaxDepth {
			return
		}
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil && strings.HasPrefix(strings.TrimSpace(string(text)), "[") && len(list) > 0 && len(list) != size.Elements {
			t.Errorf("%d elements, not %d", len(list), size.Elements)
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	text := []byte("[" + strings.Repeat(deployment+",", 1000) + "0]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		footprint.Estimate(text)
	}
}
