package controllers

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
)

func endpoints(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c := endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), m.client("endpoint-controller"), 0)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

func endpointSlices(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	const perSlice = 100
	c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), m.informers.Discovery().V1().EndpointSlices(), perSlice,
		m.client("endpointslice-controller"), 0)
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}

// volumes binds claims. It has no drivers: other programs create and delete volumes, for example the
// simulated node.
func volumes(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:                m.client("persistent-volume-binder"),
		SyncPeriod:                15 * time.Second,
		VolumeInformer:            core.PersistentVolumes(),
		ClaimInformer:             core.PersistentVolumeClaims(),
		ClassInformer:             m.informers.Storage().V1().StorageClasses(),
		PodInformer:               core.Pods(),
		NodeInformer:              core.Nodes(),
		EnableDynamicProvisioning: true,
	})
	if err != nil {
		return nil, err
	}
	return c.Run, nil
}

// claimsInUse removes the finalizer from claims that no Pod uses.
func claimsInUse(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(),
		m.client("pvc-protection-controller"))
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

// volumesInUse removes the finalizer from volumes that are not bound.
func volumesInUse(ctx context.Context, m *manager) (run, error) {
	c, err := construct[*pvprotection.Controller](pvprotection.NewPVProtectionController, klog.FromContext(ctx),
		m.informers.Core().V1().PersistentVolumes(), m.client("pv-protection-controller"))
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

// namespaces deletes the content of terminating namespaces.
func namespaces(ctx context.Context, m *manager) (run, error) {
	const name = "namespace-controller"
	client := m.client(name)
	objects, err := metadata.NewForConfig(m.named(name))
	if err != nil {
		return nil, err
	}
	c := namespace.NewNamespaceController(ctx, client, objects, client.Discovery().ServerPreferredNamespacedResources,
		m.informers.Core().V1().Namespaces(), 5*time.Minute, v1.FinalizerKubernetes)
	return func(ctx context.Context) { c.Run(ctx, 2*workers) }, nil
}

// serviceAccounts creates the ServiceAccount default of each namespace.
func serviceAccounts(ctx context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c, err := construct[*serviceaccount.ServiceAccountsController](serviceaccount.NewServiceAccountsController, klog.FromContext(ctx),
		core.ServiceAccounts(), core.Namespaces(), m.client("service-account-controller"), serviceaccount.DefaultServiceAccountsControllerOptions())
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

// certificates creates the ConfigMap kube-root-ca.crt of each namespace.
func certificates(_ context.Context, m *manager) (run, error) {
	core := m.informers.Core().V1()
	c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), m.client("root-ca-cert-publisher"), m.rootCA)
	return func(ctx context.Context) { c.Run(ctx, 1) }, err
}

func aggregatedRoles(_ context.Context, m *manager) (run, error) {
	c := clusterroleaggregation.NewClusterRoleAggregation(m.informers.Rbac().V1().ClusterRoles(),
		m.client("clusterrole-aggregation-controller").RbacV1())
	return func(ctx context.Context) { c.Run(ctx, workers) }, nil
}
