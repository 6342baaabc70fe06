package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// pollInterval is how often the configuration file is read again. A notice of the
// file system would be faster, but is not to be had for every mount; a ConfigMap
// takes up to a minute to come anyway.
const pollInterval = 2 * time.Second

// selection is what is selected at the start.
func (f *flags) selection() (cluster.Selection, error) {
	selection, err := controller.NewSelection(f.watchNamespaces, f.selector)
	if err != nil {
		return selection, fmt.Errorf("--watch-namespaces and --selector: %w", err)
	}
	if f.configFile == "" {
		return selection, nil
	}
	if f.configText, err = os.ReadFile(f.configFile); err != nil {
		return selection, fmt.Errorf("--config: %w", err)
	}
	return f.configured(f.configText)
}

// configured is what a configuration file and the flags select.
func (f *flags) configured(text []byte) (cluster.Selection, error) {
	selection, err := controller.NewSelection(f.watchNamespaces, f.selector)
	if err != nil {
		return selection, err
	}
	if selection, err = controller.ParseConfiguration(text, selection); err != nil {
		return selection, fmt.Errorf("reading %s: %w", f.configFile, err)
	}
	return selection, nil
}

// followConfiguration reads the file again and again. One that cannot be read, or
// is wrong, changes nothing, and is told once.
func (f *flags) followConfiguration(ctx context.Context, selectAnew func(cluster.Selection)) {
	logger := klog.FromContext(ctx)
	last, failed := f.configText, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pollInterval):
		}
		text, err := os.ReadFile(f.configFile)
		if err != nil && !failed {
			logger.Error(err, "Keeping the configuration as it is")
		}
		if failed = err != nil; failed || bytes.Equal(text, last) {
			continue
		}
		last = text
		selection, err := f.configured(text)
		if err != nil {
			logger.Error(err, "Keeping the configuration as it is")
			continue
		}
		logger.Info("Selecting Applications anew", "namespaces", selection.Namespaces, "selector", selection.Labels.String())
		selectAnew(selection)
	}
}
