package callback

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxConnections is the maximum number of connections. Idle ones are soon closed.
	maxConnections = 2048
	// maxPerAddress is the maximum number of connections from one address. It is higher than the burst of
	// calls, so that no call is rejected that the rate limit would allow.
	maxPerAddress = maxConnections / 2
	// maxPendingDecisions is the number of extra connections that can be open while the server decides
	// which one to close.
	maxPendingDecisions = 64
	// maxConcurrentWrites is the number of accepted calls that are recorded at the same time. Others wait
	// for queueTimeout. One Application uses at most four slots: for each purpose one write and one read.
	maxConcurrentWrites = 64
	queueTimeout        = 5 * time.Second
	// callRate is the rate limit for all calls of one address, with a burst of callBurst times the rate.
	// All Pods of a node, or of another cluster, can share one address.
	callRate, callBurst = 100, 10
	// failRate and failBurst limit the responses to calls without a valid token. A valid token is always
	// accepted: 256 bits cannot be guessed, so a Pod with an invalid token does not block others behind its
	// address.
	failRate, failBurst = 1, 20
	// minReconcileInterval is the minimum time between two reconcile calls of one Application.
	minReconcileInterval = time.Second
	// maxHosts is the number of addresses with rate limiters in memory.
	maxHosts = 4096
)

// limits prevents single callers from using up the server. Callers are identified by their address and, after they
// have presented its token, by their Application. All handlers use it concurrently.
type limits struct {
	// rate is the number of calls per second of one address.
	rate int
	now  func() time.Time
	// slots limits the writes at the same time. A sender takes a slot.
	slots chan struct{}

	// mu guards hosts.
	mu sync.Mutex
	// hosts contains the rate limiters by address, or by "application/" and a UID.
	hosts map[string]*host
}

// host is one caller. failures is not used for an Application.
type host struct{ calls, failures *rate.Limiter }

func newLimits(rate int, now func() time.Time) *limits {
	return &limits{rate: rate, now: now, slots: make(chan struct{}, maxConcurrentWrites), hosts: map[string]*host{}}
}

// allow reports whether the address is below its rate limit.
func (l *limits) allow(address string) bool { return l.host(address).calls.AllowN(l.now(), 1) }

// allowApplication reports whether a call with a valid token is below the rate limit of its Application. It
// is used if the address has exceeded its limit, so that other callers behind the address cannot use up
// that of the Application.
func (l *limits) allowApplication(uid types.UID) bool {
	return l.host("application/"+string(uid)).calls.AllowN(l.now(), 1)
}

// failed counts a call without a valid token, and reports whether there were too many of them.
func (l *limits) failed(address string) (tooMany bool) {
	return !l.host(address).failures.AllowN(l.now(), 1)
}

// begin waits for a slot, at most for queueTimeout. If it returns true, the caller must call done afterwards.
func (l *limits) begin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *limits) done() { <-l.slots }

// host returns the rate limiters of an address. If there are too many addresses, those without recent failures are
// evicted first. An evicted address starts again with a full burst.
func (l *limits) host(address string) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.hosts[address]; h != nil {
		return h
	}
	if len(l.hosts) >= maxHosts {
		l.forget()
	}
	h := &host{calls: rate.NewLimiter(rate.Limit(l.rate), callBurst*l.rate), failures: rate.NewLimiter(failRate, failBurst)}
	l.hosts[address] = h
	return h
}

// forget evicts rate limiters: those that are full, which lose nothing, and then any until there is room. The caller
// holds the lock.
func (l *limits) forget() {
	now := l.now()
	for address, h := range l.hosts {
		// Such a caller is like one without an entry.
		if h.failures.TokensAt(now) >= failBurst && int(h.calls.TokensAt(now)) >= callBurst*l.rate {
			delete(l.hosts, address)
		}
	}
	for address := range l.hosts {
		if len(l.hosts) < maxHosts {
			return
		}
		delete(l.hosts, address)
	}
}
