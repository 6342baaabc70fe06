package controllers

import (
	"context"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
)

func deployments(ctx context.Context, m *manager) (run, error) {
	apps := m.informers.Apps().V1()
	c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), m.informers.Core().V1().Pods(),
		m.client("deployment-controller"))
	return func(ctx context.Context) { c.Run(ctx, workers) }, err
}

func replicaSets(ctx context.Context, m *manager) (run, error) {
	c := replicaset.NewReplicaSetController(ctx, m.informers.Apps().V1().ReplicaSets(), m.informers.Core().V1().Pods(),
		m.client("replicaset-controller"), replicaset.BurstReplicas)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func statefulSets(ctx context.Context, m *manager) (run, error) {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(),
		m.client("statefulset-controller"))
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func daemonSets(ctx context.Context, m *manager) (run, error) {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(),
		m.client("daemon-set-controller"), flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	return func(ctx context.Context) { c.Run(ctx, 2) }, err
}

func jobs(ctx context.Context, m *manager) (run, error) {
	// Omits the informers of a disabled feature.
	c, err := construct[*job.Controller](job.NewController, ctx, m.client("job-controller"), m.informers.Core().V1().Pods(),
		m.informers.Batch().V1().Jobs())
	return func(ctx context.Context) { c.Run(ctx, workers) }, err
}

func finishedJobs(ctx context.Context, m *manager) (run, error) {
	c := ttlafterfinished.New(ctx, m.informers.Batch().V1().Jobs(), m.client("ttl-after-finished-controller"))
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func disruptionBudgets(ctx context.Context, m *manager) (run, error) {
	const name = "disruption-controller"
	client := m.client(name)
	scales, err := scale.NewForConfig(m.named(name), m.mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(client.Discovery()))
	if err != nil {
		return nil, err
	}
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	c := disruption.NewDisruptionController(ctx, core.Pods(), m.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
		apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), client, m.mapper, scales, client.Discovery())
	return func(ctx context.Context) { call(c.Run, ctx, workers) }, nil
}

// nodes removes the taint from a ready node. The rates are meant for clusters with more than one node.
func nodes(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c, err := nodelifecycle.NewNodeLifecycleController(ctx, m.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
		m.informers.Apps().V1().DaemonSets(), m.client("node-controller"),
		5*time.Second,  // interval of checks
		60*time.Second, // startup timeout
		50*time.Second, // heartbeat timeout
		0.1, 0.01, 50, 0.55)
	return func(ctx context.Context) { c.Run(ctx) }, err
}
