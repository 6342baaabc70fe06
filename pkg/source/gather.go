package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Reader reads ConfigMaps and Secrets in an Application's namespace, with the permissions of the Application. kind is
// ConfigMap or Secret. The object is decoded JSON, with base64 in the data of a Secret. A Problem is for the user: the
// object does not exist, or the ServiceAccount of the Application may not read it.
type Reader interface {
	Read(ctx context.Context, kind, name string) (map[string]any, *plan.Problem)
}

// Fetcher fetches URLs. Get returns before if the page is unchanged since then. fetch.Fetcher implements it. A Page has
// the data, and the ETag that the server gave it. The zero Page is none.
type Fetcher interface {
	Get(ctx context.Context, url string, before fetch.Page) (fetch.Page, error)
}

// Material is the input of a translation. It is used by one goroutine. The controller keeps the last one of each
// Application as before.
type Material struct {
	Application *v1alpha1.Application
	// MaxDecoded is the memory that the translated manifests may take, in bytes; 0: intent.MaxDecoded.
	MaxDecoded int
	// Name identifies the template or archive in messages.
	Name string
	URL  string
	// Data is the template or archive.
	Data   []byte
	Inputs map[string]hooks.Input
	// Page is the page fetched from the URL.
	Page fetch.Page
	// Imports contains the pages that the template imports, by URL. Gather copies them from the last translation, and
	// Translate replaces them.
	Imports map[string]fetch.Page

	// stamp replaces the data in digests if the data are secret: see objectStamp. It is "" for other data.
	stamp string
}

// IsStatic reports, after the translation, whether only a change of the Application can change the
// translation: the template is inline or has a digest, and no other input is read.
func (m *Material) IsStatic() bool {
	tosca, csar := m.Application.Spec.Tosca, m.Application.Spec.CSAR
	fixed := tosca != nil && (tosca.URL == "" || tosca.SHA256 != "") || csar != nil && csar.SHA256 != ""
	return fixed && len(translationOf(m.Application).InputsFrom) == 0 && len(m.Imports) == 0
}

// IsUnchanged reports whether the translation of before is still valid for m. Imports can be compared only by
// translating again. The template is compared byte by byte, and inputs by value. Secret inputs are compared as well:
// they stay in memory.
func (m *Material) IsUnchanged(before *Material) bool {
	return before != nil && len(before.Imports) == 0 && m.Name == before.Name && m.URL == before.URL && m.stamp == before.stamp &&
		bytes.Equal(m.Data, before.Data) && reflect.DeepEqual(m.Inputs, before.Inputs) &&
		reflect.DeepEqual(translationOf(m.Application), translationOf(before.Application))
}

// IsSame reports whether two Applications have the same template and archive. It compares the spec only, not the data
// that a URL or reference leads to.
func IsSame(a, b *v1alpha1.Application) bool {
	return reflect.DeepEqual(a.Spec.Tosca, b.Spec.Tosca) && reflect.DeepEqual(a.Spec.CSAR, b.Spec.CSAR)
}

// Gather returns the template or archive of an Application, and its inputs. before is the result of the last call, or
// nil. Unchanged pages are not downloaded again. The Application must have spec.tosca or spec.csar: see
// intent.IsTranslated. It never returns both results.
func Gather(ctx context.Context, app *v1alpha1.Application, reader Reader, fetcher Fetcher, before *Material) (*Material, *plan.Problem) {
	m := &Material{Application: app}
	if before != nil {
		// Translate sends the ETags of these pages, so that unchanged imports are not downloaded again.
		m.Imports = before.Imports
	}
	problem := m.find(ctx, reader, fetcher, before)
	if problem == nil {
		problem = m.readInputs(ctx, reader)
	}
	if problem != nil {
		return nil, m.located(problem)
	}
	return m, nil
}

// located adds the field of the Application to a problem. It does not change the given Problem. An inline template is
// the only source whose content is in the Application itself.
func (m *Material) located(problem *plan.Problem) *plan.Problem {
	tosca := m.Application.Spec.Tosca
	field := (*observer.Path)(nil).Field("spec")
	switch {
	case tosca == nil:
		field = field.Field("csar")
	case tosca.URL == "" && problem.Disposition() == v1alpha1.DispositionEdit:
		field = field.Field("tosca").Field("template")
	default:
		field = field.Field("tosca")
	}
	located := *problem
	located.Path = field
	return &located
}

// find reads the template or archive.
//
//	spec.tosca.template              inline
//	spec.tosca.url, spec.csar.url    fetched, with an optional digest
//	spec.csar.configMapRef           a key of a ConfigMap
//	spec.csar.secretRef              a key of a Secret, with a stamp
func (m *Material) find(ctx context.Context, reader Reader, fetcher Fetcher, before *Material) *plan.Problem {
	tosca, csar := m.Application.Spec.Tosca, m.Application.Spec.CSAR
	switch {
	case tosca != nil && tosca.URL == "":
		m.Name, m.Data = "spec.tosca.template", []byte(tosca.Template)
		return nil
	case tosca != nil:
		return m.fetch(ctx, fetcher, tosca.URL, tosca.SHA256, before)
	case csar.URL != "":
		return m.fetch(ctx, fetcher, csar.URL, csar.SHA256, before)
	case csar.ConfigMapRef != nil:
		return m.readKey(ctx, reader, "ConfigMap", *csar.ConfigMapRef)
	case csar.SecretRef != nil:
		return m.readKey(ctx, reader, "Secret", *csar.SecretRef)
	default: // only from a file: an API server rejects it
		return &plan.Problem{Reason: v1alpha1.ReasonTranslationFailed, Message: "it must have one of url, configMapRef and secretRef"}
	}
}

// fetch fetches the template or archive from a URL. digest is the expected SHA-256 digest, or "". With a digest, a
// page that matches it is never requested again.
func (m *Material) fetch(ctx context.Context, fetcher Fetcher, url, digest string, before *Material) *plan.Problem {
	m.Name, m.URL = displayURL(url), url
	last := fetch.Page{}
	if before != nil && before.URL == url {
		last = before.Page
	}
	if digest != "" && last.Data != nil && fetch.CheckDigest(last.Data, digest) == nil {
		m.Page, m.Data = last, last.Data // the digest identifies the content
		return nil
	}
	page, err := fetcher.Get(ctx, url, last)
	if err == nil && digest != "" {
		err = fetch.CheckDigest(page.Data, digest)
	}
	if err != nil {
		return fetchProblem(m.Name, err)
	}
	m.Page, m.Data = page, page.Data
	return nil
}

// fetchProblem converts an error of a fetch to a problem. A URL is not allowed until the administrator changes the
// configuration. Other errors are retried.
func fetchProblem(name string, err error) *plan.Problem {
	if _, refused := errors.AsType[*fetch.NotAllowedError](err); refused {
		return &plan.Problem{Reason: v1alpha1.ReasonSourceNotAllowed, Message: fmt.Sprintf("%s is not fetched: %v", name, err)}
	}
	return missingProblem("%s cannot be fetched: %v", name, err)
}

// missingProblem returns the Problem of data that are unavailable now, and may be available later.
func missingProblem(format string, args ...any) *plan.Problem {
	return &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: fmt.Sprintf(format, args...)}
}

// translationOf returns the settings of the translation. One of the two sources must be set.
func translationOf(app *v1alpha1.Application) v1alpha1.Translation {
	if app.Spec.Tosca != nil {
		return app.Spec.Tosca.Translation
	}
	return app.Spec.CSAR.Translation
}
