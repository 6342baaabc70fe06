package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// relation describes how an Application acts on an object: a column of the matrix.
type relation string

const (
	created  relation = "created"
	adopted  relation = "adopted"
	shared   relation = "shared"
	selected relation = "selected"
	observed relation = "observed"
	hookMade relation = "hook-made"
)

var relations = []relation{created, adopted, shared, selected, observed, hookMade}

// cellWorld is a world with one object, for any relation.
type cellWorld struct {
	*world
	relation
	kind, apiVersion string
	id               manifest.ID
	// extra is the rest of the spec, as YAML.
	extra string
}

// feature is a row of the matrix. Its scenario holds fields of an object and checks the result for
// every relation.
type feature struct {
	name string
	// run returns the failure, or "" if the scenario passes.
	run func(c *cellWorld) string
	// none maps a relation to the reason why the combination does not exist.
	none map[relation]string
	// fails maps a relation to the known failure of its cell.
	fails map[relation]string
}

// TestEveryFeatureForEveryRelation runs each feature of the engine with each relation of an Application
// to an object. A cell is a scenario that passes, a combination that does not exist, or a known failure
// that still fails.
func TestEveryFeatureForEveryRelation(t *testing.T) {
	for _, f := range features {
		for _, r := range relations {
			t.Run(f.name+"/"+string(r), func(t *testing.T) {
				reason, isNone := f.none[r]
				failure, fails := f.fails[r]
				require.False(t, isNone && fails, "a cell is one or the other")
				if isNone {
					require.NotEmpty(t, reason)
					return
				}
				c := newCell(t, r, "apps/v1", "Deployment", "web")
				wrong := f.run(c)
				if fails {
					require.NotEmpty(t, failure)
					assert.NotEmpty(t, wrong, "this cell passes now: remove it from the list")
					return
				}
				assert.Empty(t, wrong)
			})
		}
	}
}

func newCell(t *testing.T, r relation, apiVersion, kind, name string) *cellWorld {
	t.Helper()
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	return &cellWorld{newWorld(t, "{}"), r, kind, apiVersion, manifest.ID{Group: group, Kind: kind, Namespace: "default", Name: name}, ""}
}

// foreign is a Deployment that another client created.
const foreign = `
spec:
  replicas: 5
  progressDeadlineSeconds: 100
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:0", env: [{name: A, value: "0"}]}]
`

// given creates the object before the Application, unless the Application creates it.
func (c *cellWorld) given(content string) {
	if c.relation == created || c.relation == hookMade {
		return
	}
	object := map[string]any{}
	require.NoError(c.t, yaml.Unmarshal([]byte(content), &object))
	raw, err := json.Marshal(object)
	require.NoError(c.t, err)
	object, err = manifest.DecodeJSON(raw) // integers decode to int64
	require.NoError(c.t, err)
	object["apiVersion"], object["kind"] = c.apiVersion, c.kind
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	object["metadata"] = metadata
	metadata["name"], metadata["namespace"], metadata["uid"], metadata["resourceVersion"] = c.id.Name, "default", "u-9", "7"
	c.live[c.id] = object
}

// hold applies this part of the object and the extra spec, and reconciles until the Application
// settles.
func (c *cellWorld) hold(part, extra string) {
	c.t.Helper()
	c.extra = extra
	c.want(part, extra)
	c.settle()
}

