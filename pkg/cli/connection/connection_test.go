package connection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

// kubeconfig writes a file whose contexts refer to clusters of the same name. The namespace of context NAME
// is in-NAME.
func kubeconfig(t *testing.T, current string, contexts ...string) string {
	t.Helper()
	var config struct {
		APIVersion     string           `json:"apiVersion"`
		Kind           string           `json:"kind"`
		CurrentContext string           `json:"current-context"`
		Clusters       []map[string]any `json:"clusters"`
		Contexts       []map[string]any `json:"contexts"`
	}
	config.APIVersion, config.Kind, config.CurrentContext = "v1", "Config", current
	for _, name := range contexts {
		config.Clusters = append(config.Clusters, map[string]any{"name": name, "cluster": map[string]any{"server": "https://" + name + ".example.com"}})
		config.Contexts = append(config.Contexts, map[string]any{"name": name, "context": map[string]any{"cluster": name, "namespace": "in-" + name}})
	}
	raw, err := json.Marshal(config)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	return file
}

// connect returns the connection that the flags describe.
func connect(t *testing.T, args ...string) (*connection.Cluster, error) {
	t.Helper()
	flags := connection.NewFlags()
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Add(set)
	require.NoError(t, set.Parse(args))
	return flags.Connect()
}

// nothingConfigured hides the configuration of the user who runs the tests.
func nothingConfigured(t *testing.T) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestWhichClusterIsMeant(t *testing.T) {
	one, two := kubeconfig(t, "one", "one", "other"), kubeconfig(t, "two", "two")
	for _, row := range []struct {
		name, env         string
		args              []string
		server, namespace string
	}{
		{"the current context of KUBECONFIG", one, nil, "https://one.example.com", "in-one"},
		{"of several files, the first has the current context", one + string(os.PathListSeparator) + two, nil, "https://one.example.com", "in-one"},
		{"and any has the others", one + string(os.PathListSeparator) + two, []string{"--context", "two"}, "https://two.example.com", "in-two"},
		{"a flag wins over the environment", one, []string{"--kubeconfig", two}, "https://two.example.com", "in-two"},
		{"another context", one, []string{"--context", "other"}, "https://other.example.com", "in-other"},
		{"another namespace", one, []string{"-n", "shop"}, "https://one.example.com", "shop"},
		{"another server", one, []string{"--server", "https://elsewhere.example.com"}, "https://elsewhere.example.com", "in-one"},
		{"no file at all, but a server", filepath.Join(t.TempDir(), "none"), []string{"--server", "https://elsewhere.example.com"}, "https://elsewhere.example.com", "default"},
	} {
		t.Run(row.name, func(t *testing.T) {
			nothingConfigured(t)
			t.Setenv("KUBECONFIG", row.env)
			c, err := connect(t, row.args...)
			require.NoError(t, err)
			assert.Equal(t, row.server, c.Config.Host)
			assert.Equal(t, row.namespace, c.Namespace)
		})
	}
}

func TestWhyThereIsNoConnection(t *testing.T) {
	one := kubeconfig(t, "one", "one", "other")
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("clusters: 7"), 0o600))
	for _, row := range []struct {
		name, env string
		args      []string
		want      string
	}{
		{"no kubeconfig", "", nil, "no cluster is configured: use --kubeconfig, or set KUBECONFIG to an existing file"},
		{"a missing kubeconfig", one, []string{"--kubeconfig", "nowhere"}, "--kubeconfig nowhere: the file does not exist"},
		{"a mistyped context", one, []string{"--context", "ohter"}, `the kubeconfig has no context "ohter": did you mean other?`},
		{"another context", one, []string{"--context", "production"}, `the kubeconfig has no context "production": it has one, other`},
		{"an unknown user", one, []string{"--user", "me"}, `reading the kubeconfig: auth info "me" does not exist`},
		{"a file that is not a kubeconfig", broken, nil, "reading the kubeconfig: error loading config file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			nothingConfigured(t)
			if row.env != "" {
				t.Setenv("KUBECONFIG", row.env)
			}
			_, err := connect(t, row.args...)
			require.Error(t, err)
			assert.Contains(t, err.Error(), row.want)
		})
	}
}

