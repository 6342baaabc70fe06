package controllers

import "context"

// workers is how many objects a controller handles at the same time.
const workers = 5

// controllers are those that the tests and the demo need. Most are one to five packages
// to compile. See what another would add before it is added here: that which deletes the
// Pods of lost nodes has the kubelet with it, 154 packages.
var controllers = []struct {
	of    string
	build func(context.Context, *manager) (run, error)
}{
	{"Deployments", deployments},
	{"ReplicaSets", replicaSets},
	{"StatefulSets", statefulSets},
	{"DaemonSets", daemonSets},
	{"Jobs", jobs},
	{"finished Jobs", finishedJobs},
	{"PodDisruptionBudgets", disruptionBudgets},
	{"nodes", nodes},
	{"Endpoints", endpoints},
	{"EndpointSlices", endpointSlices},
	{"volumes", volumes},
	{"claims in use", claimsInUse},
	{"volumes in use", volumesInUse},
	{"namespaces", namespaces},
	{"service accounts", serviceAccounts},
	{"certificates", certificates},
	{"aggregated roles", aggregatedRoles},
	{"quotas", quotas},
	{"admission policies", admissionPolicies},
	{"garbage", garbage},
}
