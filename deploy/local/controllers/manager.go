package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
)

const (
	resync = 12 * time.Hour
	// discover is the interval of discovery.
	discover = 30 * time.Second
)

// manager contains the shared parts of the controllers.
type manager struct {
	config    *rest.Config
	rootCA    []byte
	informers informers.SharedInformerFactory
	// all also has informers for custom kinds
	all    informerfactory.InformerFactory
	mapper *restmapper.DeferredDiscoveryRESTMapper
	// started is closed when the informers have been started.
	started chan struct{}
}

func newManager(ctx context.Context, config *rest.Config, rootCA []byte) (*manager, error) {
	m := &manager{config: config, rootCA: rootCA, started: make(chan struct{})}
	client, err := kubernetes.NewForConfig(m.named("shared-informers"))
	if err != nil {
		return nil, err
	}
	metadataClient, err := metadata.NewForConfig(m.named("metadata-informers"))
	if err != nil {
		return nil, err
	}
	m.informers = informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(withoutManagers))
	m.all = informerfactory.NewInformerFactory(m.informers,
		metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resync, metadatainformer.WithTransform(withoutManagers)))
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	go wait.UntilWithContext(ctx, func(context.Context) { m.mapper.Reset() }, discover)
	return m, nil
}

// withoutManagers drops the managedFields, which no controller reads and which are most of an object.
func withoutManagers(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// named returns a client configuration. The API server uses the part of the user agent before the slash as
// the field manager.
func (m *manager) named(name string) *rest.Config {
	config := rest.CopyConfig(m.config)
	config.UserAgent = "kube-controller-manager/" + name
	return config
}

// client returns the client of one controller.
func (m *manager) client(name string) kubernetes.Interface {
	return kubernetes.NewForConfigOrDie(m.named(name))
}

// run runs a controller until the context ends.
type run func(context.Context)

func (m *manager) build(ctx context.Context) ([]run, error) {
	var runs []run
	for _, c := range controllers {
		run, err := c.build(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("building the controller of %s: %w", c.of, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// start starts the controllers and returns when their informers have synced.
func (m *manager) start(ctx context.Context, runs []run) {
	m.informers.Start(ctx.Done())
	m.all.Start(ctx.Done())
	close(m.started)
	for _, run := range runs {
		go run(ctx)
	}
	m.informers.WaitForCacheSync(ctx.Done())
}
