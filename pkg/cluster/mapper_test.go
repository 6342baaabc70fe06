package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// kindServer is an API server that serves configurable kinds with a fake clock, and records its requests.
type kindServer struct {
	*Mapper
	mu     sync.Mutex
	asked  []string
	served map[string]any // by path
	broken map[string]int // status code of the response, by path
	time   time.Time
}

func newKindServer(t *testing.T) *kindServer {
	t.Helper()
	d := &kindServer{served: map[string]any{}, broken: map[string]int{}, time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	d.Mapper = NewMapper(client)
	d.now = func() time.Time { return d.time }
	return d
}

func (d *kindServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, r.URL.Path)
	code, body := http.StatusNotFound, any(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404,
	})
	if served := d.served[r.URL.Path]; served != nil {
		code, body = http.StatusOK, served
	}
	if broken := d.broken[r.URL.Path]; broken != 0 {
		code, body = broken, "broken"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// requests returns the requests since the last call.
func (d *kindServer) requests() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	asked := d.asked
	d.asked = nil
	return asked
}

// serve sets the kinds of a group and version, with their verbs.
func (d *kindServer) serve(groupVersion string, kinds map[string][]string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
	for kind, verbs := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: strings.ToLower(kind) + "s", Kind: kind, Namespaced: true, Verbs: verbs})
	}
	d.served["/apis/"+groupVersion] = list
}

// group sets the versions of a group, the preferred one first.
func (d *kindServer) group(name string, versions ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	group := metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name}
	for _, version := range versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version})
	}
	group.PreferredVersion = group.Versions[0]
	d.served["/apis/"+name] = group
}

var (
	all   = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	last  = []string{"delete", "deletecollection", "get", "list", "watch"}
	songs = schema.GroupVersionKind{Group: "x.example.com", Version: "v1", Kind: "Song"}
)

func TestInvalidKindsAreNotLookedUp(t *testing.T) {
	for _, row := range []struct {
		name string
		gvk  schema.GroupVersionKind
	}{
		{"a way up", schema.FromAPIVersionAndKind("../metrics", "X")},
		{"a way up as version", schema.GroupVersionKind{Version: "..", Kind: "X"}},
		{"a way up as group", schema.GroupVersionKind{Group: "..", Version: "v1", Kind: "X"}},
		{"a query", schema.FromAPIVersionAndKind("apps/v1?x=1", "X")},
		{"no version", schema.GroupVersionKind{Group: "apps", Kind: "X"}},
		{"no kind", schema.GroupVersionKind{Group: "apps", Version: "v1"}},
		{"upper case in the group", schema.GroupVersionKind{Group: "Apps", Version: "v1", Kind: "X"}},
		{"a kind with a slash", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "a/b"}},
		{"a megabyte of group", schema.GroupVersionKind{Group: strings.Repeat("a", 1<<20), Version: "v1", Kind: "X"}},
		{"a megabyte of version", schema.GroupVersionKind{Group: "apps", Version: strings.Repeat("v", 1<<20), Kind: "X"}},
		{"a megabyte of kind", schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: strings.Repeat("X", 1<<20)}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newKindServer(t)
			_, err := d.Mapping(t.Context(), row.gvk)
			require.ErrorIs(t, err, ErrKindUnknown)
			assert.Zero(t, RetryAfter(err))
			assert.Less(t, len(err.Error()), 500)
			mapping, unserved, err := d.Resolve(t.Context(), row.gvk)
			require.NoError(t, err)
			assert.Empty(t, mapping)
			assert.NotNil(t, unserved)
			assert.Empty(t, d.requests())
			assert.Empty(t, d.groups, "nothing is remembered")
		})
	}
	t.Run("but possible names are", func(t *testing.T) {
		d := newKindServer(t)
		d.serve("x.example.com/v1", map[string][]string{"Song": all})
		_, err := d.Mapping(t.Context(), songs)
		require.NoError(t, err)
	})
}

