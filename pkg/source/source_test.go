package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
)

// application returns an Application with the given spec in YAML.
func application(t *testing.T, spec string) *v1alpha1.Application {
	t.Helper()
	app := &v1alpha1.Application{}
	require.NoError(t, yaml.Unmarshal([]byte(spec), &app.Spec))
	return app
}

// objects is a Reader of objects in YAML, by kind and name.
type objects map[string]string

func (o objects) Read(_ context.Context, kind, name string) (map[string]any, *plan.Problem) {
	text, has := o[kind+" "+name]
	if !has {
		return nil, &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: kind + " " + name + " is not there"}
	}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		panic(err)
	}
	return content, nil
}

// web is a Fetcher of pages or errors. It counts how often each page is downloaded.
type web struct {
	pages  map[string]string
	errors map[string]error
	sent   map[string]int
	asked  int
}

func (w *web) Get(_ context.Context, url string, before fetch.Page) (fetch.Page, error) {
	w.asked++
	if err := w.errors[url]; err != nil {
		return fetch.Page{}, err
	}
	page, has := w.pages[url]
	if !has {
		return fetch.Page{}, errors.New("the server responded with status 404")
	}
	if before.Data != nil && before.Tag == page {
		return before, nil
	}
	if w.sent == nil {
		w.sent = map[string]int{}
	}
	w.sent[url]++
	return fetch.Page{Data: []byte(page), Tag: page}, nil
}

// template declares the inputs a (an integer), b and password, which come from a ConfigMap and a Secret.
const template = `
tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  inputs:
    a: {type: integer, default: 1}
    b: {type: string, default: nothing}
    password: {type: string, default: none}
  node_templates:
    settings:
      type: tosca.nodes.indigo.KubernetesObject
      properties:
        spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: shop}, data: {a: {concat: [{get_input: a}, ""]}, b: {get_input: b}}}
    secret:
      type: tosca.nodes.indigo.KubernetesObject
      properties:
        spec: {apiVersion: v1, kind: Secret, metadata: {name: shop}, stringData: {password: {get_input: password}}}
  outputs:
    b: {value: {get_input: b}}
    password: {value: {get_input: password}}
    address: {value: {get_attribute: [settings, ip]}}
`

func tosca(more string) string {
	return "tosca:\n  template: |\n" + indent(template) + more
}

func indent(text string) string {
	raw := ""
	for line := range slices.Values(splitLines(text)) {
		raw += "    " + line + "\n"
	}
	return raw
}

func splitLines(text string) []string {
	var lines []string
	begin := 0
	for i := range text {
		if text[i] == '\n' {
			lines = append(lines, text[begin:i])
			begin = i + 1
		}
	}
	return append(lines, text[begin:])
}

// made gathers and translates an Application's source.
func made(t *testing.T, app *v1alpha1.Application, reader objects, fetcher *web) *intent.Source {
	t.Helper()
	material, problem := source.Gather(t.Context(), app, reader, fetcher, nil)
	if problem != nil {
		return &intent.Source{Problem: problem}
	}
	return source.Translate(t.Context(), material, fetcher, nil)
}

