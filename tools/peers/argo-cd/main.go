// Command argo-cd runs Argo CD's application-controller and repo-server, and a Redis server for them, in one process.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	repository "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// run passes the arguments to the application-controller.
func run() error {
	directory, err := os.MkdirTemp("", "argo-cd-")
	if err != nil {
		return err
	}
	defer remove(directory)
	if err := os.Setenv("TMPDIR", directory); err != nil {
		return err
	}
	redis, err := miniredis.Run()
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	server := repository.NewCommand()
	server.SetArgs([]string{
		"--redis=" + redis.Addr(), "--address=127.0.0.1", fmt.Sprintf("--port=%d", port),
		"--metrics-address=127.0.0.1", "--metrics-port=0",
	})
	go func() {
		if err := server.Execute(); err != nil {
			log.Fatal(err)
		}
	}()
	applications := controller.NewCommand()
	applications.SetArgs(append(os.Args[1:], "--redis="+redis.Addr(), fmt.Sprintf("--repo-server=127.0.0.1:%d", port), "--metrics-port=0"))
	return applications.Execute()
}

// remove removes the clones of the repo-server, which has withdrawn all permissions.
func remove(directory string) {
	_ = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			err = os.Chmod(path, 0o700)
		}
		return err
	})
	_ = os.RemoveAll(directory)
}

// freePort returns a port for the repo-server, which does not tell one that it chose itself.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