func TestUnservedKindIsLookedUpOnce(t *testing.T) {
	d := newKindServer(t)
	ask := func() time.Duration {
		var wait time.Duration
		for range 750 { // Applications
			_, unserved, err := d.Resolve(t.Context(), songs)
			require.NoError(t, err)
			require.NotNil(t, unserved)
			wait = unserved.RetryAfter
		}
		return wait
	}
	assert.Equal(t, unservedWait, ask())
	assert.Equal(t, []string{"/apis/x.example.com/v1", "/apis/x.example.com"}, d.requests())

	// The negative result is cached for increasing times, and each time only one request is sent.
	var waits []time.Duration
	for range 12 {
		wait := ask()
		assert.Empty(t, d.requests())
		d.time = d.time.Add(wait)
		waits = append(waits, ask())
		assert.Len(t, d.requests(), 2)
	}
	assert.IsNonDecreasing(t, waits)
	assert.Equal(t, maxWait, waits[len(waits)-1])

	// A changed definition resets the backoff, because its kind will be served soon.
	d.Forget("x.example.com")
	assert.Equal(t, shortWait, ask())
	d.time = d.time.Add(shortWait)
	d.serve("x.example.com/v1", map[string][]string{"Song": all})
	_, err := d.Mapping(t.Context(), songs)
	require.NoError(t, err)
	d.requests()

	t.Run("a kind that its group does not have", func(t *testing.T) {
		d.Forget("x.example.com")
		for _, kind := range []string{"Sonk", "Album", "Sonk", "Album"} {
			_, err := d.Mapping(t.Context(), songs.GroupVersion().WithKind(kind))
			require.ErrorIs(t, err, ErrKindUnknown)
		}
		assert.Len(t, d.requests(), 1)
		_, unserved, err := d.Resolve(t.Context(), songs.GroupVersion().WithKind("Sonk"))
		require.NoError(t, err)
		assert.Equal(t, ": did you mean Song?", unserved.Suggestion)
	})
	t.Run("a group that cannot be asked", func(t *testing.T) {
		d.requests()
		d.broken["/apis/y.example.com/v1"] = http.StatusServiceUnavailable
		var wait time.Duration
		for range 20 {
			for range 2 {
				_, err := d.Mapping(t.Context(), schema.GroupVersionKind{Group: "y.example.com", Version: "v1", Kind: "Song"})
				require.Error(t, err)
				require.NotErrorIs(t, err, ErrKindUnknown)
				wait = RetryAfter(err)
			}
			require.Len(t, d.requests(), 1)
			d.time = d.time.Add(wait)
		}
		assert.Equal(t, maxWait, wait)
	})
}

// A kind whose definition was being deleted during the lookup does not exist later.
func TestTerminatingKindIsNotCached(t *testing.T) {
	d := newKindServer(t)
	d.serve("x.example.com/v1", map[string][]string{"Song": last, "Album": last, "Artist": all})
	for _, kind := range []string{"Song", "Album", "Song"} {
		_, err := d.Mapping(t.Context(), songs.GroupVersion().WithKind(kind))
		require.ErrorContains(t, err, "is being removed")
		require.NotErrorIs(t, err, ErrKindUnknown)
		assert.Positive(t, RetryAfter(err))
	}
	_, err := d.Mapping(t.Context(), songs.GroupVersion().WithKind("Artist"))
	require.NoError(t, err)

	delete(d.served, "/apis/x.example.com/v1")
	for _, kind := range []string{"Song", "Album"} {
		_, err := d.Mapping(t.Context(), songs.GroupVersion().WithKind(kind))
		require.ErrorIs(t, err, ErrKindUnknown)
	}
}

func TestKindIsFoundInOtherVersion(t *testing.T) {
	d := newKindServer(t)
	d.group("x.example.com", "v2", "v1")
	d.serve("x.example.com/v2", map[string][]string{"Song": all})
	d.serve("x.example.com/v1", map[string][]string{"Song": all, "Album": all})
	for _, row := range []struct {
		kind, version, found, suggestion string
	}{
		{"Song", "v1", "v1", ""},
		{"Song", "v2beta2", "v2", ": did you mean x.example.com/v2?"},
		{"Album", "v2", "v1", ": did you mean x.example.com/v1?"},
		{"Singer", "v2", "", ""},
	} {
		t.Run(row.kind+" in "+row.version, func(t *testing.T) {
			mapping, unserved, err := d.Resolve(t.Context(), schema.GroupVersionKind{Group: "x.example.com", Version: row.version, Kind: row.kind})
			require.NoError(t, err)
			assert.Equal(t, row.found, mapping.Resource.Version)
			if row.found == row.version {
				assert.Nil(t, unserved)
				return
			}
			assert.Equal(t, row.suggestion, unserved.Suggestion)
		})
	}
	t.Run("unless the lookup fails", func(t *testing.T) {
		d.Forget("x.example.com")
		d.broken["/apis/x.example.com"] = http.StatusInternalServerError
		_, _, err := d.Resolve(t.Context(), schema.GroupVersionKind{Group: "x.example.com", Version: "v3", Kind: "Song"})
		var unclear *LookUpError
		require.ErrorAs(t, err, &unclear)
	})
}

