// Package installed runs the controller in tests as an installation defines it: the real program, with
// exactly the flags, the configuration and the permissions of the manifests.
//
//	controller := installed.Run(t, cluster, documents) // what was applied
//	controller.Life(namespace)
//	controller.AssertNothingWasForbidden()
//
// There is no kubelet, so the controller runs outside of a Pod.
package installed
