package page

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

var now = time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC)

// decide returns the decision for an Application and its live objects.
func decide(t testing.TB, application string, live ...string) files.Decision {
	t.Helper()
	in := plan.Input{Application: &v1alpha1.Application{}, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}, Now: now}
	require.NoError(t, yaml.UnmarshalStrict([]byte(application), in.Application))
	for _, text := range live {
		documents, err := manifest.Read("live", []byte(text))
		require.NoError(t, err)
		for _, document := range documents {
			id, ok := manifest.Identify(document.Value, in.Application.Namespace, in.Kinds)
			require.True(t, ok)
			in.Live[id] = document.Value
		}
	}
	return files.Decision{Subject: files.Subject{Application: in.Application}, Plan: plan.Decide(in), Live: in.Live, Kinds: in.Kinds}
}

const application = `
apiVersion: holdfast.dev/v1alpha1
kind: Application
metadata: {name: shop, namespace: default, generation: 1}
spec:
  manifest:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 3
      template: {spec: {containers: [{name: web, image: "web:1", resources: {limits: {cpu: 1000m}}}], hostNetwork: true}}
  observerSchema:
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      paused: observed
      template:
        spec:
          dnsPolicy: observed
          hostNetwork: observed
          containers:
          - {image: observed, resources: {limits: {cpu: observed}}}
          - {observer_schema_list_min_length: 1, observer_schema_list_max_length: 2}
status:
  observedGeneration: 1
  accepted:
  - resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}
    path: spec.template.spec.containers[name=web].resources.limits.cpu
    desired: 1000m
    accepted: "1"
`

const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: default
  uid: u-1
  annotations: {note: "</script><script>alert(1)</script>", multi: "one\ntwo\nthree"}
  managedFields:
  - {manager: hpa, subresource: scale, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}}}}
  - {manager: kubectl-set, time: '2026-01-01T00:05:00Z', fieldsV1: {'f:spec': {'f:template': {'f:spec': {'f:containers': {'k:{"name":"web"}': {'f:image': {}}}}}}}}
spec:
  replicas: 5
  template:
    spec:
      dnsPolicy: ClusterFirst
      containers:
      - {name: proxy, image: "proxy:1"}
      - {name: web, image: "web:2", resources: {limits: {cpu: "1"}}}
      - {name: extra, image: "extra:1"}
status: {replicas: 5}
`

var webID = manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}

// rowsText returns one line for each row: its badge, its text, and the desired value.
func rowsText(o Object) string {
	var b strings.Builder
	for _, chunk := range o.Chunks {
		for _, r := range chunk.Rows {
			text := strings.ReplaceAll(r.Text, "\n", "⏎")
			if r.Desired != "" {
				text += " | " + strings.ReplaceAll(r.Desired, "\n", "⏎")
			}
			if r.Writer.Name != "" {
				text += " | by " + r.Writer.Name
			}
			fmt.Fprintf(&b, "%-9s %s\n", r.Badge.Word, text)
		}
	}
	return b.String()
}

func TestTheLinesOfAnObject(t *testing.T) {
	d := decide(t, application, live)
	o := objectOf(d, webID, entriesOf(d, webID), now)
	assert.Equal(t, strings.TrimPrefix(`
          apiVersion: apps/v1
          kind: Deployment
          metadata:
            name: web
            namespace: default
            annotations:
free          multi: |-⏎      one⏎      two⏎      three
free          note: </script><script>alert(1)</script>
            uid: u-1
          spec:
free        replicas: 5 | by hpa (scale)
            template:
              spec:
                containers:
free            - name: proxy
free              image: proxy:1
free            - name: web
drifted           image: web:2 |         image: web:1 | by kubectl-set
                  resources:
                    limits:
accepted              cpu: "1"
removed         - name: extra⏎        image: extra:1 | (removed)
learned         dnsPolicy: ClusterFirst
drifted         (absent) |       hostNetwork: true
          status:
