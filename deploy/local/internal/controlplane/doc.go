// Package controlplane runs the components of a Kubernetes control plane as separate child processes of one
// supervisor, on the loopback interface.
//
// It handles processes, files, ports and HTTP probes. Apart from command lines it contains nothing specific
// to Kubernetes, and it imports only the standard library, so that its tests build in a second although the
// program takes minutes.
//
// The components are separate processes instead of goroutines, because the fault tests kill and pause them
// one by one.
//
// A directory contains all files of one control plane:
//
//	kubeconfig         server, certificate authority and token, system:masters
//	<component>.log    standard output and error of this run, restarts included
//	<component>.pid    exists exactly as long as the process runs
//	audit.log          one JSON object per completed request, with Options.Audit
//	etcd/              the data
//	pki/, ports.json   kept, so that a second Up on the directory has the same address
//	control.json       where the supervisor takes commands, while it runs
//	lock               locked by the supervisor, while it runs
//
// For example:
//
//	err := controlplane.Up(ctx, controlplane.Options{Dir: dir, Audit: true}, os.Stdout)
package controlplane
