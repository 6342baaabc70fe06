package plan_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// profileOf returns a profile with one rule, given as YAML.
func profileOf(t require.TestingT, name, rule string) *intent.Profile {
	p := &v1alpha1.HoldProfile{}
	p.Name, p.Spec.Rules = name, make([]v1alpha1.ProfileRule, 1)
	require.NoError(t, yaml.UnmarshalStrict([]byte(rule), &p.Spec.Rules[0]))
	read, mistakes := intent.ReadProfile(p)
	require.Empty(t, mistakes)
	return read
}

// drawnProfile returns a profile for the kind of drawn specs, with paths from a spec. It also returns
// the paths.
func drawnProfile(r *rapid.T, spec map[string]any) ([]*intent.Profile, []string) {
	p := &v1alpha1.HoldProfile{}
	p.Name = "drawn"
	rule := v1alpha1.ProfileRule{Kinds: []v1alpha1.KindSelector{{Kind: observertest.GVK.Kind}}, Free: []string{drawnPath(r, spec)}}
	for range rapid.IntRange(0, 2).Draw(r, "frees") {
		rule.Free = append(rule.Free, drawnPath(r, spec))
	}
	for range rapid.IntRange(0, 2).Draw(r, "holds") {
		rule.Hold = append(rule.Hold, drawnPath(r, spec))
	}
	p.Spec.Rules = []v1alpha1.ProfileRule{rule}
	read, mistakes := intent.ReadProfile(p)
	require.Empty(r, mistakes)
	return []*intent.Profile{read}, slices.Concat(rule.Free, rule.Hold)
}

// overlaps reports whether one of the paths is above or below a path.
func overlaps(path string, paths []string) bool {
	return slices.ContainsFunc(paths, func(other string) bool {
		return other != path && (observer.IsUnder(path, other) || observer.IsUnder(other, path) || strings.Contains(path+other, "[*]"))
	})
}

// unnamed returns the changes of a plan as JSON, without the names of profiles and the texts that have them.
func unnamed(t require.TestingT, p *plan.Plan) string {
	require.Nil(t, p.Invalid)
	v := explain.ViewOf(p)
	for i := range v.Changes {
		v.Changes[i].Profiles = nil
		for k := range v.Changes[i].NotHeld {
			v.Changes[i].NotHeld[k].Profile, v.Changes[i].NotHeld[k].Why = "", ""
		}
	}
	raw, err := json.MarshalIndent([]any{v.Changes, v.Status.MangledObserverSchema, v.Status.LastAppliedManifest}, "", " ")
	require.NoError(t, err)
	return string(raw)
}

// whole returns an entire plan as JSON.
func whole(t require.TestingT, p *plan.Plan) string {
	raw, err := json.Marshal(explain.ViewOf(p))
	require.NoError(t, err)
	return string(raw)
}

// A profile has the same effect as spec.fields with the same paths.
func TestAProfileIsWhatItsFieldsWouldBe(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		entry := drawnFields(r, spec)
		entry.Hold = slices.DeleteFunc(entry.Hold, func(f v1alpha1.HeldField) bool { return f.Path == observer.AllFields || f.HasRule() })
		entry.Hold = append(entry.Hold, v1alpha1.HeldField{Path: observer.AllFields})
		if slices.ContainsFunc(entry.Free, isBeyondAList) {
			return
		}
		fields, profiled := newWorld(t, "manifest: []"), newWorld(t, "manifest: []")
		for _, w := range []*world{fields, profiled} {
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		}
		fields.app.Spec.Fields = []v1alpha1.ResourceFields{entry}
		if fields.decide().Invalid != nil {
			return // a profile omits such a path
		}
		p := &v1alpha1.HoldProfile{}
		rule := v1alpha1.ProfileRule{Kinds: []v1alpha1.KindSelector{{Kind: "*"}}, Free: entry.Free}
		for _, held := range entry.Hold[:len(entry.Hold)-1] {
			rule.Hold = append(rule.Hold, held.Path)
		}
		if len(rule.Free)+len(rule.Hold) == 0 {
			return
		}
		p.Spec.Rules = []v1alpha1.ProfileRule{rule}
		read, mistakes := intent.ReadProfile(p)
		require.Empty(r, mistakes)
		profiled.profiles.All = []*intent.Profile{read}
		learns := rapid.Bool().Draw(r, "defaults")
		for _, w := range []*world{fields, profiled} {
			w.respond = func(o map[string]any) { rewrite(o["spec"], learns, false) }
		}
		for range rapid.IntRange(1, 3).Draw(r, "rounds") {
			a, _ := fields.round()
			b, _ := profiled.round()
			require.Equal(r, unnamed(r, a), unnamed(r, b))
			changed := observertest.Mutate(r, fields.only()["spec"].(map[string]any))
			fields.only()["spec"], profiled.only()["spec"] = changed, observer.CopyMap(changed)
		}
	})
}

