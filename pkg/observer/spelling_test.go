package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Without types, a value that may have another form is doubtful drift.
func TestSpellingOfAnUnknownKind(t *testing.T) {
	for name, row := range map[string]struct {
		want, live string
		is         observer.Spelling
	}{
		"equal":               {`{a: 1}`, `{a: 1.0}`, observer.Respelled},
		"quantities":          {`{a: 1000m}`, `{a: "1"}`, observer.MaybeRespelled},
		"durations":           {`{a: 60s}`, `{a: 1m0s}`, observer.MaybeRespelled},
		"times":               {`{a: "2026-01-01T01:00:00+01:00"}`, `{a: "2026-01-01T00:00:00Z"}`, observer.MaybeRespelled},
		"empty and absent":    {`{a: {b: ""}}`, `{}`, observer.MaybeRespelled},
		"defaults in a list":  {`{a: [{b: 1}]}`, `{a: [{b: 1, c: 2}]}`, observer.Respelled},
		"a doubt in a list":   {`{a: [{b: 1, d: ""}]}`, `{a: [{b: 1, c: 2}]}`, observer.MaybeRespelled},
		"other quantities":    {`{a: 1000m}`, `{a: "2"}`, observer.Different},
		"a percentage":        {`{a: 1%}`, `{a: 1}`, observer.Different},
		"another text":        {`{a: b}`, `{a: c}`, observer.Different},
		"absent":              {`{a: b}`, `{}`, observer.Different},
		"one more key":        {`{a: {b: 1}}`, `{a: {b: 1, c: 2}}`, observer.Different},
		"a list that grew":    {`{a: [1]}`, `{a: [1, 2]}`, observer.Different},
		"a doubt and a drift": {`{a: "", b: 1}`, `{b: 2}`, observer.Different},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, row.is, observer.SpellingOf(nil, false, object(t, row.want), object(t, row.live)))
		})
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return content
}