free        replicas: 5
`, "\n"), rowsText(o))
	require.Len(t, o.Unset, 1)
	assert.Equal(t, "spec.paused", o.Unset[0].Text)
	detail := o.Details["spec.template.spec.containers[name=web].image"]
	assert.Equal(t, Detail{
		Path: "spec.template.spec.containers[name=web].image", Class: "drifted", State: "held, drifted", Verb: "free",
		Why: "drift: the live value is not the desired value; it is corrected", Live: "web:2", Desired: "web:1",
		Writer: "kubectl-set", At: "2026-01-01T00:05:00Z", Quote: "'spec.template.spec.containers[name=web].image'",
		Entry: 10,
	}, detail)
	assert.Equal(t, "      - image: observed", o.Entry[9].Text)
	assert.Equal(t, "hold", o.Details["spec.replicas"].Verb)
	assert.Equal(t, "3", o.Details["spec.replicas"].Manifest)
}

func TestAnObjectThatIsNotThere(t *testing.T) {
	d := decide(t, application)
	o := objectOf(d, webID, entriesOf(d, webID), now)
	assert.Equal(t, []string{"The object does not exist."}, o.Remarks)
	assert.Contains(t, rowsText(o), "drifted         (absent) |       - image: web:1\n")
	assert.Contains(t, rowsText(o), "          kind: Deployment\n")
}

// In every golden case of package plan, every field is on the page of its object.
func TestEveryFieldHasItsRow(t *testing.T) {
	cases, err := filepath.Glob("../../../testdata/plan/*/application.yaml")
	require.NoError(t, err)
	rows := 0
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			live, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "live.yaml"))
			d := decide(t, string(text), string(live))
			entries := entriesOf(d, files.IDsOf(d)...)
			for _, change := range d.Changes {
				e, _ := explain.Resource(d.Plan, change.ID, false)
				o := objectOf(d, change.ID, entries, now)
				assert.LessOrEqual(t, len(o.Details), len(e.Fields))
				shown := map[string]bool{}
				for _, detail := range o.Details {
					shown[detail.Path] = true
				}
				for _, f := range e.Fields {
					assert.True(t, shown[f.Path] || isShownAbove(shown, f.Path), "%s of %s", f.Path, change.ID)
				}
				rows += len(o.Details)
			}
			_, err = StatusFile(d, report.StatusOf(d), "holdfast", now)
			assert.NoError(t, err)
		})
	}
	assert.Greater(t, rows, 500)
}

// isShownAbove reports whether a parent of a field has a row.
func isShownAbove(shown map[string]bool, path string) bool {
	for other := range shown {
		if strings.HasPrefix(path, other) {
			return true
		}
	}
	return false
}

func TestRowIDsHaveNoSpaces(t *testing.T) {
	rows := objectRows{Object: &Object{Details: map[string]Detail{"data[a_b]": {}}}}
	assert.Equal(t, "data[a_b]~2", rows.uniqueID("data[a b]"))
}

// Markup in values is shown as text on the page, also in its data.
func TestMarkupIsShownAsText(t *testing.T) {
	const bad = `</script></style><img src=x onerror="alert(1)">{{"{{"}}.}}`
	app := strings.NewReplacer("web:1", "web:1\\u2028", "name: shop", "name: shop, annotations: {x: '<b>'}").Replace(application)
	d := decide(t, app, strings.NewReplacer("web:2", strings.ReplaceAll(bad, `"`, `\"`), "manager: hpa", `manager: "<i>hpa</i>"`).Replace(live))
	view := report.StatusOf(d)
	view.Ready, view.Reason, view.Message = "False", "Rejected", bad
	view.Events = []report.EventView{{Reason: "<u>", Message: bad, Time: "2026-01-01T00:00:00Z"}}
	text, err := StatusFile(d, view, "holdfast", now)
	require.NoError(t, err)
	names := map[string]int{}
	for tokens := html.NewTokenizer(strings.NewReader(string(text))); ; {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			break
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		token := tokens.Token()
		names[token.Data]++
		for _, attribute := range token.Attr {
			assert.False(t, strings.HasPrefix(attribute.Key, "on"), attribute)
			assert.NotEqual(t, "style", attribute.Key, "the policy refuses it: %s", attribute.Val)
		}
	}
	for _, name := range []string{"img", "i", "u"} {
		assert.Zero(t, names[name], name)
	}
	assert.Equal(t, 2, names["script"], "the one with the data, and ours")
	assert.Contains(t, string(text), "&lt;i&gt;hpa&lt;/i&gt;")
}

