// Package installed runs the controller in tests as something that is installed in a
// control plane says: the real program with the flags, the configuration and the
// rights of its manifests, and no more.
//
//	controller := installed.Run(t, cluster, documents) // what was applied
//	controller.Life(namespace)
//	controller.AssertNothingWasForbidden()
//
// There is no kubelet, so it runs outside of a Pod.
package installed
