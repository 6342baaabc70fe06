package installed

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/testcluster"
)

// RunImage starts the controller as a kubelet does: with the command of its image, in a directory with the
// files of the image, and with the user, arguments, environment and mounted files of the documents. It has
// no access to files outside of the directory. It returns when the controller serves.
func RunImage(t testing.TB, c *testcluster.Cluster, documents, root string, command ...string) *Controller {
	t.Helper()
	p := &Controller{t: t, cluster: c, namespace: Deployment(t, documents).Namespace, mark: c.Mark()}
	configuration, err := os.ReadFile(mounted(t, documents))
	require.NoError(t, err)
	config := c.Config()
	authority := config.CAData
	if len(authority) == 0 {
		authority, err = os.ReadFile(config.CAFile)
		require.NoError(t, err)
	}
	const account = "var/run/secrets/kubernetes.io/serviceaccount/"
	for path, content := range map[string]string{
		"etc/holdfast/config.yaml": string(configuration),
		account + "ca.crt":         string(authority),
		account + "token":          p.token(),
		account + "namespace":      p.namespace,
	} {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	args := slices.Concat(command[1:], Arguments(Deployment(t, documents)), anyPort)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command[0], args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", p.environment(documents, config.Host), confined(t, documents, root)
	return p.start(cmd)
}

// environment returns the environment variables that the kubelet sets in the container.
func (p *Controller) environment(documents, server string) []string {
	p.t.Helper()
	at, err := url.Parse(server)
	require.NoError(p.t, err)
	all := []string{"KUBERNETES_SERVICE_HOST=" + at.Hostname(), "KUBERNETES_SERVICE_PORT=" + at.Port()}
	for _, env := range Deployment(p.t, documents).Spec.Template.Spec.Containers[0].Env {
		value := env.Value
		if env.ValueFrom != nil {
			require.Equal(p.t, &corev1.ObjectFieldSelector{APIVersion: "", FieldPath: "metadata.namespace"}, env.ValueFrom.FieldRef)
			value = p.namespace
		}
		all = append(all, env.Name+"="+value)
	}
	return all
}

// confined returns attributes that restrict a process to a directory and run it as the user and group of
// the Deployment. Without root privileges it uses a user namespace.
func confined(t testing.TB, documents, root string) *syscall.SysProcAttr {
	t.Helper()
	context := Deployment(t, documents).Spec.Template.Spec.SecurityContext
	require.NotNil(t, context)
	user, group := int(*context.RunAsUser), int(*context.RunAsGroup)
	attributes := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(group)}}
	if os.Getuid() != 0 {
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: group, HostID: os.Getgid(), Size: 1}}
		attributes.Credential.NoSetGroups = true
	}
	return attributes
}
