// Package testcluster gives Go tests a real control plane: kube-apiserver and etcd,
// and more on request, as processes of their own on the loopback interface.
//
// It is not a fake: what it answers, defaults, validates and prunes is what the API
// server of that release does. It is not a cluster either: no controller runs unless
// Options ask for it, so that nothing but the test touches an object. In particular,
// deleting a namespace does not empty it.
//
// Tests of a package share one control plane and use a namespace each; tests that
// break the control plane start their own.
//
//	func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{}) }
//
//	func TestCreatesConfigMap(t *testing.T) {
//		cluster := testcluster.Shared()
//		namespace := cluster.Namespace(t)
//		mark := cluster.Mark()
//		…
//		requests, err := cluster.Requests(mark)
//		// requests.By("my-user-agent") are the requests that this test made.
//	}
//
// With HOLDFAST_KEEP=1 in the environment, the directories of the control planes, with
// the logs of all components, stay and are printed.
package testcluster
