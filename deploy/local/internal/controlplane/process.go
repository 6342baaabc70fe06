package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is a started component.
type process struct {
	component
	cmd *exec.Cmd
	// done is closed when the process has ended and its pid file is removed.
	done chan struct{}
	// expected is set before the supervisor stops the process.
	expected atomic.Bool
}

// launcher starts children, all from one thread that lives as long as this process: on Linux, the kernel
// kills a child when the thread that forked it ends, and the Go runtime can end threads at any time.
type launcher chan func()

func newLauncher() launcher {
	l := make(launcher)
	go func() {
		runtime.LockOSThread()
		for launch := range l {
			launch()
		}
	}()
	return l
}

func (l launcher) start(cmd *exec.Cmd) error {
	result := make(chan error)
	l <- func() { result <- cmd.Start() }
	return <-result
}

// launch starts the component. It calls died if the process ends unexpectedly.
func (l launcher) launch(dir directory, c component, died func(*process)) (*process, error) {
	log, err := os.OpenFile(dir.log(c.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = environment()
	cmd.SysProcAttr = childAttributes()
	if err := l.start(cmd); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	p := &process{component: c, cmd: cmd, done: make(chan struct{})}
	pid := strconv.Itoa(cmd.Process.Pid) + "\n"
	if err := os.WriteFile(dir.pid(c.name), []byte(pid), 0o600); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		_ = os.Remove(dir.pid(c.name))
		if !p.expected.Load() {
			died(p)
		}
		close(p.done)
	}()
	return p, nil
}

// environment returns the environment without the variables that etcd reads as flags: it fails to start if
// one contradicts its command line.
func environment() []string {
	var kept []string
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ETCD_") {
			kept = append(kept, variable)
		}
	}
	// Allows the components on other systems to notice the end of this process; see EndWithParent.
	return append(kept, parentVariable+"="+strconv.Itoa(os.Getpid()))
}

// stop terminates the process, and kills it after the grace period.
func (p *process) stop(grace time.Duration) {
	p.expected.Store(true)
	// A paused process handles only these two signals.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.kill()
	}
}

func (p *process) kill() {
	p.expected.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.done
}
