package v1alpha1

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

const (
	someDesired  = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"x, ]}"},"name":"t"},"spec":{"l":[1,{"m":[]}],"m":{},"n":-1.5e3,"z":true}}`
	someEntry    = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"observed"},"name":"t"},"spec":{"l":["observed",{"m":[{"observer_schema_list_max_length":0,"observer_schema_list_min_length":0}]},{"observer_schema_list_max_length":2,"observer_schema_list_min_length":2}],"m":{},"n":"observed","z":"observed"}}`
	someObserved = `{"apiVersion":"v1","kind":"Thing","metadata":{"labels":{"a\"b":"x, ]}"},"name":"t"},"spec":{"l":[1,{"m":[{"observer_schema_list_current_length":0}]},{"observer_schema_list_current_length":2}],"m":{},"n":-1.5e3,"z":true}}`
)

// TestDerivedValuesAreAFormat checks that records of earlier versions are read with their meaning.
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
			assert.Equal(t, row.entry, string(expandedSchema([]byte(row.short), []byte(someDesired))))
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
			assert.Equal(t, row.observed, string(expandedState([]byte(row.short), []byte(someDesired))))
		})
	}
}

// TestARecordOfAnEarlierVersion checks that a record with unshortened texts can be read.
func TestARecordOfAnEarlierVersion(t *testing.T) {
	desired, entry, observed := kruntime.RawExtension{Raw: []byte(someDesired)}, kruntime.RawExtension{Raw: []byte(someEntry)}, kruntime.RawExtension{Raw: []byte(someObserved)}
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
		MangledObserverSchema: []kruntime.RawExtension{entry, entry},
		LastAppliedManifest:   []kruntime.RawExtension{desired, desired},
		LastObservedManifest:  []kruntime.RawExtension{observed, desired},
	}, status)
}

// TestHostileRecordsDoNotPanic reads arbitrary input.
func TestHostileRecordsDoNotPanic(t *testing.T) {
	for _, desired := range []string{someDesired, "", "{", "[", `"`, `"\`, `{"a"`, `{"a":`, `{"a":[1,`, `[,]`, `{,}`, "nul"} {
		for _, short := range []string{"", "[", "[]", `["as desired"]`, `["as desired",]`, `["as desired",-1]`, `["as desired",9999]`, `["as desired","7"]`, `["as desired",1.5]`, `"as"`} {
			assert.NotPanics(t, func() { expandedSchema([]byte(short), []byte(desired)); expandedState([]byte(short), []byte(desired)) })
		}
		if desired != someDesired && desired != "nul" {
			assert.Equal(t, string([]byte(`"as desired"`)), string(expandedSchema([]byte(`"as desired"`), []byte(desired))), desired)
			assert.Equal(t, string([]byte(`"as desired, with lengths"`)), string(expandedState([]byte(`"as desired, with lengths"`), []byte(desired))), desired)
		}
	}
}

// TestAShortRecordIsNoBomb checks that the expanded size is limited, however short the record is.
func TestAShortRecordIsNoBomb(t *testing.T) {
	many := slices.Repeat([]kruntime.RawExtension{{Raw: []byte(`[` + strings.Repeat(`[],`, 100_000) + `[]]`)}}, 20)
	short := slices.Repeat([]kruntime.RawExtension{{Raw: []byte(`"as desired"`)}}, 20)
	_, err := (ApplicationStatus{}).Join(packedText(t, compressedFields{short, many, nil}))
	require.ErrorContains(t, err, "more than 72 MiB")
}

// TestADeepRecordIsNoBomb checks that the memory for a record does not grow with the square of its depth.
func TestADeepRecordIsNoBomb(t *testing.T) {
	const depth = 500
	name := strings.Repeat("n", 1000)
	deep := []byte(strings.Repeat(`{"`+name+`":`, depth) + "1" + strings.Repeat("}", depth))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	expandedSchema([]byte(`"as desired"`), deep)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(40*len(deep)))
}

func packedText(t *testing.T, all compressedFields) []byte {
	t.Helper()
	record, err := pack(all)
	require.NoError(t, err)
	return record
}

// FuzzAShortEntry expands any text with any desired state.
func FuzzAShortEntry(f *testing.F) {
	f.Add([]byte(someEntry), []byte(someDesired))
	f.Add([]byte(`["as desired",7]`), []byte(someDesired))
	f.Fuzz(func(t *testing.T, text, desired []byte) {
		expanded := expandedSchema(text, desired)
		expandedState(text, desired)
		if !strings.HasPrefix(string(text), `"as`) && !strings.HasPrefix(string(text), `["as`) {
			require.Equal(t, string(text), string(expanded))
		}
	})
}
