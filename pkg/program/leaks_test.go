package program

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cli"
)

// canary is part of every planted value.
const canary = "7f3a9c51e2"

// plants generates unique values that occur only in Secrets: it replaces P in a text by a value, and E by a
// base64 encoded one.
type plants struct {
	values []string
}

var planted = regexp.MustCompile(`\$[PE]\b`)

func (p *plants) in(text string) string {
	return planted.ReplaceAllStringFunc(text, func(as string) string {
		value := fmt.Sprintf("plant-%02d-%s", len(p.values)+1, canary)
		p.values = append(p.values, value)
		if as == "$E" {
			return base64.StdEncoding.EncodeToString([]byte(value))
		}
		return value
	})
}

// forms returns a text, and its forms inside of longer texts in base64, for each alignment.
func forms(text string) []string {
	all := []string{text}
	for shift := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
		all = append(all, encoded[4:len(encoded)-4])
	}
	return all
}

// packed matches possible compressed data.
var packed = regexp.MustCompile(`[A-Za-z0-9+/]{60,}=*`)

// leaks returns the lines of a text, and of compressed data in it, that contain a planted value.
func leaks(text string) (lines []string) {
	for _, pack := range packed.FindAllString(text, -1) {
		raw, err := base64.StdEncoding.DecodeString(pack)
		if err != nil {
			continue
		}
		if unpacked, err := compress.Decode(raw, 1<<30); err == nil {
			text += "\n" + string(unpacked)
		}
	}
	for line := range strings.Lines(text) {
		if slices.ContainsFunc(forms(canary), func(form string) bool { return strings.Contains(line, form) }) {
			lines = append(lines, line)
		}
	}
	return lines
}

// safely is a buffer for concurrent writers.
type safely struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *safely) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(text)
}

func (s *safely) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// before contains objects of other clients.
const before = `{apiVersion: v1, kind: List, items: [
  {apiVersion: v1, kind: Secret, metadata: {name: foreign}, stringData: {key: $P}},
  {apiVersion: v1, kind: Secret, metadata: {name: adopted, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"key":"$P"}}'}}, stringData: {key: $P, other: $P}},
  {apiVersion: v1, kind: Secret, metadata: {name: shared}, stringData: {key: $P, other: $P}},
  {apiVersion: v1, kind: Secret, metadata: {name: seen}, stringData: {key: $P, other: $P}}]}`

// specs are Applications with Secrets in all states.
var specs = map[string]string{
	"held": `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: held}, data: {a: $E, b: $E, c: $E, d: $E, e: $E}, stringData: {f: $P, g: $P, h: $P, i: $P, j: $P}},
  {apiVersion: v1, kind: Secret, metadata: {name: login}, data: {a: $E}, stringData: {b: $P}}]}`,
	"list": `{manifest: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: list}, data: {a: $E}, stringData: {b: $P}}]}]}`,
	"entries": `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: entries}, stringData: {a: $P, b: $P}}],
  observerSchema: [{apiVersion: v1, kind: Secret, metadata: {name: entries, annotations: {kubectl.kubernetes.io/last-applied-configuration: observed}}, data: {a: observed, c: observed}}]}`,
	"ruled": `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: ruled}, stringData: {freed: $P, watched: $P}}],
  fields: [{resource: {kind: Secret, name: ruled}, hold: ["*", {path: data.watched, mode: report}], free: [data.freed]}]}`,
	"outer": `{manifest: [{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: inner}, spec: {manifest: [
  {apiVersion: v1, kind: Secret, metadata: {name: inner}, data: {a: $E}, stringData: {b: $P}},
  {apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: deep}, spec: {suspend: true, manifest: [{apiVersion: v1, kind: Secret, metadata: {name: deep}, stringData: {c: $P}}]}}]}}]}`,
	"observes":      `{mode: Observe, manifest: [{apiVersion: v1, kind: Secret, metadata: {name: seen}, stringData: {key: $P}}, {apiVersion: v1, kind: Secret, metadata: {name: unmade}, stringData: {key: $P}}]}`,
	"shares":        `{ownership: Share, manifest: [{apiVersion: v1, kind: Secret, metadata: {name: shared}, stringData: {key: $P}}]}`,
	"adopts":        `{adoption: Always, manifest: [{apiVersion: v1, kind: Secret, metadata: {name: adopted}, stringData: {key: $P}}]}`,
	"fixed":         `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: fixed}, immutable: true, data: {key: $E}}]}`,
	"foreign":       `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: foreign}, data: {key: $E}}]}`,
	"incomplete":    `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: incomplete}, type: kubernetes.io/tls, data: {tls.crt: $E}}]}`,
	"undecodable":   `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: undecodable}, data: {key: "$P!"}}]}`,
	"wrong-type":    `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: wrong-type}, data: [$P]}]}`,
	"wrong-value":   `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: wrong-value}, stringData: {key: {deep: $P}}}]}`,
	"wrong-key":     `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: wrong-key}, stringData: {"not a key!": $P}}]}`,
	"unknown-field": `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: unknown-field}, datum: $P, data: {key: $E}}]}`,
}

