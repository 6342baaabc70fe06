package controller_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/callback"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// workload plays a Pod of an Application: it knows the data of the Secret.
type workload struct {
	t      *testing.T
	data   map[string]string
	client *http.Client
}

// Workload waits for the Secret of an Application and returns a workload with the data that a Pod would
// see.
func (f *fixture) Workload(app string) *workload {
	f.t.Helper()
	secret := f.Await(secrets, app+"-hooks", "filled", func(object map[string]any) bool {
		data, _ := object["data"].(map[string]any)
		return len(data) > 0
	})
	w := &workload{t: f.t, data: map[string]string{}}
	for key, value := range secret["data"].(map[string]any) {
		text, err := base64.StdEncoding.DecodeString(value.(string))
		require.NoError(f.t, err)
		w.data[key] = string(text)
	}
	roots := x509.NewCertPool()
	require.True(f.t, roots.AppendCertsFromPEM([]byte(w.data["ca.crt"])))
	w.client = &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	f.t.Cleanup(w.client.CloseIdleConnections)
	return w
}

// call sends a callback and returns the status code and the body of the response.
func (w *workload) call(method, purpose, body string, header ...string) (int, string) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.data[purpose+"-url"], strings.NewReader(body))
	require.NoError(w.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := w.client.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	var answer struct{ Status string }
	raw, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(raw, &answer), "%s", raw)
	return response.StatusCode, answer.Status
}

func (w *workload) body(purpose string) string {
	return fmt.Sprintf(`{"token": %q}`, w.data[purpose+"-token"])
}

const job = `
- {apiVersion: batch/v1, kind: Job, metadata: {name: work}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: work, image: "work:1"}]}}}}`

func TestAWorkloadThatIsDone(t *testing.T) {
	f := given(t)
	f.Submit("app", "hooks: {complete: {}}\nmanifest:"+job)
	w := f.Workload("app")
	f.AwaitHeld("app")
	assert.Equal(t, "complete-token", value(f.Get(jobs, "work"),
		"spec", "template", "spec", "containers", "0", "env", "1", "valueFrom", "secretKeyRef", "key"))
	f.Quiet(time.Second)

	code, answer := w.call(http.MethodPut, "complete", w.body("complete"))

	assert.Equal(t, []any{http.StatusOK, "accepted"}, []any{code, answer})
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(secrets, "app-hooks"))
	f.AwaitNote("app", "the workload said at", "that its work is done")
	f.Quiet(time.Second)

	t.Run("and its token is worthless for the next one of that name", func(t *testing.T) {
		f.Submit("app", "hooks: {complete: {}}\nmanifest:"+job)
		next := f.Workload("app")
		f.AwaitApplication("app", "to know its token", func(app *v1alpha1.Application) bool {
			return app.Status.Hooks != nil && len(app.Status.Hooks.Tokens) > 0
		})
		assert.NotEqual(t, w.data["complete-token"], next.data["complete-token"])
		code, answer := next.call(http.MethodPut, "complete", w.body("complete"))
		assert.Equal(t, []any{http.StatusUnauthorized, "wrong_token"}, []any{code, answer})
	})
}

func TestAnApplicationThatIsDoneMayStay(t *testing.T) {
	f := given(t)
	f.Submit("app", "hooks: {complete: {action: Keep}}\nmanifest:"+job)
	w := f.Workload("app")
	f.AwaitHeld("app")

	results := make(chan int, 100)
	for range cap(results) {
		go func() {
			code, _ := w.call(http.MethodPut, "complete", "", "Authorization", "Bearer "+w.data["complete-token"])
			results <- code
		}()
	}
	for range cap(results) {
		assert.Equal(t, http.StatusOK, <-results)
	}
	app := f.AwaitApplication("app", "completed", func(app *v1alpha1.Application) bool {
		return condition(app, v1alpha1.ConditionCompleted).Status == metav1.ConditionTrue
	})
	f.Quiet(quiet)
	assert.Nil(t, app.DeletionTimestamp)
	first := condition(f.Application("app"), v1alpha1.ConditionCompleted)
	code, _ := w.call(http.MethodPut, "complete", w.body("complete"))
	assert.Equal(t, http.StatusOK, code)
	f.Quiet(time.Second)
	assert.Equal(t, first, condition(f.Application("app"), v1alpha1.ConditionCompleted), "once is enough")
}

func TestBadCallbacksChangeNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	s := f.RunWithCallbacks(controller.Options{})
	f.Submit("app", "hooks: {complete: {}, shutdown: {service: work, port: 80}, reconcile: {}}\nmanifest:"+job)
	f.Submit("other", "hooks: {complete: {}}\nmanifest:"+strings.ReplaceAll(job, "work", "other"))
	w, other := f.Workload("app"), f.Workload("other")
	f.AwaitHeld("app")
	f.AwaitHeld("other")
	f.awaitEvents(2)
	f.Quiet(time.Second)
	f.Mark()
	huge := io.LimitReader(zeros{}, 1<<30)
	for _, row := range []struct {
		name, method, path, body string
		header                   []string
		code                     int
		result                   string
	}{
		{name: "no token", body: "", code: http.StatusUnauthorized, result: "no_token"},
		{name: "an empty token", body: `{"token": ""}`, code: http.StatusUnauthorized, result: "no_token"},
		{name: "a wrong token", body: `{"token": "wrong"}`, code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "a wrong bearer", header: []string{"Authorization", "Bearer wrong"}, code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "an authorization that is not a bearer token", header: []string{"Authorization", "Basic d3Jvbmc="}, body: w.body("complete"), code: http.StatusUnauthorized, result: "no_token"},
		{name: "a token of another Application", body: other.body("complete"), code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "a token for another purpose", body: w.body("shutdown"), code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "an Application that is not there", path: "/v1/applications/" + f.namespace + "/nobody/complete", body: w.body("complete"), code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "bad JSON", body: `{"token": `, code: http.StatusBadRequest, result: "bad_request"},
		{name: "JSON that is no object", body: `["token"]`, code: http.StatusBadRequest, result: "bad_request"},
		{name: "a body that is too large", body: strings.Repeat(" ", 5000), code: http.StatusRequestEntityTooLarge, result: "too_large"},
		{name: "a hook that the Application does not have", path: hooks.CallbackPath(f.namespace, "other", hooks.Shutdown), body: other.body("shutdown"), code: http.StatusUnauthorized, result: "wrong_token"},
		{name: "another method", method: http.MethodPost, body: w.body("complete"), code: http.StatusMethodNotAllowed, result: "method_not_allowed"},
		{name: "another path", path: "/v1/applications/a/complete", body: w.body("complete"), code: http.StatusNotFound, result: "not_found"},
		{name: "an unexpected shutdown", path: hooks.CallbackPath(f.namespace, "app", hooks.Shutdown), body: w.body("shutdown"), code: http.StatusConflict, result: "not_shutting_down"},
	} {
		t.Run(row.name, func(t *testing.T) {
			method, path := row.method, row.path
			if method == "" {
				method = http.MethodPut
			}
			if path == "" {
				path = hooks.CallbackPath(f.namespace, "app", hooks.Complete)
			}
			caller := *w
			caller.t, caller.data = t, map[string]string{"any-url": s.address + path}
			code, result := caller.call(method, "any", row.body, row.header...)
			assert.Equal(t, []any{row.code, row.result}, []any{code, result})
		})
	}
	t.Run("a body of 1 GiB", func(t *testing.T) {
		for name, body := range map[string]io.Reader{"with its length": sized{huge}, "without": huge} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.data["complete-url"], body)
			require.NoError(t, err)
			if _, known := body.(sized); known {
				request.ContentLength = 1 << 30
			}
			response, err := w.client.Do(request)
			if err != nil { // the server closed the connection while the body was being sent
				assert.NotErrorIs(t, err, context.DeadlineExceeded, name)
				continue
			}
			response.Body.Close()
			assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode, name)
		}
		assert.GreaterOrEqual(t, s.count("too_large"), 3)
	})
	t.Run("too many wrong tokens", func(*testing.T) {
		f.eventually("to be too many", func() bool {
			code, _ := w.call(http.MethodPut, "complete", `{"token": "wrong"}`)
			return code == http.StatusTooManyRequests
		})
	})
	f.Quiet(quiet)
	assert.Empty(t, f.Requests().Writes())
	assert.NotNil(t, f.Application("app"))
	key := strings.Split(decoded(t, f.Get(secrets, callback.SecretName), "current.key"), "\n")
	f.nowhereElse(w.data["complete-token"], w.data["shutdown-token"], w.data["reconcile-token"], other.data["complete-token"], key[1])
}