func TestNoPageHasAValueOfASecret(t *testing.T) {
	canaries := 0
	canary := func() string { canaries++; return fmt.Sprintf("canary%02d", canaries) }
	data := func(n int) string {
		var parts []string
		for range n {
			parts = append(parts, fmt.Sprintf("k%d: %s", len(parts), canary()))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	nested := `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner, namespace: default}, spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: b}, data: %s, stringData: %s}]}}`
	app := fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: shop, namespace: default}, spec: {manifest: [
		{apiVersion: v1, kind: Secret, metadata: {name: a}, data: %s, stringData: %s}, {apiVersion: v1, kind: Secret, metadata: {name: new}, data: %s}, %s]}}`,
		data(10), data(10), data(5), fmt.Sprintf(nested, data(10), data(5)))
	lastApplied := "metadata: {name: a, namespace: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: " + canary() + "}}"
	d := decide(t, app, "{apiVersion: v1, kind: Secret, "+lastApplied+", data: "+data(12)+", stringdata: "+canary()+"}",
		strings.Replace(fmt.Sprintf(nested, data(10), data(10)), "namespace: default", "namespace: default, annotations: {kubectl.kubernetes.io/last-applied-configuration: '"+
			`{"spec":{"manifest":[{"kind":"Secret","apiVersion":"v1","data":{"a":"`+canary()+`"}}]}}`+"'}", 1))
	require.Nil(t, d.Invalid)
	require.GreaterOrEqual(t, canaries, 70)
	text, err := StatusFile(d, report.StatusOf(d), "holdfast", now)
	require.NoError(t, err)
	assert.Contains(t, string(text), "***")
	assert.NotContains(t, around(string(text), "canary"), "canary")
}

func TestVendoredScriptChecksums(t *testing.T) {
	readme, err := os.ReadFile("assets/README.md")
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(morph))
	assert.Contains(t, string(readme), "sha256:"+hex.EncodeToString(sum[:])+"\n")
	licence, err := os.ReadFile("assets/idiomorph-LICENSE")
	require.NoError(t, err)
	assert.Contains(t, string(licence), "Zero-Clause BSD")
}

func TestFileIsSelfContained(t *testing.T) {
	d := decide(t, application, live)
	text, err := StatusFile(d, report.StatusOf(d), "holdfast", now)
	require.NoError(t, err)
	for _, attribute := range []string{` src="`, ` srcset="`, `@import`, `url(`} {
		assert.NotContains(t, string(text), attribute)
	}
	assert.Contains(t, string(text), `http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;`)
	assert.Contains(t, string(text), style)
	assert.Contains(t, string(text), script)
	_, data, _ := strings.Cut(string(text), `<script type="application/json" class="details">`)
	data, _, _ = strings.Cut(data, "</script>")
	var details map[string]Detail
	require.NoError(t, json.Unmarshal([]byte(data), &details))
	assert.Equal(t, "web:2", details["spec.template.spec.containers[name=web].image"].Live)
}

// around returns the text around a word.
func around(text, word string) string {
	at := strings.Index(text, word)
	if at < 0 {
		return ""
	}
	return text[max(0, at-200):min(len(text), max(0, at)+100)]
}

const happened = `
status:
  observedGeneration: 1
  history:
  - {time: '2026-01-01T00:09:00Z', outcome: Corrected, resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}, path: spec.x, from: 'web:1',
    to: 'web:2', manager: kubectl-set, operation: Update, duration: 8ms, count: 3, since: '2026-01-01T00:05:00Z', user: '<script>mallory', impersonator: admin, sourceIP: 10.0.0.7}
  - {time: '2025-12-31T00:00:00Z', outcome: Restored, resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}}
  - {time: '2025-12-30T00:00:00Z', outcome: Corrected, resource: {apiVersion: holdfast.dev/v1alpha1, kind: Application, name: inner}, path: 'spec.manifest[0].data.a', from: canary}