// A profile has no effect if it matches no resource, or if the schema or the fields of the user cover
// the resource. The plan is identical, byte for byte.
func TestWithoutMatchingProfile(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		w := newWorld(t, "manifest: []")
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		path := drawnPath(r, spec)
		rule := "kinds: [{kind: " + observertest.GVK.Kind + "}]\nfree: [" + `"` + path + `"` + "]\n"
		switch rapid.SampledFrom([]string{"another kind", "another group", "no match", "an error", "no autoscaler", "an entry", "fields"}).Draw(r, "why") {
		case "another kind":
			rule = strings.ReplaceAll(rule, observertest.GVK.Kind, "Other*")
		case "another group":
			rule = strings.ReplaceAll(rule, "{kind:", "{group: other.example.com, kind:")
		case "no match":
			rule += "match: object.metadata.name == 'other'\n"
		case "an error":
			rule += "match: object.nothing.like.that\n"
		case "no autoscaler":
			rule += "whileTargetedBy: HorizontalPodAutoscaler\n"
		case "an entry":
			raw, err := json.Marshal(observer.DefaultEntry(observertest.Manifest(spec)).Raw())
			require.NoError(r, err)
			w.app.Spec.ObserverSchema = []runtime.RawExtension{{Raw: raw}}
		case "fields":
			w.app.Spec.Fields = []v1alpha1.ResourceFields{{
				Resource: v1alpha1.ResourceSelector{Kind: observertest.GVK.Kind, Name: "*"}, Hold: []v1alpha1.HeldField{{Path: path}},
			}}
		}
		without := whole(r, w.decide())
		w.profiles.All = []*intent.Profile{profileOf(r, "one", rule)}
		require.Equal(r, without, whole(r, w.decide()))
	})
}

// No profile frees a field that the user holds.
func TestThePathsOfTheUserPrevail(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		path := drawnPath(r, spec)
		if strings.Contains(path, "[") {
			return // a list with a free element is open
		}
		w := newWorld(t, "manifest: []")
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		w.app.Spec.Fields = []v1alpha1.ResourceFields{{
			Resource: v1alpha1.ResourceSelector{Kind: observertest.GVK.Kind, Name: "*"},
			Hold:     []v1alpha1.HeldField{{Path: "*"}, {Path: path}},
		}}
		without := w.decide()
		if without.Invalid != nil {
			return
		}
		w.profiles.All = []*intent.Profile{profileOf(r, "one", `{kinds: [{kind: "*"}], free: ["`+path+`"]}`)}
		require.Equal(r, whole(r, without), whole(r, w.decide()))
	})
}

