package program

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/leaderelection"
	logsapi "k8s.io/component-base/logs/api/v1"
)

func TestInvalidFlags(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no worker", []string{"--concurrency=0"}, "--concurrency is 0"},
		{"an argument", []string{"hold"}, "unexpected arguments"},
		{"a flag that there is not", []string{"--nonsense"}, "--nonsense"},
		{"a lease shorter than its renewal", []string{"--leader-elect-lease-duration=5s"}, "leaseDuration"},
		{"profiles on all interfaces", []string{"--profiling-bind-address=:6060"}, "--profiling-bind-address"},
		{"profiles for the network", []string{"--profiling-bind-address=10.0.0.1:6060"}, "--profiling-bind-address"},
		{"an address without a port", []string{"--profiling-bind-address=localhost"}, "--profiling-bind-address"},
		{"a negative interval", []string{"--resync-interval=-1s"}, "--resync-interval"},
		{"a user as ServiceAccount", []string{"--default-service-account=dep..loyer"}, "--default-service-account"},
		{"callbacks at no URL", []string{"--callback-external-url=holdfast-callback"}, "--callback-external-url"},
		{"callbacks at a URL that tells a password", []string{"--callback-external-url=https://a:hunter2@b"}, "https://a:xxxxx@b contains a user"},
		{"plain HTTP at a URL that is not", []string{"--callback-insecure-http"}, "--callback-external-url"},
		{"a URL of plain HTTP that is served with TLS", []string{"--callback-external-url=http://a"}, "--callback-external-url"},
		{"plain HTTP with a certificate", []string{"--callback-insecure-http", "--callback-external-url=http://a", "--callback-tls-cert-file=a", "--callback-tls-key-file=b"}, "exclude each other"},
		{"audit events without TLS", []string{"--audit-webhook-bind-address=:1", "--audit-webhook-token-file=a"}, "needs --audit-webhook-tls-cert-file"},
		{"audit events from any client", []string{"--audit-webhook-bind-address=:1", "--audit-webhook-tls-cert-file=a", "--audit-webhook-tls-private-key-file=b"}, "needs --audit-webhook-client-ca-file"},
		{"audit events to nowhere", []string{"--audit-webhook-token-file=a"}, "need --audit-webhook-bind-address"},
		{"audit events, and a file that is not there", []string{
			"--audit-webhook-bind-address=:1", "--audit-webhook-tls-cert-file=/nowhere/a", "--audit-webhook-tls-private-key-file=b", "--audit-webhook-token-file=a",
		}, "/nowhere/a"},
		{"a certificate without a key", []string{"--callback-tls-cert-file=a"}, "must be set together"},
		{"a key without a certificate", []string{"--callback-tls-key-file=a"}, "must be set together"},
		{"a bundle without a certificate", []string{"--callback-ca-file=a"}, "--callback-ca-file needs --callback-tls-cert-file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := parse(row.args)
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func TestInitialSelectionIsValidated(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"a namespace that cannot be", []string{"--watch-namespaces=a,B"}, `"B" is not a valid name of a namespace`},
		{"a selector that cannot be read", []string{"--selector=,"}, "--selector"},
		{"a file that is not there", []string{"--config=/nowhere/config.yaml"}, "/nowhere/config.yaml"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f, err := parse(row.args)
			require.NoError(t, err)
			_, err = f.selection()
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func TestDocumentationNamesEveryFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/install.md")
	require.NoError(t, err)
	f := &flags{logging: logsapi.NewLoggingConfiguration(), election: defaultElection()}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(set)
	set.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "version" && flag.Name != "v" {
			assert.Contains(t, string(text), "`--"+flag.Name+"`")
		}
	})
	for line := range strings.Lines(usage(set)) {
		assert.LessOrEqual(t, len(strings.TrimSpace(line)), 90, "fits a terminal")
	}
}

func TestFlagDefaults(t *testing.T) {
	f, err := parse(nil)
	require.NoError(t, err)
	assert.True(t, f.election.LeaderElect)
	assert.Equal(t, 30*time.Second, f.election.LeaseDuration.Duration)
	assert.Equal(t, 15*time.Second, f.election.RenewDeadline.Duration)
	assert.Equal(t, 5*time.Second, f.election.RetryPeriod.Duration)
	longest := time.Duration(float64(f.election.RetryPeriod.Duration) * (1 + leaderelection.JitterFactor))
	assert.LessOrEqual(t, f.election.LeaseDuration.Duration+2*longest, 55*time.Second, "as in docs/operations.md")
	assert.Equal(t, 10*time.Hour, f.options.ResyncInterval)
	assert.Equal(t, "holdfast-applier", f.options.DefaultServiceAccount)
	assert.Empty(t, f.profilingAddress)
	assert.False(t, f.callback.insecure)
}

func TestValidFlags(t *testing.T) {
	f, err := parse([]string{"--profiling-bind-address=[::1]:6060", "--watch-namespaces=b,a,b", "--selector=team in (a, b)", "-v=10", "--logging-format=json"})
	require.NoError(t, err)
	selection, err := f.selection()
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, selection.Namespaces)
	assert.Equal(t, "team in (a,b)", selection.Labels.String())
	assert.EqualValues(t, mostVerbose, f.logging.Verbosity, "above, bodies of requests would be logged")
	assert.True(t, f.election.LeaderElect)
}
