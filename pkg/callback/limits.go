package callback

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// mostConnections is how many there may be. Those that say nothing are soon
	// closed.
	mostConnections = 2048
	// mostOfOne is how many of them one address may have. That is more than the calls
	// it may make at once, so that no call which would be answered is turned away.
	mostOfOne = mostConnections / 2
	// mostJudged is how many more are open while it is decided which one is closed.
	mostJudged = 64
	// mostAtOnce is how many accepted calls are written down at the same time;
	// others wait so long for their turn. One Application has four at most: for each
	// purpose one that is written down, and one that is read.
	mostAtOnce   = 64
	longestQueue = 5 * time.Second
	// callRate is for all calls of one address; it may have callBurst times as
	// many at once. All Pods of a node, or of another cluster, may have the same.
	callRate, callBurst = 100, 10
	// failRate and failBurst are for the answers to calls without a valid token. A
	// valid one is good all the same: nobody can guess 256 bits, so that one Pod
	// with a wrong token need not stop others at its address.
	failRate, failBurst = 1, 20
	// oftenest is how often one Application may be asked to reconcile.
	oftenest = time.Second
	// mostHosts is how many addresses are remembered.
	mostHosts = 4096
	// complaintRate is how many connections that fail are logged in a second, and
	// complaintBurst at once.
	complaintRate, complaintBurst = 1, 10
)

// limits keeps callers from keeping everything busy. They are known by their
// addresses and, once they have shown its token, by their Application.
type limits struct {
	rate  int
	now   func() time.Time
	slots chan struct{}

	mu    sync.Mutex
	hosts map[string]*host
}

type host struct{ calls, failures *rate.Limiter }

func newLimits(rate int, now func() time.Time) *limits {
	return &limits{rate: rate, now: now, slots: make(chan struct{}, mostAtOnce), hosts: map[string]*host{}}
}

// allow reports whether an address may call now.
func (l *limits) allow(address string) bool { return l.host(address).calls.AllowN(l.now(), 1) }

// allowApplication reports whether a call with a valid token may be answered though its
// address has called too often: others at that address must not use up what is its own.
func (l *limits) allowApplication(uid types.UID) bool {
	return l.host("application/"+string(uid)).calls.AllowN(l.now(), 1)
}

// failed counts a call without a valid token, and reports whether there were too
// many of them.
func (l *limits) failed(address string) (tooMany bool) {
	return !l.host(address).failures.AllowN(l.now(), 1)
}

// begin waits for a turn to write. If there is one, done is to be called after it.
func (l *limits) begin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, longestQueue)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *limits) done() { <-l.slots }

// host finds what is remembered of an address. When there are too many, those that
// have not failed lately are forgotten; if all have, any is.
func (l *limits) host(address string) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts[address]; h != nil {
		return h
	}
	if len(l.hosts) >= mostHosts {
		l.forget()
	}
	h := &host{calls: rate.NewLimiter(rate.Limit(l.rate), callBurst*l.rate), failures: rate.NewLimiter(failRate, failBurst)}
	l.hosts[address] = h
	return h
}

func (l *limits) forget() {
	now := l.now()
	for address, h := range l.hosts {
		if h.failures.TokensAt(now) >= failBurst && int(h.calls.TokensAt(now)) >= callBurst*l.rate {
			delete(l.hosts, address)
		}
	}
	for address := range l.hosts {
		if len(l.hosts) < mostHosts {
			return
		}
		delete(l.hosts, address)
	}
}
