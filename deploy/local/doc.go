// Controlplane is a real Kubernetes control plane in one program.
//
// The subcommands etcd, kube-apiserver, kube-scheduler and kubectl are the unchanged upstream commands with
// all their flags. The subcommand kube-controller-manager runs only the upstream controllers that are
// needed here. The other subcommands run these components together on the loopback interface:
//
//	controlplane up DIR [flags]          start, print the export line, stay until interrupted
//	controlplane up DIR --detach         start, print the export line, return
//	controlplane restart DIR COMPONENT   end a component, or find it dead, and start it again
//	controlplane down DIR                stop
//
// It is for tests, the demo and the benchmark. It is not a cluster, because it runs no containers. With
// --node, it simulates a node.
//
// It is a separate module, because its dependencies (all of Kubernetes) must not become those of the
// product.
package main