// drifts are the changes of other clients to these Secrets, each with a field manager and a patch.
var drifts = []struct {
	of           schema.GroupVersionResource
	object, body string
}{
	{secrets, "held", `{stringData: {a: $P, f: $P}}`},
	{secrets, "held", `{data: {b: $E, surplus: $E}}`},
	{secrets, "held", `{data: {c: null}}`},
	{secrets, "held", `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"f":"$P"}}'}}}`},
	{secrets, "login", `{data: {a: $E}}`},
	{secrets, "login", `{metadata: {annotations: {holdfast.dev/tracking-id: another}}, stringData: {b: $P}}`},
	{secrets, "entries", `{stringData: {a: $P, c: $P}}`},
	{secrets, "ruled", `{stringData: {watched: $P, freed: $P}}`},
	{applications, "inner", `{spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: inner}, stringData: {b: $P}}]}}`},
	{secrets, "seen", `{stringData: {key: $P}}`},
	{secrets, "shared", `{stringData: {key: $P, other: $P}}`},
	{secrets, "adopted", `{stringData: {key: $P}}`},
}

// auditEvents contains an event with a Secret, which an API server would send only with a wrong audit
// policy.
const auditEvents = `{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": [{"level": "RequestResponse", "stage": "ResponseComplete", "verb": "patch", "requestURI": "/?$P",
  "user": {"username": "eve"}, "objectRef": {"resource": "secrets", "name": "held", "apiVersion": "v1"}, "responseStatus": {"code": 200, "message": "$P"},
  "requestObject": {"stringData": {"a": "$P"}}, "responseObject": {"kind": "Secret", "metadata": {"uid": "1", "resourceVersion": "1"}, "data": {"a": "$E"}}}, "$P"]}`

