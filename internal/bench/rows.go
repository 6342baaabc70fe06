package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/testcluster"
)

// requests returns the requests of the controller since a mark, without watches, discovery and events.
func (b *bench) requests(since testcluster.Mark) (testcluster.Requests, error) {
	all, err := b.cluster.Requests(since)
	if err != nil {
		return nil, err
	}
	return all.By("holdfast-controller").Where(func(r testcluster.Request) bool {
		return r.Verb != "watch" && r.Resource != "" && r.Resource != "events"
	}), nil
}

// settled waits until the controller has sent no requests for a while.
func (b *bench) settled(ctx context.Context, since testcluster.Mark) (testcluster.Requests, error) {
	before := -1
	for ctx.Err() == nil {
		time.Sleep(500 * time.Millisecond)
		requests, err := b.requests(since)
		if err != nil || len(requests) == before {
			return requests, err
		}
		before = len(requests)
	}
	return nil, ctx.Err()
}

// empty measures P12.
func (b *bench) empty(ctx context.Context) error {
	if b.process != nil {
		b.process.stop() // two controllers without leader election would both work
	}
	var err error
	if b.process, err = b.start(ctx); err != nil {
		return err
	}
	const pause = 20 * time.Second
	time.Sleep(time.Second)
	mark := b.cluster.Mark()
	before, err := b.process.cpu()
	if err != nil {
		return err
	}
	time.Sleep(pause)
	after, err := b.process.cpu()
	if err != nil {
		return err
	}
	memory, err := b.process.memory()
	if err != nil {
		return err
	}
	requests, err := b.requests(mark)
	if err != nil {
		return err
	}
	b.table.row("P12", "controller on an empty cluster: ready after", seconds(b.process.ready), "", "≤ 1 s")
	b.table.row("", "memory", fmt.Sprintf("%d MiB", memory/1024), "", "≤ 45 MiB")
	b.table.row("", "requests in 20 s", fmt.Sprint(len(requests)), "", "0")
	b.table.row("", "CPU", fmt.Sprintf("%.2f %%", 100*(after-before).Seconds()/pause.Seconds()), "", "≤ 0.1 %")
	return nil
}

// warm creates the Application of P3. The first writes of the API server take longer than those of P1.
func (b *bench) warm(ctx context.Context) error {
	if b.isWarm {
		return nil
	}
	b.isWarm = true
	return b.readyAfter(ctx, application("warm", "warm"))
}

// create measures P1.
func (b *bench) create(ctx context.Context) error {
	for _, n := range []int{1, 4, 10} {
		names := numbered("create", n)
		mark := b.cluster.Mark()
		if err := b.readyAfter(ctx, application("create", names...)); err != nil {
			return err
		}
		requests, err := b.settled(ctx, mark)
		if err != nil {
			return err
		}
		reads := len(requests) - len(requests.Writes())
		b.table.row("P1", fmt.Sprintf("requests to create %d resources, reads", n),
			fmt.Sprintf("%d, %d", len(requests), reads), "", fmt.Sprintf("%d, 0", n+2))
		if err := b.client.remove(ctx, "create"); err != nil {
			return err
		}
	}
	return nil
}

// readyAfter submits an Application and waits until it is ready.
func (b *bench) readyAfter(ctx context.Context, app *unstructured.Unstructured) error {
	return await(ctx, b.client.apps(), 1,
		func(u *unstructured.Unstructured) bool { return u.GetName() == app.GetName() && ready(u) },
		func() error {
			_, err := b.client.apps().Create(ctx, app, metav1.CreateOptions{})
			return err
		})
}

// oneDrift measures P3.
func (b *bench) oneDrift(ctx context.Context) error {
	mark := b.cluster.Mark()
	if _, err := b.client.revert(ctx, "warm", "changed"); err != nil {
		return err
	}
	requests, err := b.settled(ctx, mark)
	if err != nil {
		return err
	}
	kinds := make([]string, len(requests))
	for i, r := range requests {
		kinds[i] = r.Verb + " " + strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/")
	}
	b.table.row("P3", "requests for one drift", fmt.Sprint(len(requests)), "", "1 patch + ≤ 1 status")
	b.table.row("", strings.Join(kinds, ", "), "", "", "")
	return nil
}

