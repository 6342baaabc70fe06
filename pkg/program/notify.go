package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/notify"
)

// notifyFlags configure the receiver of notifications.
type notifyFlags struct {
	url string
	// keyFile contains the key that signs notifications; empty for none.
	keyFile string
	sender  *notify.Sender // nil without a receiver
}

// add adds the flags to a set, in the order of the help text.
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
		var err error
		if settings.Key, err = readKey("--notify-key-file", f.keyFile, "key"); err != nil {
			return err
		}
	}
	sender, err := notify.New(settings)
	if err != nil {
		return fmt.Errorf("--notify-url: %w", err)
	}
	f.sender, options.Notify = sender, sender
	return nil
}

// readKey reads the key or token, as what names it, from the file of a flag.
func readKey(flag, file, what string) ([]byte, error) {
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	// A file usually ends with a newline. A short key could be guessed.
	if key = bytes.TrimSpace(key); len(key) < 16 {
		return nil, fmt.Errorf("%s: the %s has fewer than 16 bytes", flag, what)
	}
	return key, nil
}

// run sends notifications until finish is called after the last one. It ignores the end of the context, because the
// last reconciles send notifications after it. finish returns when the queued ones are sent, or after some seconds.
func (f *notifyFlags) run(ctx context.Context) (finish func()) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	var sending sync.WaitGroup
	sending.Go(func() { f.sender.Run(ctx) })
	return func() {
		end()
		sending.Wait()
	}
}
