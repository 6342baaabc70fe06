package controller_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// configsIn returns manifests: the given ones, followed by n ConfigMaps in a namespace.
func configsIn(namespace string, n int, before ...string) string {
	manifests := before
	for i := range n {
		manifests = append(manifests, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d, namespace: %s}}", i, namespace))
	}
	return "{manifest: [" + strings.Join(manifests, ", ") + "], retry: {initialInterval: 10m}}"
}

// askedOfNamespaces returns how often the controller has watched or listed namespaces.
func (f *fixture) askedOfNamespaces() int {
	f.t.Helper()
	all, err := f.cluster.Requests(f.mark)
	require.NoError(f.t, err)
	return len(all.By(f.agent).Where(func(r testcluster.Request) bool {
		return r.Resource == namespaces.Resource && (r.Verb == "watch" || r.Verb == "list")
	}))
}

func TestANamespaceThatIsMissing(t *testing.T) {
	const n = 20
	creates := func(f *fixture) testcluster.Requests {
		return f.Requests().Where(func(r testcluster.Request) bool { return r.Verb == "create" && r.Resource == configMaps.Resource })
	}
	f := givenAlone(t, testcluster.Options{})
	var refused atomic.Int64
	var refuses atomic.Bool
	f.RunThrough(func(next http.RoundTripper) http.RoundTripper {
		return sender(func(request *http.Request) (*http.Response, error) {
			if refuses.Load() && request.URL.Path == "/api/v1/namespaces" && request.Method == http.MethodGet {
				refused.Add(1)
				return &http.Response{
					StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
					Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)),
				}, nil
			}
			return next.RoundTrip(request)
		})
	}, controller.Options{})

	t.Run("that the Application brings costs nothing more", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.GrantEverywhere()
		f.Mark()
		f.Submit("app", configsIn("$NS-own", n, "{apiVersion: v1, kind: Namespace, metadata: {name: $NS-own}}"))
		f.AwaitReady("app")
		f.AssertAsked(map[string]int{
			"create configmaps": n, "patch applications": 1, "patch applications/status": 1, "create events": 1,
		}, unrelatedToKinds)
		assert.Zero(t, f.askedOfNamespaces(), "no Application waits for a namespace")
	})
	t.Run("is tried once, and what waits for it is woken", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.GrantEverywhere()
		f.Mark()
		f.Submit("app", configsIn("$NS-later", n))
		_, message := f.AwaitReason("app", v1alpha1.ReasonWaiting)
		assert.Contains(t, message, "kubectl create namespace "+f.namespace+"-later")
		f.Quiet(time.Second)
		assert.Len(t, creates(f), 1)

		f.Create("user", `{apiVersion: v1, kind: Namespace, metadata: {name: $NS-later}}`)
		f.AwaitReady("app") // without the watch, this would take 10 minutes
		assert.Len(t, creates(f), 1+n)
		f.eventually("the end of the watch of namespaces", func() bool { return f.askedOfNamespaces() == 1 })
	})
	t.Run("that the account may not watch is tried with backoff", func(t *testing.T) {
		f := f.Elsewhere(t)
		f.GrantEverywhere()
		f.Mark()
		refuses.Store(true)
		f.Submit("app", strings.Replace(configsIn("$NS-hidden", n), "10m", "1s", 1))
		f.AwaitReason("app", v1alpha1.ReasonWaiting)
		f.eventually("three tries", func() bool { return len(creates(f)) >= 3 })
		f.Create("user", `{apiVersion: v1, kind: Namespace, metadata: {name: $NS-hidden}}`)
		f.AwaitReady("app")
		assert.Less(t, len(creates(f)), n+10)
		assert.LessOrEqual(t, refused.Load(), int64(2), "a watch and a list, and not again for 5 minutes")
	})
}