func (c *cellWorld) want(part, extra string) {
	c.t.Helper()
	whole := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s}, %s}", c.apiVersion, c.kind, c.id.Name, part)
	switch c.relation {
	case created:
		c.edit("manifest: [" + whole + "]\n" + extra)
	case adopted:
		c.edit("adoption: Always\nmanifest: [" + whole + "]\n" + extra)
	case shared:
		c.edit("ownership: Share\nmanifest: [" + whole + "]\n" + extra)
	case selected:
		c.edit(fmt.Sprintf("select: [{apiVersion: %s, kind: %s, names: [%s], hold: {%s}}]\n%s", c.apiVersion, c.kind, c.id.Name, part, extra))
	case observed:
		c.edit("mode: Observe\nadoption: Always\nmanifest: [" + whole + "]\n" + extra)
	case hookMade:
		c.edit("manifest: []\n" + extra)
		var content map[string]any
		require.NoError(c.t, yaml.Unmarshal([]byte(whole), &content))
		raw, err := json.Marshal(content)
		require.NoError(c.t, err)
		content, err = manifest.DecodeJSON(raw)
		require.NoError(c.t, err)
		c.hooks = hooks.New()
		c.hooks.ApplicationMangling.Listen("matrix", func(m *hooks.Mangling) error {
			m.Objects = append(m.Objects, manifest.Object{ID: c.id, APIVersion: c.apiVersion, Content: observer.CopyMap(content)})
			return nil
		})
	}
}

// settle reconciles until nothing is written.
func (c *cellWorld) settle() {
	c.t.Helper()
	for range 8 {
		p, _ := c.round()
		if p.IsNoOp() || !slices.ContainsFunc(p.Changes, plan.Change.Writes) {
			return
		}
	}
	c.t.Fatal("it does not come to rest")
}

// drift changes a field as another client, and reconciles the Application.
func (c *cellWorld) drift(value any, fields ...string) {
	c.t.Helper()
	c.change(value, fields...)
	c.settle()
}

// change changes a field as another client, mallory. A nil value removes the field.
func (c *cellWorld) change(value any, fields ...string) {
	c.t.Helper()
	object := c.live[c.id]
	require.NotNil(c.t, object)
	if value == nil {
		parent, _ := get(object, fields[:len(fields)-1]...).(map[string]any)
		delete(parent, fields[len(fields)-1])
	} else {
		set(object, value, fields...)
	}
	var leaf any = map[string]any{}
	for _, f := range slices.Backward(fields) {
		leaf = map[string]any{"f:" + f: leaf}
	}
	managed, err := json.Marshal([]any{map[string]any{
		"manager": "mallory", "operation": "Update", "apiVersion": c.apiVersion, "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": leaf,
	}})
	require.NoError(c.t, err)
	version, _ := get(object, "metadata", "resourceVersion").(string)
	c.written = map[manifest.ID]writer.Activity{c.id: {ManagedFields: managed, Events: 1, ChangedEntries: []int{0}, FirstSeen: c.now, ResourceVersion: version, Writes: 1, Write: version}}
}

// manages records in managedFields that the Application wrote fields of the spec.
func (c *cellWorld) manages(fields ...string) {
	spec := map[string]any{}
	for _, field := range fields {
		spec["f:"+field] = map[string]any{}
	}
	set(c.live[c.id], []any{map[string]any{
		"manager": v1alpha1.FieldManagerOf(c.app.Namespace, c.app.Name), "operation": "Update", "apiVersion": c.apiVersion,
		"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": spec},
	}}, "metadata", "managedFields")
}

func (c *cellWorld) value(fields ...string) any { return get(c.live[c.id], fields...) }

// is checks a live value.
func (c *cellWorld) is(want any, fields ...string) string {
	if is := c.value(fields...); !observer.Equal(is, want) {
		return fmt.Sprintf("%s is %v, and not %v", strings.Join(fields, "."), is, want)
	}
	return ""
}

// corrected checks that drift was corrected to a value. In observe-only mode it checks that the other
// client's value remains and is reported.
func (c *cellWorld) corrected(want, drifted any, fields ...string) string {
	if c.relation != observed {
		return c.is(want, fields...)
	}
	if wrong := c.is(drifted, fields...); wrong != "" {
		return wrong
	}
	return c.reported(fields...)
}

