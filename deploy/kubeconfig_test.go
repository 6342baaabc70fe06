package deploy_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

// The commands of docs/install.md for a controller outside of the cluster, except for those that install
// it and run it.
func TestKubeconfigHasOnlyRightsOfController(t *testing.T) {
	c := withDefault(t)
	program, err := binaries.Ensure(t.Context(), io.Discard)
	require.NoError(t, err)
	text, err := os.ReadFile("../docs/install.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Outside the cluster\n")
	require.True(t, found)
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	_, block, found = strings.Cut(block, "--replicas=0\n")
	require.True(t, found)
	block, _, found = strings.Cut(block, "bin/holdfast-controller ")
	require.True(t, found)

	directory := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", `kubectl() { "$PROGRAM" kubectl "$@"; }`+"\n"+block)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "PROGRAM="+program, "KUBECONFIG="+c.Kubeconfig(), "KUBECTL_KUBERC=false")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)

	path := filepath.Join(directory, "controller.kubeconfig")
	config, err := clientcmd.LoadFromFile(path)
	require.NoError(t, err)
	require.Len(t, config.AuthInfos, 1, "the administrator is in it")
	user := config.AuthInfos["holdfast-controller"]
	require.NotNil(t, user)
	assert.NotEmpty(t, user.Token)
	assert.Empty(t, user.ClientCertificateData)
	assert.Equal(t, "system:serviceaccount:holdfast-system:holdfast-controller",
		strings.TrimSpace(kubectl(t, c, "", "--kubeconfig="+path, "auth", "whoami", "--output=jsonpath={.status.userInfo.username}")))
}