`

const ruled = `
  - {time: '2026-01-01T00:10:00Z', outcome: Corrected, resource: {apiVersion: apps/v1, kind: Deployment, namespace: default, name: web}, path: spec.replicas, to: 9, correctedTo: 5, manager: tuner}
`

// Under a rule, the earlier value is unknown. The page and the command print no more than they know.
func TestTheHistoryUnderARule(t *testing.T) {
	before, _, _ := strings.Cut(application, "status:\n")
	d := decide(t, before+"status:\n  observedGeneration: 1\n  history:"+ruled, live)
	text, err := StatusFile(d, report.StatusOf(d), "holdfast", now)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(text), "<code>9</code> → <code>5</code>"), "among what happened last, and in the table")
	assert.Contains(t, report.HistoryOf(d.Application)[0].Line(now, false), "spec.replicas: 9 → 5, by tuner")
}

func TestTheHistory(t *testing.T) {
	before, _, _ := strings.Cut(application, "status:\n")
	d := decide(t, before+strings.TrimPrefix(happened, "\n"), live)
	h := historyOf(d, nil)
	require.Len(t, h.Items, 3)
	first := h.Items[0]
	assert.Equal(t, []any{"corrected", "Deployment web · spec.x", "web:2", "web:1", "kubectl-set (Update)", "8ms", int32(3), "deployment.apps/default/web"},
		[]any{first.Badge.Word, first.subject(), first.Live, first.Desired, first.By, first.Stood, first.Count, first.Ref})
	assert.Equal(t, "***", h.Items[2].Desired, "of an Application among the manifests no value is shown")
	require.Len(t, h.Pictures, 2)
	fields, writers := h.Pictures[0], h.Pictures[1]
	assert.Equal(t, []string{"Deployment web · spec.x", "Deployment web", "Application inner · spec.manifest[0].data.a"}, []string{fields.Lanes[0].Name, fields.Lanes[1].Name, fields.Lanes[2].Name})
	assert.Equal(t, []string{"kubectl-set (Update)", "unknown"}, []string{writers.Lanes[0].Name, writers.Lanes[1].Name})
	assert.Len(t, writers.Lanes[1].Marks, 2)
	var xs []float64
	for _, x := range []string{writers.Lanes[1].Marks[0].X, writers.Lanes[1].Marks[1].X, fields.Lanes[0].Marks[0].From, fields.Lanes[0].Marks[0].X} {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(x, "%"), 64)
		require.NoError(t, err)
		xs = append(xs, percent)
	}
	assert.IsIncreasing(t, append([]float64{1.9}, append(xs, 98.1)...), "what was earlier is further to the left")
	assert.Equal(t, "2025-12-30T00:00:00Z", fields.Oldest.Format(time.RFC3339))
	text, err := StatusFile(d, report.StatusOf(d), "holdfast", now)
	require.NoError(t, err)
	for _, label := range []string{"2d ago", "−6h", "−10m", "60s ago"} {
		assert.Regexp(t, `<text class="axis[^>]*>`+label+"</text>", string(text))
	}
	assert.Contains(t, string(text), "<code>web:2</code> → <code>web:1</code>")
	assert.Contains(t, string(text), "by <b>kubectl-set (Update)</b>, user &lt;script&gt;mallory (impersonated by admin) from 10.0.0.7,")
	assert.NotContains(t, around(string(text), "canary"), "canary")
}

func TestForeignObject(t *testing.T) {
	d := decide(t, strings.Replace(application, "name: shop", "name: shop, uid: u-app", 1), strings.Replace(live, "  uid: u-1\n", "  uid: u-1\n  labels: {'holdfast.dev/application-uid': u-other}\n", 1))
	o := objectOf(d, webID, entriesOf(d, webID), now)
	require.Len(t, o.Remarks, 1)
	assert.Contains(t, o.Remarks[0], "ResourceConflict: ")
	assert.Equal(t, "not ours", o.Legend[0].Word)
	for id, detail := range o.Details {
		if detail.Class == "other" {
			assert.Empty(t, detail.Verb, "%s: nothing of it can be held or freed", id)
		}
	}
}

