package program

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/fetch"
)

// applied returns the options for flags about sources.
func applied(t *testing.T, args ...string) (options controller.Options, err error) {
	t.Helper()
	var f sourceFlags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(set)
	require.NoError(t, set.Parse(args))
	err = f.apply(&options)
	return options, err
}

func TestInvalidSourceFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--allow-url-prefix=example.com":          `--allow-url-prefix: "example.com" is not a URL prefix`,
		"--allow-url-prefix=https://u@example.io": "--allow-url-prefix: ",
		"--allow-url-network=localhost":           `--allow-url-network: "localhost" is not a network such as 10.1.0.0/16`,
		"--source-interval=10ms":                  "--source-interval is 10ms, must be at least 1s",
	} {
		_, err := applied(t, flag)
		assert.ErrorContains(t, err, want)
	}
}

func TestFetchAllowedByFlags(t *testing.T) {
	options, err := applied(t, "--allow-url-prefix=https://127.0.0.1:1/t/", "--allow-url-network=127.0.0.1/8", "--source-interval=7s")
	require.NoError(t, err)
	assert.Equal(t, 7*time.Second, options.SourceInterval)
	_, err = options.Fetcher.Get(t.Context(), "https://127.0.0.1:1/t/a", fetch.Page{})
	assert.ErrorContains(t, err, "connection refused", "it was tried")
	_, err = options.Fetcher.Get(t.Context(), "https://127.0.0.1:1/a", fetch.Page{})
	assert.ErrorContains(t, err, "no --allow-url-prefix")
}
