// Package testcluster provides Go tests with a real control plane: kube-apiserver and etcd, and optionally
// more components, as processes on the loopback interface.
//
// It is not a fake: it responds, defaults, validates and prunes like the API server of that release. It is
// not a full cluster either: controllers run only if Options requests them, so that only the test changes
// objects. In particular, deleting a namespace does not empty it.
//
// Tests of a package share one control plane and use a namespace each. Tests that disturb the control plane
// start their own.
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
// With HOLDFAST_KEEP=1 in the environment, the directories of the control planes, which contain the logs of
// all components, are kept and printed.
package testcluster
