// Package node simulates the node of a control plane. It reports the same to the API server as a kubelet
// and a volume provisioner, but runs nothing. Pods become ready, Pods of Jobs succeed, and deletions
// complete at once.
//
// Claims of a StorageClass with the provisioner Provisioner get a volume, which can be expanded. It has no
// storage.
//
//	err := node.Run(ctx, config) // until the context ends
package node