func data(s *intent.Source) map[string]any {
	if len(s.Objects) == 0 {
		return nil
	}
	values, _ := s.Objects[0]["data"].(map[string]any)
	return values
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestLaterInputsWin(t *testing.T) {
	reader := objects{
		"ConfigMap first":  `{data: {a: "2", b: first}}`,
		"ConfigMap second": `{data: {b: second}}`,
		"Secret third":     fmt.Sprintf(`{data: {b: %s}}`, b64("third")),
	}
	for _, row := range []struct {
		name, more string
		want       map[string]any
	}{
		{"defaults", "", map[string]any{"a": "1", "b": "nothing"}},
		{"a ConfigMap", "  inputsFrom: [{configMapRef: {name: first}}]\n", map[string]any{"a": "2", "b": "first"}},
		{"two", "  inputsFrom: [{configMapRef: {name: first}}, {configMapRef: {name: second}}]\n", map[string]any{"a": "2", "b": "second"}},
		{"two, the other way round", "  inputsFrom: [{configMapRef: {name: second}}, {configMapRef: {name: first}}]\n", map[string]any{"a": "2", "b": "first"}},
		{"a Secret last", "  inputsFrom: [{configMapRef: {name: first}}, {secretRef: {name: third}}]\n", map[string]any{"a": "2", "b": "third"}},
		{
			"the Application's own", "  inputsFrom: [{configMapRef: {name: first}}, {secretRef: {name: third}}]\n  inputs: {a: 5, b: own}\n",
			map[string]any{"a": "5", "b": "own"},
		},
		{"an empty map of its own", "  inputsFrom: [{configMapRef: {name: first}}]\n  inputs: {}\n", map[string]any{"a": "2", "b": "first"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := made(t, application(t, tosca(row.more)), reader, nil)
			require.Nil(t, s.Problem)
			assert.Equal(t, row.want, data(s))
		})
	}
}

func TestGatherAndTranslateProblems(t *testing.T) {
	refused := &fetch.NotAllowedError{Reason: "no --allow-url-prefix of the controller allows it"}
	fetcher := &web{
		pages: map[string]string{"https://example.com/wrong.yaml": "tosca_definitions_version: hunter2\n"},
		errors: map[string]error{
			"https://example.com/refused.yaml?token=hunter2": refused,
			"https://example.com/down.yaml?token=hunter2":    errors.New("the server responded with status 503"),
		},
	}
	reader := objects{
		"ConfigMap text":    `{data: {template: "tosca_definitions_version: nope"}}`,
		"ConfigMap inputs":  `{data: {c: "1"}}`,
		"ConfigMap number":  `{data: {a: many}}`,
		"Secret broken":     `{data: {archive: "%hunter2", a: "%hunter2"}}`,
		"Secret password":   fmt.Sprintf(`{data: {a: %s}}`, b64("hunter2")),
		"Secret sealed":     fmt.Sprintf(`{data: {t: %s}}`, b64("tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template: {inputs: {a: {type: integer, default: hunter2}}, node_templates: {a: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {x: {get_input: a}}}}}}\n")),
		"ConfigMap archive": `{binaryData: {archive: "UEsDBA=="}}`,
	}
	importing := func(url string) string {
		return "tosca: {template: 'tosca_definitions_version: tosca_simple_yaml_1_3\n\n\n  imports: [\"" + url + "\"]'}"
	}
	for _, row := range []struct {
		name, spec, reason, message string
		stalled                     bool
	}{
		{name: "a URL that is down", spec: `tosca: {url: "https://example.com/down.yaml?token=hunter2"}`, reason: "FetchFailed", message: "https://example.com/down.yaml cannot be fetched: the server responded with status 503"},
		{name: "an archive that is down", spec: `csar: {url: "https://example.com/down.yaml?token=hunter2"}`, reason: "FetchFailed", message: "https://example.com/down.yaml cannot be fetched"},
		{name: "a URL that is not allowed", spec: `tosca: {url: "https://example.com/refused.yaml?token=hunter2"}`, reason: "SourceNotAllowed", stalled: true, message: "https://example.com/refused.yaml is not fetched: no --allow-url-prefix"},
		{name: "another digest", spec: `tosca: {url: "https://example.com/wrong.yaml", sha256: aaaa}`, reason: "FetchFailed", message: "and not aaaa"},
		{name: "a fetched template with a mistake is not quoted", spec: `tosca: {url: "https://example.com/wrong.yaml"}`, reason: "TranslationFailed", stalled: true, message: "https://example.com/wrong.yaml:1:1: the version of TOSCA is not known"},
		{name: "an archive from nowhere", spec: `csar: {}`, reason: "TranslationFailed", stalled: true, message: "must have one of url, configMapRef and secretRef"},
		{name: "inputs from nowhere", spec: `tosca: {template: "", inputsFrom: [{}]}`, reason: "TranslationFailed", stalled: true, message: "inputsFrom[0] must have configMapRef or secretRef"},
		{name: "no ConfigMap", spec: `csar: {configMapRef: {name: nowhere, key: archive}}`, reason: "FetchFailed", message: "ConfigMap nowhere is not there"},
		{name: "no key", spec: `csar: {configMapRef: {name: text, key: archive}}`, reason: "FetchFailed", message: "ConfigMap text, key archive: the key does not exist"},
		{name: "no key of a Secret", spec: `csar: {secretRef: {name: broken, key: nothing}}`, reason: "FetchFailed", message: "Secret broken, key nothing: the key does not exist"},
		{name: "a Secret that is not base64", spec: `csar: {secretRef: {name: broken, key: archive}}`, reason: "FetchFailed", message: "Secret broken, key archive: is not base64"},
		{name: "half an archive", spec: `csar: {configMapRef: {name: archive, key: archive}}`, reason: "TranslationFailed", stalled: true, message: "ConfigMap archive, key archive: "},
		{name: "text in place of an archive", spec: `csar: {configMapRef: {name: text, key: template}}`, reason: "TranslationFailed", stalled: true, message: `ConfigMap text, key template:1:1: `},
		{name: "a template in a Secret", spec: `csar: {secretRef: {name: sealed, key: t}}`, reason: "TranslationFailed", stalled: true, message: "Secret sealed, key t:2:49: the value does not have the declared type"},
		{name: "no inputs", spec: tosca("  inputsFrom: [{secretRef: {name: nowhere}}]\n"), reason: "FetchFailed", message: "Secret nowhere is not there"},
		{name: "inputs that are not base64", spec: tosca("  inputsFrom: [{secretRef: {name: broken}}]\n"), reason: "FetchFailed", message: "is not base64"},
		{name: "an input that the template does not declare", spec: tosca("  inputsFrom: [{configMapRef: {name: inputs}}]\n"), reason: "TranslationFailed", stalled: true, message: `unknown input "c"`},
		{name: "an input of another type", spec: tosca("  inputsFrom: [{configMapRef: {name: number}}]\n"), reason: "TranslationFailed", stalled: true, message: "spec.tosca.template:5:5: inputs.a: "},
		{name: "a secret of another type", spec: tosca("  inputsFrom: [{secretRef: {name: password}}]\n"), reason: "TranslationFailed", stalled: true, message: "inputs.a: (hidden) is not an integer"},
		{name: "an import that is down", spec: importing("https://example.com/down.yaml?token=hunter2"), reason: "FetchFailed", message: "spec.tosca.template:3:11: imports[0]: https://example.com/down.yaml: the server responded with status 503"},
		{name: "an import that is not allowed", spec: importing("https://example.com/refused.yaml?token=hunter2"), reason: "SourceNotAllowed", stalled: true, message: "imports[0]: https://example.com/refused.yaml: no --allow-url-prefix"},
		{name: "an import of a file", spec: importing("types.yaml"), reason: "TranslationFailed", stalled: true, message: "types.yaml: only URLs can be imported here: use a URL, or pack the files into a CSAR"},
		{name: "an import of another scheme", spec: importing("ftp://example.com/types.yaml"), reason: "SourceNotAllowed", stalled: true, message: "is not an https URL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := made(t, application(t, row.spec), reader, fetcher)
			require.NotNil(t, s.Problem)
			assert.Equal(t, row.reason, s.Problem.Reason, s.Problem.Message)
			assert.Contains(t, s.Problem.Message, row.message)
			assert.Equal(t, row.stalled, s.Problem.Stalled())
			assert.NotContains(t, s.Problem.Message, "hunter2")
			assert.Nil(t, s.Objects)
		})
	}
}