// Each state of a field has a badge, and a line in docs/ui.md.
func TestEveryStateHasALook(t *testing.T) {
	source, err := os.ReadFile("../../explain/explain.go")
	require.NoError(t, err)
	page, err := os.ReadFile("../../../docs/ui.md")
	require.NoError(t, err)
	states := regexp.MustCompile(`State = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(states), 6)
	signs := map[string]bool{}
	for _, state := range states {
		assert.Equal(t, state[1], badgeOf(state[1]).Word)
		assert.Contains(t, style, ".c-"+state[1])
	}
	for _, badge := range badges {
		assert.False(t, signs[badge.Sign], "%s has a sign of its own", badge.Word)
		signs[badge.Sign] = true
		assert.Contains(t, string(page), "| `"+badge.Sign+"` | "+badge.Word+" |")
	}
}

var markup = regexp.MustCompile(`\s*<[^>]*>\s*`)

// cardOf returns the words of the card with the given title.
func cardOf(t *testing.T, page, title string) string {
	t.Helper()
	_, card, found := strings.Cut(page, ">"+title+"</h2>")
	require.True(t, found, title)
	card, _, _ = strings.Cut(card, "</section>")
	return html.UnescapeString(strings.Join(strings.Fields(markup.ReplaceAllString(card, " ")), " "))
}

// Drifted fields are listed first, with their writer and time.
func TestDriftComesFirst(t *testing.T) {
	text := pageOf(t, decide(t, application, live))
	card := cardOf(t, text, "Drift")
	assert.Contains(t, card, "5m ago ~ drifted Deployment web spec.template.spec.containers[name=web].image : web:2 → web:1 , by kubectl-set")
	assert.Contains(t, card, "spec.template.spec.hostNetwork : (absent) → true , by an unknown client")
	_, drift, _ := strings.Cut(text, `>Drift</h2>`)
	drift, _, _ = strings.Cut(drift, "</section>")
	links := regexp.MustCompile(`<a href="#([^"]*)">`).FindAllStringSubmatch(drift, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		id, err := url.PathUnescape(link[1])
		require.NoError(t, err)
		assert.Regexp(t, `<a class="row c-(drifted|removed)" id="`+regexp.QuoteMeta(id)+`"`, html.UnescapeString(text))
	}
	before, _, _ := strings.Cut(text, `<h2 id="drifted"`)
	assert.NotContains(t, before, "<h2")
	assert.NotContains(t, pageOf(t, decide(t, application)), `id="drifted"`, "nothing is live")

	var all []Summary
	for _, name := range []string{"a", "b"} {
		all = append(all, Summary{Name: name, Badge: readyBadge("True", "", false, false), Drifted: name == "b"})
	}
	assert.Equal(t, "b", overviewOf(all, Filter{}, now).Rows[0].Name)
}

// The page of an Application that writes nothing does not look healthy.
func TestUncorrectedIsNotGreen(t *testing.T) {
	for spec, green := range map[string]bool{"": true, "suspend: true": false, "mode: Observe": false} {
		d := decide(t, strings.Replace(application, "spec:\n", "spec:\n  "+spec+"\n", 1), strings.Replace(live, "status: {", "status: {observedGeneration: 1, ", 1))
		view := report.StatusOf(d)
		view.Ready = "True"
		for i := range view.Resources {
			view.Resources[i].Health = "Current"
		}
		text, err := StatusFile(d, view, "holdfast", now)
		require.NoError(t, err)
		_, body, _ := strings.Cut(string(text), "<main")
		assert.Equal(t, green, strings.Contains(body, "c-ready"), "%q: %s", spec, around(body, "c-ready"))
		assert.Equal(t, green, healthOf(d, webID).Class == "ready" || healthOf(d, webID).Class == "waiting" && green, spec)
	}
}

