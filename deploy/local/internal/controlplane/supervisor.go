package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// supervisor runs the components of one directory.
type supervisor struct {
	options    Options
	dir        directory
	executable string
	ports      ports
	token      string
	probe      prober
	launcher   launcher
	errOut     io.Writer
	// ready is set at the end of the startup.
	ready atomic.Bool

	// changing serializes start, restart and stop.
	changing sync.Mutex
	// processes are in the order of their start. A restarted one keeps its position.
	processes []*process
}

func newSupervisor(o Options, errOut io.Writer) (*supervisor, error) {
	s := &supervisor{options: o, dir: directory(o.Dir), launcher: newLauncher(), errOut: errOut}
	s.dir.clean()
	var err error
	if s.executable, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	if s.ports, err = s.dir.choosePorts(); err != nil {
		return nil, fmt.Errorf("choosing ports: %w", err)
	}
	if s.token, err = s.dir.ensureCredentials(); err != nil {
		return nil, fmt.Errorf("making credentials: %w", err)
	}
	if s.probe, err = newProber(s.dir.path("pki", "ca.crt"), s.token); err != nil {
		return nil, fmt.Errorf("reading credentials: %w", err)
	}
	return s, s.dir.writeKubeconfig(s.ports.APIServer, s.token)
}

// start starts every component. It returns when all are ready, or as soon as one of them has died.
func (s *supervisor) start(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout,
		fmt.Errorf("not ready after %v", s.options.Timeout))
	defer cancel()
	if err := s.dir.write("audit-policy.yaml", auditPolicy); err != nil {
		return err
	}
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	for _, stage := range s.stages() {
		if err := s.startStage(ctx, stage, abort); err != nil {
			return err
		}
	}
	return nil
}

func (s *supervisor) startStage(ctx context.Context, stage []component, abort context.CancelCauseFunc) error {
	for _, c := range stage {
		p, err := s.launch(c, abort)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	for _, c := range stage {
		if err := await(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// death is the unexpected end of a component.
type death struct {
	component, state, lastWords string
}

func (d death) Error() string { return d.component + " ended: " + d.state + "\n" + d.lastWords }

// launch starts the component. If it dies while another goroutine waits for it, that wait is aborted. Later
// its death is only reported, and the component stays down until a restart is requested.
func (s *supervisor) launch(c component, abort context.CancelCauseFunc) (*process, error) {
	return s.launcher.launch(s.dir, c, func(p *process) {
		d := death{component: c.name, state: p.cmd.ProcessState.String(), lastWords: s.dir.tail(c.name, 10)}
		if s.ready.Load() {
			fmt.Fprintln(s.errOut, d)
		}
		abort(d)
	})
}

// await probes until the component is ready.
func await(ctx context.Context, c component) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		probed := c.probe(ctx)
		if probed == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			cause := context.Cause(ctx)
			if errors.As(cause, &death{}) {
				return cause
			}
			return fmt.Errorf("waiting for %s: %w (last probe: %w)", c.name, cause, probed)
		}
	}
}

// restart kills the component if it is still running, and starts it again on the same port and with the
// same data.
func (s *supervisor) restart(ctx context.Context, name string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("no component %s runs here", name)
	}
	s.processes[i].kill()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	p, err := s.launch(s.processes[i].component, abort)
	if err != nil {
		return err
	}
	s.processes[i] = p
	return await(ctx, p.component)
}

// stop ends all components in reverse order of their start.
func (s *supervisor) stop() {
	s.changing.Lock()
	defer s.changing.Unlock()
	for _, p := range slices.Backward(s.processes) {
		if s.options.Remove {
			p.kill()
			continue
		}
		p.stop(5 * time.Second)
	}
	s.processes = nil
}