func TestProfilesThatAreNone(t *testing.T) {
	for _, row := range []struct{ rule, message string }{
		{`{kinds: [{kind: A}], free: ["spec..x"]}`, `spec.rules[0].free[0]: the path "spec..x": no field at ".x"`},
		{`{kinds: [{kind: A}], free: ["*"]}`, "spec.rules[0].free[0]: * matches the entire manifest: write single fields"},
		{`{kinds: [{kind: A}], free: [metadata]}`, "metadata cannot be used as one field"},
		{`{kinds: [{kind: A}], free: ["[metadata]"]}`, "metadata cannot be used as one field"},
		{`{kinds: [{kind: A}], free: ["[meta*]"]}`, "[meta*] matches metadata or status"},
		{`{kinds: [{kind: A}], hold: ["[status].phase"]}`, "status is report-only"},
		{`{kinds: [{kind: A}], free: ["[kind]"]}`, "kind identifies a resource"},
		{`{kinds: [{kind: A}], free: ["metadata[name]"]}`, "metadata.name identifies a resource"},
		{`{kinds: [{kind: A}], hold: [metadata.name]}`, "spec.rules[0].hold[0]: metadata.name identifies a resource"},
		{`{kinds: [{kind: A}], hold: [kind]}`, "kind identifies a resource"},
		{`{kinds: [{kind: A}], hold: [status.phase]}`, "status is report-only"},
		{`{kinds: [{kind: A}], free: [spec], match: "object."}`, "spec.rules[0].match: is not a valid CEL expression"},
		{`{kinds: [{kind: A}], free: [spec], match: "size(object)"}`, "spec.rules[0].match: must return true or false"},
		{`{kinds: [{kind: A}], free: [spec], match: "object.all(a, object.all(b, object.all(c, object.all(d, a + b + c + d != '')))) "}`, "may cost too much"},
		{`{kinds: [{kind: A}]}`, "a rule needs kinds, and fields"},
		{`{kinds: [{kind: A}], free: [spec], whileTargetedBy: Service}`, `must be HorizontalPodAutoscaler, not "Service"`},
	} {
		p := &v1alpha1.HoldProfile{}
		p.Spec.Rules = make([]v1alpha1.ProfileRule, 1)
		require.NoError(t, yaml.UnmarshalStrict([]byte(row.rule), &p.Spec.Rules[0]))
		_, mistakes := intent.ReadProfile(p)
		assert.ErrorContains(t, errors.Join(mistakes...), row.message, row.rule)
	}
}

// Only names that the API server certainly does not know are errors.
func TestUnknownNamesOfProfiles(t *testing.T) {
	served := intent.ServedKinds{Unavailable: []string{"metrics.k8s.io"}, Kinds: []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "example.com", Version: "v1", Kind: "Untyped"},
	}}
	for rule, want := range map[string]string{
		`{kinds: [{group: apps, kind: Deployment}], free: [spec.replicas, "metadata.annotations[*]", "spec.template.spec.containers[*].image"]}`: "",
		`{kinds: [{group: apps, kind: "*"}], free: [spec.replicsa]}`:                                                                             "",
		`{kinds: [{group: apps, kind: "Stateful*"}], free: [spec.replicas]}`:                                                                     "kinds[0]: the API server serves no kind Stateful*.apps",
		`{kinds: [{group: "", kind: Deployment}], free: [spec.replicas]}`:                                                                        "kinds[0]: the API server serves no kind Deployment",
		`{kinds: [{group: apps, kind: Deployment}, {group: apps, kind: Deploymnt}], free: [a]}`:                                                  "kinds[1]: the API server serves no kind Deploymnt.apps: did you mean Deployment?",
		`{kinds: [{kind: NodeMetrics}], free: [usage]}`:                                                                                          "",
		`{kinds: [{group: metrics.k8s.io, kind: NodeMetrics}], free: [usage]}`:                                                                   "",
		`{kinds: [{group: apps, kind: Deployment}], hold: [spec.paused], free: [spec.paused, spec.replicsa]}`:                                    "free[1]: Deployment: no field spec.replicsa: did you mean replicas?",
		`{kinds: [{group: apps, kind: Deployment}, {group: "", kind: Service}], free: [spec.type, spec.ports]}`:                                  "",
		`{kinds: [{group: apps, kind: Deployment}, {group: "", kind: Service}], hold: [spec.template.sepc]}`:                                     "hold[0]: Deployment: no field spec.template.sepc: did you mean spec?",
		`{kinds: [{group: apps, kind: Deployment}], free: [spec.template.spec.containers.image]}`:                                                "free[0]: Deployment: spec.template.spec.containers is a list: write spec.template.spec.containers[*]",
		`{kinds: [{group: apps, kind: Deployment}, {group: example.com, kind: Untyped}], free: [spec.replicsa]}`:                                 "",
		`{kinds: [{group: "", kind: ConfigMap}], free: ["data[service-ca.crt]", "[data]"]}`:                                                      "",
	} {
		p := &v1alpha1.HoldProfile{}
		p.Spec.Rules = make([]v1alpha1.ProfileRule, 1)
		require.NoError(t, yaml.UnmarshalStrict([]byte(rule), &p.Spec.Rules[0]))
		read, mistakes := intent.ReadProfile(p)
		require.Empty(t, mistakes)
		err := errors.Join(read.CheckNames(served, kinds.Builtin)...)
		if want == "" {
			assert.NoError(t, err, rule)
		} else {
			assert.EqualError(t, err, "spec.rules[0]."+want, rule)
		}
	}
}

