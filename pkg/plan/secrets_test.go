package plan_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/plan"
)

// Y2FuYXJ5 is "canary" in base64.
const canary = "Y2FuYXJ5"

// hidesCanaries fails if the output contains a value of a Secret.
func hidesCanaries(t *testing.T, what any) {
	t.Helper()
	raw, err := json.Marshal(what)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), canary)
	assert.NotContains(t, string(raw), "canary")
}

func TestNoValueOfASecretIsShown(t *testing.T) {
	rows := []struct{ name, spec string }{
		{"under the default schema", `
manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary-1}, data: {b: Y2FuYXJ5LTI=}}]`},
		{"under a user's schema", `
manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary-1}, data: {b: Y2FuYXJ5LTI=}}]
observerSchema: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: observed}}, data: {a: observed, c: observed}}]`},
		{"under a leaf over all of it", `
manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {team: red}}, stringData: {a: canary-1}}]
observerSchema: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: observed}, data: observed}]`},
		{"under a leaf over annotations that the manifest does not have", `
manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary-1}}]
observerSchema: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: observed}, data: observed}]`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.spec)
			w.respond = func(o map[string]any) {
				set(o, "canary-copy", "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
				set(o, "Y2FuYXJ5LTM=", "data", "c")
			}
			look := func(p *plan.Plan, result plan.Result) {
				hidesCanaries(t, explain.ViewOf(p))
				hidesCanaries(t, result)
				for _, c := range p.Changes {
					for _, d := range c.Fields {
						hidesCanaries(t, explain.MaskedField(c.ID, d))
					}
				}
			}
			look(w.decide(), plan.Result{})
			look(w.round())
			for range 7 {
				set(w.only(), "Y2FuYXJ5LTQ=", "data", "a")
				set(w.only(), "canary-other", "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
				look(w.decide(), plan.Result{})
				look(w.round())
			}
			delete(w.only(), "data")
			look(w.decide(), plan.Result{})
			look(w.round())
		})
	}
}

// A Secret in the manifests of a held Application is treated as a Secret. Its values are held, and are
// only in memory.
func TestNoValueOfANestedSecretIsShown(t *testing.T) {
	const inner = `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [
  {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary-1}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: open}},
  {apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: deep}, spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: t}, data: {b: Y2FuYXJ5LTI=}}]}}]}}`
	for _, row := range []struct{ name, schema string }{
		{"under the default schema", ""},
		{"under a leaf over all manifests", "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: observed}}]"},
		{"under a leaf over all of it", "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: observed}]"},
		{"under a schema without kinds", "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [{stringData: {a: observed, other: observed}}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}]"},
		{"under a schema with some kinds", "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [{stringData: observed}, {}, {apiVersion: observed, kind: observed, spec: {manifest: [{data: {b: observed}}, " +
			"{observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}]"},
		{"under a schema without versions", "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [{stringData: observed}, {}, {kind: observed, spec: {manifest: [{kind: observed, data: {b: observed}}, " +
			"{observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+inner+"]\n"+row.schema)
			secret := func() map[string]any { return get(w.only(), "spec", "manifest").([]any)[0].(map[string]any) }
			look := func(p *plan.Plan, result plan.Result) {
				hidesCanaries(t, explain.ViewOf(p))
				hidesCanaries(t, result)
				hidesCanaries(t, w.app.Status)
			}
			require.Nil(t, w.decide().Invalid)
			look(w.round())
			w.quiet()
			assert.Equal(t, "canary-1", get(secret(), "stringData", "a"))
			for _, theirs := range []string{"canary-3", "canary-4", "***"} {
				set(secret(), theirs, "stringData", "a")
				look(w.decide(), plan.Result{})
				look(w.round())
				assert.Equal(t, "canary-1", get(secret(), "stringData", "a"), "the value is still held")
			}
			set(secret(), "canary-5", "stringData", "other")
			look(w.round())
			look(w.round())
			w.edit("manifest: [" + strings.Replace(inner, "canary-1", "canary-6", 1) + "]\n" + row.schema)
			look(w.round())
			assert.Equal(t, "canary-6", get(secret(), "stringData", "a"))
			w.edit("manifest: [" + strings.Replace(inner, "stringData: {a: canary-1}", "type: Opaque", 1) + "]\n" + row.schema)
			look(w.round())
			look(w.round())
			assert.NotEqual(t, "***", get(secret(), "stringData", "a"), "a mask is never written")
			w.quiet()
		})
	}
}

// The part that spec.select of a held Application holds of Secrets is treated as a Secret, too.
func TestNoValueOfANestedSelectionIsShown(t *testing.T) {
	const inner = `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {select: [
  {apiVersion: v1, kind: Secret, names: [s], hold: {data: {a: canary-1}}},
  {apiVersion: holdfast.dev/v1alpha1, kind: Application, names: [deep], hold: {spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: t}, data: {b: Y2FuYXJ5LTI=}}]}}}]}}`
	schemaOf := func(spec string) string {
		return "observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: " + spec + "}]"
	}
	for _, row := range []struct{ name, schema string }{
		{"under the default schema", ""},
		{"under a leaf over all selections", schemaOf("{select: observed}")},
		{"under a leaf over all of it", schemaOf("observed")},
		{"under a schema without kinds", schemaOf("{select: [{hold: {data: {a: observed, other: observed}}}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}")},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+inner+"]\n"+row.schema)
			secret := func() map[string]any { return get(w.only(), "spec", "select").([]any)[0].(map[string]any) }
			look := func() {
				p := w.decide()
				require.Nil(t, p.Invalid)
				hidesCanaries(t, explain.ViewOf(p))
				_, result := w.round()
				hidesCanaries(t, result)
				hidesCanaries(t, w.app.Status)
			}
			look()
			w.quiet()
			assert.Equal(t, "canary-1", get(secret(), "hold", "data", "a"))
			for _, theirs := range []string{"canary-3", "***"} {
				set(secret(), theirs, "hold", "data", "a")
				look()
				assert.Equal(t, "canary-1", get(secret(), "hold", "data", "a"), "the value is still held")
			}
			set(secret(), "canary-5", "hold", "data", "other")
			look()
			look()
			w.edit("manifest: [" + strings.Replace(inner, "data: {a: canary-1}", "type: Opaque", 1) + "]\n" + row.schema)
			look()
			look()
			assert.NotEqual(t, "***", get(secret(), "hold", "data", "a"), "a mask is never written")
			w.quiet()
		})
	}
}

