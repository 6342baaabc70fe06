//go:build mysqlserver

// These tests run the rendered files with a real server: `make test-mysql`. The server is MariaDB from
// Debian's package mariadb-server. It supports all rendered options except those with the prefix "loose-".

package mysql_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

// mysqldWrapper replaces the mysqld of the image: it calls MariaDB, which initializes its data with another
// program, and listens on the address of the test. Like mysqld, it fails to initialize a directory that is
// not empty.
const asMysqld = `#!/bin/bash
set -euo pipefail
for argument; do
  if [[ $argument == --datadir=* ]]; then
    data=${argument#--datadir=}
  fi
  if [[ $argument == --initialize-insecure && -d $data && -n $(ls -A "$data") ]]; then
    echo "the data directory has files in it" >&2
    exit 1
  fi
  if [[ $argument == --initialize-insecure ]]; then
    exec mariadb-install-db "${@:1:$#-1}" --auth-root-authentication-method=normal --skip-test-db --user="$(id -un)" >/dev/null
  fi
done
exec mariadbd "$@" --user="$(id -un)" --bind-address=127.0.0.1 --port=%d
`

// awkward contains characters that need quoting in one of the files.
const awkward = `p'a"s\s $(id) ` + "`id`" + ` & # ; % _ = é`

// pod runs the container of a rendered StatefulSet on this machine.
type pod struct {
	t           *testing.T
	directories map[string]string // path in the container → path on this machine
	container   map[string]any
	path        string
	server      *exec.Cmd
	ended       chan error
	log         bytes.Buffer
}