// Events are listed with the history entries, sorted by time.
func TestOneListOfWhatHappened(t *testing.T) {
	before, _, _ := strings.Cut(application, "status:\n")
	d := decide(t, before+strings.TrimPrefix(happened, "\n"), live)
	view := report.StatusOf(d)
	view.Events = []report.EventView{{Reason: "Corrected", Message: "repeated"}, {Reason: "Late", Message: "m", Time: "2026-01-01T00:09:30Z", Count: 2}, {Type: "Warning", Reason: "Early", Message: "n", Time: "2025-12-31T12:00:00Z"}}
	text, err := StatusFile(d, view, "holdfast", now)
	require.NoError(t, err)
	card := cardOf(t, string(text), "What happened last")
	assert.Regexp(t, "Late : m, 2 times.* corrected .*! Early : n.* restored .*corrected", card)
	assert.NotContains(t, string(text), "Last events")
	assert.NotContains(t, card, "repeated", "the history has it")
}

// If a custom resource created an Application, the page names it, and lists no command that would be
// denied.
func TestTheOwnerOfAnApplication(t *testing.T) {
	const owner = "ownerReferences: [{apiVersion: fnjoin.com/v1, kind: Mysql, name: db, uid: u-2, controller: true}]"
	d := decide(t, strings.Replace(application, "generation: 1", "generation: 1, "+owner, 1), live)
	assert.Contains(t, pageOf(t, d), "Application in default, created from <b>Mysql db</b>")
	for path, detail := range objectOf(d, webID, nil, now).Details {
		assert.Empty(t, detail.Verb, path)
	}
	var object map[string]any
	require.NoError(t, yaml.Unmarshal([]byte("metadata: {namespace: shop, name: db, "+owner+"}"), &object))
	o := overviewOf([]Summary{summaryOf(&unstructured.Unstructured{Object: object})}, Filter{}, now)
	text, err := (document{Title: "t", Template: "overview.html", Content: o, Now: now}).html()
	require.NoError(t, err)
	assert.Contains(t, string(text), "from Mysql")
}

// Over all Applications, the most active writer is listed first, and each writer has a page of changes.
func TestMostActiveAuthorsComeFirst(t *testing.T) {
	stored := func(name, history string) Summary {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal([]byte("metadata: {namespace: shop, name: "+name+"}\nstatus:\n  history:"+history), &object))
		return summaryOf(&unstructured.Unstructured{Object: object})
	}
	const entry = "\n  - {outcome: Corrected, path: data.a, resource: {apiVersion: v1, kind: ConfigMap, namespace: shop, name: c}, "
	all := []Summary{
		stored("web", entry+`time: '2026-01-01T00:10:00Z', manager: "<script>", from: 1, to: 2, count: 3}`+entry+`time: '2026-01-01T00:00:00Z', to: 2}`),
		stored("cart", entry+`time: '2026-01-01T00:20:00Z', manager: kubectl-edit, to: 2}`+"\n  - {outcome: Created, time: '2026-01-01T00:00:00Z', resource: {apiVersion: v1, kind: ConfigMap, name: c}}"),
	}
	w := writersOf(all, url.Values{})
	require.Len(t, w.Sums, 3)
	assert.Equal(t, []any{"<script>", 3, "/history?by=%3Cscript%3E"}, []any{w.Sums[0].Manager, w.Sums[0].WriterSummary.Changes, w.Sums[0].Link})
	assert.Equal(t, []string{"kubectl-edit", "<script>", "unknown"}, []string{w.Pictures[0].Lanes[0].Name, w.Pictures[0].Lanes[1].Name, w.Pictures[0].Lanes[2].Name})

	one := writersOf(all, url.Values{"by": {"<script>"}, "namespace": {"shop"}})
	require.Len(t, one.Changes, 1)
	assert.Equal(t, []string{"shop", "web", "configmap/shop/c"}, []string{one.Changes[0].Namespace, one.Changes[0].Application, one.Changes[0].Ref})
	assert.Len(t, writersOf(all, url.Values{"by": {""}}).Changes, 1, "the writer is unknown")
	assert.Empty(t, writersOf(all, url.Values{"namespace": {"other"}}).Changes)
	for _, view := range []Writers{w, one, writersOf(nil, url.Values{})} {
		text, err := (document{Title: "t", Template: "writers.html", Content: view, Now: now, Program: "holdfast"}).html()
		require.NoError(t, err)
		assert.NotContains(t, string(text), "<script>\"")
		assert.NotContains(t, string(text), "<script></")
	}
}