// latency measures P4, with the held objects of P5. Its lower bound is one patch by the bare client to a free
// object, after each revert.
func (b *bench) latency(ctx context.Context) error {
	const free = "floor"
	if err := b.client.free(ctx, free); err != nil {
		return err
	}
	var all, floor []time.Duration
	for i := range 200 {
		d, err := b.client.revert(ctx, fmt.Sprintf("many-%d", i%b.applications), fmt.Sprintf("drift-%d", i))
		if err != nil {
			return err
		}
		all = append(all, d)
		begun := time.Now()
		if err := b.client.drift(ctx, free, fmt.Sprintf("patch-%d", i)); err != nil {
			return err
		}
		floor = append(floor, time.Since(begun))
	}
	ratio := func(p int) float64 { return percentile(all, p).Seconds() / percentile(floor, p).Seconds() }
	b.table.row("P4", fmt.Sprintf("one drift reverted, %d held: p50 / p99", b.applications), halfAndMost(all), halfAndMost(floor),
		fmt.Sprintf("≤ 1.1 × / ≤ 1 × bare (is %.2f × / %.2f ×)", ratio(50), ratio(99)))
	return nil
}

func halfAndMost(all []time.Duration) string {
	return milliseconds(percentile(all, 50)) + " / " + milliseconds(percentile(all, 99))
}

// many measures P5: with Applications as kubectl creates them, and with those of `holdfast submit`, which contain
// the write-ahead record.
func (b *bench) many(ctx context.Context) error {
	plain, err := b.sample(ctx)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		name, prefix string
		arrives      bool
	}{{"P5", "many", false}, {"", "submitted", true}} {
		sample := plain
		if sample.arrives = row.arrives; row.arrives {
			if err := b.client.remove(ctx, numbered("many", b.applications)...); err != nil {
				return err
			}
		}
		floor, err := b.bareMany(ctx, sample)
		if err != nil {
			return err
		}
		begun := time.Now()
		spent, err := b.process.cpu()
		if err != nil {
			return err
		}
		err = await(ctx, b.client.apps(), b.applications,
			func(u *unstructured.Unstructured) bool {
				return strings.HasPrefix(u.GetName(), row.prefix+"-") && ready(u)
			},
			func() error {
				return each(ctx, b.applications, func(ctx context.Context, i int) error {
					return b.client.submit(ctx, fmt.Sprintf("%s-%d", row.prefix, i), sample)
				})
			})
		if err != nil {
			return err
		}
		took, n := time.Since(begun), b.applications
		used, err := b.process.cpu()
		if err != nil {
			return err
		}
		b.table.row(row.name, fmt.Sprintf("%d Applications at once (%s), all Ready", n, row.prefix), rate(n, took), rate(n, floor),
			fmt.Sprintf("≥ 90 %% of bare (is %.0f %%)", 100*floor.Seconds()/took.Seconds()))
		b.table.row("", "CPU of the controller for each", milliseconds((used-spent)/time.Duration(n)), "", "")
	}
	if err := b.client.remove(ctx, numbered("submitted", b.applications)...); err != nil {
		return err
	}
	return b.hold(ctx)
}

// hold creates the Applications of one ConfigMap that P4, P6 and P2 measure.
func (b *bench) hold(ctx context.Context) error {
	if b.isHeld {
		return nil
	}
	b.isHeld = true
	return await(ctx, b.client.apps(), b.applications,
		func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), "many-") && ready(u) },
		func() error {
			return each(ctx, b.applications, func(ctx context.Context, i int) error {
				return b.client.submit(ctx, fmt.Sprintf("many-%d", i), sample{})
			})
		})
}

// bareMany does the writes of P5 without a controller, while the same watches are open: submit, metadata
// unless already set, create, status and event, with the status that the controller writes.
func (b *bench) bareMany(ctx context.Context, sample sample) (time.Duration, error) {
	b.process.stop()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for _, resource := range []dynamic.ResourceInterface{b.client.apps(), b.client.configMaps()} {
		if err := follow(watching, resource); err != nil {
			return 0, err
		}
	}
	names := numbered("bare", b.applications)
	begun := time.Now()
	err := await(ctx, b.client.apps(), len(names),
		func(u *unstructured.Unstructured) bool { return strings.HasPrefix(u.GetName(), "bare-") && ready(u) },
		func() error {
			return each(ctx, len(names), func(ctx context.Context, i int) error {
				return b.client.bare(ctx, names[i], sample)
			})
		})
	if err != nil {
		return 0, err
	}
	took := time.Since(begun)
	if err := b.client.removeBare(ctx, names); err != nil {
		return 0, err
	}
	b.process, err = b.start(ctx)
	return took, err
}

