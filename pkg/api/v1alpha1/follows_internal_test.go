package v1alpha1

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
)

const (
	someDesired  = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"x, ]}"},"name":"t"},"spec":{"l":[1,{"m":[]}],"m":{},"n":-1.5e3,"z":true}}`
	someEntry    = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"observed"},"name":"t"},"spec":{"l":["observed",{"m":[{"observer_schema_list_max_length":0,"observer_schema_list_min_length":0}]},{"observer_schema_list_max_length":2,"observer_schema_list_min_length":2}],"m":{},"n":"observed","z":"observed"}}`
	someObserved = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"x, ]}"},"name":"t"},"spec":{"l":[1,{"m":[{"observer_schema_list_current_length":0}]},{"observer_schema_list_current_length":2}],"m":{},"n":-1.5e3,"z":true}}`
)

// TestDerivedValuesAreAFormat checks that derived values, which are part of stored records, have the same
// meaning in every version.
func TestDerivedValuesAreAFormat(t *testing.T) {
	oneValue := strings.Replace(someEntry, `"m":{}`, `"m":"observed"`, 1)
	two := strings.Replace(oneValue, `{"m":[{"observer_schema_list_max_length":0,"observer_schema_list_min_length":0}]}`, `"observed"`, 1)
	for _, row := range []struct{ name, short, entry string }{
		{"the default entry", `"as desired"`, someEntry},
		{"a map that is one value", `["as desired",7]`, oneValue},
		{"two of them, with a list in one", `["as desired",5,6]`, two},
		{"open lists", `"as desired, open"`, strings.Replace(someEntry, `max_length":2`, `max_length":0`, 1)},
		{"open lists, with a map that is one value", `["as desired, open",7]`, strings.Replace(oneValue, `max_length":2`, `max_length":0`, 1)},
		{"a raised maximum", "", strings.Replace(someEntry, `max_length":2`, `max_length":3`, 1)},
		{"a field that is free", "", strings.Replace(someEntry, `,"z":"observed"`, ``, 1)},
		{"an element that is free", "", strings.Replace(someEntry, `["observed",{"m"`, `[{},{"m"`, 1)},
		{"another name", "", strings.Replace(someEntry, `"name":"t"`, `"name":"u"`, 1)},
		{"a leaf as earlier versions wrote it", "", strings.Replace(someEntry, `"n":"observed"`, `"n":null`, 1)},
		{"a rule", "", strings.Replace(someEntry, `"n":"observed"`, `"n":{"observer_schema_min":1}`, 1)},
		{"another order", "", `{"kind":"Thing","apiVersion":"v1"}`},
		{"no entry", "", `null`},
		{"nothing", "", ``},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.short == "" {
				row.short = row.entry
			}
			assert.Equal(t, row.short, string(shortEntry([]byte(row.entry), []byte(someDesired))))
			assert.Equal(t, row.entry, string(wholeEntry([]byte(row.short), []byte(someDesired))))
		})
	}
	for _, row := range []struct{ name, short, observed string }{
		{"all of it", `"as desired, with lengths"`, someObserved},
		{"all of it, in a leaf", `"as desired"`, someDesired},
		{"another value", "", strings.Replace(someObserved, `true`, `false`, 1)},
		{"a longer list", "", strings.Replace(someObserved, `current_length":2`, `current_length":3`, 1)},
		{"nothing", "", ``},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.short == "" {
				row.short = row.observed
			}
			assert.Equal(t, row.short, string(shortObserved([]byte(row.observed), []byte(someDesired))))
			assert.Equal(t, row.observed, string(wholeObserved([]byte(row.short), []byte(someDesired))))
		})
	}
}

// TestARecordOfAnEarlierVersion checks that a record with unshortened texts can be read.
func TestARecordOfAnEarlierVersion(t *testing.T) {
	desired, entry, observed := runtime.RawExtension{Raw: []byte(someDesired)}, runtime.RawExtension{Raw: []byte(someEntry)}, runtime.RawExtension{Raw: []byte(someObserved)}
	lists := map[string]any{
		"mangledObserverSchema": []any{entry, entry}, "lastAppliedManifest": []any{desired, desired}, "lastObservedManifest": []any{observed, "as desired"},
	}
	record, err := pack(lists)
	require.NoError(t, err)
	raw, err := json.Marshal(map[string]any{"record": record})
	require.NoError(t, err)
	var status ApplicationStatus
	require.NoError(t, json.Unmarshal(raw, &status))
	assert.Equal(t, ApplicationStatus{
		MangledObserverSchema: []runtime.RawExtension{entry, entry},
		LastAppliedManifest:   []runtime.RawExtension{desired, desired},
		LastObservedManifest:  []runtime.RawExtension{observed, desired},
	}, status)
}

// TestShortenedRecordsAreExpanded checks that each text is read as it was written, for any combination of
// texts.
func TestShortenedRecordsAreExpanded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		desired := []byte(drawText(r, 0))
		entry, observed := desired, desired
		if derived, ok := follow(desired, &entryForm{isLeaf: func(int, int) bool { return rapid.IntRange(0, 9).Draw(r, "leaf") == 0 }}); ok {
			entry = derived
		}
		if derived, ok := follow(desired, nil); ok {
			observed = derived
		}
		for _, text := range []*[]byte{&desired, &entry, &observed} {
			if rapid.IntRange(0, 3).Draw(r, "damage") == 0 {
				*text = damaged(r, *text)
			}
		}
		short := shortEntry(entry, desired)
		require.Equal(r, string(entry), string(wholeEntry(short, desired)))
		require.LessOrEqual(r, len(short), len(entry))
		short = shortObserved(observed, desired)
		require.Equal(r, string(observed), string(wholeObserved(short, desired)))
	})
}

// TestHostileRecordsDoNotPanic reads arbitrary input.
func TestHostileRecordsDoNotPanic(t *testing.T) {
	for _, desired := range []string{someDesired, "", "{", "[", `"`, `"\`, `{"a"`, `{"a":`, `{"a":[1,`, `[,]`, `{,}`, `{}}`, "nul", " {}"} {
		for _, short := range []string{"", "[", "[]", `["as desired"]`, `["as desired",]`, `["as desired",-1]`, `["as desired",9999]`, `["as desired","7"]`, `["as desired",1.5]`, `"as"`} {
			assert.NotPanics(t, func() { wholeEntry([]byte(short), []byte(desired)); wholeObserved([]byte(short), []byte(desired)) })
		}
		if desired != someDesired && desired != "nul" {
			assert.Equal(t, string(asDesired), string(wholeEntry(asDesired, []byte(desired))), desired)
			assert.Equal(t, string(withLengths), string(wholeObserved(withLengths, []byte(desired))), desired)
		}
	}
}

// TestAShortRecordIsNoBomb checks that the expanded size is limited, however short the record is.
func TestAShortRecordIsNoBomb(t *testing.T) {
	many := slices.Repeat([]runtime.RawExtension{{Raw: []byte(`[` + strings.Repeat(`[],`, 100_000) + `[]]`)}}, 20)
	short := slices.Repeat([]runtime.RawExtension{{Raw: asDesired}}, 20)
	_, err := (ApplicationStatus{}).Join(packedText(t, compressedFields{short, many, nil}))
	require.ErrorContains(t, err, "more than 72 MiB")
}

func packedText(t *testing.T, all compressedFields) []byte {
	t.Helper()
	record, err := pack(all)
	require.NoError(t, err)
	return record
}

// drawText draws JSON in the format of encoding/json.
func drawText(r *rapid.T, depth int) string {
	switch rapid.IntRange(0, 8-2*min(depth, 3)).Draw(r, "shape") {
	case 0:
		return rapid.SampledFrom([]string{`"observed"`, `"a"`, `""`, `"\""`, `"\\"`, `"[,{"`}).Draw(r, "text")
	case 1:
		return rapid.SampledFrom([]string{"0", "-1", "1.5e-7", "true", "false", "null"}).Draw(r, "literal")
	case 2, 3, 4:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(r, "elements") {
			elements = append(elements, drawText(r, depth+1))
		}
		return "[" + strings.Join(elements, ",") + "]"
	default:
		var fields []string
		for _, name := range []string{"apiVersion", "kind", "metadata", "name", `\"`} {
			if rapid.Bool().Draw(r, "has") {
				fields = append(fields, `"`+name+`":`+drawText(r, depth+1))
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
}

// damaged returns a text with one byte added or removed.
func damaged(r *rapid.T, text []byte) []byte {
	at := rapid.IntRange(0, len(text)-1).Draw(r, "at")
	if rapid.Bool().Draw(r, "less") {
		return slices.Delete(slices.Clone(text), at, at+1)
	}
	return slices.Insert(slices.Clone(text), at, rapid.SampledFrom([]byte(`{}[],:"\1 `)).Draw(r, "byte"))
}

// FuzzAShortEntry expands any text with any desired state. A text that was shortened must expand to the
// original.
func FuzzAShortEntry(f *testing.F) {
	f.Add([]byte(someEntry), []byte(someDesired))
	f.Add([]byte(`["as desired",7]`), []byte(someDesired))
	f.Add(withLengths, []byte(someDesired))
	f.Fuzz(func(t *testing.T, text, desired []byte) {
		wholeEntry(text, desired)
		wholeObserved(text, desired)
		for _, form := range []string{`"as desired`, `["as desired`} {
			if strings.HasPrefix(string(text), form) {
				return // it is not a schema
			}
		}
		require.Equal(t, string(text), string(wholeEntry(shortEntry(text, desired), desired)))
		require.Equal(t, string(text), string(wholeObserved(shortObserved(text, desired), desired)))
	})
}
