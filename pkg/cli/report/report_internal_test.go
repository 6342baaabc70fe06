package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// palette returns the palette that the flag --color selects.
func palette(t *testing.T, color string) terminal.Palette {
	t.Helper()
	p, err := terminal.PaletteFor(color, terminal.Streams{})
	require.NoError(t, err)
	return p
}

// field returns a free field that a client wrote a minute ago.
func field(parent, name, value, manager string) explain.Field {
	return explain.Field{
		Path: parent + "." + name, Parent: parent, State: explain.Free, Live: delta.NewValue(value),
		Actors: explain.Actors{Writer: writer.Writer{Manager: manager, At: now.Add(-time.Minute)}}, Why: "free: not in the manifest",
	}
}

// explanation returns the output of the explain command for fields, on a terminal.
func explanation(t *testing.T, columns int, color string, change func(*Explanation), fields ...explain.Field) string {
	t.Helper()
	var out bytes.Buffer
	e := &Explanation{
		Explanation: explain.Explanation{
			ID: manifest.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Change: plan.Change{APIVersion: "v1"}, Fields: fields, Desired: true,
		},
		Namespace: "shop", Application: "web", Output: Output{Palette: palette(t, color), Width: columns, Now: now},
	}
	if change != nil {
		change(e)
	}
	require.NoError(t, e.Print(&out))
	return out.String()
}

// lineWith returns the line that contains a text.
func lineWith(t *testing.T, text, part string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSuffix(line, "\n")
		}
	}
	require.Fail(t, "there is no line with "+part, text)
	return ""
}

// An allowed value next to that of the manifest is no change.
func TestALongRuleIsBelowTheValues(t *testing.T) {
	f := field("data", "limit", "300", "kubectl")
	f.State, f.Manifest = explain.Allowed, delta.NewValue("600")
	f.Rule = &observer.Rule{Expression: "self in " + strings.Repeat("[0-9]", 8)}
	assert.Contains(t, explanation(t, 80, "never", nil, f), `
  = allowed   limit: "300" (manifest: "600")
                allowed if `+f.Rule.Expression+`
                written by kubectl, 60s ago
`)
}

func TestTheWritersAreInOneColumn(t *testing.T) {
	fields := []explain.Field{
		field("data", "mode", "live", "kubectl"), field("data", "greeting", "你好，世界", "kubectl"),
		field("data", "accent", "e\u0301", "kubectl"), field("data", "emoji", "🚀", "kubectl"),
	}
	for _, row := range []struct {
		name          string
		columns, ends int
	}{
		{"80 columns", 80, 80},
		{"100 columns", 100, 100},
		{"a very wide terminal", 250, writerEnd},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := explanation(t, row.columns, "never", nil, fields...)
			for _, name := range []string{"mode: ", "greeting: ", "accent: ", "emoji: "} {
				line := lineWith(t, text, name)
				assert.True(t, strings.HasSuffix(line, "  kubectl, 60s ago"), line)
				assert.Equal(t, row.ends, terminal.Length(line), line)
			}
		})
	}
}

func TestLongValuesWrap(t *testing.T) {
	long := field("data", "text", strings.Repeat("x", 50), "a-manager-with-a-name")
	text := explanation(t, 80, "never", nil, long)
	assert.Contains(t, text, "\n    free      text: "+strings.Repeat("x", 50)+"\n                written by a-manager-with-a-name, 60s ago\n")
	long.Live = delta.NewValue(strings.Repeat("x", 75))
	text = explanation(t, 80, "never", nil, long)
	assert.Contains(t, text, "\n    free      text:\n                "+strings.Repeat("x", 75)+"\n", "a word is never broken")
	long.Live = delta.NewValue("1\n2\n3\n4\n5\n6\n7\n8\n")
	text = explanation(t, 80, "never", nil, long)
	assert.Contains(t, text, "\n                6\n                … 2 more lines\n")
	text = explanation(t, 80, "never", func(e *Explanation) { e.Detailed = true }, long)
	assert.Contains(t, text, "\n                8\n", "a detailed explanation contains the entire value")
}