// sample returns the writes of the controller for an Application of one ConfigMap.
func (b *bench) sample(ctx context.Context) (s sample, err error) {
	const name = "sample"
	if err := b.readyAfter(ctx, application(name, name)); err != nil {
		return s, err
	}
	u, err := b.client.apps().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return s, err
	}
	s.annotations, s.finalizers = u.GetAnnotations(), u.GetFinalizers()
	s.status, err = json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": u.Object["status"]}})
	if err != nil {
		return s, err
	}
	return s, b.client.remove(ctx, name)
}

// driftsAtOnce measures P6.
func (b *bench) driftsAtOnce(ctx context.Context) error {
	for i, n := range slices.Compact([]int{min(200, b.applications), b.applications}) {
		s, err := b.storm(ctx, n, "many-", func(i int) string { return fmt.Sprintf("many-%d", i) })
		if err != nil {
			return err
		}
		b.stormRows([]string{"P6", ""}[i], s)
	}
	return nil
}

// storm is the result of n drifts at once: the time until all are reverted, that of the bare client, and the CPU time
// of the controller, including its reports.
type storm struct {
	n                int
	took, floor, cpu time.Duration
}

// stormRows prints a storm.
func (b *bench) stormRows(row string, s storm) {
	b.table.row(row, fmt.Sprintf("%d drifts at once, made and all reverted", s.n), seconds(s.took), seconds(s.floor),
		fmt.Sprintf("≤ 1.3 ×, then 1.1 × bare (is %.2f ×)", s.took.Seconds()/s.floor.Seconds()))
	b.table.row("", "CPU of the controller for each", milliseconds(s.cpu/time.Duration(s.n)), "", "")
}

// storm makes n held objects with the name prefix drift. For comparison, the bare client drifts and reverts
// free objects.
func (b *bench) storm(ctx context.Context, n int, prefix string, name func(i int) string) (s storm, err error) {
	free := fmt.Sprintf("free-%d-%s", n, prefix)
	err = each(ctx, n, func(ctx context.Context, i int) error {
		_, err := b.client.configMaps().Create(ctx, configMap(fmt.Sprintf("%s%d", free, i)), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return s, err
	}
	begun := time.Now()
	err = await(ctx, b.client.configMaps(), n, reverted(free), func() error {
		for _, value := range []string{"drift", "held"} {
			err := each(ctx, n, func(ctx context.Context, i int) error {
				return b.client.drift(ctx, fmt.Sprintf("%s%d", free, i), value)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	s.n, s.floor = n, time.Since(begun)
	before, err := b.process.cpu()
	if err != nil {
		return s, err
	}
	mark := b.cluster.Mark()
	begun = time.Now()
	err = await(ctx, b.client.configMaps(), n, reverted(prefix), func() error {
		return each(ctx, n, func(ctx context.Context, i int) error { return b.client.drift(ctx, name(i), "all at once") })
	})
	if err != nil {
		return s, err
	}
	s.took = time.Since(begun)
	if _, err := b.settled(ctx, mark); err != nil {
		return s, err
	}
	after, err := b.process.cpu()
	s.cpu = after - before
	return s, err
}

// reverted returns a condition that is true for an object that was seen drifted and then corrected.
func reverted(prefix string) func(*unstructured.Unstructured) bool {
	drifted := map[string]bool{}
	return func(u *unstructured.Unstructured) bool {
		if strings.HasPrefix(u.GetName(), prefix) && !held(u) {
			drifted[u.GetName()] = true
		}
		return drifted[u.GetName()] && held(u)
	}
}

// atRest measures P2.
func (b *bench) atRest(ctx context.Context) error {
	mark := b.cluster.Mark()
	if _, err := b.settled(ctx, mark); err != nil {
		return err
	}
	mark = b.cluster.Mark()
	time.Sleep(b.rest)
	requests, err := b.requests(mark)
	if err != nil {
		return err
	}
	b.table.row("P2", fmt.Sprintf("requests at rest in %s, %d Applications", b.rest, b.applications), fmt.Sprint(len(requests)), "", "0")
	return nil
}

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return names
}
