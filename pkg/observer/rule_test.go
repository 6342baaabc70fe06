package observer_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// compiled compiles an item of hold for an object, and returns the errors of the item itself, too.
func compiled(t *testing.T, path string, said, content map[string]any) (observer.CompileResult, []*observer.FieldPathError) {
	t.Helper()
	parsed, err := observer.ParseFieldPath(path)
	require.NoError(t, err)
	f := &observer.Fields{Kind: "Thing", Name: "a", OnlyHold: true, Hold: []*observer.FieldPath{parsed}}
	faults := f.AddRule(0, said)
	id := manifest.ID{Group: "example.com", Kind: "Thing", Name: "a"}
	return f.Compile(manifest.Object{ID: id, APIVersion: "example.com/v1", Content: content}, observer.Context{}), faults
}

// ruled returns the rule of spec.v in a schema.
func ruled(t *testing.T, said map[string]any) (*observer.Rule, error) {
	t.Helper()
	made, faults := compiled(t, "spec.v", said, map[string]any{"spec": map[string]any{}})
	var all []error
	for _, fault := range faults {
		all = append(all, fault)
	}
	if len(all) > 0 {
		return nil, errors.Join(all...)
	}
	return made.Entry.Root.Field("spec").Field("v").Rule, nil
}

// around returns the context of a rule that reads only the value.
func around() *observer.RuleContext { return observer.NewRuleContext(nil) }

func between(t *testing.T, least, most any) *observer.Rule {
	t.Helper()
	rule, err := ruled(t, map[string]any{"minimum": least, "maximum": most})
	require.NoError(t, err)
	return rule
}

func TestAmounts(t *testing.T) {
	for _, row := range []struct {
		name        string
		least, most any
		inside      []any
		outside     []any
	}{
		{"numbers", int64(1), int64(5), []any{int64(1), 2.5, "3", "4000m", int64(5)}, []any{int64(0), int64(6), 5.5, "6", "low", "", true, nil, []any{int64(2)}}},
		{"fractions", 0.5, 1.5, []any{0.5, int64(1), "1500m"}, []any{0.25, int64(2)}},
		{"quantities", "500m", "2", []any{"500m", "0.5", int64(1), "2000m"}, []any{"499m", "2001m", "2Gi"}},
		{"of memory", "64Mi", "1Gi", []any{"64Mi", "65536Ki", "1024Mi", int64(1 << 27)}, []any{"63Mi", "1025Mi", "1G1"}},
		{"percentages", "10%", "50%", []any{"10%", "12.5%", "50%"}, []any{"9%", "51%", int64(20), "20", "%", "-%"}},
		{"large ones", int64(0), int64(9007199254740993), []any{int64(9007199254740993)}, []any{int64(9007199254740994)}},
		{"with exponents", "1e3", "1E4", []any{int64(1000), "9999", "5e3"}, []any{int64(999), "2e4"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			rule := between(t, row.least, row.most)
			for _, v := range row.inside {
				assert.True(t, rule.Allows(v, around()), "%v", v)
			}
			for _, v := range row.outside {
				assert.False(t, rule.Allows(v, around()), "%v", v)
			}
		})
	}
}

// Any client can set live values. The quantity parser would need minutes for the text of some labels.
func TestHostileAmountsAreNone(t *testing.T) {
	rule := between(t, int64(0), int64(5))
	for _, hostile := range []string{
		"1e999999999", "1e-999999999", "1E2147483647", strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1", "1e9999",
	} {
		assert.False(t, rule.Allows(hostile, nil))
		_, err := ruled(t, map[string]any{"maximum": hostile})
		assert.ErrorContains(t, err, "must be a number, a quantity or a percentage")
		assert.Less(t, len(err.Error()), 1024)
	}
}

func TestHostilePatternsAreRefused(t *testing.T) {
	for _, row := range []struct{ name, pattern, message string }{
		{"of a megabyte", strings.Repeat("a", 1<<20), "has 1048576 bytes, but a pattern may have 4096"},
		{"that repeat what repeats", "((a{30}){30}){30}", "is not a regular expression"},
		{"that repeat much", `(\pL[a-z]abcdef){1000}`, "compiles to more than 5000 steps"},
		{"with parentheses only", strings.Repeat("(", 2000) + strings.Repeat(")", 2000), "is not a regular expression"},
		{"that look back", `(a)\1`, "is not a regular expression"},
		{"that would end the group around them", "a)(b", "is not a regular expression"},
	} {
		t.Run(row.name, func(t *testing.T) {
			rule, err := ruled(t, map[string]any{"pattern": row.pattern})
			assert.ErrorContains(t, err, row.message)
			assert.Nil(t, rule)
			assert.Less(t, len(err.Error()), 8192)
		})
	}
}

func TestPatterns(t *testing.T) {
	for _, row := range []struct {
		pattern string
		matches []any
		others  []any
	}{
		{"a|ab", []any{"a", "ab"}, []any{"abc", "b", ""}},
		{"^v[0-9]+$", []any{"v1"}, []any{"v1\n", "\nv1", "v"}},
		{"(?i)debug", []any{"DEBUG"}, []any{"debugs"}},
		{`\pL{1,63}`, []any{"é"}, []any{strings.Repeat("a", 64), int64(1), nil, true}},
		{"a*", []any{"", strings.Repeat("a", 1000)}, []any{strings.Repeat("a", 32<<20)}},
	} {
		rule, err := ruled(t, map[string]any{"pattern": row.pattern})
		require.NoError(t, err)
		for _, v := range row.matches {
			assert.True(t, rule.Allows(v, around()), "%s %v", row.pattern, v)
		}
		for _, v := range row.others {
			assert.False(t, rule.Allows(v, around()), "%s", row.pattern)
		}
	}
}