func TestExplained(t *testing.T) {
	applications := schema.GroupResource{Group: "holdfast.dev", Resource: "applications"}
	for _, row := range []struct {
		name, verb string
		err        error
		want       string
	}{
		{"no error", "get", nil, ""},
		{"an interrupted request", "get", fmt.Errorf("reading: %w", context.Canceled), "interrupted"},
		{"a forbidden get", "get", apierrors.NewForbidden(applications, "web", errors.New("no")), `it: you may not get it: applications.holdfast.dev "web" is forbidden: no. Ask for that right, or use another --context or --as`},
		{"a forbidden list", "list", apierrors.NewForbidden(applications, "", errors.New("no")), `it: you may not list them: applications.holdfast.dev is forbidden: no. Ask for that right, or use another --context or --as`},
		{"unknown credentials", "get", apierrors.NewUnauthorized("who?"), "it: the API server https://one.example.com did not accept your credentials: check the user in the kubeconfig, or use another --context"},
		{
			"a refusal names its fields, and not the object again", "patch",
			&apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: metav1.StatusReasonInvalid, Message: `Application.holdfast.dev "web" is invalid: spec: exactly one`,
				Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: "spec", Message: "exactly one"}, {Message: "and more"}}},
			}},
			"it: the API server rejects it: spec: exactly one; and more",
		},
		{"anything else", "get", apierrors.NewInternalError(errors.New("oh")), "it: Internal error occurred: oh"},
	} {
		t.Run(row.name, func(t *testing.T) {
			nothingConfigured(t)
			t.Setenv("KUBECONFIG", kubeconfig(t, "one", "one"))
			c, err := connect(t)
			require.NoError(t, err)
			explained := c.Explained(row.err, row.verb, "it")
			if row.want == "" {
				require.NoError(t, explained)
				return
			}
			require.EqualError(t, explained, row.want)
		})
	}
}

// If a real connection fails, the message contains the error of the transport, without the URL of the
// request.
func TestAServerThatCannotBeReached(t *testing.T) {
	nothingConfigured(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	for _, row := range []struct{ name, server, why string }{
		{"nothing listens there", closed, "connection refused"},
		{"it does not answer in time", silent.URL, "exceeded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := connect(t, "--server", row.server, "--request-timeout", "1s")
			require.NoError(t, err)
			_, err = c.Application(t.Context(), "web")
			require.Error(t, err)
			assert.Contains(t, err.Error(), "cannot reach the API server "+row.server+": ")
			assert.Contains(t, err.Error(), row.why)
			assert.Contains(t, err.Error(), ". To use another cluster, set --kubeconfig or --context")
			assert.NotContains(t, err.Error(), "/apis/")
		})
	}
}

func TestReadinessOfStoredGeneration(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", Message: "all is well"}
	for _, row := range []struct {
		name                 string
		generation, observed int64
		conditions           []metav1.Condition
		want                 connection.Readiness
	}{
		{"the controller has not looked", 1, -1, nil, connection.Readiness{Status: "Unknown", Reason: "Waiting", Message: "the controller has not reconciled it yet", Pending: true}},
		{"it has looked at an older version", 2, 1, []metav1.Condition{ready}, connection.Readiness{Status: "Unknown", Reason: "Waiting", Message: "the controller has not reconciled this version yet", Pending: true}},
		{"it has looked at this one", 2, 2, []metav1.Condition{{Type: "Held", Status: "False"}, ready}, connection.Readiness{Status: "True", Reason: "Ready", Message: "all is well"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := &v1alpha1.Application{}
			app.Generation, app.Status.ObservedGeneration, app.Status.Conditions = row.generation, row.observed, row.conditions
			assert.Equal(t, row.want, connection.ReadyIn(app))
			raw, err := json.Marshal(app)
			require.NoError(t, err)
			u := &unstructured.Unstructured{}
			require.NoError(t, u.UnmarshalJSON([]byte(`{"apiVersion":"holdfast.dev/v1alpha1","kind":"Application",`+string(raw[1:]))))
			assert.Equal(t, row.want, connection.ReadyOf(u.Object), "of the object as it is stored")
		})
	}
}

func TestHowLongToWait(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"it does not wait", nil, ""},
		{"it waits", []string{"--wait"}, ""},
		{"without limit", []string{"--wait", "--timeout", "0"}, ""},
		{"for less than nothing", []string{"--wait", "--timeout=-1s"}, "--timeout needs a duration such as 30s or 5m, or 0 for no limit, not -1s"},
		{"a limit, and no waiting", []string{"--timeout", "1s"}, "--timeout needs --wait: add --wait, or omit --timeout"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var flags connection.WaitFlags
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			flags.Add(set, "until it is ready")
			require.NoError(t, set.Parse(row.args))
			if row.want == "" {
				require.NoError(t, flags.Check())
				return
			}
			require.EqualError(t, flags.Check(), row.want)
		})
	}
}
