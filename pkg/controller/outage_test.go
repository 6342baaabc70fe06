package controller_test

import (
	"bytes"
	"errors"
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

func TestAnOutageOfTheControlPlaneIsSurvived(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	f.Definition("Song", "songs", anySpec)
	songs := f.custom("songs")
	f.Submit("app", `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}
- {apiVersion: $NS.example.com/v1, kind: Song, metadata: {name: song}, spec: {title: Chanson}}`)
	f.AwaitReady("app")
	f.Quiet(time.Second)
	uid := value(f.Get(songs, "song"), "metadata", "uid")

	for _, outage := range []struct {
		name   string
		strike func() error
	}{
		{"the API server is killed and restarted", func() error {
			return errors.Join(f.cluster.Kill(testcluster.APIServer), f.cluster.Restart(testcluster.APIServer))
		}},
		{"etcd is killed and restarted", func() error {
			return errors.Join(f.cluster.Kill(testcluster.Etcd), f.cluster.Restart(testcluster.Etcd))
		}},
		{"etcd answers nothing for five seconds", func() error {
			if err := f.cluster.Pause(testcluster.Etcd); err != nil {
				return err
			}
			<-time.After(5 * time.Second)
			return f.cluster.Resume(testcluster.Etcd)
		}},
	} {
		t.Run(outage.name, func(t *testing.T) {
			f := *f
			f.t = t
			require.NoError(t, outage.strike())
			f.eventually("the end of the outage", func() bool {
				_, err := f.cluster.Kubectl(t.Context(), "", "get", "--raw=/readyz")
				return err == nil
			})

			// Then: drift after the outage is seen and corrected,
			f.eventually("a drift", func() bool {
				_, err := f.kubectl("", "patch", "configmap", "config", "--type=merge", `--patch={"data":{"key":"theirs"}}`)
				return err == nil
			})
			f.AwaitWithin(2*patience, configMaps, "config", "corrected", func(object map[string]any) bool {
				return value(object, "data", "key") == "ours"
			})
			f.eventually("a drift of another kind", func() bool {
				_, err := f.kubectl("", "patch", "songs."+f.namespace+".example.com", "song", "--type=merge", `--patch={"spec":{"title":"Lied"}}`)
				return err == nil
			})
			song := f.AwaitWithin(2*patience, songs, "song", "corrected", func(object map[string]any) bool {
				return value(object, "spec", "title") == "Chanson"
			})
			assert.Equal(t, uid, value(song, "metadata", "uid"), "no object is created again")
			// and new objects are created.
			name := fmt.Sprint("app-", time.Now().UnixNano())
			f.Submit(name, strings.ReplaceAll(oneConfig, "name: config", "name: "+name))
			f.AwaitReady(name)
			f.AwaitReady("app")
			f.Quiet(quiet)
		})
	}
}

// flaky fails every third request that is not a watch, in different ways.
type flaky struct {
	http.RoundTripper
	requests, failures atomic.Int64
}

func (b *flaky) wrap(next http.RoundTripper) http.RoundTripper {
	b.RoundTripper = next
	return b
}

func (b *flaky) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.RawQuery, "watch=") || b.requests.Add(1)%3 != 0 {
		return b.RoundTripper.RoundTrip(request)
	}
	switch n := b.failures.Add(1); n % 6 {
	case 0:
		return nil, errors.New("connection reset by peer")
	case 1: // executed, but the response is lost
		response, err := b.RoundTripper.RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		return nil, errors.New("the answer is lost")
	case 2: // executed, but only half of the response arrives
		response, err := b.RoundTripper.RoundTrip(request)
		if err == nil {
			all, _ := io.ReadAll(response.Body)
			response.Body.Close()
			response.Body = io.NopCloser(bytes.NewReader(all[:len(all)/2]))
		}
		return response, err
	case 3:
		return failure(request, http.StatusTooManyRequests, "TooManyRequests"), nil
	case 4:
		return failure(request, http.StatusConflict, "Conflict"), nil
	default:
		return failure(request, http.StatusInternalServerError, "InternalError"), nil
	}
}