// sized hides that a reader is limited.
type sized struct{ io.Reader }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestTokenHoldersCanRequestAReconcile(t *testing.T) {
	f := given(t)
	f.Submit("app", `
hooks: {reconcile: {}}
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}]`)
	w := f.Workload("app")
	f.AwaitHeld("app")
	f.Quiet(time.Second)
	code, _ := w.call(http.MethodPost, "reconcile", w.body("reconcile"))
	assert.Equal(t, http.StatusOK, code)
	f.AwaitApplication("app", "reconciled", func(app *v1alpha1.Application) bool { return app.Status.ReconcileRequest != "" })
	f.Quiet(quiet)
}

func TestACallbackDuringADeletionIsRefused(t *testing.T) {
	f := given(t)
	f.Submit("app", "hooks: {complete: {}}\nmanifest:"+job+`
- {apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}`)
	w := f.Workload("app")
	f.AwaitHeld("app")
	f.Delete(applications, "app")
	// A call that comes before the controller's watch is accepted, and so are its repetitions.
	f.Await(configMaps, "held", "being deleted by the controller", func(object map[string]any) bool {
		return value(object, "metadata", "deletionTimestamp") != nil
	})
	code, result := w.call(http.MethodPut, "complete", w.body("complete"))
	assert.Equal(t, http.StatusConflict, code)
	assert.Equal(t, "in_deletion", result)
	f.Patch("user", configMaps, "held", `{metadata: {finalizers: null}}`)
	f.AwaitGone(applications, "app")
}

// The authority is replaced while workloads send calls. No call fails.
func TestTheCertificatesAreReplacedDuringCalls(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	// The certificate is still valid for a call during which the clock jumps.
	s := f.runCallbacks(controller.Options{}, callback.Lifetimes{Authority: 100 * time.Hour, Server: 40 * time.Hour}, now)
	f.Submit("app", "hooks: {complete: {action: Keep}}\nmanifest:"+job)
	w := f.Workload("app")
	f.AwaitHeld("app")
	first := w.data["ca.crt"]

	// After half of the authority's lifetime, the next authority is trusted, too.
	ahead.Store(int64(55 * time.Hour))
	require.NoError(t, s.managed.Refresh(t.Context()))
	f.Await(secrets, "app-hooks", "with two authorities", func(object map[string]any) bool {
		raw, _ := base64.StdEncoding.DecodeString(value(object, "data", "ca.crt").(string))
		return bytes.Count(raw, []byte("BEGIN CERTIFICATE")) == 2
	})
	later := f.Workload("app")
	later.client.Transport.(*http.Transport).TLSClientConfig.Time = now
	assert.True(t, strings.HasPrefix(later.data["ca.crt"], strings.TrimSpace(first)))
	assert.Equal(t, w.data["complete-token"], later.data["complete-token"], "the token is generated once")

	// When the next authority takes over, workloads with either Secret can call, including those that
	// started long ago.
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(failed)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if code, _ := later.call(http.MethodPut, "complete", "", "Authorization", "Bearer "+later.data["complete-token"]); code != http.StatusOK {
				failed <- fmt.Errorf("answered %d", code)
				return
			}
			later.client.CloseIdleConnections()
		}
	}()
	ahead.Store(int64(70 * time.Hour))
	require.NoError(t, s.managed.Refresh(t.Context()))
	f.Await(secrets, "app-hooks", "with another first authority", func(object map[string]any) bool {
		raw, _ := base64.StdEncoding.DecodeString(value(object, "data", "ca.crt").(string))
		return !bytes.HasPrefix(raw, []byte(strings.TrimSpace(first)))
	})
	close(stop)
	assert.NoError(t, <-failed)
	f.Quiet(time.Second)

	t.Run("and a second process takes the same", func(t *testing.T) {
		again := f.Elsewhere(t)
		again.namespace = f.namespace
		config := f.cluster.Config()
		client, err := corev1client.NewForConfig(config)
		require.NoError(t, err)
		other := callback.NewManagedCertificates(client.Secrets(f.namespace), []string{"127.0.0.1"}, callback.DefaultLifetimes, now, nil)
		require.NoError(t, other.Refresh(t.Context()))
		assert.Equal(t, string(s.managed.Bundle()), string(other.Bundle()))
	})
}