func TestDigestOmitsSensitiveInputs(t *testing.T) {
	with := func(a, password string) *intent.Source {
		s := made(t, application(t, tosca("  inputsFrom: [{configMapRef: {name: open}}, {secretRef: {name: shut}}]\n")),
			objects{"ConfigMap open": fmt.Sprintf(`{data: {a: %q}}`, a), "Secret shut": fmt.Sprintf(`{data: {password: %s}}`, b64(password))}, nil)
		require.Nil(t, s.Problem)
		return s
	}
	one := with("1", "hunter2")
	assert.Len(t, one.Digest, 64)
	assert.Equal(t, one.Digest, with("1", "hunter2").Digest, "the same material")
	assert.Equal(t, one.Digest, with("1", "hunter3").Digest, "another value that must not be guessed")
	assert.NotEqual(t, one.Digest, with("2", "hunter2").Digest)
	assert.Equal(t, one.ManifestDigest(), with("1", "hunter3").ManifestDigest())
	assert.NotEqual(t, one.ManifestDigest(), with("2", "hunter2").ManifestDigest())
	assert.Equal(t, map[string]any{"b": "nothing"}, one.Outputs, "what is sensitive or needs a running deployment is no output")

	// An input that is sensitive because of its name remains sensitive, regardless of its source.
	named := func(password string) string {
		return made(t, application(t, tosca("  inputs: {password: "+password+"}\n")), nil, nil).Digest
	}
	assert.Equal(t, named("hunter2"), named("hunter3"))
	nested := func(password string) string {
		text := "tosca_definitions_version: tosca_simple_yaml_1_3\ntopology_template: {inputs: {db: {type: list}}, " +
			"node_templates: {a: {type: holdfast.nodes.KubernetesObject, properties: {spec: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}}}}\n"
		return made(t, application(t, "tosca:\n  template: |\n"+indent(text)+"  inputs: {db: [{user: u, token: "+password+"}]}\n"), nil, nil).Digest
	}
	assert.NotEmpty(t, nested("hunter2"))
	assert.Equal(t, nested("hunter2"), nested("hunter3"), "a field of an input")

	// The digest of an archive in a Secret does not depend on its content either.
	sealed := func(version, text string) string {
		return made(t, application(t, `csar: {secretRef: {name: a, key: t}}`), objects{"Secret a": fmt.Sprintf(
			`{metadata: {uid: u, resourceVersion: %q}, data: {t: %s}}`, version, b64(text))}, nil).Digest
	}
	older, newer := sealedMaterial(t, "1"), sealedMaterial(t, "2")
	assert.False(t, newer.IsUnchanged(older), "or the digest would be that of another version")
	assert.True(t, newer.IsUnchanged(sealedMaterial(t, "2")))
	assert.Equal(t, sealed("1", template), sealed("1", template+"# hunter2\n"))
	assert.NotEqual(t, sealed("1", template), sealed("2", template))
}