func TestWhyAFieldIsFreeIsSaidOnce(t *testing.T) {
	fields := []explain.Field{field("data", "a", "1", ""), field("data", "b", "2", ""), field("data", "c", "3", "")}
	assert.NotContains(t, explanation(t, 80, "never", nil, fields...), "not in the manifest")
	text := explanation(t, 80, "never", func(e *Explanation) { e.Detailed = true }, fields...)
	assert.Equal(t, 1, strings.Count(text, "not in the manifest"), text)
	for i := range fields {
		fields[i].State, fields[i].Drift, fields[i].Corrected = explain.Held, delta.Changed, true
		fields[i].Why = "drift: it is corrected"
	}
	assert.Equal(t, 3, strings.Count(explanation(t, 80, "never", nil, fields...), "drift: it is corrected"), "drift is about one field")
}

func TestOfAnObjectThatIsNotThereOneThingIsSaid(t *testing.T) {
	learned := explain.Field{Path: "spec.paused", Parent: "spec", State: explain.Learned, Why: "not known yet"}
	held := explain.Field{Path: "spec.mode", Parent: "spec", State: explain.Held, Desired: delta.NewValue("live"), Drift: delta.Missing, Corrected: true, Why: "drift: it is created"}
	missing := func(e *Explanation) { e.Missing = true }
	assert.Contains(t, explanation(t, 80, "never", missing, learned, held), "\n! drift: it is created\n")
	assert.Contains(t, explanation(t, 80, "never", missing), "\n! the object does not exist\n")
	blocked := explanation(t, 80, "never", func(e *Explanation) {
		e.Missing = true
		e.Change.Problem = &plan.Problem{Reason: "KindUnknown", Message: strings.Repeat("word ", 30)}
	}, held)
	assert.NotContains(t, blocked, "drift: it is created")
	assert.Contains(t, blocked, "\n! KindUnknown: word ")
	for line := range strings.Lines(blocked) {
		assert.LessOrEqual(t, terminal.Length(strings.TrimSpace(line)), 80)
	}
}

// escapes matches the escape sequences of a palette.
var escapes = regexp.MustCompile("\x1b\\[\\d+m")

func TestColoursAddNothingToTheWords(t *testing.T) {
	drifted := field("data", "mode", "test", "kubectl")
	drifted.State, drifted.Desired, drifted.Drift, drifted.Why = explain.Held, delta.NewValue("live"), delta.Changed, "drift: not corrected"
	contested := drifted
	contested.Path, contested.State = "data.contested", explain.Contested
	several := drifted
	several.Path, several.Live, several.Desired = "data.several", delta.NewValue("a\nb\n"), delta.NewValue("a\nc\n")
	fields := []explain.Field{field("data", "free", "1", "kubectl"), drifted, contested, several}
	plain := explanation(t, 80, "never", nil, fields...)
	painted := explanation(t, 80, "always", nil, fields...)
	assert.NotContains(t, plain, "\x1b")
	assert.NotEqual(t, plain, painted)
	assert.Equal(t, plain, escapes.ReplaceAllString(painted, ""))
}

func TestFieldsAt(t *testing.T) {
	fields := []explain.Field{
		{Path: "spec.replicas"},
		{Path: "spec.template.spec.containers[name=web].image"},
		{Path: "spec.template.spec.containers[name=proxy].image"},
		{Path: "metadata.annotations['example.com/a']"},
		{Path: "spec.selector"},
	}
	for _, row := range []struct {
		name, path string
		want       []string
		refused    string
	}{
		{"all", "", []string{"spec.replicas", "spec.template.spec.containers[name=web].image", "spec.template.spec.containers[name=proxy].image", "metadata.annotations['example.com/a']", "spec.selector"}, ""},
		{"one, and a dot before it", ".spec.replicas", []string{"spec.replicas"}, ""},
		{"that of every element", "spec.template.spec.containers.image", []string{"spec.template.spec.containers[name=web].image", "spec.template.spec.containers[name=proxy].image"}, ""},
		{"that of one element", "spec.template.spec.containers[name=proxy]", []string{"spec.template.spec.containers[name=proxy].image"}, ""},
		{"a quoted key", "metadata.annotations['example.com/a']", []string{"metadata.annotations['example.com/a']"}, ""},
		{"one that lies in a field", "spec.selector.matchLabels", []string{"spec.selector"}, ""},
		{"a mistyped one", "spec.replcas", nil, "no field spec.replcas in the desired or the live object: did you mean spec.replicas?"},
		{"an element that is not there", "spec.template.spec.containers[name=wbe].image", nil, "no field spec.template.spec.containers[name=wbe].image in the desired or the live object: did you mean spec.template.spec.containers.image?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			found, err := FieldsAt(fields, row.path)
			if row.refused != "" {
				assert.EqualError(t, err, row.refused)
				return
			}
			require.NoError(t, err)
			var paths []string
			for _, f := range found {
				paths = append(paths, f.Path)
			}
			assert.Equal(t, row.want, paths)
		})
	}
}

