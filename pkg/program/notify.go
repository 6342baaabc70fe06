package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/notify"
)

// notifyFlags configure the receiver of notifications.
type notifyFlags struct {
	url string
	// keyFile has the key that signs notifications; empty for none.
	keyFile string
	sender  *notify.Sender // nil without a receiver
}

func (f *notifyFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.url, "notify-url", "", "URL of a receiver of CloudEvents about drift, corrections, contests, releases and readiness; empty sends none")
	set.StringVar(&f.keyFile, "notify-key-file", "", "file with the key that signs these requests (HMAC-SHA256, at least 16 bytes); empty disables signatures")
}

// apply creates the sender, which run starts. Without --notify-url, it creates none. Errors do not contain the key.
func (f *notifyFlags) apply(options *controller.Options) error {
	if f.url == "" {
		if f.keyFile != "" {
			return errors.New("--notify-key-file needs --notify-url")
		}
		return nil
	}
	settings := notify.Options{URL: f.url, UserAgent: "holdfast-controller/" + version.String()}
	if f.keyFile != "" {
		key, err := os.ReadFile(f.keyFile)
		if err != nil {
			return fmt.Errorf("--notify-key-file: %w", err)
		}
		// A short key could be guessed.
		if settings.Key = bytes.TrimSpace(key); len(settings.Key) < 16 {
			return errors.New("--notify-key-file: the key has fewer than 16 bytes")
		}
	}
	sender, err := notify.New(settings)
	if err != nil {
		return fmt.Errorf("--notify-url: %w", err)
	}
	f.sender, options.Notify = sender, sender
	return nil
}

// run sends notifications until finish is called after the last one. It ignores the end of the context, because the
// last reconciles send notifications after it. finish returns when the queued ones are sent, or after some seconds.
func (f *notifyFlags) run(ctx context.Context) (finish func()) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.sender.Run(ctx)
	}()
	return func() {
		end()
		<-ended
	}
}
