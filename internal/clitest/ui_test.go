package clitest

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cli"
)

// looker is an HTTP client of a page. The tests of tools/ui use a real browser.
type looker struct {
	*testing.T

	host   string
	client *http.Client
}

// look runs `holdfast ui` and opens the address that it prints.
func look(t *testing.T, c *testcluster.Cluster, args ...string) looker {
	t.Helper()
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(ctx, append([]string{"holdfast", "ui", "--kubeconfig", c.Kubeconfig()}, args...), cli.Streams{
			In: strings.NewReader(""), Out: in, Err: io.Discard, Getenv: os.Getenv, Now: time.Now,
		})
		_ = in.Close()
	}()
	t.Cleanup(func() {
		cancel()
		assert.Equal(t, 0, <-ended)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	host, _, _ := strings.Cut(line, "/?token=")
	l := looker{t, host, &http.Client{Jar: jar}}
	status, _ := l.get(strings.TrimPrefix(strings.TrimSpace(line), host))
	require.Equal(t, http.StatusOK, status)
	return l
}

func (l looker) open(path string) *http.Response {
	l.Helper()
	r, err := http.NewRequestWithContext(l.Context(), http.MethodGet, l.host+path, http.NoBody)
	require.NoError(l, err)
	answer, err := l.client.Do(r)
	require.NoError(l, err)
	return answer
}

func (l looker) get(path string) (status int, text string) {
	l.Helper()
	answer := l.open(path)
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	require.NoError(l, err)
	return answer.StatusCode, string(all)
}

const looked = `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: web}, spec: {manifest: [
	{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {key: ours}}]}}`

// Changes arrive through the single watch of Applications, so neither they nor an open page cause further
// requests.
func TestPageUpdatesWithoutRequests(t *testing.T) {
	c, err := held()
	require.NoError(t, err)
	s := setUp{t, c}
	namespace := c.Namespace(t)
	s.kubectl("", "create", "serviceaccount", "holdfast-applier", "-n", namespace)
	s.kubectl("", "create", "rolebinding", "holdfast-applier", "-n", namespace, "--clusterrole=edit", "--serviceaccount="+namespace+":holdfast-applier")
	l := look(t, c)
	status, text := l.get("/?namespace=" + namespace)
	assert.Equal(t, http.StatusOK, status)
	assert.NotContains(t, text, namespace+"/web")
	stream := l.open("/events?since=0")
	defer stream.Body.Close()
	assert.Equal(t, "text/event-stream", stream.Header.Get("Content-Type"))

	mark := c.Mark()
	s.kubectl(looked, "create", "--filename=-", "-n", namespace)
	for lines := bufio.NewScanner(stream.Body); ; {
		require.True(t, lines.Scan(), "the stream ended")
		if strings.Contains(lines.Text(), namespace+"/web") {
			break
		}
	}
	status, text = l.get("/")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, `id="`+namespace+`/web"`)
	requests, err := c.Requests(mark)
	require.NoError(t, err)
	assert.Empty(t, requests.By("holdfast/"+version.String()).Where(func(r testcluster.Request) bool { return r.Verb != "watch" }))

	s.kubectl("", "wait", "hfapp/web", "-n", namespace, "--for=condition=Ready", "--timeout=120s")
	status, text = l.get("/applications/" + namespace + "/web")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "Plan: nothing to do, 1 unchanged")
	status, text = l.get("/applications/" + namespace + "/web/configmap/" + namespace + "/web")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, text, "  key: ours")
	status, text = l.get("/applications/" + namespace + "/wob")
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, text, "did you mean web?")
}

// A page shows only what its user can read with kubectl.
func TestPageUsesPermissionsOfUser(t *testing.T) {
	c, err := held()
	require.NoError(t, err)
	s := setUp{t, c}
	mine, other := c.Namespace(t), c.Namespace(t)
	for _, namespace := range []string{mine, other} {
		s.kubectl(looked, "create", "--filename=-", "-n", namespace)
	}
	s.kubectl("", "create", "role", "looks", "-n", mine, "--verb=get,list,watch", "--resource=applications.holdfast.dev")
	s.kubectl("", "create", "rolebinding", "looks", "-n", mine, "--role=looks", "--user=page-reader")
	status, _, stderr := s.holdfast("ui", "--kubeconfig", c.Kubeconfig(), "--as", "page-reader", "-n", other)
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "you may not list them")

	l := look(t, c, "--as", "page-reader", "-n", mine)
	_, text := l.get("/")
	assert.Contains(t, text, mine+"/web")
	assert.NotContains(t, text, other+"/web")
	code, text := l.get("/applications/" + other + "/web")
	assert.Equal(t, http.StatusForbidden, code)
	assert.Contains(t, text, "you may not get it")
	_, text = l.get("/applications/" + mine + "/web")
	assert.Contains(t, text, "you may not read them")
}
