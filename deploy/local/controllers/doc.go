// Package controllers is a small kube-controller-manager: the unchanged upstream controllers that the tests
// and the demo need, each started with the defaults of the upstream program. The upstream program has three
// times as many controllers, which depend on the kubelet and the volume drivers: 219 more packages to
// compile.
//
// It is not for production: there is no leader election and no rate limit, and all controllers have the
// permissions of the kubeconfig.
package controllers