func TestAutoscalerTargets(t *testing.T) {
	const named = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: shop, name: web}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"
	for text, want := range map[string]bool{
		named: true,
		strings.Replace(named, "autoscaling/v2", "autoscaling/v1", 1): true,
		strings.Replace(named, "autoscaling/v2", "example.com/v1", 1): false,
		strings.Replace(named, "apps/v1", "a/b/c", 1):                 false,
		strings.Replace(named, "name: web}}", "name: 3}}", 1):         false,
		strings.Replace(named, "{scaleTargetRef:", "{other:", 1):      false,
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}": false,
	} {
		object := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(text), &object))
		target, ok := intent.AutoscalerTarget(object)
		assert.Equal(t, want, ok, text)
		if want {
			assert.Equal(t, manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, target)
		}
	}
}

// Paths of a profile that match too many fields are skipped with a warning. The Application remains
// valid.
func TestAProfileNeverBreaksAnApplication(t *testing.T) {
	data := map[string]any{}
	for i := range 3000 {
		data["key-"+strings.Repeat("x", i%50)+string(rune('a'+i%26))] = "value"
	}
	w := newWorld(t, "manifest: []")
	w.app.Spec.Manifest = raws(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "large"}, "data": data})
	p := &v1alpha1.HoldProfile{}
	p.Name = "greedy"
	for range 100 {
		rule := v1alpha1.ProfileRule{Kinds: []v1alpha1.KindSelector{{Kind: "*"}}}
		for range 100 {
			rule.Free = append(rule.Free, "data[*none*]")
		}
		p.Spec.Rules = append(p.Spec.Rules, rule)
	}
	read, mistakes := intent.ReadProfile(p)
	require.Empty(t, mistakes)
	w.profiles.All = []*intent.Profile{read}
	decided := w.decide()
	require.Nil(t, decided.Invalid)
	assert.Len(t, decided.Changes, 1)
	require.NotEmpty(t, decided.Warnings)
	assert.Contains(t, decided.Warnings[0], "HoldProfile greedy: data[*none*] the paths of the profiles match too many fields")
}