// Secrets go through all states, with a different value in each possible field. The output of the
// controller, the commands and the pages contains none of these values.
func TestSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	p, told := &plants{}, map[string]string{}
	notified := &safely{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(notified, r.Body) }))
	t.Cleanup(receiver.Close)
	m := auditFiles(t)
	running := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "-v=10", "--notify-url="+receiver.URL, "--audit-webhook-bind-address=127.0.0.1:0",
		"--audit-webhook-tls-cert-file="+m.file("tls.crt"), "--audit-webhook-tls-private-key-file="+m.file("tls.key"), "--audit-webhook-client-ca-file="+m.file("client.crt"))
	running.Says(leads)
	l := look(t, c, namespace)
	for _, name := range []string{"held", "outer", "observes"} {
		l.follow("history", name)
		l.follow("status", name)
		l.follow("status", name, "--all")
	}
	l.follow("get")

	kubectl(t, c, p.in(before), "create", "-n", namespace, "--validate=false", "--filename=-")
	var all strings.Builder
	for name, spec := range specs {
		fmt.Fprintf(&all, "---\n{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %s}, spec: %s}\n", name, p.in(spec))
	}
	kubectl(t, c, all.String(), "apply", "--server-side", "-n", namespace, "--filename=-")
	eventually(t, "what becomes of them all", func() bool {
		reasons := get(t, c, namespace, applications, "", "{.items[*].status.conditions[?(@.type=='Ready')].reason}")
		return len(strings.Fields(reasons)) == len(specs)+2 // plus inner and deep
	})
	for _, name := range []string{"held", "entries", "ruled", "shares", "adopts"} {
		awaitReady(t, c, namespace, name)
	}
	change := func(of schema.GroupVersionResource, object, text string) {
		t.Helper()
		body, err := yaml.YAMLToJSON([]byte(p.in(text)))
		require.NoError(t, err)
		patch(t, c, namespace, of, object, "mallory", string(body))
	}
	for _, d := range drifts {
		change(d.of, d.object, d.body)
	}
	held := func(jsonpath string) string {
		return get(t, c, namespace, applications, "held", jsonpath)
	}
	ours := get(t, c, namespace, secrets, "held", "{.data.d}")
	for range 8 { // drift until the field is contested
		change(secrets, "held", `{stringData: {d: $P}}`)
		eventually(t, "an answer", func() bool {
			return get(t, c, namespace, secrets, "held", "{.data.d}") == ours || strings.Contains(held("{.status.contested}"), "data.d")
		})
	}
	kubectl(t, c, "", "delete", "secret", "login", "-n", namespace)
	eventually(t, "the Secret that was deleted", func() bool { return strings.Contains(held("{.status.history[*].outcome}"), "Restored") })
	changeFixed := func() {
		t.Helper()
		kubectl(t, c, "", "patch", "application", "fixed", "-n", namespace, "--type=json", p.in(`--patch=[{"op":"replace","path":"/spec/manifest/0/data/key","value":"$E"}]`))
	}
	changeFixed() // an immutable field
	eventually(t, "the refusal", func() bool {
		return strings.Contains(get(t, c, namespace, applications, "fixed", "{.status.conditions[*].reason}"), "Rejected")
	})
	m.post(t, running.Address("Receiving audit events"), p.in(auditEvents))

	l.shows()
	_, told["metrics"] = running.Get("/metrics")
	kubectl(t, c, "", "delete", "rolebinding", "applier", "-n", namespace)
	eventually(t, "rights to end", func() bool {
		has, err := c.Has(t.Context(), "system:serviceaccount:"+namespace+":holdfast-applier", testcluster.Right{Verb: "create", Resource: "secrets", Namespace: namespace})
		return err == nil && !has
	})
	kubectl(t, c, "", "delete", "secret", "fixed", "-n", namespace)
	changeFixed() // the rejected change is only retried after two minutes, another one at once
	eventually(t, "missing rights", func() bool {
		return strings.Contains(get(t, c, namespace, applications, "fixed", "{.status.conditions[*].reason}"), "Forbidden")
	})
	running.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, running.Ends())

	for what, text := range l.seen() {
		told[what] = text
	}
	told["the log"], told["notifications"] = running.Log(), notified.String()
	told["slices"] = kubectl(t, c, "", "get", "applicationslices.holdfast.dev", "-n", namespace, "--output=yaml")
	told["events"] = kubectl(t, c, "", "get", "events.events.k8s.io", "-n", namespace, "--output=yaml")
	told["events on objects"] = kubectl(t, c, "", "get", "events", "-n", namespace, "--output=yaml")
	told["statuses"] = kubectl(t, c, "", "get", "applications.holdfast.dev", "-n", namespace, `--output=jsonpath={range .items[*]}{.metadata.annotations}{.status}{"\n"}{end}`)
	for where, part := range map[string]string{
		"the log": `"Corrected"`, "notifications": "dev.holdfast.contested", "events": "is contested", "events on objects": "was changed and was corrected",
		"statuses": `"outcome":"Observed"`, "metrics": "holdfast_audit_events_total", "holdfast history held": "data.a: *** → ***, by mallory", "holdfast history held -w": "Restored",
		"the page /applications/" + namespace + "/held/history": "mallory", "the stream": namespace + "/held", "holdfast status held -o html": "***",
	} {
		assert.True(t, strings.Contains(told[where], part), "%s in %s", part, where) //nolint:testifylint // the texts are long
	}
	found := 0
	for where, text := range told {
		for _, line := range leaks(text) {
			found++
			t.Errorf("a value is in %s: %.600s", where, line)
		}
	}
	assert.GreaterOrEqual(t, len(p.values), 70)
	t.Logf("%d values, %d places, %d KiB of text: %d leaks", len(p.values), len(told), size(told)>>10, found)
}

func size(texts map[string]string) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

// auditor configures an API server with audit events.
type auditor struct{ *mount }

func auditFiles(t *testing.T) auditor {
	t.Helper()
	m := &mount{t: t, dir: t.TempDir()}
	server, serverKey := issued(t)
	client, clientKey := issued(t)
	m.write(map[string]string{"tls.crt": server, "tls.key": serverKey, "client.crt": client, "client.key": clientKey})
	return auditor{m}
}

func (a auditor) post(t *testing.T, address, body string) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file("client.crt"), a.file("client.key"))
	require.NoError(t, err)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, InsecureSkipVerify: true}, DisableKeepAlives: true}} //nolint:gosec // who answers is not tested
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address, strings.NewReader(body))
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}

// onlooker collects the output of commands and pages.
type onlooker struct {
	t         *testing.T
	c         *testcluster.Cluster
	namespace string
	mu        sync.Mutex
	texts     map[string]*safely
	client    http.Client
	host      string
}

