package node

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Name is the name of the Node.
const Name = "local"

// workers is the number of objects that are handled concurrently.
const workers = 8

// player simulates the node.
type player struct {
	client kubernetes.Interface
}

// Run simulates the node until the context ends.
func Run(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS, config.UserAgent = -1, "controlplane-node"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	p := player{client}
	if err := p.join(ctx); err != nil {
		return fmt.Errorf("making the node: %w", err)
	}
	here := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *meta.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", Name).String()
	}))
	all := informers.NewSharedInformerFactory(client, 0)
	var running sync.WaitGroup
	for _, follow := range []func() error{
		func() error { return each(ctx, &running, here.Core().V1().Pods().Informer(), p.pod) },
		func() error { return each(ctx, &running, all.Core().V1().PersistentVolumeClaims().Informer(), p.claim) },
		func() error { return each(ctx, &running, all.Core().V1().PersistentVolumes().Informer(), p.volume) },
	} {
		if err := follow(); err != nil {
			return err
		}
	}
	here.Start(ctx.Done())
	all.Start(ctx.Done())
	p.beat(ctx)
	running.Wait()
	return nil
}

// each calls a function for every object of an informer, and again when the object has changed or the
// function has failed.
func each[T any](ctx context.Context, running *sync.WaitGroup, informer cache.SharedIndexInformer, handle func(context.Context, T) error) error {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}); err != nil {
		return err
	}
	context.AfterFunc(ctx, queue.ShutDown)
	for range workers {
		running.Go(func() {
			for {
				key, ended := queue.Get()
				if ended {
					return
				}
				object, found, _ := informer.GetIndexer().GetByKey(key)
				err := error(nil)
				if found {
					err = handle(ctx, object.(T))
				}
				queue.Done(key)
				// Deleted and changed objects are delivered again.
				if err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
					klog.ErrorS(err, "Trying again", "object", key)
					queue.AddRateLimited(key)
					continue
				}
				queue.Forget(key)
			}
		})
	}
	return nil
}

// join creates the Node with ample capacity and reports it as ready.
func (p player) join(ctx context.Context) error {
	nodes := p.client.CoreV1().Nodes()
	labels := map[string]string{core.LabelHostname: Name, core.LabelOSStable: "linux"}
	_, err := nodes.Create(ctx, &core.Node{ObjectMeta: meta.ObjectMeta{Name: Name, Labels: labels}}, meta.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	room := core.ResourceList{
		core.ResourceCPU: resource.MustParse("1k"), core.ResourceMemory: resource.MustParse("1Ti"), core.ResourcePods: resource.MustParse("1M"),
	}
	now := meta.Now()
	status, err := json.Marshal(map[string]any{"status": core.NodeStatus{
		Capacity: room, Allocatable: room,
		Addresses: []core.NodeAddress{{Type: core.NodeInternalIP, Address: address}, {Type: core.NodeHostName, Address: Name}},
		Conditions: []core.NodeCondition{{
			Type: core.NodeReady, Status: core.ConditionTrue, Reason: "Played", Message: "nothing runs here",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}},
	}})
	if err != nil {
		return err
	}
	_, err = nodes.Patch(ctx, Name, types.StrategicMergePatchType, status, meta.PatchOptions{}, "status")
	return err
}

// beat renews the Lease of the Node until the context ends. Otherwise kube-controller-manager would soon
// mark the Node as unreachable.
func (p player) beat(ctx context.Context) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		if err := p.renew(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Renewing the lease of the node")
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p player) renew(ctx context.Context) error {
	leases := p.client.CoordinationV1().Leases(core.NamespaceNodeLease)
	now, seconds, holder := meta.NowMicro(), int32(40), Name
	spec := coordination.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}
	lease, err := leases.Get(ctx, Name, meta.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordination.Lease{ObjectMeta: meta.ObjectMeta{Name: Name}, Spec: spec}, meta.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec = spec
	_, err = leases.Update(ctx, lease, meta.UpdateOptions{})
	return err
}