// reported checks that status.reported lists a field.
func (c *cellWorld) reported(fields ...string) string {
	path := strings.Join(fields, ".")
	for _, w := range c.app.Status.Reported {
		if observer.IsUnder(w.Path, path) || observer.IsUnder(path, w.Path) {
			return ""
		}
	}
	return path + " is not reported"
}

// unreported checks that status.reported is empty.
func (c *cellWorld) unreported() string {
	if len(c.app.Status.Reported) > 0 {
		return fmt.Sprintf("%s is reported", c.app.Status.Reported[0].Path)
	}
	return ""
}

// unreportedAt checks that status.reported is empty, unless the field had drifted before.
func (c *cellWorld) unreportedAt(held any) string {
	if c.relation == observed && held != int64(2) {
		return ""
	}
	return c.unreported()
}

// first returns the first failure.
func first(wrong ...string) string {
	for _, w := range wrong {
		if w != "" {
			return w
		}
	}
	return ""
}

// fieldsOf returns spec.fields items for the object, with "*".
func (c *cellWorld) fieldsOf(held ...string) string {
	return fmt.Sprintf("fields: [{resource: {kind: %s, name: %s}, hold: [%s]}]", c.kind, c.id.Name, strings.Join(append([]string{`"*"`}, held...), ", "))
}

const byFields = "spec.fields applies to objects of the manifests and of spec.select; a hook adds a schema for its own objects"

var noFieldsOfHooks = map[relation]string{hookMade: byFields}

const onlySharers = "only Applications that share an object claim its fields"

var nothingBefore = map[relation]string{
	created: "nothing was there before", hookMade: "nothing was there before", observed: "nothing was written",
}

func reasonsAnd(reasons map[relation]string, more ...string) map[relation]string {
	all := maps.Clone(reasons)
	for i := 0; i < len(more); i += 2 {
		all[relation(more[i])] = more[i+1]
	}
	return all
}

// replicas is the part of the object that most scenarios hold.
const replicas = "spec: {replicas: 2}"

