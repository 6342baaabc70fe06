package page

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/report"
)

// attributes returns the values of an attribute of the elements with a name; any element for "".
func attributes(page, element, attribute string) (values []string) {
	for tokens := html.NewTokenizer(strings.NewReader(page)); tokens.Next() != html.ErrorToken; {
		token := tokens.Token()
		for _, a := range token.Attr {
			if a.Key == attribute && (element == "" || token.Data == element) {
				values = append(values, a.Val)
			}
		}
	}
	return values
}

// A file shows only the first objects of a large Application field by field. Its history can name the others.
func TestNoLinkOfALargeFileIsBroken(t *testing.T) {
	d := many(t, mostObjects+1)
	for _, name := range []string{"c-00000", "c-00200"} { // the first one is shown, the last one is not
		d.Status.History = append(d.Status.History, v1alpha1.HistoryEntry{Outcome: v1alpha1.OutcomeCorrected, Path: "data.mode",
			Resource: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}})
	}
	text := pageOf(t, d)
	ids := map[string]bool{}
	for _, id := range attributes(text, "", "id") {
		ids[id] = true
	}
	links := attributes(text, "a", "href")
	require.Greater(t, len(links), mostObjects)
	for _, link := range links {
		id, err := url.PathUnescape(strings.TrimPrefix(link, "#"))
		require.NoError(t, err)
		assert.True(t, ids[id], link)
	}
}

const twoServices = `
metadata: {name: shop, namespace: shop, generation: 1}
spec:
  manifest:
  - {apiVersion: v1, kind: Service, metadata: {name: web}}
  - {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: web}}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "why? a#b"}}
`

// Each link on the page of an Application opens the page of its object, also if objects of two groups have the same
// kind and name, or if a name has characters with a meaning in addresses.
func TestEachLinkOpensItsObject(t *testing.T) {
	d := decide(t, twoServices)
	s := &Server{Now: func() time.Time { return now }}
	text, err := s.document("", "application.html", applicationOf(d, report.StatusOf(d), "holdfast")).html()
	require.NoError(t, err)
	var opened []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /applications/{namespace}/{name}/{resource...}", func(_ http.ResponseWriter, r *http.Request) {
		page, err := s.object(r, nil, d)
		assert.NoError(t, err)
		object, _ := page.Content.(Object)
		opened = append(opened, object.APIVersion+" "+object.Name)
	})
	for _, link := range attributes(string(text), "a", "href") {
		if strings.HasPrefix(link, "/applications/shop/shop/") {
			mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, link, http.NoBody))
		}
	}
	assert.ElementsMatch(t, []string{"v1 Service web", "serving.knative.dev/v1 Service web", "rbac.authorization.k8s.io/v1 ClusterRole why? a#b"}, opened)
}

// The ID of a row has no spaces, so the link to the row has none either.
func TestTheLinkOfAFieldIsTheIDOfItsRow(t *testing.T) {
	d := decide(t, application, live)
	d.Status.History = []v1alpha1.HistoryEntry{{Outcome: v1alpha1.OutcomeCorrected, Path: "metadata.annotations['a b']",
		Resource: v1alpha1.ResourceReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "web"}}}
	s := &Server{Now: func() time.Time { return now }}
	text, err := s.document("", "history.html", historyOf(d, nil)).html()
	require.NoError(t, err)
	assert.Contains(t, attributes(string(text), "a", "href"), "/applications/default/shop/deployment.apps/default/web#metadata.annotations%5b%27a_b%27%5d")
}
