package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
)

// pollInterval is the interval for reading the configuration file. File system notifications would be
// faster, but do not work for all mounts, and the update of a ConfigMap takes up to a minute anyway.
const pollInterval = 2 * time.Second

// selection returns the selection at startup. Unlike later, an unreadable or invalid configuration file is an error.
// It keeps the content of the file for followConfiguration.
func (f *flags) selection() (cluster.Selection, error) {
	selection, err := cluster.NewSelection(f.watchNamespaces, f.selector)
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

// configured returns the selection of a configuration file, and of the flags for fields that the file does not set.
func (f *flags) configured(text []byte) (cluster.Selection, error) {
	selection, err := cluster.NewSelection(f.watchNamespaces, f.selector)
	if err != nil {
		return selection, err
	}
	if selection, err = cluster.ParseConfiguration(text, selection); err != nil {
		return selection, fmt.Errorf("reading %s: %w", f.configFile, err)
	}
	return selection, nil
}

// followConfiguration polls the file until the context ends, and calls selectAnew when its selection can have
// changed. If the file is unreadable or invalid, the selection is unchanged, and the error is logged once.
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
			logger.Error(err, "Keeping the previous configuration")
		}
		if failed = err != nil; failed || bytes.Equal(text, last) {
			continue
		}
		// Also an invalid content, so that its error is logged once.
		last = text
		// The flags apply to fields that the new content does not set.
		selection, err := f.configured(text)
		if err != nil {
			logger.Error(err, "Keeping the previous configuration")
			continue
		}
		logger.Info("Changing the selection of Applications", "namespaces", selection.Namespaces, "selector", selection.Labels.String())
		selectAnew(selection)
	}
}
