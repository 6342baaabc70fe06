package controllers

import (
	"context"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/quota/v1/install"
)

// quotas counts the resources that ResourceQuotas limit.
func quotas(ctx context.Context, m *manager) (run, error) {
	configuration, err := construct[quota.Configuration](install.NewQuotaConfigurationForControllers,
		generic.ListerFuncForResourceFunc(m.informers.ForResource), m.informers)
	if err != nil {
		return nil, err
	}
	client := m.client("resourcequota-controller")
	kinds := client.Discovery().ServerPreferredNamespacedResources
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               client.CoreV1(),
		ResourceQuotaInformer:     m.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(5 * time.Minute),
		InformerFactory:           m.all,
		ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(resync),
		DiscoveryFunc:             kinds,
		IgnoredResourcesFunc:      configuration.IgnoredResources,
		InformersStarted:          m.started,
		Registry:                  generic.NewRegistry(configuration.Evaluators()),
		UpdateFilter:              install.DefaultUpdateFilter(),
	})
	return func(ctx context.Context) {
		go c.Sync(ctx, kinds, discover)
		c.Run(ctx, workers)
	}, err
}

// admissionPolicies checks the types in ValidatingAdmissionPolicies.
func admissionPolicies(_ context.Context, m *manager) (run, error) {
	client := m.client("validatingadmissionpolicy-status-controller")
	schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensions.Scheme).
		Combine(&resolver.ClientDiscoveryResolver{Discovery: client.Discovery()})
	c, err := validatingadmissionpolicystatus.NewController(m.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
		client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		&validating.TypeChecker{SchemaResolver: schemas, RestMapper: m.mapper})
	return func(ctx context.Context) { c.Run(ctx, workers) }, err
}

// garbage deletes objects whose owners are deleted.
func garbage(ctx context.Context, m *manager) (run, error) {
	const name = "generic-garbage-collector"
	client := m.client(name)
	objects, err := metadata.NewForConfig(m.named(name))
	if err != nil {
		return nil, err
	}
	c, err := garbagecollector.NewGarbageCollector(ctx, client, objects, m.mapper, garbagecollector.DefaultIgnoredResources(), m.all, m.started)
	return func(ctx context.Context) {
		go c.Sync(ctx, client.Discovery(), discover)
		c.Run(ctx, 4*workers, discover)
	}, err
}