func sealedMaterial(t *testing.T, version string) *source.Material {
	t.Helper()
	m, problem := source.Gather(t.Context(), application(t, `csar: {secretRef: {name: a, key: t}}`), objects{"Secret a": fmt.Sprintf(
		`{metadata: {uid: u, resourceVersion: %q}, data: {t: %s}}`, version, b64(template))}, nil, nil)
	require.Nil(t, problem)
	return m
}

func TestUnchangedPageIsNotFetchedAgain(t *testing.T) {
	const url, types = "https://example.com/t.yaml?token=1", "https://example.com/types.yaml"
	fetcher := &web{pages: map[string]string{
		url:   "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [types.yaml]\ntopology_template: {node_templates: {a: {type: acme.A}}}\n",
		types: acme("one"),
	}}
	app := application(t, `tosca: {url: "`+url+`"}`)
	look := func(before *source.Material) (*source.Material, *intent.Source) {
		m, problem := source.Gather(t.Context(), app, nil, fetcher, before)
		require.Nil(t, problem)
		s := source.Translate(t.Context(), m, fetcher, nil)
		require.Nil(t, s.Problem)
		return m, s
	}
	first, one := look(nil)
	assert.Equal(t, "https://example.com/t.yaml", first.Name)
	assert.Equal(t, []string{types}, slices.Collect(maps.Keys(first.Imports)))
	assert.False(t, first.IsStatic())
	assert.False(t, first.IsUnchanged(first), "imports have to be asked for")
	second, same := look(first)
	assert.Equal(t, one.Digest, same.Digest)
	assert.Equal(t, map[string]int{url: 1, types: 1}, fetcher.sent)
	assert.Equal(t, 4, fetcher.asked)
	fetcher.pages[types] = acme("two")
	_, other := look(second)
	assert.Equal(t, map[string]int{url: 1, types: 2}, fetcher.sent)
	assert.NotEqual(t, one.Digest, other.Digest)
	assert.NotEqual(t, one.ManifestDigest(), other.ManifestDigest())
}