func newPod(t *testing.T, spec map[string]any, passwords ...string) *pod {
	t.Helper()
	object := map[string]any{"apiVersion": "fnjoin.com/v1", "kind": "Mysql", "metadata": map[string]any{"name": "db", "namespace": "shop"}, "spec": spec}
	rendered, err := mysql.Template{}.Render(template.Input{Object: object})
	require.NoError(t, err)
	root := t.TempDir()
	p := &pod{t: t, path: filepath.Join(root, "bin"), directories: map[string]string{}}
	for _, m := range rendered.Manifests {
		if m["kind"] == "StatefulSet" {
			containers, _, _ := unstructured.NestedSlice(m, "spec", "template", "spec", "containers")
			p.container = containers[0].(map[string]any)
		}
	}
	mounts, _, _ := unstructured.NestedSlice(p.container, "volumeMounts")
	for _, mount := range mounts {
		m := mount.(map[string]any)
		directory := filepath.Join(root, m["name"].(string))
		require.NoError(t, os.Mkdir(directory, 0o700))
		p.directories[m["mountPath"].(string)] = directory
	}
	for _, m := range rendered.Manifests {
		switch m["kind"] {
		case "ConfigMap":
			p.fill("/etc/holdfast/mysql", m["data"].(map[string]any))
		case "Secret":
			p.fill("/run/credentials", m["stringData"].(map[string]any))
		}
	}
	p.setPasswords(passwords[0], passwords[1])
	port := freePort(t)
	p.fill("/run/credentials", map[string]any{"port": fmt.Sprint(port)})
	require.NoError(t, os.Mkdir(p.path, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(p.path, "mysqld"), fmt.Appendf(nil, asMysqld, port), 0o700))
	return p
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// fill writes files to a directory of the container.
func (p *pod) fill(directory string, files map[string]any) {
	p.t.Helper()
	for name, content := range files {
		require.NoError(p.t, os.WriteFile(filepath.Join(p.directories[directory], name), []byte(content.(string)), 0o600))
	}
}

func (p *pod) setPasswords(password, rootPassword string) {
	p.t.Helper()
	p.fill("/run/credentials", map[string]any{"password": password, "root-password": rootPassword})
}

// command returns a command of the container, with the paths of this machine.
func (p *pod) command(path ...string) *exec.Cmd {
	p.t.Helper()
	words, found, err := unstructured.NestedStringSlice(p.container, path...)
	require.True(p.t, found && err == nil, path)
	for i, word := range words {
		for inside, here := range p.directories {
			if inside != "/tmp" {
				word = strings.ReplaceAll(word, inside, here)
			}
		}
		words[i] = word
	}
	return p.exec(words...)
}

func (p *pod) exec(words ...string) *exec.Cmd {
	program := words[0]
	if shim := filepath.Join(p.path, program); program == "mysqld" {
		program = shim
	}
	cmd := exec.CommandContext(p.t.Context(), program, words[1:]...)
	cmd.Env = []string{"PATH=" + p.path + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	return cmd
}

// Start runs the container and waits until its readiness probe succeeds.
func (p *pod) Start() {
	p.t.Helper()
	p.start()
	require.Eventually(p.t, func() bool {
		select {
		case err := <-p.ended:
			p.ended <- err
			return true
		default:
			return p.command("readinessProbe", "exec", "command").Run() == nil
		}
	}, 2*time.Minute, 100*time.Millisecond)
	select {
	case err := <-p.ended:
		p.t.Fatalf("the server has ended: %v\n%s", err, p.log.String())
	default:
	}
}

func (p *pod) start() {
	p.t.Helper()
	p.server = p.command("command")
	p.server.Stdout, p.server.Stderr = &p.log, &p.log
	p.server.Cancel = func() error { return p.server.Process.Signal(syscall.SIGTERM) }
	require.NoError(p.t, p.server.Start())
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.server.Wait() }()
	p.t.Cleanup(p.Stop)
}

// Stop sends SIGTERM to the first process, like the kubelet.
func (p *pod) Stop() {
	_ = p.server.Process.Signal(syscall.SIGTERM)
	err := <-p.ended
	p.ended <- err
}

// Kill simulates a crash.
func (p *pod) Kill() {
	_ = p.server.Process.Kill()
	err := <-p.ended
	p.ended <- err
}

// SQL runs statements with an option file of the container.
func (p *pod) SQL(options, statements string) (string, error) {
	p.t.Helper()
	output, err := p.exec("mysql", "--defaults-file="+filepath.Join(p.directories["/run/mysqld"], options), "--batch", "--skip-column-names", "--execute="+statements).CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

func (p *pod) mustSQL(options, statements string) string {
	p.t.Helper()
	output, err := p.SQL(options, statements)
	require.NoError(p.t, err, output)
	return output
}

func sample() map[string]any {
	return map[string]any{"cpu": "250m", "memory": "128Mi", "storage": "256Mi"}
}

func TestSampleOnRealServer(t *testing.T) {
	p := newPod(t, sample(), awkward, awkward+" root")
	// Files of an interrupted first start must not count as data.
	unfinished := filepath.Join(p.directories["/var/lib/mysql"], "new")
	require.NoError(t, os.MkdirAll(filepath.Join(unfinished, "mysql"), 0o700))

	p.Start()

	t.Run("all probes succeed", func(t *testing.T) {
		for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
			output, err := p.command(probe, "exec", "command").CombinedOutput()
			require.NoError(t, err, "%s: %s", probe, output)
		}
	})
	t.Run("the user of the Secret has access only to its database", func(t *testing.T) {
		assert.Equal(t, "7", p.mustSQL("client.cnf", "CREATE TABLE app.t (n INT); INSERT INTO app.t VALUES (7); SELECT n FROM app.t"))
		_, err := p.SQL("client.cnf", "SELECT * FROM mysql.user")
		require.Error(t, err)
		_, err = p.SQL("client.cnf", "CREATE DATABASE other")
		require.Error(t, err)
	})
	t.Run("root can connect through the socket", func(t *testing.T) {
		assert.Equal(t, "root@localhost", p.mustSQL("root.cnf", "SELECT CURRENT_USER()"))
		assert.Equal(t, "0", p.mustSQL("root.cnf", "SELECT COUNT(*) FROM mysql.user WHERE user = 'root' AND host = '%'"))
	})
	t.Run("the options match the rendered ones", func(t *testing.T) {
		for name, expected := range map[string]string{
			"innodb_buffer_pool_size": fmt.Sprint(16 << 20), "max_connections": "16", "performance_schema": "0",
			"log_bin": "0", "skip_name_resolve": "1", "local_infile": "0", "character_set_server": "utf8mb4",
		} {
			assert.Equal(t, expected, p.mustSQL("root.cnf", "SELECT @@"+name), name)
		}
	})
	t.Run("no password is on a command line, nor for others to read", func(t *testing.T) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.server.Process.Pid))
		require.NoError(t, err)
		assert.Contains(t, string(line), "mariadbd", "the server has replaced the shell")
		assert.NotContains(t, string(line), "p'a")
		for _, name := range []string{"init.sql", "client.cnf", "root.cnf", "applied/password", "applied/root-password"} {
			info, err := os.Stat(filepath.Join(p.directories["/run/mysqld"], name))
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
		}
		assert.NotContains(t, p.log.String(), "p'a")
	})
	t.Run("a new Secret is applied by another start, and the data stay", func(t *testing.T) {
		old, err := os.ReadFile(filepath.Join(p.directories["/run/mysqld"], "client.cnf"))
		require.NoError(t, err)
		p.setPasswords("another one", "another root")
		output, err := p.command("livenessProbe", "exec", "command").CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(output), "the key password of the Secret has changed")
		output, err = p.command("readinessProbe", "exec", "command").CombinedOutput()
		require.Error(t, err, "a client with the password of the Secret is refused")
		assert.Contains(t, string(output), "the key password of the Secret has changed")

		p.Stop()
		require.Equal(t, 0, p.server.ProcessState.ExitCode(), "it ends in order:\n%s", p.log.String())
		p.Start()

		require.NoError(t, p.command("livenessProbe", "exec", "command").Run())
		assert.Equal(t, "7", p.mustSQL("client.cnf", "SELECT n FROM app.t"))
		assert.Equal(t, "root@localhost", p.mustSQL("root.cnf", "SELECT CURRENT_USER()"))
		p.fill("/run/mysqld", map[string]any{"old.cnf": string(old)})
		denied, err := p.SQL("old.cnf", "SELECT 1")
		require.Error(t, err)
		assert.Contains(t, denied, "Access denied")
	})
	t.Run("it recovers from a crash", func(t *testing.T) {
		p.mustSQL("client.cnf", "INSERT INTO app.t VALUES (8)")
		p.Kill()
		p.Start()
		assert.Equal(t, "2", p.mustSQL("client.cnf", "SELECT COUNT(*) FROM app.t"))
	})
}

