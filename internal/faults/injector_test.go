package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// injector stands between a controller and its API server and spoils a part of what
// passes. What it does is decided by its seed alone, request by request.
type injector struct {
	next http.RoundTripper

	mu     sync.Mutex
	random *rand.Rand
	calm   bool // nothing is spoilt
	dead   bool // nothing passes: the process is gone
	counts map[string]int
}

func newInjector(seed uint64) *injector {
	return &injector{random: rand.New(rand.NewPCG(seed, 1)), counts: map[string]int{}}
}

func (i *injector) wrap(next http.RoundTripper) http.RoundTripper {
	i.next = next
	return i
}

// Calm ends all faults.
func (i *injector) Calm() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calm = true
}

// Die lets nothing pass any more.
func (i *injector) Die() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dead = true
}

func (i *injector) isDead() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.dead
}

// draw is a random number below n, and -1 when nothing is to be spoilt.
func (i *injector) draw(n int) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.calm {
		return -1
	}
	return i.random.IntN(n)
}

func (i *injector) note(fault string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts[fault]++
}

// Injected says how often each fault was injected.
func (i *injector) Injected() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var parts []string
	for _, fault := range slices.Sorted(maps.Keys(i.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", fault, i.counts[fault]))
	}
	return strings.Join(parts, ", ")
}

var (
	errDead = errors.New("the process is dead")
	errNet  = errors.New("connection reset by peer")
)

func (i *injector) RoundTrip(request *http.Request) (*http.Response, error) {
	if i.isDead() {
		return nil, errDead
	}
	if request.URL.Query().Get("watch") != "" {
		return i.watch(request)
	}
	return i.spoil(request)
}

// spoil fails a quarter of the requests.
func (i *injector) spoil(request *http.Request) (*http.Response, error) {
	switch i.draw(32) {
	case 0:
		i.note("reset")
		return nil, errNet
	case 1:
		i.note("lost answer")
		response, err := i.next.RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		return nil, errNet
	case 2:
		i.note("half an answer")
		response, err := i.next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		all, _ := io.ReadAll(response.Body)
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(all[:len(all)/2]))
		return response, nil
	case 3:
		return i.fail(request, http.StatusConflict, "Conflict")
	case 4:
		return i.fail(request, http.StatusTooManyRequests, "TooManyRequests")
	case 5:
		return i.fail(request, http.StatusInternalServerError, "InternalError")
	case 6:
		return i.fail(request, http.StatusServiceUnavailable, "ServiceUnavailable")
	case 7:
		i.note("late answer")
		response, err := i.next.RoundTrip(request)
		<-time.After(time.Duration(i.draw(500)+1) * time.Millisecond)
		return response, err
	}
	return i.next.RoundTrip(request)
}

func (i *injector) fail(request *http.Request, code int, reason string) (*http.Response, error) {
	i.note(fmt.Sprint(code))
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","reason":%q,"code":%d}`, reason, code)
	response := &http.Response{
		StatusCode: code, Request: request, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
	if code == http.StatusTooManyRequests {
		response.Header.Set("Retry-After", "1")
	}
	return response, nil
}