// acme returns a file with a type that creates a ConfigMap of that name.
func acme(name string) string {
	return `node_types: {acme.A: {derived_from: tosca.nodes.indigo.KubernetesObject, properties: {spec: {type: string,
  default: {apiVersion: v1, kind: ConfigMap, metadata: {name: ` + name + `}}}}}}`
}

func TestPageWithDigestIsFetchedOnce(t *testing.T) {
	const url = "https://example.com/t.yaml"
	fetcher := &web{pages: map[string]string{url: template}}
	app := application(t, `tosca: {url: "`+url+`", sha256: 9e1f1f7e}`)
	_, problem := source.Gather(t.Context(), app, nil, fetcher, nil)
	require.NotNil(t, problem)
	digest := problem.Message[len("https://example.com/t.yaml cannot be fetched: its SHA-256 digest is "):][:64]
	app.Spec.Tosca.SHA256 = digest
	first, problem := source.Gather(t.Context(), app, nil, fetcher, nil)
	require.Nil(t, problem)
	assert.True(t, first.IsStatic())
	fetcher.asked = 0
	second, problem := source.Gather(t.Context(), app, nil, fetcher, first)
	require.Nil(t, problem)
	assert.Zero(t, fetcher.asked)
	assert.True(t, second.IsUnchanged(first))
	app.Spec.Tosca.SHA256 = "other"
	_, problem = source.Gather(t.Context(), app, nil, fetcher, second)
	assert.NotNil(t, problem)
}

func TestInlineTemplateIsStatic(t *testing.T) {
	for spec, static := range map[string]bool{
		tosca(""):                                            true,
		tosca("  inputs: {a: 1}\n"):                          true,
		tosca("  inputsFrom: []\n"):                          true,
		`csar: {url: x, sha256: y}`:                          true,
		`tosca: {url: x, sha256: y}`:                         true,
		tosca("  inputsFrom: [{configMapRef: {name: a}}]\n"): false,
		`tosca: {url: x}`:                                    false,
		`csar: {url: x}`:                                     false,
		`csar: {url: x, sha256: y, inputsFrom: [{configMapRef: {name: a}}]}`: false,
		`csar: {configMapRef: {name: a, key: b}}`:                            false,
		`csar: {secretRef: {name: a, key: b}}`:                               false,
	} {
		m := &source.Material{Application: application(t, spec)}
		assert.Equal(t, static, m.IsStatic(), spec)
		assert.True(t, intent.IsTranslated(m.Application))
	}
	assert.False(t, intent.IsTranslated(application(t, "manifest: []")))
}

func TestIsUnchanged(t *testing.T) {
	reader := objects{"ConfigMap a": `{data: {b: "1"}, binaryData: {x: ""}}`, "ConfigMap b": `{data: {b: "2"}}`}
	gather := func(more string) *source.Material {
		m, problem := source.Gather(t.Context(), application(t, tosca(more)), reader, nil, nil)
		require.Nil(t, problem)
		return m
	}
	one := gather("  inputsFrom: [{configMapRef: {name: a}}]\n")
	assert.True(t, one.IsUnchanged(gather("  inputsFrom: [{configMapRef: {name: a}}]\n")))
	assert.False(t, one.IsUnchanged(nil))
	for _, other := range []string{"", "  inputsFrom: [{configMapRef: {name: b}}]\n", "  inputsFrom: [{configMapRef: {name: a}}]\n  strictConcat: true\n", "  inputs: {a: 1}\n"} {
		assert.False(t, one.IsUnchanged(gather(other)), other)
	}
}