var features = []feature{
	{name: "a held field is corrected, and a free one is left", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		c.drift(int64(9), "spec", "replicas")
		c.drift(true, "spec", "paused")
		return first(c.corrected(int64(2), int64(9), "spec", "replicas"), c.is(true, "spec", "paused"))
	}},
	{name: "a field that is removed is added", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		c.drift(nil, "spec", "replicas")
		return c.corrected(int64(2), nil, "spec", "replicas")
	}},
	{name: "minimum and maximum", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 3}", c.fieldsOf("{path: spec.replicas, minimum: 2, maximum: 4}"))
		c.drift(int64(4), "spec", "replicas")
		wrong := first(c.is(int64(4), "spec", "replicas"), c.unreported())
		c.drift(int64(9), "spec", "replicas")
		return first(wrong, c.corrected(int64(4), int64(9), "spec", "replicas"))
	}},
	{name: "oneOf", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, c.fieldsOf("{path: spec.replicas, oneOf: [2, 4]}"))
		c.drift(int64(4), "spec", "replicas")
		wrong := first(c.is(int64(4), "spec", "replicas"), c.unreported())
		c.drift(int64(3), "spec", "replicas")
		return first(wrong, c.corrected(int64(2), int64(3), "spec", "replicas"))
	}},
	{name: "pattern", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {template: {metadata: {annotations: {tier: gold}}}}", c.fieldsOf(`{path: spec.template.metadata.annotations.tier, pattern: "[a-z]+"}`))
		at := []string{"spec", "template", "metadata", "annotations", "tier"}
		c.drift("silver", at...)
		wrong := first(c.is("silver", at...), c.unreported())
		c.drift("7", at...)
		return first(wrong, c.corrected("gold", "7", at...))
	}},
	{name: "rule in CEL", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, c.fieldsOf(`{path: spec.replicas, rule: "self % 2 == 0"}`))
		c.drift(int64(8), "spec", "replicas")
		wrong := first(c.is(int64(8), "spec", "replicas"), c.unreported())
		c.drift(int64(3), "spec", "replicas")
		return first(wrong, c.corrected(int64(2), int64(3), "spec", "replicas"))
	}},
	{name: "mode push", none: reasonsAnd(noFieldsOfHooks, "observed", "nothing is written, so there is no value that was pushed last"), run: func(c *cellWorld) string {
		c.given(foreign)
		pushed := c.fieldsOf("{path: spec.replicas, mode: push}")
		c.hold(replicas, pushed)
		c.drift(int64(9), "spec", "replicas")
		wrong := c.is(int64(9), "spec", "replicas")
		c.hold("spec: {replicas: 4}", pushed)
		return first(wrong, c.is(int64(4), "spec", "replicas"))
	}},
	{name: "mode report", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", c.fieldsOf("{path: spec.replicas, mode: report}"))
		c.drift(int64(9), "spec", "replicas")
		return first(c.is(int64(9), "spec", "replicas"), c.reported("spec", "replicas"))
	}},
	{name: "mode absent", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, c.fieldsOf("{path: spec.paused, mode: absent}"))
		c.drift(true, "spec", "paused")
		return c.corrected(nil, true, "spec", "paused")
	}},
	{name: "a learned value", none: reasonsAnd(noFieldsOfHooks, "observed", "nothing is learned from an object that is not held"), run: func(c *cellWorld) string {
		c.given(foreign)
		c.respond = func(object map[string]any) {
			if get(object, "spec", "progressDeadlineSeconds") == nil {
				set(object, int64(100), "spec", "progressDeadlineSeconds")
			}
		}
		c.hold(replicas, c.fieldsOf("spec.progressDeadlineSeconds"))
		c.drift(int64(7), "spec", "progressDeadlineSeconds")
		return c.is(int64(100), "spec", "progressDeadlineSeconds")
	}},
	{name: "an accepted form", none: map[relation]string{observed: "nothing is written, so nothing is accepted"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.respond = func(object map[string]any) {
			if get(object, "spec", "template", "metadata", "annotations", "tier") == "Gold" {
				set(object, "gold", "spec", "template", "metadata", "annotations", "tier")
			}
		}
		at := []string{"spec", "template", "metadata", "annotations", "tier"}
		c.hold("spec: {template: {metadata: {annotations: {tier: Gold}}}}", "")
		wrong := c.is("gold", at...)
		c.quiet()
		c.drift("silver", at...)
		return first(wrong, c.is("gold", at...))
	}},
	{name: "a zero value that the API server drops", run: func(c *cellWorld) string {
		c.given(foreign)
		c.respond = func(object map[string]any) {
			if get(object, "spec", "paused") == false {
				delete(object["spec"].(map[string]any), "paused")
			}
		}
		c.hold("spec: {replicas: 2, paused: false}", "")
		wrong := c.is(nil, "spec", "paused")
		if c.relation != observed {
			c.quiet()
		}
		c.drift(true, "spec", "paused")
		return first(wrong, c.corrected(nil, true, "spec", "paused"))
	}},
	{name: "elements with keys are found wherever they stand", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(`spec: {template: {spec: {containers: [{name: web, image: "web:1"}]}}}`, "")
		at := []string{"spec", "template", "spec", "containers"}
		web := func(image string) any {
			element := map[string]any{"name": "web", "image": image}
			if list, ok := c.value(at...).([]any); ok {
				element = observer.CopyMap(list[len(list)-1].(map[string]any))
				element["image"] = image
			}
			return element
		}
		c.drift([]any{map[string]any{"name": "side", "image": "side:1"}, web("web:9")}, at...)
		list := c.value(at...).([]any)
		image := func(want, name string) string {
			for _, e := range list {
				if element := e.(map[string]any); element["name"] == name && element["image"] != want {
					return fmt.Sprintf("%s has the image %v, and not %s", name, element["image"], want)
				}
			}
			return ""
		}
		if c.relation == observed {
			return first(image("web:9", "web"), c.reported("spec", "template", "spec", "containers[name=web]", "image"))
		}
		return first(image("web:1", "web"), image("side:1", "side"))
	}},
	{name: "type set", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		at := []string{"spec", "template", "spec", "tolerations"}
		toleration := func(key string) any { return map[string]any{"key": key, "operator": "Exists"} }
		c.hold("spec: {template: {spec: {tolerations: [{key: ours, operator: Exists}]}}}", c.fieldsOf("{path: spec.template.spec.tolerations, type: set}"))
		c.drift([]any{toleration("theirs"), toleration("ours")}, at...)
		wrong := first(c.is([]any{toleration("theirs"), toleration("ours")}, at...), c.unreported())
		c.drift([]any{toleration("theirs")}, at...)
		if c.relation == observed {
			return first(wrong, c.is([]any{toleration("theirs")}, at...), c.reported("spec", "template", "spec", "tolerations[{key=ours,operator=Exists}]"))
		}
		return first(wrong, c.is([]any{toleration("theirs"), toleration("ours")}, at...))
	}},
	{name: "type quantity", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		at := []string{"spec", "template", "metadata", "annotations", "size"}
		c.hold("spec: {template: {metadata: {annotations: {size: 1Gi}}}}", c.fieldsOf("{path: spec.template.metadata.annotations.size, type: quantity}"))
		c.drift("1024Mi", at...)
		wrong := first(c.is("1024Mi", at...), c.unreported())
		c.drift("2Gi", at...)
		return first(wrong, c.corrected("1Gi", "2Gi", at...))
	}},
	{name: "a closed map", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {template: {metadata: {annotations: {tier: gold}}}}", c.fieldsOf(`{path: spec.template.metadata.annotations, keys: {hold: ["*"]}}`))
		c.drift("x", "spec", "template", "metadata", "annotations", "evil")
		return c.corrected(nil, "x", "spec", "template", "metadata", "annotations", "evil")
	}},
	{name: "a field that leaves the manifest", none: map[relation]string{observed: "nothing was written, so there is nothing to remove"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "")
		c.manages("replicas", "minReadySeconds")
		c.hold("spec: {minReadySeconds: 1}", "")
		switch c.relation {
		case shared, selected:
			return c.is(int64(5), "spec", "replicas") // restored
		}
		return c.is(nil, "spec", "replicas")
	}},
	{name: "restore on release", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.drift(int64(9), "spec", "replicas")
		c.extra = "onRelease: Restore"
		c.hold("spec: {minReadySeconds: 1}", c.extra)
		return c.is(int64(5), "spec", "replicas")
	}},
	{name: "drift is no original value", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 5, minReadySeconds: 1}", "onRelease: Restore")
		c.drift(int64(666), "spec", "replicas")
		wrong := c.is(int64(5), "spec", "replicas")
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return first(wrong, c.is(int64(5), "spec", "replicas"))
	}},
	{name: "a zero value is an original value", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(strings.Replace(foreign, "replicas: 5", "replicas: 0", 1))
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return c.is(int64(0), "spec", "replicas")
	}},
	{name: "a zero value that the API server drops is no original value", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.respond = func(object map[string]any) {
			if get(object, "spec", "paused") == false {
				delete(object["spec"].(map[string]any), "paused")
			}
		}
		c.hold("spec: {paused: false, minReadySeconds: 1}", "onRelease: Restore")
		c.drift(true, "spec", "paused")
		wrong := c.is(nil, "spec", "paused")
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return first(wrong, c.is(nil, "spec", "paused"))
	}},
	{name: "null is an original value", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(strings.Replace(foreign, "replicas: 5", "replicas: null", 1))
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		if value, has := c.value("spec").(map[string]any)["replicas"]; !has || value != nil {
			return fmt.Sprintf("spec.replicas is %v, and not null", value)
		}
		return ""
	}},
	{name: "original values outlast onRelease Leave", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Leave")
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return c.is(int64(5), "spec", "replicas")
	}},
	{name: "original values outlast a failing hook", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.hooks = hooks.New()
		c.hooks.ResourceObserved.Listen("matrix", func(*hooks.ObjectEvent) error { return errors.New("not now") })
		c.round()
		c.hooks = nil
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return c.is(int64(5), "spec", "replicas")
	}},
	{name: "original values are not read from the object", none: nothingBefore, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "onRelease: Restore")
		c.drift(`{"default/shop":{"uid":"app-1","leaves":["spec.replicas"],"handed":[{"path":"spec.replicas","value":666}],`+
			`"received":[{"path":"spec.replicas","value":666}]}}`, "metadata", "annotations", v1alpha1.AnnotationHolders)
		c.hold("spec: {minReadySeconds: 1}", "onRelease: Restore")
		return c.is(int64(5), "spec", "replicas")
	}},
	{name: "more claims than the annotation can list", none: map[relation]string{
		created: onlySharers, adopted: onlySharers, hookMade: onlySharers, observed: "nothing is claimed",
	}, run: func(c *cellWorld) string {
		c.given(foreign)
		leaves := make([]string, 1000)
		for i := range leaves {
			leaves[i] = fmt.Sprintf("metadata.labels.key%04d", i)
		}
		other := manifest.EncodeJSON(map[string]any{"default/other": map[string]any{"uid": "u-7", "leaves": leaves}})
		set(c.live[c.id], map[string]any{v1alpha1.AnnotationHolders: string(other)}, "metadata", "annotations")
		c.hold(replicas, "")
		if own, _ := claim.ReadHolders(c.live[c.id]).Get(c.app); len(own.Leaves) == 0 {
			return "the annotation does not list what this Application holds"
		}
		c.drift(int64(9), "spec", "replicas")
		return c.is(int64(2), "spec", "replicas")
	}},
	{name: "malformed claims on the object", run: func(c *cellWorld) string {
		for _, claims := range []string{
			`null`, `[]`, `{"default/other":null}`, `{"default/other":{}}`, `{"default/other":7}`, `{"default/other":{"uid":"x","leaves":[""]}}`,
			`{"default/other":{"uid":"x","leaves":["*"]}}`, `{"default/other":{"uid":"x","leaves":["labels[*]"]}}`, `{"default/other":{"uid":"x","leaves":{}}}`,
		} {
			c = newCell(c.t, c.relation, c.apiVersion, c.kind, c.id.Name)
			c.given(foreign)
			c.hold(replicas, "")
			if c.value("metadata", "annotations") == nil {
				set(c.live[c.id], map[string]any{}, "metadata", "annotations")
			}
			c.change(claims, "metadata", "annotations", v1alpha1.AnnotationHolders)
			c.drift(int64(9), "spec", "replicas")
			if wrong := c.corrected(int64(2), int64(9), "spec", "replicas"); wrong != "" {
				return claims + ": " + wrong
			}
		}
		return ""
	}},
	{name: "repeated drift is contested", none: map[relation]string{observed: "nothing is corrected"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "")
		for range plan.DefaultContestPolicy.Limit {
			c.drift(int64(9), "spec", "replicas")
		}
		if len(c.app.Status.Contested) != 1 {
			return fmt.Sprintf("%d fields are contested", len(c.app.Status.Contested))
		}
		c.drift(int64(9), "spec", "replicas")
		c.drift(int64(7), "spec", "minReadySeconds")
		wrong := first(c.is(int64(9), "spec", "replicas"), c.is(int64(1), "spec", "minReadySeconds"))
		c.now = c.now.Add(time.Hour)
		c.settle()
		return first(wrong, c.is(int64(2), "spec", "replicas"))
	}},
	{name: "the history names the author", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		c.written = nil
		c.drift(int64(9), "spec", "replicas")
		for _, e := range c.app.Status.History {
			if e.Path == "spec.replicas" && e.Manager == "mallory" {
				return ""
			}
		}
		return "the history does not name mallory"
	}},
	{
		name: "a profile frees a field",
		none: map[relation]string{
			shared: "a HoldProfile is about objects that Applications own", selected: "a HoldProfile is about objects that Applications own",
		},
		fails: map[relation]string{hookMade: "a hook adds its object when the profiles have been read"},
		run: func(c *cellWorld) string {
			c.given(foreign)
			profile := &v1alpha1.HoldProfile{}
			require.NoError(c.t, yaml.UnmarshalStrict([]byte("spec: {rules: [{kinds: [{group: apps, kind: Deployment}], free: [spec.replicas]}]}"), profile))
			read, faults := intent.ReadProfile(profile)
			require.Empty(c.t, faults)
			c.profiles.All = []*intent.Profile{read}
			c.hold("spec: {replicas: 2, minReadySeconds: 1}", "")
			c.drift(int64(9), "spec", "replicas")
			return first(c.is(int64(9), "spec", "replicas"))
		},
	},
	{name: "a field that the API server refuses", none: map[relation]string{observed: "nothing is written"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "")
		c.change(int64(7), "spec", "minReadySeconds")
		c.change(int64(9), "spec", "replicas")
		change, _ := c.refused(c.decide(), "spec.replicas", &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "no"})
		if !change.Writes() {
			return "the other field is not corrected"
		}
		return first(c.is(int64(9), "spec", "replicas"), c.is(int64(1), "spec", "minReadySeconds"))
	}},
	{name: "suspended", none: map[relation]string{observed: "an Application that only observes writes nothing"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		c.want(replicas, "suspend: true")
		c.drift(int64(9), "spec", "replicas")
		wrong := c.is(int64(9), "spec", "replicas")
		c.hold(replicas, "")
		return first(wrong, c.is(int64(2), "spec", "replicas"))
	}},
	{name: "turned to Observe", none: map[relation]string{observed: "it observes already"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		c.want(replicas, "mode: Observe")
		c.drift(int64(9), "spec", "replicas")
		wrong := first(c.is(int64(9), "spec", "replicas"), c.reported("spec", "replicas"))
		c.hold(replicas, "")
		return first(wrong, c.is(int64(2), "spec", "replicas"))
	}},
	{name: "removed tracking metadata is restored", none: map[relation]string{observed: "nothing is marked"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		marks := observer.CopyMap(c.value("metadata").(map[string]any))
		c.change(nil, "metadata", "labels")
		c.drift(nil, "metadata", "annotations")
		return first(c.is(marks["labels"], "metadata", "labels"), c.is(marks["annotations"], "metadata", "annotations"))
	}},
	{name: "repeatedly removed tracking metadata is contested", none: map[relation]string{observed: "nothing is marked"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		for range plan.DefaultContestPolicy.Limit {
			c.drift(nil, "metadata", "annotations")
		}
		c.drift(nil, "metadata", "annotations")
		wrong := c.is(nil, "metadata", "annotations")
		c.now = c.now.Add(time.Hour)
		c.settle()
		if wrong == "" && c.value("metadata", "annotations") == nil {
			return "the tracking metadata is not restored"
		}
		return wrong
	}},
	{name: "a freed field keeps its value", none: noFieldsOfHooks, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", "")
		c.hold("spec: {replicas: 2, minReadySeconds: 1}", fmt.Sprintf("onRelease: Leave\nfields: [{resource: {kind: %s, name: %s}, free: [spec.replicas]}]", c.kind, c.id.Name))
		held := c.value("spec", "replicas")
		c.drift(int64(9), "spec", "replicas")
		return first(c.is(int64(9), "spec", "replicas"), c.unreportedAt(held))
	}},
	{name: "an object that another client deletes", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "")
		delete(c.live, c.id)
		c.settle()
		_, isThere := c.live[c.id]
		switch c.relation {
		case shared, selected, observed:
			if isThere {
				return "it is created, and belongs to another owner"
			}
			return ""
		}
		if !isThere {
			return "it is not created again"
		}
		return ""
	}},
	{name: "an Application that is deleted", run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(replicas, "onRelease: Restore")
		for range 4 {
			for _, change := range c.retire().Changes {
				if change.Writes() {
					c.execute(change)
				}
			}
		}
		_, isThere := c.live[c.id]
		switch c.relation {
		case created, hookMade:
			if isThere {
				return "its object is not deleted"
			}
			return ""
		}
		if !isThere {
			return "the object is deleted"
		}
		for _, fields := range [][]string{{"metadata", "labels", v1alpha1.LabelApplicationUID}, {"metadata", "labels", v1alpha1.LabelHeld}} {
			if c.value(fields...) != nil {
				return "tracking metadata is left"
			}
		}
		return c.is(int64(5), "spec", "replicas")
	}},
	{name: "a controller that dies after its write", none: map[relation]string{observed: "nothing is written"}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold("spec: {minReadySeconds: 1}", "")
		c.want("spec: {minReadySeconds: 1, replicas: 2}", "")
		c.die(true)
		c.manages("replicas", "minReadySeconds")
		c.hold("spec: {minReadySeconds: 1}", "")
		switch c.relation {
		case shared, selected:
			return c.is(int64(5), "spec", "replicas")
		}
		return c.is(nil, "spec", "replicas")
	}},
	{name: "bounds of the length of a list", none: map[relation]string{
		shared: "a list of a shared object has no bounds: it would cut what its owner has", selected: "spec.select has no observer schema", hookMade: "a hook gives its objects an entry of its own",
	}, run: func(c *cellWorld) string {
		c.given(foreign)
		c.hold(`spec: {template: {spec: {containers: [{name: web, image: "web:1", args: [a]}]}}}`, `observerSchema: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {
			containers: [{name: observed, image: observed, args: [observed, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 2}]}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 1}]}}}}]`)
		args := func(values ...any) {
			list := c.value("spec", "template", "spec", "containers").([]any)
			set(list[0].(map[string]any), values, "args")
			c.settle()
		}
		has := func(n int) string {
			list := c.value("spec", "template", "spec", "containers").([]any)
			if is, _ := get(list[0].(map[string]any), "args").([]any); len(is) != n {
				return fmt.Sprintf("it has %v", is)
			}
			return ""
		}
		args("a", "b")
		wrong := has(2)
		args("a", "b", "c")
		if c.relation == observed {
			return first(wrong, has(3), c.reported("spec", "template", "spec", "containers[name=web]", "args"))
		}
		return first(wrong, has(2))
	}},
	{name: "values of Secrets are masked", run: func(c *cellWorld) string {
		c = newCell(c.t, c.relation, "v1", "Secret", "keys")
		c.given("data: {password: Zm9yZWlnbg==}")
		c.hold("data: {password: Y2FuYXJ5}", "")
		c.drift("bWFsbG9yeQ==", "data", "password")
		wrong := c.corrected("Y2FuYXJ5", "bWFsbG9yeQ==", "data", "password")
		status, err := json.Marshal(c.app.Status)
		require.NoError(c.t, err)
		c.change("bWFsbG9yeQ==", "data", "password")
		view, err := json.Marshal(explain.ViewOf(c.decide()))
		require.NoError(c.t, err)
		for _, value := range []string{"Y2FuYXJ5", "bWFsbG9yeQ", "Zm9yZWlnbg"} {
			for name, text := range map[string]string{"status": string(status), "plan": string(view)} {
				if strings.Contains(text, value) {
					wrong = first(wrong, "the "+name+" has a value: "+text)
				}
			}
		}
		return wrong
	}},
}
