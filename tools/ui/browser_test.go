package ui

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

//go:embed testdata/axe-4.14.1.min.js.gz
var axePacked []byte

const axeDigest = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

// patience is the timeout for waiting on a page.
const patience = time.Minute

// tab is one page in a browser.
type tab struct {
	*testing.T

	ctx context.Context //nolint:containedctx // the life of the tab
	mu  sync.Mutex
	// problems contains the errors that the browser has reported.
	problems []string
}

// open starts a browser.
func open(t *testing.T) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	require.NotEmpty(t, program, "make test-ui needs a browser: apt install chromium")
	profile, err := os.MkdirTemp("", "holdfast-ui-") //nolint:usetesting // t.TempDir is removed while the browser still writes
	require.NoError(t, err)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(patience), chromedp.UserDataDir(profile))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(func() {
		stop()
		assert.Eventually(t, func() bool { return os.RemoveAll(profile) == nil }, patience, 20*time.Millisecond, "the last of its processes still writes")
	})
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &tab{T: t, ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	b.do(log.Enable(), emulation.SetFocusEmulationEnabled(true))
	b.look(1280, "light") // disables smooth scrolling, during which clicks miss their targets
	return b
}

// hear records script errors and violations of the content security policy.
func (b *tab) hear(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Source == log.SourceSecurity {
			text = e.Entry.Text
		}
	}
	if text != "" {
		b.mu.Lock()
		b.problems = append(b.problems, text)
		b.mu.Unlock()
	}
}

func (b *tab) do(actions ...chromedp.Action) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if b.ctx.Err() == nil && chromedp.FromContext(b.ctx).Target == nil {
		ctx = b.ctx // the first action starts the browser, which must outlive its context
	}
	require.NoError(b, chromedp.Run(ctx, actions...))
}

// eval evaluates an expression on the page.
func eval[T any](b *tab, expression string) (value T) {
	b.Helper()
	b.do(chromedp.Evaluate(expression, &value, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return value
}

// await waits until an expression is true. It ignores errors during navigation.
func (b *tab) await(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for is := false; !is; {
		_ = chromedp.Run(ctx, chromedp.Evaluate("!!("+expression+")", &is))
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			require.Fail(b, expression, eval[string](b, "location.href + ' ' + document.body.innerText"))
		}
	}
}

// visit opens an address.
func (b *tab) visit(address string) {
	b.Helper()
	b.do(chromedp.Navigate(address), chromedp.WaitVisible("h1", chromedp.ByQuery))
}

// click clicks on the element that matches a selector.
func (b *tab) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible))
}

// text returns the text of the element that matches a selector, after two frames: the browser puts off the
// rendering of rows (content-visibility), and an element that is not rendered yet has no text.
func (b *tab) text(selector string) string {
	b.Helper()
	return eval[string](b, fmt.Sprintf(`new Promise(framed => requestAnimationFrame(() => requestAnimationFrame(framed)))
		.then(() => document.querySelector(%q).innerText)`, selector))
}

// look sets the page width and the preferred color scheme.
func (b *tab) look(width int64, scheme string) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, 900), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}))
}

// looks calls see with the page in each width and color scheme.
func (b *tab) looks(see func(look string)) {
	for _, width := range []int64{1280, 390} {
		for _, scheme := range []string{"light", "dark"} {
			b.look(width, scheme)
			see(fmt.Sprintf("%d-%s", width, scheme))
		}
	}
	b.look(1280, "light")
}

// isSound checks every page in every look: axe-core reports no serious violation, nothing is wider than the
// page, and the browser reports no errors.
func (b *tab) isSound(name string) {
	b.Helper()
	b.looks(func(look string) {
		b.picture(name + "-" + look)
		assert.Empty(b, b.violations(), "%s, %s", name, look)
		assert.LessOrEqual(b, eval[int](b, "document.scrollingElement.scrollWidth - innerWidth"), 0, "%s, %s: nothing is wider than the page", name, look)
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Empty(b, b.problems, name)
	b.problems = nil
}

// violations returns the serious and critical violations that axe-core reports.
func (b *tab) violations() (found []string) {
	b.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(axePacked))
	require.NoError(b, err)
	axe, err := io.ReadAll(unpacked)
	require.NoError(b, err)
	require.Equal(b, axeDigest, fmt.Sprintf("%x", sha256.Sum256(axe)), "the vendored files match README.md")
	b.do(chromedp.Evaluate(string(axe)+";0", nil))
	result := eval[json.RawMessage](b, `axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => ({id: v.id, impact: v.impact,
		nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)})))`)
	var all []struct {
		ID, Impact string
		Nodes      []string
	}
	require.NoError(b, json.Unmarshal(result, &all))
	for _, v := range all {
		if v.Impact == "serious" || v.Impact == "critical" {
			found = append(found, v.ID+": "+strings.Join(v.Nodes, "\n"))
		}
	}
	return found
}

// picture saves a screenshot to the directory in UI_PICTURES, if it is set.
func (b *tab) picture(name string) {
	b.Helper()
	dir := os.Getenv("UI_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	b.do(chromedp.CaptureScreenshot(&png))
	require.NoError(b, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}
