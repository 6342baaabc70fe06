package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const wished = `
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, annotations: {field.cattle.io/description: ours, own: ours}}
  spec:
    replicas: 2
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec:
        containers:
        - {name: web, image: "web:1", resources: {limits: {cpu: "1"}}}
        - {name: side, image: "side:1", resources: {limits: {cpu: "1"}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, labels: {team: ours, tier: ours}}, data: {log-level.properties: ours, mode: ours}}
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: web}
  webhooks: [{name: web.example.com, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {caBundle: b3Vycw==, service: {name: web, namespace: default}}}]
`

// For each use in docs/fields.md, the test changes fields as another client, and checks which ones are
// corrected.
func TestCommonUses(t *testing.T) {
	wishes := facts.Blocks(read(t, "docs/fields.md"), "yaml")
	const image, side = "spec.template.spec.containers[name=web].image", "spec.template.spec.containers[name=side].image"
	const cpu, caBundle = "spec.template.spec.containers[name=web].resources.limits.cpu", "webhooks[name=web.example.com].clientConfig.caBundle"
	const tool, level = "metadata.annotations['field.cattle.io/description']", "data['log-level.properties']"
	rows := []struct{ corrected, left []string }{
		{[]string{image, cpu, tool}, []string{"spec.replicas"}},
		{[]string{image, cpu, tool}, []string{"spec.replicas"}},
		{[]string{image}, []string{"spec.replicas", side, cpu, tool}},
		{[]string{image, side, "spec.replicas"}, []string{cpu}},
		{[]string{"metadata.annotations.own", image}, []string{tool}},
		{[]string{"webhooks[name=web.example.com].sideEffects"}, []string{caBundle}},
		{[]string{"metadata.labels.team"}, []string{"metadata.labels.tier", "data.mode"}},
		{[]string{"data.mode", "metadata.labels.team"}, []string{level}},
		{[]string{"spec.sessionAffinity", "spec.selector"}, nil},
		{[]string{image, side, "spec.replicas"}, []string{cpu, "spec.template.metadata.labels.app"}},
	}
	require.Len(t, wishes, len(rows))
	for i, wish := range wishes {
		assert.LessOrEqual(t, strings.Count(wish, "\n"), 5, wish)
		corrected := correctedUnder(t, wish)
		for _, path := range rows[i].corrected {
			assert.Contains(t, corrected, path, wish)
		}
		for _, path := range rows[i].left {
			assert.NotContains(t, corrected, path, wish)
		}
	}
}

// Each rule in the table of docs/fields.md exists, and is set on an existing field.
func TestTheRulesInFields(t *testing.T) {
	items := regexp.MustCompile("(?m)^\\| .* \\| `({path: .*})` \\|$").FindAllStringSubmatch(read(t, "docs/fields.md"), -1)
	require.NotEmpty(t, items)
	for _, item := range items {
		kind := "Deployment"
		if strings.Contains(item[1], "spec.type") {
			kind = "Service"
		}
		app := &v1alpha1.Application{}
		app.Namespace, app.Name = "default", "shop"
		require.NoError(t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(wished, `image: "`, `image: "registry.example.com/`)), &app.Spec.Manifest))
		require.NoError(t, yaml.UnmarshalStrict([]byte("[{resource: {kind: "+kind+", name: web}, hold: [\"*\", "+item[1]+"]}]"), &app.Spec.Fields))
		p := plan.Decide(plan.Input{Application: app, Kinds: intent.Offline()})
		assert.Nil(t, p.Invalid, item[1])
		assert.Contains(t, fmt.Sprint(explain.ViewOf(p).Status.MangledObserverSchema), "observer_schema_", item[1])
	}
	for _, key := range observer.RuleKeys {
		isShown := slices.ContainsFunc(items, func(item []string) bool { return strings.Contains(item[1], ", "+key.Name+": ") })
		assert.True(t, isShown, "the table of rules in docs/fields.md needs an item with %s", key.Name)
	}
}

// correctedUnder returns the corrected paths of the resource for one use, after another client has changed
// every field.
func correctedUnder(t *testing.T, wish string) []string {
	t.Helper()
	app := &v1alpha1.Application{}
	app.Namespace, app.Name = "default", "shop"
	require.NoError(t, yaml.UnmarshalStrict([]byte(wish), &app.Spec.Fields))
	require.NoError(t, yaml.UnmarshalStrict([]byte(wished), &app.Spec.Manifest))
	return corrected(t, app)[app.Spec.Fields[0].Resource.Kind]
}

// corrected returns the corrected paths of an Application by kind, after its objects were created and
// another client has changed every field.
func corrected(t *testing.T, app *v1alpha1.Application) map[string][]string {
	t.Helper()
	app.UID = "app-uid"
	in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}}
	created := plan.Decide(in)
	require.Nil(t, created.Invalid)
	outcomes := map[manifest.ID]plan.Outcome{}
	for _, change := range created.Changes {
		if change.Shared {
			continue // another client creates it
		}
		live := change.Manifest
		live["metadata"].(map[string]any)["uid"] = "uid"
		if spec, ok := live["spec"].(map[string]any); ok && change.ID.Kind == "Service" {
			spec["sessionAffinity"] = "None"
		}
		in.Live[change.ID] = live
		outcomes[change.ID] = plan.Outcome{Action: plan.Create, Object: live}
	}
	app.Status = created.Summarize(outcomes, in.Now).Status
	for id, live := range in.Live {
		in.Live[id] = changedByAll(live, "").(map[string]any)
	}
	decided := plan.Decide(in)
	require.Nil(t, decided.Invalid)
	paths := map[string][]string{}
	for _, change := range decided.Changes {
		for _, f := range change.Fields {
			paths[change.ID.Kind] = append(paths[change.ID.Kind], f.Path)
		}
	}
	return paths
}

// changedByAll returns a value with every field changed, except keys and tracking metadata, and with one
// more key in data.
func changedByAll(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		changed := map[string]any{}
		if name == "data" {
			changed["added"] = "by another client"
		}
		for key, child := range v {
			changed[key] = child
			if key != "name" && key != "uid" && key != "kind" && key != "apiVersion" && key != "port" && !strings.HasPrefix(key, "holdfast.dev/") {
				changed[key] = changedByAll(child, key)
			}
		}
		return changed
	case []any:
		changed := make([]any, len(v))
		for i, child := range v {
			changed[i] = changedByAll(child, name)
		}
		return changed
	case string:
		return v + "-changed"
	case int64:
		return v + 1
	}
	return v
}