func failure(request *http.Request, code int, reason string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","reason":%q,"code":%d}`, reason, code)
	response := &http.Response{
		StatusCode: code, Request: request, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
	if code == http.StatusTooManyRequests {
		response.Header.Set("Retry-After", "1")
	}
	return response
}

func TestRequestsThatFailInAnyWayAreMadeUpFor(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	churn := f.recordChurn()
	unlucky := &flaky{}
	f.RunThrough(unlucky.wrap, controller.Options{})

	f.Submit("app", mixed(10))
	f.AwaitHeld("app")
	f.Submit("app", strings.Replace(mixed(8), "web:1", "web:2", 1))
	f.AwaitHeld("app")
	f.AwaitValue(deployments, "web", "web:2", "spec", "template", "spec", "containers", "0", "image")
	f.Quiet(quiet)
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.Quiet(quiet)

	assert.GreaterOrEqual(t, unlucky.failures.Load(), int64(6), "each way of failing, of %d requests", unlucky.requests.Load())
	churn.assert(f, map[string]int{
		"ADDED applications": 1, "ADDED configmaps": 6, "ADDED deployments": 1, "ADDED secrets": 1, "ADDED services": 1,
		"DELETED applications": 1, "DELETED configmaps": 6, "DELETED deployments": 1, "DELETED secrets": 1, "DELETED services": 1,
		"ADDED serviceaccounts": 2, "DELETED serviceaccounts": 1, // one is the applier
	}, "")
}

// brittle ends every watch after a second, in three ways in turn. The stream closes silently, breaks in
// the middle of a line, or reports that the resource version is too old.
type brittle struct {
	http.RoundTripper
	ended atomic.Int64
}

func (b *brittle) wrap(next http.RoundTripper) http.RoundTripper {
	b.RoundTripper = next
	return b
}

func (b *brittle) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err != nil || request.URL.Query().Get("watch") == "" {
		return response, err
	}
	last := []string{
		"", `{"type":"MODIFIED","object":{"kind":"Conf`,
		`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old","reason":"Expired","code":410}}` + "\n",
	}[b.ended.Add(1)%3]
	body := response.Body
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, body)
		writer.CloseWithError(err)
	}()
	time.AfterFunc(time.Second, func() {
		// io.Pipe finishes the current write first, so this arrives between two events.
		_, _ = io.WriteString(writer, last)
		_ = writer.Close()
		_ = body.Close()
	})
	response.Body = reader
	return response, nil
}

func TestWatchesThatBreakAllTheTimeMissNothing(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	weak := &brittle{}
	f.RunThrough(weak.wrap, controller.Options{})
	f.Submit("app", configs(20))
	f.AwaitReady("app")
	f.Mark()

	const n = 20
	for i := range n {
		name := fmt.Sprintf("config-%d", i)
		if i%4 == 3 {
			f.Delete(configMaps, name)
		} else {
			f.Patch("mallory", configMaps, name, `{data: {key: theirs}}`)
		}
		f.AwaitValue(configMaps, name, "held", "data", "key")
		select { // spread the changes over several watches
		case <-time.After(300 * time.Millisecond):
		case <-t.Context().Done():
		}
	}

	f.AwaitReady("app")
	writes := counts(f.touched())
	assert.Equal(t, map[string]int{"patch configmaps": n - n/4, "create configmaps": n / 4}, writes, "%s", f.touched())
	f.eventually("many watches to end", func() bool { return weak.ended.Load() > 10 })
	t.Logf("%d watches have ended", weak.ended.Load())
}

// explosive panics at the first request for some objects.
type explosive struct {
	http.RoundTripper
	left atomic.Int64
}

func (e *explosive) wrap(next http.RoundTripper) http.RoundTripper {
	e.RoundTripper = next
	return e
}

func (e *explosive) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/configmaps") && e.left.Add(-1) >= 0 {
		panic("a test")
	}
	return e.RoundTripper.RoundTrip(request)
}

