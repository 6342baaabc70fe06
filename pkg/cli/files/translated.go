package files

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	remote "holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
)

// Translated translates the template or archive of an Application like the controller. It returns nil for an
// Application with manifests.
//
// If the translation fails here, Translated uses the last-applied state instead, if that has the same source.
// stored is true for an Application of a cluster, where the last successful translation remains in effect. In a
// file, validation errors of the template take precedence over the last-applied state.
//
// Translated also uses the last-applied state if hooks of the controller can have changed the manifests. If the
// Application was edited since, it returns an Application without that state. Otherwise each field of a hook
// would count as a field that has left the manifests.
//
//	hooks of the controller   translation   last-applied state   result
//	none                      none needed   any                  app
//	none                      succeeds      any                  app, with the translation
//	none                      fails         of the same source   the last-applied state
//	none                      fails         none                 app, with the problem
//	some                      any           of this generation   the last-applied state
//	some                      any           of an older spec     app without that state
func (app Subject) Translated(ctx context.Context, reader source.Reader, stored bool) (Subject, *intent.Source) {
	// A state of another source has other objects.
	onRecord := len(app.Status.LastAppliedManifest) > 0 && !app.NewSource
	if len(app.listeners()) > 0 {
		if stored && onRecord && app.Status.ObservedGeneration == app.Generation {
			return app.asApplied(), nil
		}
		app.Application = app.DeepCopy()
		app.Status.LastAppliedManifest, app.Status.MangledObserverSchema = nil, nil
	}
	if !intent.IsTranslated(app.Application) {
		return app, nil
	}
	translation := &intent.Source{}
	material, problem := source.Gather(ctx, app.Application, reader, disabledFetcher{}, nil)
	if translation.Problem = problem; problem == nil {
		translation = source.Translate(ctx, material, disabledFetcher{}, nil)
	}
	if translation.Problem != nil && onRecord && (stored || translation.Problem.Disposition() != v1alpha1.DispositionEdit) {
		return app.asApplied(), nil
	}
	return app, translation
}

// listeners returns the names of the hooks in the program of the controller, which this program does not have.
func (app Subject) listeners() []string {
	if app.Status.Hooks == nil {
		return nil
	}
	return app.Status.Hooks.Listeners
}

// SourceFaults returns the reasons why there is no translation, one for each line of the problem. It returns nil if
// there are objects, also those of an earlier translation. A translator reports several errors, one in each line.
func (app Subject) SourceFaults(translation *intent.Source) []error {
	if translation == nil || translation.Problem == nil || translation.Objects != nil {
		return nil
	}
	var faults []error
	for message := range strings.SplitSeq(translation.Problem.Error(), "\n") {
		faults = append(faults, &sourceFault{pathOf(translation.Problem.Path), message})
	}
	return faults
}

// WithTranslation returns an Application with the translated objects among its manifests, so that their kinds and
// names can be found. It returns app itself without a translation. The result is not an Application to decide about.
func WithTranslation(app *v1alpha1.Application, translation *intent.Source) *v1alpha1.Application {
	if translation == nil {
		return app
	}
	known := app.DeepCopy()
	for _, object := range translation.Objects {
		known.Spec.Manifest = append(known.Spec.Manifest, manifest.EncodeRaw(object))
	}
	return known
}

// disabledFetcher is a source.Fetcher that rejects all URLs, because this program does not know which ones the
// controller is allowed to fetch.
type disabledFetcher struct{}

var errNotFetched = errors.New("only the controller fetches the URLs of Applications: to print the manifests, run: holdfast author translate URL")

// Get implements source.Fetcher.
func (disabledFetcher) Get(context.Context, string, remote.Page) (remote.Page, error) {
	return remote.Page{}, errNotFetched
}

// liveReader is a source.Reader of the ConfigMaps and Secrets among live objects in files. namespace is the
// namespace of the Application, the only one in which a source can be.
type liveReader struct {
	documents []manifest.Document
	namespace string
}

// Read implements source.Reader.
func (r liveReader) Read(_ context.Context, kind, name string) (map[string]any, *plan.Problem) {
	want := manifest.ID{Kind: kind, Namespace: r.namespace, Name: name}
	for _, document := range r.documents {
		if id, ok := manifest.Identify(document.Value, r.namespace, intent.Offline()); ok && id == want {
			return withStringData(document.Value), nil
		}
	}
	return nil, intent.Problemf(v1alpha1.ReasonFetchFailed, "%s is not in the files: give it with --live", want)
}

// withStringData returns a copy of an object with stringData merged into its data, as the API server stores a
// Secret. It returns the object itself if it has no stringData.
func withStringData(content map[string]any) map[string]any {
	plain, _ := content["stringData"].(map[string]any)
	if len(plain) == 0 {
		return content
	}
	stored, _ := content["data"].(map[string]any)
	data := map[string]any{}
	maps.Copy(data, stored)
	for key, value := range plain {
		text, _ := value.(string)
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	content = maps.Clone(content)
	content["data"] = data
	return content
}
