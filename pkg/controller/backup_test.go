package controller_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// Resource versions decrease when etcd is restored from a backup. The controller holds the restored
// state without a restart.
func TestABackupThatIsRestoredIsHeld(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	f.Run(controller.Options{})
	f.Submit("app", configs(3))
	f.AwaitReady("app")
	f.Quiet(time.Second)
	data, backup := filepath.Join(f.cluster.Dir(), "etcd"), filepath.Join(t.TempDir(), "backup")
	whileDown := func(do func()) {
		require.NoError(t, f.cluster.Kill(testcluster.APIServer))
		require.NoError(t, f.cluster.Kill(testcluster.Etcd))
		do()
		require.NoError(t, f.cluster.Restart(testcluster.Etcd))
		require.NoError(t, f.cluster.Restart(testcluster.APIServer))
	}
	whileDown(func() { require.NoError(t, exec.Command("cp", "-r", data, backup).Run()) })
	before := value(f.Get(applications, "app"), "metadata", "generation")

	// Given a changed spec and a new Application after the backup,
	f.Submit("app", strings.ReplaceAll(configs(4), "held", "newer"))
	f.AwaitValue(configMaps, "config-3", "newer", "data", "key")
	f.Submit("later", strings.ReplaceAll(oneConfig, "name: config", "name: later"))
	f.AwaitReady("later")
	f.AwaitReady("app")
	f.Quiet(time.Second)

	// when the backup is restored,
	whileDown(func() {
		require.NoError(t, os.RemoveAll(data))
		require.NoError(t, os.Rename(backup, data))
	})
	assert.Equal(t, before, value(f.Get(applications, "app"), "metadata", "generation"))

	// then the restored spec is held,
	f.Patch("mallory", configMaps, "config-0", `{data: {key: theirs}}`)
	f.AwaitValue(configMaps, "config-0", "held", "data", "key")
	f.AwaitReady("app")
	f.Submit("app", strings.ReplaceAll(configs(5), "held", "newest"))
	f.AwaitValue(configMaps, "config-4", "newest", "data", "key")
	f.AwaitReady("app")
	assert.Nil(t, f.Application("later"))
	f.Quiet(quiet)
}