func (l *onlooker) to(what string) *safely {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts[what] == nil {
		l.texts[what] = &safely{}
	}
	return l.texts[what]
}

func (l *onlooker) seen() map[string]string {
	all := map[string]string{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, text := range l.texts {
		all[what] = text.String()
	}
	return all
}

// look opens the page and its event stream.
func look(t *testing.T, c *testcluster.Cluster, namespace string) *onlooker {
	t.Helper()
	l := &onlooker{t: t, c: c, namespace: namespace, texts: map[string]*safely{}}
	l.client.Jar, _ = cookiejar.New(nil)
	l.inBackground("ui")
	eventually(t, "the address of the page", func() bool { return strings.Contains(l.to("holdfast ui").String(), "?") })
	address, _, _ := strings.Cut(l.to("holdfast ui").String(), "\n")
	l.host, _, _ = strings.Cut(address, "/?")
	_, _ = io.Copy(io.Discard, l.get(address))
	stream := l.get(l.host + "/events")
	go func() { _, _ = io.Copy(l.to("the stream"), stream) }()
	return l
}

func (l *onlooker) get(url string) io.Reader {
	l.t.Helper()
	request, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(l.t, err)
	response, err := l.client.Do(request)
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(l.t, http.StatusOK, response.StatusCode, url)
	return response.Body
}

func (l *onlooker) run(ctx context.Context, args ...string) {
	to := l.to("holdfast " + strings.Join(args, " "))
	cli.Main(ctx, append(append([]string{"holdfast"}, args...), "-n", l.namespace, "--kubeconfig", l.c.Kubeconfig()), cli.Streams{
		In: strings.NewReader(""), Out: to, Err: to, Getenv: func(string) string { return "" }, Now: time.Now,
	})
}

func (l *onlooker) inBackground(args ...string) {
	ctx, stop := context.WithCancel(l.t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.run(ctx, args...) })
	l.t.Cleanup(func() { stop(); running.Wait() })
}

// follow runs a command repeatedly from the start. If the Application does not exist yet, the command
// fails.
func (l *onlooker) follow(args ...string) {
	l.t.Helper()
	if len(args) > 1 {
		kubectl(l.t, l.c, fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %s}, spec: {manifest: []}}`, args[1]),
			"apply", "--server-side", "--force-conflicts", "-n", l.namespace, "--filename=-")
	}
	l.inBackground(append(args, "-w")...)
}

// shows runs all commands and opens all pages once.
func (l *onlooker) shows() {
	l.t.Helper()
	ctx := l.t.Context()
	for _, format := range []string{"", "wide", "yaml", "json"} {
		l.run(ctx, append([]string{"get"}, output(format)...)...)
	}
	pages := []string{"/", "/history", "/history?by=mallory"}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Resources []struct{ Kind, Name string }
			}
		}
	}
	require.NoError(l.t, json.Unmarshal([]byte(kubectl(l.t, l.c, "", "get", "applications.holdfast.dev", "-n", l.namespace, "--output=json")), &list))
	for _, app := range list.Items {
		name := app.Metadata.Name
		at := "/applications/" + l.namespace + "/" + name
		pages = append(pages, at, at+"?tree=owned", at+"/history")
		for _, args := range [][]string{
			{"get", name, "-o", "yaml"}, {"history", name}, {"history", name, "-o", "json"}, {"history", name, "-o", "yaml"}, {"status", name}, {"status", name, "-o", "json"},
			{"status", name, "-o", "html"}, {"status", name, "--all"}, {"explain", name}, {"explain", name, "-o", "json"}, {"explain", name, "-o", "html"}, {"diff", name, "-o", "yaml"}, {"diff", name, "-o", "json"}, {"diff", name},
		} {
			l.run(ctx, args...)
		}
		for _, r := range app.Status.Resources {
			ref := strings.ToLower(r.Kind) + "/" + r.Name
			l.run(ctx, "explain", name, ref, "-o", "yaml")
			l.run(ctx, "history", name, ref)
			pages = append(pages, at+"/"+strings.ToLower(r.Kind)+"/"+l.namespace+"/"+r.Name)
		}
	}
	l.run(ctx, "history", "-A")
	for _, path := range pages {
		_, err := io.Copy(l.to("the page "+path), l.get(l.host+path))
		require.NoError(l.t, err)
	}
}

func output(format string) []string {
	if format == "" {
		return nil
	}
	return []string{"-o", format}
}
