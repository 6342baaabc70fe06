package controllers

import "context"

// workers is the number of objects that a controller handles concurrently.
const workers = 5

// controllers are the controllers that the tests and the demo need. Most add one to five packages to the
// build. Check the number before adding another one: the controller that deletes the Pods of lost nodes
// depends on the kubelet, 154 packages.
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
