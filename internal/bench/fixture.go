package main

import (
	"time"

	"holdfast.dev/holdfast/internal/testcluster"
)

// bench is one run on one control plane.
type bench struct {
	cluster      *testcluster.Cluster
	controller   string // path of the binary
	command      string // path of the command line
	before       string // path of another binary; empty for none
	perMinute    int    // drifts
	definition   string // directory of the CRDs
	applications int
	objects      int // of P14
	rest         time.Duration
	only         string

	client  *client
	process *process
	table   table
	// isWarm is true once the Application of P3 exists, and isHeld once those of P4, P6 and P2 do.
	isWarm, isHeld bool
}