func TestCount(t *testing.T) {
	for _, row := range []struct {
		want    string
		differs bool
		did     map[verb]int
		fields  int
	}{
		{"Plan: nothing to do", false, nil, 0},
		{"Plan: nothing to do, 2 unchanged", false, map[verb]int{unchanged: 2}, 0},
		{"Plan: 1 to create", true, map[verb]int{create: 1}, 0},
		{"Plan: 1 to correct (1 field), 1 unchanged", true, map[verb]int{correct: 1, unchanged: 1}, 1},
		{"Plan: 2 to correct (3 fields), 1 to orphan, 1 to delete, 1 blocked", true, map[verb]int{correct: 2, orphan: 1, remove: 1, blocked: 1}, 3},
	} {
		c := count{resources: row.did, fields: row.fields}
		assert.Equal(t, row.want, c.String())
		assert.Equal(t, row.differs, c.Differs(), row.want)
	}
}

// Names of Pods are long, so the table often is too wide.
func TestOwnedObjectsStandBelowTheirOwners(t *testing.T) {
	at := func(ago time.Duration) string { return now.Add(-ago).Format(time.RFC3339) }
	owned := func(kind, name, health string, o OwnedObject) *OwnedObject {
		o.Resource, o.Health = explain.ViewResource{APIVersion: "v1", Kind: kind, Name: name}, health
		return &o
	}
	v := StatusView{Ready: "True", Resources: []ResourceView{
		resource("Service", "web", func(r *ResourceView) {
			r.Created, r.LastCorrection = at(time.Minute), at(5*time.Minute)
			r.Owned = []*OwnedObject{owned("EndpointSlice", "web-1", "Current", OwnedObject{Created: at(time.Minute)})}
		}),
		resource("Deployment", "web", func(r *ResourceView) {
			r.Health, r.Message, r.Created, r.Counts = "Failed", "word "+strings.Repeat("more ", 16), at(time.Hour), map[explain.State]int{explain.Held: 2}
			r.Owned = []*OwnedObject{
				owned("ReplicaSet", "web-1", "InProgress", OwnedObject{Owned: []*OwnedObject{owned("Pod", "web-1-x", "InProgress", OwnedObject{Message: "Unschedulable"})}}),
				owned("ReplicaSet", "web-2", "Current", OwnedObject{}),
			}
		}),
		resource("ConfigMap", "web", func(r *ResourceView) {
			r.Created, r.Counts = at(time.Hour), map[explain.State]int{explain.Held: 1}
		}),
	}}
	_, table, _ := strings.Cut(statusText(t, 60, v), "ServiceAccount\n\n")
	assert.Equal(t, `RESOURCE                HEALTH      AGE  CORRECTED  FIELDS
Service web             Current     60s  5m ago     1 held
└─ EndpointSlice web-1  Current     60s
Deployment web          Failed      60m  never      2 held
│ ! word more more more more more more more more more more
│   more more more more more more
├─ ReplicaSet web-1     InProgress  -
│  └─ Pod web-1-x       InProgress  -
│       ! Unschedulable
└─ ReplicaSet web-2     Current     -
ConfigMap web           Current     60m  never      1 held
`, table)
	_, table, _ = strings.Cut(statusText(t, 50, v), "ServiceAccount\n\n")
	assert.Equal(t, `RESOURCE                HEALTH      AGE
Service web             Current     60s
│   corrected 5m ago; 1 held
└─ EndpointSlice web-1  Current     60s
Deployment web          Failed      60m
│   2 held
│ ! word more more more more more more more more
│   more more more more more more more more
├─ ReplicaSet web-1     InProgress  -
│  └─ Pod web-1-x       InProgress  -
│       ! Unschedulable
└─ ReplicaSet web-2     Current     -
ConfigMap web           Current     60m
    1 held
`, table)
}
