package controlplane

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Options say what to run and where.
type Options struct {
	// Dir is the directory of this control plane; it is made if it does not exist.
	Dir string
	// ControllerManager starts kube-controller-manager: service accounts, garbage
	// collection, Deployments, namespace deletion. Most tests do without.
	ControllerManager bool
	// Node starts kube-scheduler and plays one node, on which Pods become ready and
	// claims get volumes. Implies ControllerManager: Pods need a service account, and a
	// node stays tainted, without it.
	Node bool
	// Audit writes Dir/audit.log.
	Audit bool
	// EtcdArgs and APIServerArgs come last on the command lines, and so win.
	EtcdArgs, APIServerArgs []string
	// ParentPID, if not zero, is the process with which this one ends.
	ParentPID int
	// Remove deletes Dir at the end, and therefore stops without ceremony.
	Remove bool
	// Timeout bounds the start-up.
	Timeout time.Duration
}

// complete returns the options with defaults filled in, or what is wrong with them.
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
