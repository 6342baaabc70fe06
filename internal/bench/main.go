// Command bench measures the controller on a real API server and prints one table: the measurement, the
// target, and the result of a bare client that does the same writes in the same run on the same machine.
//
// It runs bin/holdfast-controller as a separate process. It exits with status 0 regardless of the figures,
// and fails only if it cannot measure. With -peers it measures Holdfast and alternative programs, built
// from tools/peers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

func main() {
	applications := flag.Int("applications", 1000, "Applications of P5")
	only := flag.String("rows", "", "comma-separated rows to measure, such as P5,P10; empty: all")
	perMinute := flag.Int("per-minute", 10_000, "drifts of the row drifts")
	objects := flag.Int("objects", 10_000, "objects of P14, ten in each Application: 100000 take half an hour")
	before := flag.String("before", "", "binary of another controller, with which that of the row drifts takes turns")
	rest := flag.Duration("rest", time.Minute, "how long P2 watches for requests at rest")
	peers := flag.String("peers", "", "compare with what people would use instead, with so many resources, such as '200 1000'")
	subject := flag.String("subject", "", "with -peers: measure only whose name has this")
	drifts := flag.Int("drifts", 200, "with -peers: how many single drifts")
	output := flag.String("o", "", "with -peers: where to write the figures, as JSON; empty: docs/benchmarks, with the table of docs/benchmarks.md")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *peers != "" {
		err = compare(ctx, *peers, *output, comparison{only: *subject, drifts: *drifts})
	} else {
		err = run(ctx, bench{applications: *applications, objects: *objects, rest: *rest, only: *only, before: *before, perMinute: *perMinute})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures with the given sizes.
func run(ctx context.Context, b bench) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	cluster, err := testcluster.Start(ctx, testcluster.Options{})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	b.cluster, b.definition = cluster, filepath.Join(root, "deploy", "crd")
	b.controller, b.command = filepath.Join(root, "bin", "holdfast-controller"), filepath.Join(root, "bin", "holdfast")
	fmt.Printf("%d cores, %s, Go %s; kube-apiserver and etcd on the same machine, audit log on\n\n",
		runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH, runtime.Version())
	return b.all(ctx)
}

// all measures row by row. If a row cannot be measured, the table contains the reason, and the other rows
// are measured.
func (b *bench) all(ctx context.Context) error {
	var err error
	if b.client, err = newClient(b.cluster.Config()); err != nil {
		return err
	}
	if err := b.client.install(ctx, b.definition); err != nil {
		return err
	}
	type step func(context.Context) error
	rows := []struct {
		name           string
		measure, needs step
	}{
		{"P12", b.empty, nil}, {"P1", b.create, b.warm}, {"P3", b.oneDrift, b.warm}, {"P5", b.many, nil},
		{"P4", b.latency, b.hold}, {"P6", b.driftsAtOnce, b.hold}, {"P2", b.atRest, b.hold}, {"P10", b.large, nil},
		{"P7", b.perObject, nil}, {"P8", b.unrelated, nil}, {"callbacks", b.callbacks, nil}, {"drifts", b.minute, nil}, {"P14", b.hundredThousand, nil},
	}
	b.table.header()
	for _, row := range rows {
		if b.only != "" && !slices.Contains(strings.Split(b.only, ","), row.name) {
			continue
		}
		if err := b.ensureRunning(ctx); err != nil {
			return err
		}
		if err := b.measure(ctx, row.needs, row.measure); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.table.row(row.name, "not measured", err.Error(), "", "")
		}
	}
	if b.process != nil {
		b.process.stop()
	}
	return nil
}

// measure creates the Applications that a row needs, if no earlier row has, and measures the row.
func (b *bench) measure(ctx context.Context, needs, row func(context.Context) error) error {
	if needs != nil {
		if err := needs(ctx); err != nil {
			return err
		}
	}
	return row(ctx)
}