// No value of a Secret in a list among the manifests is learned: the status would have its mask, which would be written.
func TestNoMaskOfANestedListIsWritten(t *testing.T) {
	const bounds = "{observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}"
	for _, list := range []string{"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]}", "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: s}}]}"} {
		w := newWorld(t, "manifest: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: ["+list+"]}}]\n"+
			"observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [{items: [{data: {a: observed}}, "+bounds+"]}, "+bounds+"]}}]")
		w.round()
		secret := func() map[string]any {
			return get(w.only(), "spec", "manifest").([]any)[0].(map[string]any)["items"].([]any)[0].(map[string]any)
		}
		set(secret(), "canary", "data", "a")
		for range 3 {
			_, result := w.round()
			hidesCanaries(t, result)
			assert.Equal(t, "canary", get(secret(), "data", "a"), list)
		}
	}
}

// The status has the copy of kubectl with masked values, so it is not learned either.
func TestTheCopyOfAnApplicationIsNotLearned(t *testing.T) {
	const key = "kubectl.kubernetes.io/last-applied-configuration"
	w := newWorld(t, `
manifest: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}}]}}]
observerSchema: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner, annotations: {`+key+`: observed}}, spec: {manifest: observed}}]`)
	w.round()
	copied := `{"apiVersion":"holdfast.dev/v1alpha1","kind":"Application","spec":{"manifest":[{"kind":"Secret","data":{"a":"canary"}}]}}` + "\n"
	set(w.only(), copied, "metadata", "annotations", key)
	for range 3 {
		_, result := w.round()
		hidesCanaries(t, result)
		assert.Equal(t, copied, get(w.only(), "metadata", "annotations", key))
	}
}

func TestTheCopyThatKubectlKeepsOfASecret(t *testing.T) {
	w := newWorld(t, `
manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: canary-1}}]
observerSchema: [{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: observed, team: observed}}}]`)
	w.round()
	const key = "kubectl.kubernetes.io/last-applied-configuration"
	for _, value := range []string{"canary-1", "canary-2"} {
		w.set(value, "metadata", "annotations", key)
		p, _ := w.round()
		assert.Empty(t, paths(p))
		assert.Equal(t, value, get(w.only(), "metadata", "annotations", key))
	}
}

// TestSelectionsCountAsFixedParts checks spec.select, which cannot be in slices.
func TestSelectionsCountAsFixedParts(t *testing.T) {
	w := newWorld(t, "select: [{apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {app: web}}, hold: {data: {a: '"+noise(1500)+"'}}}]")
	p := w.decide()
	require.NotNil(t, p.Invalid)
	assert.Equal(t, v1alpha1.ReasonManifestTooLarge, p.Invalid.Reason)
}

func TestAnApplicationThatWouldNotFitIsRefused(t *testing.T) {
	object := func(kind, name string, kib int) string {
		return "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name + "}, data: {a: '" + noise(kib) + "'}}"
	}
	for _, row := range []struct{ name, manifests, message string }{
		{
			"a Secret that is too large", object("Secret", "big", 1600),
			`^the Application has 160[0-9] KiB of Secrets and other parts that slices cannot contain, more than the limit of 1408 KiB per object: ` +
				"Secret default/big is too large, because the status repeats its held fields: make it smaller, or observe fewer fields$",
		},
		{"Secrets that are too large together", object("Secret", "a", 800) + ", " + object("Secret", "b", 800), "split it into several Applications$"},
		// base64 would make it longer, but it is not stored in the Application.
		{"a Secret of plain text", "{apiVersion: v1, kind: Secret, metadata: {name: big}, stringData: {a: '" + noise(1300) + "'}}", ""},
		{"what slices can have", object("ConfigMap", "a", 800) + ", " + object("ConfigMap", "b", 800) + ", " + object("Secret", "a", 800), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, "manifest: ["+row.manifests+"]")
			p := w.decide()
			if row.message == "" {
				assert.Nil(t, p.Invalid)
				return
			}
			require.NotNil(t, p.Invalid)
			assert.Regexp(t, row.message, p.Invalid.Message)
			assert.True(t, p.Invalid.Stalled())
			assert.Empty(t, p.Changes)
		})
	}
}

// noise returns text that compression reduces to 6 of 8 bits at best.
func noise(kib int) string {
	raw := make([]byte, kib<<10*3/4)
	_, _ = rand.NewChaCha8([32]byte{}).Read(raw)
	return base64.StdEncoding.EncodeToString(raw)
}

// A record that is too large to be unpacked is rejected, even if its packed form is small.
func TestARecordThatWouldNotBeReadIsRefused(t *testing.T) {
	w := newWorld(t, "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\n"+
		"observerSchema: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: observed}]")
	w.round()
	w.set(strings.Repeat("x", 33<<20), "data", "a")
	p := w.decide()
	require.NotNil(t, p.Invalid)
	assert.Equal(t, v1alpha1.ReasonManifestTooLarge, p.Invalid.Reason)
}