func TestUserOptionsPrevail(t *testing.T) {
	spec := sample()
	spec["database"] = "my_shop-1"
	spec["configuration"] = "sort_buffer_size = 1M\nmax-connections=33"
	p := newPod(t, spec, "a", "b")
	p.Start()
	assert.Equal(t, fmt.Sprint(1<<20), p.mustSQL("root.cnf", "SELECT @@sort_buffer_size"))
	assert.Equal(t, "33", p.mustSQL("root.cnf", "SELECT @@max_connections"))
	// An underscore in the database name must not act as a wildcard in its privileges.
	p.mustSQL("root.cnf", "CREATE DATABASE `myXshop-1`")
	p.mustSQL("client.cnf", "CREATE TABLE `my_shop-1`.t (n INT)")
	_, err := p.SQL("client.cnf", "CREATE TABLE `myXshop-1`.t (n INT)")
	require.Error(t, err)
}

func TestStartNeedsPassword(t *testing.T) {
	p := newPod(t, sample(), "", "b")
	p.start()
	err := <-p.ended
	p.ended <- err
	require.Error(t, err)
	assert.Contains(t, p.log.String(), "the key password of the Secret must be one line of text")
	assert.NoDirExists(t, filepath.Join(p.directories["/var/lib/mysql"], "data"))
}