func TestHooksCanChangeTranslation(t *testing.T) {
	h := hooks.New()
	h.ApplicationToscaTranslation.Listen("label", func(tr *hooks.Translation) error {
		assert.Len(t, tr.Objects, 2, "it comes after the translation")
		tr.Objects = tr.Objects[:1]
		return nil
	})
	m, problem := source.Gather(t.Context(), application(t, tosca("")), nil, nil, nil)
	require.Nil(t, problem)
	s := source.Translate(t.Context(), m, nil, h)
	require.Nil(t, s.Problem)
	assert.Len(t, s.Objects, 1)

	h.ApplicationToscaTranslation.Listen("no", func(*hooks.Translation) error { return errors.New("not on Sundays") })
	s = source.Translate(t.Context(), m, nil, h)
	require.NotNil(t, s.Problem)
	assert.Equal(t, v1alpha1.ReasonHookFailed, s.Problem.Reason)
	assert.Contains(t, s.Problem.Message, "not on Sundays")
	assert.False(t, s.Problem.Stalled())
}

// The limits of spec.manifest apply to translations, too.
func TestATranslationThatIsTooLarge(t *testing.T) {
	many := func(n int) []map[string]any {
		objects := make([]map[string]any, n)
		for i := range objects {
			objects[i] = map[string]any{"kind": "ConfigMap"}
		}
		return objects
	}
	var deep any = "end"
	for range footprint.MaxDepth {
		deep = []any{deep}
	}
	list := make([]any, 100_000)
	for i := range list {
		list[i] = map[string]any{"": int64(0)}
	}
	for _, row := range []struct {
		name    string
		objects []map[string]any
		limit   int
		message string
	}{
		{"the most manifests", many(20_000), 0, ""},
		{"one more", many(20_001), 0, "the translation has 20001 manifests, more than the limit of 20000"},
		{"a deep one", []map[string]any{{"a": deep}}, 0, "the translation has more than the limit of 1000 nested levels"},
		{"many maps in one manifest", []map[string]any{{"a": list}}, 32 << 20, "the translation has 42 MiB of decoded manifests, more than the limit of 32"},
		{"less memory for the controller", many(5_000), 1 << 20, "the translation has 3 MiB of decoded manifests, more than the limit of 1"},
		{"what the template itself has", nil, 1 << 10, "the translation has 1 MiB of decoded manifests, more than the limit of 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := hooks.New()
			h.ApplicationToscaTranslation.Listen("more", func(tr *hooks.Translation) error {
				if row.objects != nil {
					tr.Objects = row.objects
				}
				return nil
			})
			m, problem := source.Gather(t.Context(), application(t, tosca("")), nil, nil, nil)
			require.Nil(t, problem)
			m.MaxDecoded = row.limit
			s := source.Translate(t.Context(), m, nil, h)
			if row.message == "" {
				require.Nil(t, s.Problem)
				return
			}
			require.NotNil(t, s.Problem)
			assert.Nil(t, s.Objects)
			assert.Equal(t, v1alpha1.ReasonTooLarge, s.Problem.Reason)
			assert.Contains(t, s.Problem.Message, row.message)
			assert.Equal(t, "spec.tosca.template", s.Problem.Path.String())
			assert.True(t, s.Problem.Stalled(), "a retry makes no sense")
			assert.NotEmpty(t, s.Problem.Remedy.Text)
		})
	}
}

func TestTranslateStopsWithContext(t *testing.T) {
	m, problem := source.Gather(t.Context(), application(t, tosca("")), nil, nil, nil)
	require.Nil(t, problem)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := source.Translate(ctx, m, nil, nil)
	require.NotNil(t, s.Problem)
	assert.Equal(t, v1alpha1.ReasonTranslationFailed, s.Problem.Reason)
	assert.False(t, s.Problem.Stalled(), "it may be better next time")
}