func TestGeneratedValueIsCreatedOnceAndMasked(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	i := f.Run(controller.Options{})
	f.Submit("app", `
manifest:
- apiVersion: v1
  kind: Secret
  metadata: {name: database, annotations: {holdfast.dev/generate: "password,root:40"}}
  stringData: {user: admin}`)
	f.AwaitReady("app")
	made := f.Get(secrets, "database")
	password, root := decoded(t, made, "password"), decoded(t, made, "root")
	assert.Len(t, password, 32)
	assert.Len(t, root, 40)
	f.Quiet(quiet)

	// Then: neither a manifest change, nor a correction, nor a restart changes it.
	f.Patch("mallory", secrets, "database", `{stringData: {user: evil}}`)
	f.Await(secrets, "database", "corrected", func(object map[string]any) bool { return decoded(t, object, "user") == "admin" })
	i.Stop()
	f.Run(controller.Options{})
	f.Submit("app", `
manifest:
- apiVersion: v1
  kind: Secret
  metadata: {name: database, labels: {new: label}, annotations: {holdfast.dev/generate: "password,root:40"}}
  stringData: {user: other}`)
	f.Await(secrets, "database", "changed", func(object map[string]any) bool { return decoded(t, object, "user") == "other" })
	f.Quiet(time.Second)
	assert.Equal(t, password, decoded(t, f.Get(secrets, "database"), "password"))

	// And: a manual rotation is left alone.
	f.Patch("user", secrets, "database", `{stringData: {password: by-hand}}`)
	f.Quiet(quiet)
	assert.Equal(t, "by-hand", decoded(t, f.Get(secrets, "database"), "password"))

	// And: it is generated again only if the whole Secret is deleted.
	f.Delete(secrets, "database")
	f.Await(secrets, "database", "made again", func(object map[string]any) bool {
		return object != nil && value(object, "metadata", "uid") != value(made, "metadata", "uid")
	})
	again := f.Get(secrets, "database")
	assert.NotContains(t, []string{password, "by-hand"}, decoded(t, again, "password"))
	f.AwaitReady("app")
	f.Quiet(time.Second)
	f.nowhereElse(password, root, decoded(t, again, "password"))
}

// nowhereElse checks that the values appear in no object except Secrets, and not in the logs.
func (f *fixture) nowhereElse(values ...string) {
	f.t.Helper()
	var places []string
	for _, kind := range []string{"applications.holdfast.dev", "events", "configmaps"} {
		text, err := f.cluster.Kubectl(f.t.Context(), "", "get", kind, "-n", f.namespace, "-o", "yaml", "--show-managed-fields")
		require.NoError(f.t, err)
		places = append(places, text)
	}
	logs, err := filepath.Glob(filepath.Join(f.cluster.Dir(), "*.log"))
	require.NoError(f.t, err)
	for _, file := range logs {
		raw, err := os.ReadFile(file)
		require.NoError(f.t, err)
		places = append(places, string(raw))
	}
	for _, v := range values {
		require.NotEmpty(f.t, v)
		for _, place := range places {
			for _, form := range []string{v, base64.StdEncoding.EncodeToString([]byte(v))} {
				assert.NotContains(f.t, place, form)
			}
		}
	}
}