func TestCachedGroupsAreBounded(t *testing.T) {
	d := newKindServer(t)
	d.serve("x.example.com/v1", map[string][]string{"Song": all})
	_, err := d.Mapping(t.Context(), songs)
	require.NoError(t, err)
	unknown := func(i int) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Song"}
	}
	for i := range maxCachedGroups + 10 {
		_, err = d.Mapping(t.Context(), unknown(i))
		require.ErrorIs(t, err, ErrKindUnknown)
	}
	assert.Len(t, d.groups, maxCachedGroups)
	assert.Equal(t, maxWait, RetryAfter(err), "what is not remembered is not asked for often")
	d.requests()
	_, err = d.Mapping(t.Context(), songs)
	require.NoError(t, err)
	assert.Empty(t, d.requests(), "served kinds are kept")

	d.time = d.time.Add(maxWait)
	_, err = d.Mapping(t.Context(), unknown(maxCachedGroups+10))
	require.ErrorIs(t, err, ErrKindUnknown)
	assert.Len(t, d.groups, 2, "answers that count no more make room")

	d.ForgetUnserved(unknown(maxCachedGroups + 10).Group)
	d.ForgetUnserved("x.example.com")
	assert.Len(t, d.groups, 1, "and they end without lookups")
}

func TestSchemaErrorsBackOff(t *testing.T) {
	d := newKindServer(t)
	d.serve("x.example.com/v1", map[string][]string{"Song": all})
	d.broken["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/songs.x.example.com"] = http.StatusInternalServerError
	var unclear *LookUpError
	for range 2 {
		_, err := d.Mapping(t.Context(), songs)
		require.ErrorAs(t, err, &unclear)
	}
	assert.Len(t, d.requests(), 2, "for the group, and for the definition")
	clear(d.broken)
	d.time = d.time.Add(unclear.RetryAfter)
	_, err := d.Mapping(t.Context(), songs)
	require.NoError(t, err)
}

// roundTripper answers requests without a connection.
type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A request for several callers ends with the context of the first one. The others must not get its error.
func TestLookUpOutlivesItsFirstCaller(t *testing.T) {
	for name, path := range map[string]string{
		"kinds":    "/apis/x.example.com/v1",
		"versions": "/apis/x.example.com",
		"schema":   "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/songs.x.example.com",
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { lookUpTwice(t, path) }) })
	}
}

// lookUpTwice looks up a kind for two callers. The first ends while the request of the path waits.
func lookUpTwice(t *testing.T, path string) {
	t.Helper()
	d, blocks := &kindServer{served: map[string]any{}, broken: map[string]int{}}, true
	d.serve("x.example.com/v1", map[string][]string{"Song": all})
	d.group("x.example.com", "v1")
	client, err := NewClient(&rest.Config{Host: "http://example.com", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == path && blocks {
			<-r.Context().Done()
			blocks = false
			return nil, r.Context().Err()
		}
		answer := httptest.NewRecorder()
		d.ServeHTTP(answer, r)
		return answer.Result(), nil
	})})
	require.NoError(t, err)
	d.Mapper = NewMapper(client)
	first, cancel := context.WithCancel(t.Context())
	var errs [2]error
	var lookUps sync.WaitGroup
	for i, ctx := range []context.Context{first, t.Context()} {
		lookUps.Go(func() { _, errs[i] = d.AnyVersion(ctx, songs.GroupKind()) })
		synctest.Wait()
	}
	cancel()
	lookUps.Wait()
	assert.ErrorIs(t, errs[0], context.Canceled)
	assert.NoError(t, errs[1])
}
