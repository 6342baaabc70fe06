package controlplane

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Options configures a control plane.
type Options struct {
	// Dir is the directory of this control plane. It is created if it does not exist.
	Dir string
	// ControllerManager starts kube-controller-manager: service accounts, garbage collection, Deployments,
	// namespace deletion. Most tests do not need it.
	ControllerManager bool
	// Node starts kube-scheduler and a simulated node, on which Pods become ready and claims get volumes.
	// It implies ControllerManager: without it, Pods have no service account, and the node remains tainted.
	Node bool
	// Audit writes Dir/audit.log.
	Audit bool
	// EtcdArgs and APIServerArgs are added at the end of the command lines, and therefore have precedence.
	EtcdArgs, APIServerArgs []string
	// ParentPID is the process with which this one ends, or zero.
	ParentPID int
	// Remove deletes Dir at the end, and therefore kills the components without a grace period.
	Remove bool
	// Timeout limits the startup.
	Timeout time.Duration
}

// complete returns the options with defaults, or a validation error.
func (o Options) complete() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("no directory given")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o, fmt.Errorf("directory %s: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	o.ControllerManager = o.ControllerManager || o.Node
	return o, nil
}