func decoded(t *testing.T, secret map[string]any, key string) string {
	t.Helper()
	text, _ := value(secret, "data", key).(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	require.NoError(t, err)
	return string(raw)
}

func TestTheAddressesOfServicesAreInTheStatus(t *testing.T) {
	f := given(t)
	const spec = `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: inside}, spec: {selector: {app: web}, ports: [{port: 80}]}}
- {apiVersion: v1, kind: Service, metadata: {name: outside}, spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 443}]}}`
	f.Submit("app", spec)
	app := f.AwaitHeld("app")
	assert.Equal(t, map[string]string{"inside": "inside." + f.namespace + ".svc:80", "outside": "<pending>"}, app.Status.Services)

	_, err := f.in("balancer", services).Patch(t.Context(), "outside", "application/merge-patch+json",
		[]byte(`{"status": {"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	f.AwaitApplication("app", "told the address", func(app *v1alpha1.Application) bool {
		return app.Status.Services["outside"] == "lb.example.com:443"
	})
	f.Submit("app", spec[:strings.LastIndex(spec, "\n")])
	f.AwaitApplication("app", "without the other Service", func(app *v1alpha1.Application) bool {
		return len(app.Status.Services) == 1 && len(app.Status.Resources) == 1
	})
	f.Quiet(quiet)
}

const shutdownSpec = `
hooks: {shutdown: {service: work, port: 8080, path: "/stop?now=1", gracePeriodSeconds: %d, retries: %d, onFailure: %s}}
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: work}, spec: {selector: {app: work}, ports: [{port: 8080}]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}` + job

func TestAWorkloadFinishesItsWorkBeforeItIsDeleted(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var request atomic.Value
	asked := f.Target(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		request.Store(r.Method + " " + r.URL.String() + " " + string(body))
	})
	s := f.RunWithCallbacks(controller.Options{})
	f.Submit("app", fmt.Sprintf(shutdownSpec, 3600, 2, "GiveUp"))
	w := f.Workload("app")
	f.AwaitHeld("app")
	f.Mark()

	f.Delete(applications, "app")
	f.AwaitReason("app", v1alpha1.ReasonShuttingDown)
	f.eventually("the call", func() bool { return asked.Load() == 1 && request.Load() != nil })
	assert.Equal(t, fmt.Sprintf(`POST /stop?now=1 {"application":{"name":"app","namespace":%q}}`, f.namespace), request.Load())
	f.Quiet(quiet)
	assert.Empty(t, f.touched(), "nothing is deleted")

	// Then: after a restart, the call is neither forgotten nor repeated.
	s.Stop()
	s = f.RunWithCallbacks(controller.Options{})
	f.Quiet(quiet)
	assert.Equal(t, int32(1), asked.Load())
	assert.NotNil(t, f.Get(configMaps, "config"))

	// And: when the workload is done, everything is deleted.
	code, _ := f.again(w, s).call(http.MethodPut, "shutdown", w.body("shutdown"))
	assert.Equal(t, http.StatusOK, code)
	f.AwaitGone(applications, "app")
	assert.Nil(t, f.Get(configMaps, "config"))
	f.Quiet(time.Second)
	assert.Equal(t, int32(1), asked.Load())
}

// again returns the workload with the new address of the callback server. In a cluster, the address
// does not change at a restart.
func (f *fixture) again(w *workload, s *callbacks) *workload {
	f.t.Helper()
	moved := *w
	moved.data = map[string]string{}
	for key, value := range w.data {
		if strings.HasSuffix(key, "-url") {
			_, path, _ := strings.Cut(value, "/v1/")
			value = s.address + "/v1/" + path
		}
		moved.data[key] = value
	}
	return &moved
}

func TestAWorkloadThatNeverAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, onFailure string
		then            func(f *fixture, asked *atomic.Int32)
	}{
		{"is kept until a user changes onFailure", "GiveUp", func(f *fixture, _ *atomic.Int32) {
			_, message := f.AwaitReason("app", v1alpha1.ReasonShutdownFailed)
			assert.Contains(f.t, message, "called 2 times")
			assert.Contains(f.t, message, "onFailure to Delete")
			f.Quiet(quiet)
			assert.NotNil(f.t, f.Get(configMaps, "config"))
			f.Patch("user", applications, "app", `{spec: {hooks: {shutdown: {onFailure: Delete}}}}`)
		}},
		{"is deleted with onFailure Delete", "Delete", func(*fixture, *atomic.Int32) {}},
		{"is called again on request", "GiveUp", func(f *fixture, asked *atomic.Int32) {
			f.AwaitReason("app", v1alpha1.ReasonShutdownFailed)
			f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/reconcile: again}}}`)
			f.eventually("two calls more", func() bool { return asked.Load() == 4 })
			f.AwaitReason("app", v1alpha1.ReasonShutdownFailed)
			f.Patch("user", applications, "app", `{spec: {hooks: {shutdown: null}}}`)
		}},
		{"answers late", "GiveUp", func(f *fixture, _ *atomic.Int32) {
			w := f.Workload("app")
			f.AwaitReason("app", v1alpha1.ReasonShutdownFailed)
			code, _ := w.call(http.MethodPut, "shutdown", w.body("shutdown"))
			assert.Equal(f.t, http.StatusOK, code)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := given(t)
			asked := f.Target(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "hunter2", http.StatusInternalServerError) })
			f.Submit("app", fmt.Sprintf(shutdownSpec, 1, 1, row.onFailure))
			f.Workload("app")
			f.AwaitHeld("app")
			f.Delete(applications, "app")
			f.eventually("the last call", func() bool { return asked.Load() >= 2 })
			row.then(f, asked)
			f.AwaitGone(applications, "app")
			assert.Nil(t, f.Get(configMaps, "config"))
			f.nowhereElse("hunter2")
		})
	}
}

