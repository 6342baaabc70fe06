package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// injector is a proxy between a controller and its API server that injects faults. The seed and the request
// determine the fault: the third patch of an object gets the same fault, regardless of concurrent requests.
type injector struct {
	next http.RoundTripper
	seed uint64
	log  io.Writer // counts all requests and the faulty ones

	*gate

	mu     sync.Mutex
	calm   bool           // no faults are injected
	asked  map[string]int // number of earlier equal requests
	counts map[string]int
}

func newInjector(seed uint64) *injector {
	return &injector{seed: seed, log: io.Discard, gate: newGate(), asked: map[string]int{}, counts: map[string]int{}}
}

func (i *injector) wrap(next http.RoundTripper) http.RoundTripper {
	i.next = next
	return i
}

// Calm stops all faults.
func (i *injector) Calm() {
	i.mu.Lock()
	i.calm = true
	i.mu.Unlock()
	i.Open()
}

// namespaced matches the part of a path with the generated name of a namespace.
var namespaced = regexp.MustCompile(`/namespaces/[^/]+/`)

// what describes a request, without the name of its namespace.
func what(request *http.Request) string {
	return request.Method + request.URL.Query().Get("watch") + namespaced.ReplaceAllString(request.URL.Path, "/")
}

// drawn returns random numbers that depend on the arguments.
func (i *injector) drawn(from ...any) *rand.Rand {
	sum := fnv.New64a()
	fmt.Fprint(sum, from...)
	return rand.New(rand.NewPCG(i.seed, sum.Sum64()))
}

// fate returns the random numbers for a request.
func (i *injector) fate(request *http.Request) *fate {
	what := what(request)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked[what]++
	return &fate{injector: i, request: request, random: i.drawn(what, i.asked[what])}
}

// fate determines the faults of one request or watch.
type fate struct {
	injector *injector
	request  *http.Request
	random   *rand.Rand
}

// draw returns a random number below n, or -1 if no faults are injected.
func (f *fate) draw(n int) int {
	drawn := f.random.IntN(n)
	f.injector.mu.Lock()
	defer f.injector.mu.Unlock()
	if f.injector.calm {
		return -1
	}
	return drawn
}

// note counts a fault and logs it.
func (i *injector) note(fault string, request *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts[fault]++
	i.say("%s: %s %s", fault, request.Method, request.URL.Path)
}

// say writes a line to the log.
func (i *injector) say(format string, args ...any) {
	fmt.Fprintf(i.log, "%s %s\n", time.Now().Format("15:04:05.000000"), fmt.Sprintf(format, args...))
}

// Injected returns how often each fault was injected.
func (i *injector) Injected() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var parts []string
	for _, fault := range slices.Sorted(maps.Keys(i.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", fault, i.counts[fault]))
	}
	return strings.Join(parts, ", ")
}

var errNet = errors.New("connection reset by peer")

func (i *injector) RoundTrip(request *http.Request) (*http.Response, error) {
	done, err := i.enter(request, i.drawn(what(request)).Uint64())
	if err != nil {
		return nil, err
	}
	defer done()
	if request.URL.Query().Get("watch") != "" {
		return i.watch(request)
	}
	var body []byte
	if request.GetBody != nil {
		reader, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		body, _ = io.ReadAll(reader)
	}
	response, err := i.spoil(request)
	if err != nil {
		i.say("%s %s %s: %v", request.Method, request.URL.Path, body, err)
		return nil, err
	}
	i.say("%s %s %s: %d", request.Method, request.URL.Path, body, response.StatusCode)
	return response, nil
}

// spoil makes a quarter of the requests fail.
func (i *injector) spoil(request *http.Request) (*http.Response, error) {
	fate := i.fate(request)
	switch fate.draw(32) {
	case 0:
		i.note("reset", request)
		return nil, errNet
	case 1:
		i.note("lost answer", request)
		response, err := i.next.RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		return nil, errNet
	case 2:
		i.note("half an answer", request)
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
		i.note("late answer", request)
		response, err := i.next.RoundTrip(request)
		<-time.After(time.Duration(fate.draw(500)+1) * time.Millisecond)
		return response, err
	}
	return i.next.RoundTrip(request)
}

func (i *injector) fail(request *http.Request, code int, reason string) (*http.Response, error) {
	i.note(fmt.Sprint(code), request)
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"injected","reason":%q,"code":%d}`, reason, code)
	response := &http.Response{
		StatusCode: code, Request: request, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
	return response, nil
}

// Equal requests get the same faults, in any order and with any concurrent requests.
func TestSeedDeterminesFaults(t *testing.T) {
	const each = 200
	fates := func(order []int) map[string]int {
		i, got, asked := newInjector(7), map[string]int{}, map[int]int{}
		for _, object := range order {
			request, err := http.NewRequest(http.MethodPatch, fmt.Sprintf("https://host/api/v1/namespaces/n-%d/configmaps/c%d", rand.IntN(1000), object), http.NoBody)
			require.NoError(t, err)
			got[fmt.Sprint(object, " ", asked[object])] = i.fate(request).draw(32)
			asked[object]++
		}
		return got
	}
	var ordered []int
	for object := range 5 {
		ordered = append(ordered, slices.Repeat([]int{object}, each)...)
	}
	mixed := slices.Clone(ordered)
	rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	first := fates(ordered)
	assert.Equal(t, first, fates(mixed))
	spoilt := 0
	for _, drawn := range first {
		if drawn < 8 {
			spoilt++
		}
	}
	assert.InDelta(t, len(first)/4, spoilt, 60, "a quarter of the requests is spoilt")
}
