package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/shard"
)

const (
	// shardDelay is the delay of responses, so that waiting limits the throughput.
	shardDelay = 20 * time.Millisecond
	// sharded is the number of Applications per shard. The fullest slot decides when a run ends: with fewer
	// Applications, the result would depend on the hash.
	sharded = 600
)

var leases = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}

// shards measures P13: replicas with one worker each, and a slow API server.
func (b *bench) shards(ctx context.Context) error {
	kubeconfig, stop, err := b.slow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b.process.stop()
	var rates []float64
	for _, n := range []int{1, 2, 4} {
		mark := b.cluster.Mark()
		rate, fullest, err := b.withShards(ctx, kubeconfig, n)
		if err != nil {
			return err
		}
		rates = append(rates, rate)
		requests, err := b.cluster.Requests(mark)
		if err != nil {
			return err
		}
		creates := requests.By("holdfast-controller").Where(func(r testcluster.Request) bool {
			return r.Verb == "create" && r.Resource == "configmaps" && r.Code == http.StatusCreated
		})
		target := "≤ 25/s"
		if n > 1 {
			target = fmt.Sprintf("≥ 0.85 of linear (is %.2f; even slots: %.2f)", rate/rates[0]/float64(n), rate/rates[0]*fullest)
		}
		b.table.row("P13", fmt.Sprintf("%d Applications, %d shards, answers late by %s", n*sharded, n, shardDelay), fmt.Sprintf("%.1f/s", rate), "", target)
		b.table.row("", "creates", fmt.Sprint(len(creates)), "", fmt.Sprint(n*sharded))
	}
	b.process, err = b.start(ctx)
	if err != nil {
		return err
	}
	for _, n := range []int{1, 2, 4} {
		if err := b.client.remove(ctx, numbered(fmt.Sprintf("sharded-%d", n), n*sharded)...); err != nil {
			return err
		}
	}
	return nil
}

// withShards returns how many Applications become ready per second with n replicas, and the share of the
// Applications that are in the fullest slot.
func (b *bench) withShards(ctx context.Context, kubeconfig string, n int) (rate, fullest float64, err error) {
	prefix := fmt.Sprintf("sharded-%d", n)
	var replicas []*process
	defer func() {
		for _, replica := range replicas {
			replica.stop()
		}
	}()
	for range n {
		replica, err := b.startWith(ctx, b.controller, "--kubeconfig", kubeconfig, "--concurrency=1", "--selector=bench="+prefix,
			fmt.Sprintf("--shards=%d", n), "--leader-elect-resource-namespace="+namespace, "--leader-elect-resource-name="+prefix)
		if err != nil {
			return 0, 0, err
		}
		replicas = append(replicas, replica)
	}
	if err := b.everyReplicaHasASlot(ctx, prefix, n); err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	names, slots := numbered(prefix, n*sharded), make([]atomic.Int64, n)
	err = await(ctx, b.client.apps(), len(names),
		func(u *unstructured.Unstructured) bool { return u.GetLabels()["bench"] == prefix && ready(u) },
		func() error {
			return each(ctx, len(names), func(ctx context.Context, i int) error {
				app := application(names[i], names[i])
				app.SetLabels(map[string]string{"bench": prefix})
				created, err := b.client.apps().Create(ctx, app, metav1.CreateOptions{})
				if err == nil {
					slots[shard.SlotForUID(string(created.GetUID()), n)].Add(1)
				}
				return err
			})
		})
	took, most := time.Since(begun), int64(0)
	for i := range slots {
		most = max(most, slots[i].Load())
	}
	return float64(len(names)) / took.Seconds(), float64(most) / float64(len(names)), err
}

// everyReplicaHasASlot waits until n replicas hold one slot each, so that their start is not measured.
func (b *bench) everyReplicaHasASlot(ctx context.Context, prefix string, n int) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		list, err := b.client.Resource(leases).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		holders := map[string]bool{}
		for _, lease := range list.Items {
			holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
			isLeader := lease.GetName() == prefix // without shards
			if holder != "" && (isLeader || strings.HasPrefix(lease.GetName(), prefix+"-slot-")) {
				holders[holder] = true
			}
		}
		return len(holders) == n, nil
	})
}

// slow starts a proxy that delays the responses of the API server, and returns a kubeconfig for it.
func (b *bench) slow(ctx context.Context) (kubeconfig string, stop func(), err error) {
	config := b.cluster.Config()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return "", nil, err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: late{transport}, FlushInterval: -1,
	}}
	go func() { _ = server.Serve(listener) }()
	file := filepath.Join(b.cluster.Dir(), "slow.kubeconfig")
	err = clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"slow": {Server: "http://" + listener.Addr().String()}},
		Contexts:       map[string]*clientcmdapi.Context{"slow": {Cluster: "slow"}},
		CurrentContext: "slow",
	}, file)
	return file, func() {
		_ = server.Close()
		_ = os.Remove(file)
	}, err
}

// late delays responses, except for watch events.
type late struct{ next http.RoundTripper }

func (t late) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if !strings.Contains(request.URL.RawQuery, "watch=") {
		time.Sleep(shardDelay)
	}
	return response, err
}