// A workload is not asked to shut down if it is left running, or if it has already ended.
func TestAShutdownThatIsOfNoUse(t *testing.T) {
	t.Parallel()
	t.Run("an orphaned workload runs on", func(t *testing.T) {
		f := given(t)
		asked := f.Target(func(http.ResponseWriter, *http.Request) {})
		f.Submit("app", "deletionPolicy: Orphan"+fmt.Sprintf(shutdownSpec, 60, 2, "GiveUp"))
		f.AwaitHeld("app")
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		assert.NotNil(t, f.Get(jobs, "work"))
		assert.Zero(t, asked.Load())
	})
	t.Run("a workload that a user orphans runs on", func(t *testing.T) {
		f := given(t)
		asked := f.Target(func(http.ResponseWriter, *http.Request) {})
		f.Submit("app", fmt.Sprintf(shutdownSpec, 60, 2, "GiveUp"))
		f.AwaitHeld("app")
		orphan := metav1.DeletePropagationOrphan
		require.NoError(t, f.in("user", applications).Delete(t.Context(), "app", metav1.DeleteOptions{PropagationPolicy: &orphan}))
		f.eventually("the end of our finalizer", func() bool {
			app := f.Application("app")
			return app == nil || !slices.Contains(app.Finalizers, v1alpha1.Finalizer)
		})
		assert.NotNil(t, f.Get(jobs, "work"))
		assert.Zero(t, asked.Load())
	})
	t.Run("a namespace that ends takes all with it", func(t *testing.T) {
		f := given(t)
		asked := f.Target(func(http.ResponseWriter, *http.Request) {})
		f.Submit("app", fmt.Sprintf(shutdownSpec, 60, 2, "GiveUp"))
		f.AwaitHeld("app")
		f.Delete(namespaces, f.namespace)
		f.Delete(services, "work")                   // in place of the namespace controller
		f.AwaitReason("app", v1alpha1.ReasonWaiting) // the controller has noticed the deletion
		f.Delete(applications, "app")
		f.AwaitGone(applications, "app")
		assert.Zero(t, asked.Load())
	})
}

func TestAHookThatFailsStopsWhatItIsFor(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	broken := atomic.Bool{}
	broken.Store(true)
	h := hooks.New()
	h.ResourcePreCreate.Listen("gate", func(c *hooks.CreateEvent) error {
		if c.ID.Name == "stopped" && broken.Load() {
			return errors.New("not today")
		}
		return nil
	})
	h.ApplicationMangling.Listen("label", func(m *hooks.Mangling) error {
		if m.Application.Name == "refused" && broken.Load() {
			panic("canary")
		}
		return nil
	})
	f.Run(controller.Options{Hooks: h})
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: stopped}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: created}}`)
	_, message := f.AwaitReason("app", v1alpha1.ReasonHookFailed)
	assert.Contains(t, message, "hook gate of ResourcePreCreate: not today")
	assert.NotNil(t, f.Get(configMaps, "created"))
	assert.Nil(t, f.Get(configMaps, "stopped"))
	f.Submit("refused", `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: refused}}]`)
	_, message = f.AwaitReason("refused", v1alpha1.ReasonHookFailed)
	assert.Contains(t, message, "hook label of ApplicationMangling: panic")
	assert.Nil(t, f.Get(configMaps, "refused"))
	f.nowhereElse("canary")
	broken.Store(false)
	f.AwaitReady("app")
	f.Patch("user", applications, "refused", `{metadata: {annotations: {holdfast.dev/reconcile: now}}}`)
	f.AwaitReady("refused")
}

// A deletion is complete when the object is gone, however long that takes. Only then do the post-delete
// hooks run, and they are retried until they succeed.
func TestAHookAfterADeletionWaitsForTheObjectToGo(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var mu sync.Mutex
	var gone []string
	broken := true
	h := hooks.New()
	h.ResourcePostDelete.Listen("note", func(c *hooks.ChangeEvent) error {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return errors.New("not yet")
		}
		gone = append(gone, c.ID.Name)
		return nil
	})
	told := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(gone)
	}
	f.Run(controller.Options{Hooks: h})
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: slow, finalizers: [example.com/hold]}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: fast}}`)
	f.AwaitReady("app")
	f.Submit("app", `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}]`)
	f.AwaitApplication("app", "told that the hook has failed", func(app *v1alpha1.Application) bool {
		return len(app.Status.Resources) == 3 && strings.Contains(condition(app, v1alpha1.ConditionHeld).Message, "not yet")
	})
	mu.Lock()
	broken = false
	mu.Unlock()
	f.eventually("the hook to succeed", func() bool { return slices.Equal(told(), []string{"fast"}) })
	f.Patch("user", configMaps, "slow", `{metadata: {finalizers: null}}`)
	f.eventually("the other to go", func() bool { return slices.Equal(told(), []string{"fast", "slow"}) })
	f.AwaitReady("app")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	assert.Equal(t, []string{"fast", "slow", "kept"}, told())
}