// A panic during the reconcile of an Application is an error of that Application only, wherever the
// panic occurs.
func TestAPanicDoesNotStopTheController(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	var calls atomic.Int64
	bomb := &explosive{}
	bomb.left.Store(3)
	f.RunThrough(bomb.wrap, controller.Options{Now: func() time.Time {
		if calls.Add(1) <= 3 {
			panic("a test")
		}
		return time.Now()
	}})
	for i := range 5 {
		f.Submit(fmt.Sprintf("app-%d", i), strings.ReplaceAll(configs(3), "config-", fmt.Sprintf("config-%d-", i)))
	}
	for i := range 5 {
		f.AwaitReady(fmt.Sprintf("app-%d", i))
	}
	assert.Greater(t, calls.Load(), int64(3))
	assert.Negative(t, bomb.left.Load())
}

// refusing responds to the first reads of one object with an error.
type refusing struct {
	http.RoundTripper
	object string
	left   atomic.Int64
}

func (r *refusing) wrap(next http.RoundTripper) http.RoundTripper {
	r.RoundTripper = next
	return r
}

func (r *refusing) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, r.object) && r.left.Add(-1) >= 0 {
		return failure(request, http.StatusInternalServerError, "InternalError"), nil
	}
	return r.RoundTripper.RoundTrip(request)
}

// The object is recorded but no longer desired, and no watch covers it. Only a read shows whether it
// still exists. No other event makes the controller read it again.
func TestAReadThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		t.Run(fmt.Sprintf("deleted=%v", deleted), func(t *testing.T) {
			f := givenAlone(t, testcluster.Options{})
			first := f.Run(controller.Options{})
			f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: goes}}]}`)
			f.AwaitHeld("app")
			first.Stop()
			f.Delete(configMaps, "goes")
			if deleted {
				f.Delete(applications, "app")
			} else {
				f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: stays}}]}`)
			}

			unlucky := &refusing{object: "/configmaps/goes"}
			unlucky.left.Store(3)
			f.RunThrough(unlucky.wrap, controller.Options{})

			if deleted {
				f.AwaitGone(applications, "app")
			} else {
				f.AwaitHeld("app")
				require.Len(t, f.Application("app").Status.Resources, 1)
			}
			assert.Negative(t, unlucky.left.Load(), "the server returned all errors")
		})
	}
}

// deaf blocks all traffic of a resource from some point on. It withholds watch events and responses to
// creates, but the first create is executed.
type deaf struct {
	http.RoundTripper
	resource string
	now      atomic.Bool
	created  atomic.Int64
	released chan struct{}
}

func (d *deaf) wrap(next http.RoundTripper) http.RoundTripper {
	d.RoundTripper = next
	return d
}

func (d *deaf) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, d.resource) {
		return d.RoundTripper.RoundTrip(request)
	}
	if request.Method == http.MethodPost && d.now.Load() {
		if d.created.Add(1) == 1 {
			response, err := d.RoundTripper.RoundTrip(request)
			if err == nil {
				response.Body.Close()
			}
		}
		return nil, errors.New("connection reset by peer")
	}
	response, err := d.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Get("watch") != "" {
		response.Body = &deafBody{ReadCloser: response.Body, deaf: d}
	}
	return response, err
}

type deafBody struct {
	io.ReadCloser
	*deaf
}

func (b *deafBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.now.Load() {
		<-b.released
	}
	return n, err
}

// A create gets no response. The watch reports its result late, and the status does not contain it at
// all.
func TestObjectOfUnansweredCreateIsDeleted(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{true, false} {
		t.Run(fmt.Sprintf("deleted=%v", deleted), func(t *testing.T) {
			f := givenAlone(t, testcluster.Options{})
			const one = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}`
			line := &deaf{resource: "/configmaps", released: make(chan struct{})}
			f.RunThrough(line.wrap, controller.Options{})
			defer close(line.released)
			f.Submit("app", `{manifest: [`+one+`]}`)
			f.AwaitReady("app")
			line.now.Store(true)
			f.Submit("app", `{manifest: [`+one+`, {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}]}`)
			f.Await(configMaps, "two", "created", func(object map[string]any) bool { return object != nil })
			f.AwaitReason("app", v1alpha1.ReasonRetrying)

			if deleted {
				f.Delete(applications, "app")
				f.AwaitGone(applications, "app")
			} else {
				f.Submit("app", `{manifest: [`+one+`]}`)
				f.AwaitReady("app")
			}

			assert.Nil(t, f.Get(configMaps, "two"))
		})
	}
}