// TestShippedProfiles checks the fields that deploy/profiles frees, for kinds whose controllers a test
// cluster lacks.
func TestShippedProfiles(t *testing.T) {
	files, err := filepath.Glob("../../deploy/profiles/*-*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all []*intent.Profile
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		p := &v1alpha1.HoldProfile{}
		require.NoError(t, yaml.UnmarshalStrict(raw, p))
		assert.Equal(t, p.Name+".yaml", filepath.Base(file))
		read, mistakes := intent.ReadProfile(p)
		require.Empty(t, mistakes, file)
		all = append(all, read)
	}
	for _, row := range []struct{ name, manifest, free string }{
		{"a definition", `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a, annotations: {cert-manager.io/inject-ca-from: a/b}},
  spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: Cg==}}}}}`, "spec.conversion.webhook.clientConfig.caBundle"},
		{"an aggregated API", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a, annotations: {service.beta.openshift.io/inject-cabundle: "true"}}, spec: {caBundle: Cg==}}`, "spec.caBundle"},
		{"an API without injection", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: a}, spec: {caBundle: Cg==}}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(row.manifest), &object))
			w := newWorld(t, "manifest: []")
			w.app.Spec.Manifest = raws(object)
			w.profiles.All = all
			w.round()
			leaf := strings.Split(row.free, ".")
			if row.free == "" {
				assert.Empty(t, explain.ViewOf(w.decide()).Changes[0].Profiles)
				return
			}
			set(w.only(), "aW5qZWN0ZWQ=", leaf...)
			p := w.decide()
			assert.False(t, p.HasWork())
			assert.Equal(t, row.free, explain.ViewOf(p).Changes[0].NotHeld[0].Path)
		})
	}
}

// A HoldProfile with a field or value that this version does not know prevents every write for Applications with
// objects that it may concern. It has no effect on others, on written schemas, or on a deletion.
func TestUnknownProfilesStopApplications(t *testing.T) {
	read := func(spec string) *intent.Profile {
		raw, err := yaml.YAMLToJSON([]byte("{metadata: {name: new}, spec: " + spec + "}"))
		require.NoError(t, err)
		from, err := v1alpha1.DecodeProfile(raw)
		require.NoError(t, err)
		profile, mistakes := intent.ReadProfile(from)
		require.Empty(t, mistakes)
		return profile
	}
	for _, row := range []struct{ spec, unknown string }{
		{`{rules: [{kinds: [{kind: ConfigMap}], free: [data.a], news: 1}]}`, "spec.rules[0].news"},
		{`{rules: [{kinds: [{kind: ConfigMap, news: 1}], free: [data.a]}]}`, "spec.rules[0].kinds[0].news"},
		{`{rules: [{kinds: [{kind: ConfigMap}], whileTargetedBy: News, free: [data.a]}]}`, "spec.rules[0].whileTargetedBy: News"},
		{`{rules: [{kinds: [{kind: ConfigMap}], news: [data.a]}]}`, "spec.rules[0].news"},
		{`{rules: [{kinds: [{kind: Secret}], free: [data.a]}], news: 1}`, "spec.news"},
		{`{rules: [{kinds: [{kind: Secret}], free: [data.a], news: 1}]}`, ""},
	} {
		const manifests = "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}]\n"
		w := newWorld(t, manifests)
		profile := read(row.spec)
		w.profiles.All = []*intent.Profile{profile}
		assert.False(t, profile.AsksForAutoscalers(), row.spec)
		require.NotNil(t, profile.NotSupported())
		if p := w.decide(); row.unknown != "" {
			require.NotNil(t, p.Invalid, row.spec)
			assert.Equal(t, v1alpha1.ReasonSpecNotSupported, p.Invalid.Reason)
			assert.Contains(t, p.Invalid.Error(), "HoldProfile new: this version of Holdfast does not know "+row.unknown+", so")
			assert.True(t, p.Invalid.Stalled())
			assert.Empty(t, p.Changes)
		} else {
			require.Nil(t, p.Invalid, row.spec)
			assert.Len(t, p.Changes, 1)
		}
		w.edit(manifests + "observerSchema: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: observed}}]")
		assert.Nil(t, w.decide().Invalid, "%s: a written schema", row.spec)
	}
}

// The deletion of an Application that this version does not understand deletes nothing.
func TestUnknownDeletionIsInvalid(t *testing.T) {
	w := newWorld(t, "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}]")
	w.round()
	w.app.DeletionTimestamp = &metav1.Time{Time: w.now}
	in := plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now}
	require.Len(t, plan.DecideDeletion(in).Changes, 1)
	w.app.Unknown = []string{"spec.deletionPolicy: Archive"}
	p := plan.DecideDeletion(in)
	assert.Empty(t, p.Changes)
	require.NotNil(t, p.Invalid)
	assert.Equal(t, v1alpha1.ReasonSpecNotSupported, p.Invalid.Reason)
}

// A rule cannot find out values of a Secret, also not of a field that may be a typing error.
func TestRulesDoNotReadSecrets(t *testing.T) {
	for rule, held := range map[string]bool{
		"has(object.data) || has(object.stringData) || has(object.stringdata)": true,
		"object.type == 'Opaque'": false,
	} {
		w := newWorld(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: s}, type: Opaque, data: {a: eA==}, stringdata: {a: x}}]`)
		w.profiles.All = []*intent.Profile{profileOf(t, "one", `{kinds: [{kind: Secret}], free: [type], match: "`+rule+`"}`)}
		p := w.decide()
		require.Nil(t, p.Invalid)
		e, _ := explain.Resource(p, p.Changes[0].ID, false)
		isHeld := slices.ContainsFunc(e.Fields, func(f explain.Field) bool { return f.Path == "type" && f.State == explain.Held })
		assert.Equal(t, held, isHeld, rule)
	}
}
