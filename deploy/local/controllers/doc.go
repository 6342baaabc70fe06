// Package controllers is a small kube-controller-manager: the upstream controllers that
// the tests and the demo need, unchanged, each started with the defaults of the upstream
// program. That program has three times as many, and through them the kubelet and the
// drivers of volumes: 219 packages more to compile.
//
// It is not for production: there is no leader election, no limit on requests, and all
// controllers act with the rights of the kubeconfig.
package controllers
