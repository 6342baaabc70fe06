// Package node plays the node of a control plane: what a kubelet and a provisioner of
// volumes tell the API server, and nothing of what they do. Pods become ready, those of
// Jobs succeed, and what is deleted is gone at once.
//
// Claims of a StorageClass whose provisioner is Provisioner get a volume, which can
// grow. There is nothing in it.
//
//	err := node.Run(ctx, config) // until the context ends
package node
