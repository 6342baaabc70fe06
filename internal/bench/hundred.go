package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/testcluster"
)

const (
	// stormSize is the number of objects of P14 that drift at once, if there are so many.
	stormSize = 10_000
	// batch is the number of Applications to wait for at a time.
	batch = 1000
	// linesEach is the number of lines that make an object of P14 1 KB large.
	linesEach = 14
)

// hundredThousand measures P14: many objects, ten per Application, from the first create to a restart and a
// storm.
func (b *bench) hundredThousand(ctx context.Context) error {
	b.process.stop()
	var err error
	if b.process, err = b.start(ctx); err != nil {
		return err
	}
	applications := b.objects / objectsEach
	begun := time.Now()
	for first := 0; first < applications; first += batch {
		if err := b.hundreds(ctx, first, min(batch, applications-first)); err != nil {
			return err
		}
	}
	took := time.Since(begun)
	peak, err := b.process.peak()
	if err != nil {
		return err
	}
	b.table.row("P14", fmt.Sprintf("%d Applications of %d objects of 1 KB", applications, objectsEach), rate(applications, took), "", "")
	b.table.row("", "peak memory while they are created", mebibytes(peak), "", "")
	rest, err := b.restarted(ctx)
	if err != nil {
		return err
	}
	return b.hundredStorm(ctx, rest)
}

// hundreds creates n Applications and waits until they are ready.
func (b *bench) hundreds(ctx context.Context, first, n int) error {
	awaited := map[string]bool{}
	for i := range n {
		awaited[hundred(first+i)] = true
	}
	return await(ctx, b.client.apps(), n,
		func(u *unstructured.Unstructured) bool { return awaited[u.GetName()] && ready(u) },
		func() error {
			return each(ctx, n, func(ctx context.Context, i int) error {
				_, err := b.client.apps().Create(ctx, hundredApplication(first+i), metav1.CreateOptions{})
				return err
			})
		})
}

func hundred(i int) string { return fmt.Sprintf("hundred-%d", i) }

// restarted measures the start of a controller when all objects are in sync. It returns the memory at rest
// in KiB.
func (b *bench) restarted(ctx context.Context) (rest int, err error) {
	b.process.stop()
	mark := b.cluster.Mark()
	address, err := freeAddress(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if b.process, err = b.startAs(ctx, b.controller, "--metrics-bind-address="+address); err != nil {
		return 0, err
	}
	verified, err := awaitVerified(ctx, "http://"+address+"/metrics", b.objects/objectsEach)
	if err != nil {
		return 0, err
	}
	requests, err := b.requests(mark)
	if err != nil {
		return 0, err
	}
	rest, err = b.atRestMemory(ctx)
	if err != nil {
		return 0, err
	}
	peak, err := b.process.peak()
	if err != nil {
		return 0, err
	}
	b.table.row("", "restart: all known / all verified", seconds(b.process.ready)+" / "+seconds(verified.Sub(begun)), "", "≤ 6 s at 10,000 Applications")
	b.table.row("", "requests of the restart, writes", fmt.Sprintf("%d, %d", len(requests), len(requests.Writes())), "", "one stream for each kind, 0")
	b.table.row("", "memory at rest", mebibytes(rest), "", "≤ 400 MiB, then ≤ 200")
	b.table.row("", "peak of the restart", mebibytes(peak), "", target(peak, rest))
	return rest, nil
}

// hundredStorm measures the correction of many objects that drift at once.
func (b *bench) hundredStorm(ctx context.Context, rest int) error {
	n, applications := min(stormSize, b.objects), b.objects/objectsEach
	if err := b.process.forgetPeak(); err != nil {
		return err
	}
	mark := b.cluster.Mark()
	s, err := b.storm(ctx, n, "hundred-", func(i int) string {
		return fmt.Sprintf("hundred-%d-%d", i%applications, i/applications)
	})
	if err != nil {
		return err
	}
	peak, err := b.process.peak()
	if err != nil {
		return err
	}
	corrections, err := b.requests(mark)
	if err != nil {
		return err
	}
	patches := corrections.Where(func(r testcluster.Request) bool { return r.Verb == "patch" && r.Resource == "configmaps" })
	after, err := b.atRestMemory(ctx)
	if err != nil {
		return err
	}
	b.stormRows("", s)
	b.table.row("", "patches of the controller for these", fmt.Sprint(len(patches)), "", fmt.Sprint(n))
	b.table.row("", "peak of the storm", mebibytes(peak), "", target(peak, rest))
	b.table.row("", "memory at rest afterwards", mebibytes(after), "", "")
	return nil
}

func mebibytes(kibibytes int) string { return fmt.Sprintf("%d MiB", kibibytes/1024) }

func target(peak, rest int) string {
	return fmt.Sprintf("≤ 1.5 × at rest (is %.2f ×)", float64(peak)/float64(rest))
}

// hundredApplication returns an Application with objects whose fields are all held.
func hundredApplication(i int) *unstructured.Unstructured {
	r := rand.New(rand.NewPCG(uint64(i), 14))
	app := application(hundred(i))
	manifest := make([]any, objectsEach)
	for k := range manifest {
		one := configMap(fmt.Sprintf("hundred-%d-%d", i, k))
		data := one.Object["data"].(map[string]any)
		for line := range linesEach {
			data[fmt.Sprintf("line-%d", line)] = repetitive(r)
		}
		manifest[k] = one.Object
	}
	app.Object["spec"] = map[string]any{"manifest": manifest}
	return app
}

// awaitVerified returns the time of the last reconcile before three seconds without any, once the controller has
// compared the objects of n Applications.
func awaitVerified(ctx context.Context, url string, n int) (time.Time, error) {
	last, since := 0.0, time.Now()
	for {
		ready, reconciles, err := readCounts(ctx, url)
		if err != nil {
			return since, err
		}
		if reconciles != last || ready < float64(n) {
			last, since = reconciles, time.Now()
		}
		if time.Since(since) >= 3*time.Second {
			return since, nil
		}
		select {
		case <-ctx.Done():
			return since, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readCounts returns the number of Applications that are ready since the controller has started, and the number of
// its reconciles. A reconcile before the first list of a kind ends without a result.
func readCounts(ctx context.Context, url string) (ready, reconciles float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), "} ")
		switch {
		case name == `holdfast_applications{ready="True"`:
			ready, err = strconv.ParseFloat(text, 64)
		case strings.HasPrefix(name, "holdfast_reconciles_total{"):
			var some float64
			some, err = strconv.ParseFloat(text, 64)
			reconciles += some
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return ready, reconciles, lines.Err()
}

// freeAddress returns an address that is currently not in use.
func freeAddress(ctx context.Context) (string, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// forgetPeak resets the peak to the current resident set.
func (p *process) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0)
}
