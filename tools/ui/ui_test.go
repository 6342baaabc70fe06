package ui

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/pkg/cli"
)

//go:embed testdata/scene.yaml
var scene string

// set prepares the cluster: cart is changed while it is suspended, and search is changed until it is
// contested.
func (u user) set() {
	u.Helper()
	u.namespace("shop")
	u.kubectl(scene, "apply", "--server-side", "--filename=-")
	u.kubectl("", "wait", "hfapp/web", "hfapp/cart", "hfapp/search", "-n", "shop", "--for=condition=Ready", "--timeout=120s")
	u.kubectl("", "patch", "hfapp/cart", "-n", "shop", "--type=merge", `--patch={"spec": {"suspend": true}}`)
	u.kubectl("", "wait", "hfapp/cart", "-n", "shop", "--for=jsonpath={.status.conditions[?(@.type=='Ready')].reason}=Suspended", "--timeout=120s")
	u.kubectl("", "patch", "configmap/cart", "-n", "shop", "--type=merge", `--patch={"data": {"color": "red", "currency": null, "note": "mine"}}`, "--field-manager=colleague")
	u.kubectl("", "scale", "deployment/web", "-n", "shop", "--replicas=3")
	// The times of a history are whole seconds, and the axis of its pictures needs two of them.
	created, err := time.Parse(time.RFC3339, u.kubectl("", "get", "hfapp/web", "-n", "shop", "--output=jsonpath={.status.history[0].time}"))
	require.NoError(u, err)
	require.Eventually(u, func() bool { return time.Now().Truncate(time.Second).After(created) }, time.Minute, 10*time.Millisecond)
	u.kubectl("", "set", "image", "deployment/web", "-n", "shop", "web=registry.example.com/web:1.5")
	require.Eventually(u, func() bool {
		u.kubectl("", "patch", "configmap/search", "-n", "shop", "--type=merge", `--patch={"data": {"boost": "9"}}`, "--field-manager=tuner")
		return u.kubectl("", "get", "hfapp/search", "-n", "shop", "--output=jsonpath={.status.contested[*].path}") != ""
	}, 2*time.Minute, time.Millisecond)
}

func TestPages(t *testing.T) {
	u := start(t)
	u.set()
	b := open(t)
	address := u.serve()
	host, _, _ := strings.Cut(address, "?")
	host = strings.TrimSuffix(host, "/")

	t.Run("no access without the token", func(t *testing.T) { refusesStrangers(t, host) })
	b.do(chromedp.Navigate(address))
	b.await(`document.querySelector(".overview")`)
	assert.Equal(t, host+"/", eval[string](b, "location.href"), "the token is not in the address any more")
	assert.Empty(t, eval[string](b, "document.cookie"), "no script has the cookie")

	for _, part := range []struct {
		name string
		test func(u user, b *tab, host string)
	}{
		{"overview", testOverview},
		{"Application", testApplication},
		{"object", testObject},
		{"history", testHistory},
		{"who changes most", testWriters},
		{"keys", testKeys},
		{"markup is text", testMarkup},
		{"secrets", testSecrets},
		{"back button", testBack},
		{"live", testLive},
		{"not there", testNotThere},
		{"a thousand Applications", testAThousand},
	} {
		t.Run(part.name, func(t *testing.T) {
			part.test(user{t, u.cluster}, &tab{T: t, ctx: b.ctx}, host)
		})
	}
}

func refusesStrangers(t *testing.T, host string) {
	t.Helper()
	for _, path := range []string{"/", "/events", "/assets/page.js", "/applications/shop/web"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, host+path, http.NoBody)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_ = answer.Body.Close()
		assert.Equal(t, http.StatusUnauthorized, answer.StatusCode, path)
	}
}

func testOverview(u user, b *tab, host string) {
	b.visit(host + "/")
	b.await(`document.getElementById("live").textContent === "live"`)
	b.isSound("overview")
	row := func(name string) string { return b.text(fmt.Sprintf("[id=%q]", "shop/"+name)) }
	assert.Contains(u, row("web"), "Ready")
	assert.Contains(u, row("cart"), "Suspended")
	assert.Contains(u, row("search"), "1 contested")
	assert.Contains(u, row("press"), "Not ready")

	b.do(chromedp.SendKeys("input[name=q]", "sear", chromedp.ByQuery))
	b.await(`document.querySelectorAll(".rows .row").length === 1 && location.search === "?q=sear"`)
	assert.Equal(u, "q", eval[string](b, "document.activeElement.name"), "one can go on typing")
	b.visit(host + "/")
	b.do(chromedp.Focus(".states .c-suspended", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.await(`location.search === "?state=suspended" && document.querySelector(".rows .row")`)
	assert.Equal(u, 1, eval[int](b, `document.querySelectorAll(".rows .row").length`))
	b.visit(host + "/?q=nothing-of-that-name")
	assert.Contains(u, b.text("main"), "No Application fits")
	b.isSound("overview-empty")
}

func testApplication(u user, b *tab, host string) {
	b.visit(host + "/applications/shop/cart")
	b.isSound("application-suspended")
	assert.Contains(u, b.text("main"), "holdfast resume cart -n shop")
	assert.Contains(u, b.text(".plan"), "data.color: red → blue")
	assert.Equal(u, "Drift", b.text("h2"))
	assert.Regexp(u, `(?s)ago.*drifted.*data\.color: red → blue, by colleague`, b.text(".todo"))
	b.visit(host + "/applications/shop/search")
	assert.Contains(u, b.text("main"), "is repeatedly changed back by tuner")
	b.isSound("application-contested")
	b.visit(host + "/applications/shop/press")
	b.isSound("application-failed")
	b.visit(host + "/applications/shop/web?tree=owned")
	b.await(`document.querySelector(".tree").innerText.includes("ReplicaSet")`)
	b.isSound("application-tree")
}

func testObject(u user, b *tab, host string) {
	b.visit(host + "/applications/shop/cart/configmap/shop/cart")
	b.isSound("object-unchosen")
	assert.Contains(u, b.text(`a.row[id="data.color"]`), "color: red")
	assert.Contains(u, b.text(`a.row[id="data.color"]`), "color: blue")
	assert.Contains(u, b.text(`a.row[id="data.color"]`), "colleague")
	assert.Contains(u, b.text(`a.row[id="data.currency"]`), "(absent)")
	assert.Contains(u, b.text(`a.row[id="data.note"]`), "free")
	b.click(`a.row[id="data.color"]`)
	b.await(`document.querySelector(".chosen").innerText.includes("holdfast free cart configmap/cart data.color -n shop")`)
	b.isSound("object")
	b.visit(host + "/applications/shop/web/deployment.apps/shop/web#spec.replicas")
	b.await(`document.querySelector(".chosen").innerText.includes("holdfast hold web deployment/web spec.replicas -n shop")`)
	assert.Contains(u, b.text(".chosen"), "kubectl (scale)")
	assert.Zero(u, eval[int](b, `document.querySelectorAll(".entry [aria-current]").length`), "nothing names it")
	b.click(`a.row[id="spec.template.spec.containers[name=web].image"]`)
	b.await(`document.querySelector(".entry [aria-current]").innerText.includes("image: observed")`)
	b.isSound("object-deployment")
	b.visit(host + "/applications/shop/search/configmap/shop/search#data.boost")
	b.isSound("object-contested")
}

// A change by another user is found with name and time in three clicks.
func testHistory(u user, b *tab, host string) {
	b.visit(host + "/")
	b.click(`[id="shop/web"] a`)
	b.await(`[...document.querySelectorAll("h2")].some(h => h.innerText === "What happened last")`)
	b.click(`a[href="/applications/shop/web/history"]`)
	b.await(`location.pathname.endsWith("/web/history") && document.querySelector(".changes .row:has(.c-drifted)")?.innerText.includes(" ago")`)
	row := b.text(`.changes .row:has(.c-drifted)`)
	for _, part := range []string{"corrected", "Deployment web", "spec.template.spec.containers[name=web].image", "registry.example.com/web:1.5", "kubectl-set", " ago"} {
		assert.Contains(u, row, part)
	}
	assert.Regexp(u, `\d+s ago\s+\d+s ago`, b.text(".picture"), "both ends of the axis have a label")
	assert.Contains(u, row, "registry.example.com/web:1.5 → registry.example.com/web:1.4")
	assert.Contains(u, b.text(".picture"), "Deployment web · spec.template.spec.containers[name=web].image")
	b.isSound("history")
	b.visit(host + "/applications/shop/search/history")
	b.isSound("history-contested")
	b.click(`.changes .row:has(.c-contested) a`)
	b.await(`document.querySelector(".chosen h2").innerText === "data.boost"`)
}

// A change by another user is found from the first page with name and time in three clicks.
func testWriters(u user, b *tab, host string) {
	b.visit(host + "/")
	b.click(`a[href="/history"]`)
	b.await(`document.querySelector(".writers .row[id]")`)
	assert.Contains(u, b.text(`[id="by-tuner"]`), "contested")
	b.isSound("writers")
	b.do(chromedp.Focus(`[id="by-kubectl-set"] a`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.await(`document.querySelector(".changes .rows .row")?.innerText.includes("web:1.5")`)
	assert.Equal(u, "Changes by kubectl-set", b.text("h1"))
	row := b.text(".changes .rows .row")
	assert.Contains(u, row, "shop/web")
	assert.Contains(u, row, " ago")
	b.isSound("writer")
	b.do(chromedp.Focus(".changes .rows .name a", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.await(`location.pathname.startsWith("/applications/shop/web/deployment") && document.querySelector(".chosen h2")`)
	b.visit(host + "/history?by=nobody-of-that-name")
	assert.Contains(u, b.text("main"), "No changes of held fields")
	b.visit(host + "/history?namespace=shop")
	assert.Contains(u, b.text(".writers"), "kubectl-set")
}

func testKeys(u user, b *tab, host string) {
	b.visit(host + "/applications/shop/cart/configmap/shop/cart")
	b.do(chromedp.Focus("a.row", chromedp.ByQuery), chromedp.KeyEvent("n"))
	b.await(`document.activeElement.id === "data.color" && location.hash === "#data.color"`)
	b.await(`document.querySelector(".chosen h2").innerText === "data.color"`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.await(`document.activeElement.id === "data.currency"`)
	b.do(chromedp.KeyEvent("p"))
	b.await(`document.activeElement.id === "data.color"`)
	assert.Equal(u, 1, eval[int](b, `document.querySelectorAll('a.row[tabindex="0"]').length`), "one stop for the tab key")
	b.do(chromedp.KeyEvent(kb.Tab))
	b.await(`document.activeElement.matches(".chosen button")`)
}

func testMarkup(u user, b *tab, host string) {
	b.visit(host + "/applications/shop/web/configmap/shop/web#data.banner")
	b.await(`document.querySelector(".chosen").innerText.includes("onerror")`)
	assert.Contains(u, b.text(`a.row[id="data.banner"]`), "<script>window.bad = 1</script>")
	assert.Equal(u, "undefined", eval[string](b, "typeof window.bad"))
	assert.Zero(u, eval[int](b, `document.querySelectorAll("main img").length`))
	b.isSound("markup")
}

func testSecrets(u user, b *tab, host string) {
	for _, path := range []string{"/", "/applications/shop/web", "/applications/shop/web/secret/shop/web#data.password"} {
		b.visit(host + path)
		text := eval[string](b, "document.documentElement.outerHTML")
		for _, secret := range []string{"planted-password", "cGxhbnRlZC1wYXNzd29yZA"} {
			assert.NotContains(u, text, secret, path)
		}
	}
	assert.Contains(u, b.text(".chosen"), "***")
}

func testBack(u user, b *tab, host string) {
	b.visit(host + "/")
	b.click(`[id="shop/cart"] a`)
	b.await(`location.pathname === "/applications/shop/cart"`)
	b.click(`.tree a`)
	b.await(`location.pathname === "/applications/shop/cart/configmap/shop/cart"`)
	b.click(`a.row[id="data.color"]`)
	b.await(`location.hash === "#data.color"`)
	b.click(`a.row[id="data.size"]`)
	b.await(`document.querySelector(".chosen h2").innerText === "data.size"`)
	for _, there := range []string{
		`document.querySelector(".chosen h2").innerText === "data.color"`, `location.hash === ""`, `location.pathname === "/applications/shop/cart"`, `location.pathname === "/"`,
	} {
		b.do(chromedp.Evaluate("history.back()", nil))
		b.await(there)
	}
	assert.Equal(u, "Applications", b.text("h1"))
}

func testLive(u user, b *tab, host string) {
	b.visit(host + "/")
	b.await(`document.getElementById("live").textContent === "live"`)
	b.do(chromedp.Evaluate("window.same = true", nil))
	u.kubectl("", "patch", "hfapp/cart", "-n", "shop", "--type=merge", `--patch={"spec": {"suspend": false}}`)
	b.await(`document.getElementById("shop/cart").innerText.includes("Ready")`)
	assert.True(u, eval[bool](b, "window.same"), "the page was not loaded again")
	u.kubectl("", "delete", "hfapp/press", "-n", "shop")
	b.await(`!document.getElementById("shop/press")`)

	b.visit(host + "/applications/shop/web/configmap/shop/web#data.title")
	b.await(`document.getElementById("live").textContent === "live" && document.querySelector(".chosen h2")`)
	b.do(chromedp.Evaluate("window.same = true", nil), chromedp.Focus(`a.row[id="data.title"]`, chromedp.ByQuery))
	u.kubectl("", "patch", "configmap/web", "-n", "shop", "--type=merge", `--patch={"data": {"more": "news"}}`, "--field-manager=colleague")
	u.kubectl("", "annotate", "hfapp/web", "-n", "shop", "note=look")
	b.await(`document.getElementById("data.more")`)
	assert.True(u, eval[bool](b, "window.same && document.activeElement.id === 'data.title' && document.activeElement.hasAttribute('aria-current')"), "what was chosen still is")
}

func testNotThere(u user, b *tab, host string) {
	for path, says := range map[string]string{
		"/applications/shop/wob": `there is no Application "wob" in the namespace shop: did you mean web?`, "/applications/shop/web/job/web": "the Application has no resource job/web",
		"/nothing": "there is no such page", "/applications/shop/We_b": `"We_b" is not a valid name of an Application`,
	} {
		b.visit(host + path)
		assert.Contains(u, b.text("main"), says)
	}
}

// laidOut counts the parts of a page that have a layout: those in the viewport and some around it.
const laidOut = `[...document.querySelectorAll(".chunk")].filter(c => c.firstElementChild.checkVisibility({contentVisibilityAuto: true})).length`

func testAThousand(u user, b *tab, host string) {
	var all strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&all, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: app-%03d, namespace: shop}, spec: {suspend: true, manifest: [
			{apiVersion: v1, kind: ConfigMap, metadata: {name: app-%03d}}]}}`+"\n---\n", i, i)
	}
	b.visit(host + "/")
	b.await(`document.getElementById("live").textContent === "live"`)
	u.kubectl(all.String(), "create", "--filename=-")
	b.await(`document.querySelectorAll(".rows .row").length >= 1000`)
	assert.Less(u, eval[int](b, laidOut), 6, "of 21 pieces few are laid out")
	u.kubectl("", "delete", "hfapp/app-500", "-n", "shop")
	b.await(`!document.getElementById("shop/app-500")`)
	started := time.Now()
	b.visit(host + "/?q=app-777")
	u.Logf("one of a thousand after %s", time.Since(started).Round(time.Millisecond))
	started = time.Now()
	b.visit(host + "/")
	u.Logf("all of them after %s", time.Since(started).Round(time.Millisecond))
	b.do(chromedp.SendKeys("input[name=q]", "app-123", chromedp.ByQuery))
	b.await(`document.querySelectorAll(".rows .row").length === 1`)
}

// A page in a file needs no server, and its content security policy allows its script.
func TestAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	write(t, file, "status", "-f", "../../docs/quickstart/stored.yaml", "--live", "../../docs/quickstart/live.yaml", "-o", "html")
	b := open(t)
	b.visit("file://" + file)
	b.click(`.tree a`)
	b.await(`location.hash.startsWith("#deployment.apps")`)
	b.click(`.legend .c-drifted`)
	b.await(`document.querySelector(".chosen").innerText.includes("registry.k8s.io/echoserver:1.10")`)
	b.isSound("file")

	b.do(chromedp.Evaluate(`Object.defineProperty(navigator, "clipboard", {value: {writeText: async text => { window.copied = text; }}}); 0`, nil))
	path := eval[string](b, `document.querySelector(".chosen h2").innerText`)
	for _, what := range []string{path, "holdfast free "} {
		b.click(fmt.Sprintf(`.chosen button[data-copy^=%q]`, what))
		b.await(fmt.Sprintf(`window.copied && window.copied.startsWith(%q)`, what))
	}
}

// In an object of 5,000 lines, parts outside of the viewport have no layout, but can be found and navigated
// to.
func TestALongObject(t *testing.T) {
	var text strings.Builder
	text.WriteString("apiVersion: holdfast.dev/v1alpha1\nkind: Application\nmetadata: {name: long}\nspec:\n  manifest:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: long}\n    data:\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "      key-%04d: value of the key %d\n", i, i)
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "app.yaml"), []byte(text.String()), 0o600))
	_, live, _ := strings.Cut(text.String(), "  - ")
	live = strings.ReplaceAll(live, "\n    ", "\n")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "live.yaml"), []byte(strings.Replace(live, "key 4321", "key somebody", 1)), 0o600))
	file := filepath.Join(dir, "page.html")
	write(t, file, "explain", "-f", filepath.Join(dir, "app.yaml"), "--live", filepath.Join(dir, "live.yaml"), "configmap/long", "-o", "html")
	b := open(t)
	started := time.Now()
	b.visit("file://" + file)
	t.Logf("%d rows after %s", eval[int](b, `document.querySelectorAll("a.row").length`), time.Since(started).Round(time.Millisecond))
	assert.Equal(t, 5000, eval[int](b, `document.querySelectorAll("a.row").length`))
	assert.Less(t, eval[int](b, laidOut), 10, "of 51 pieces few are laid out")
	b.do(chromedp.Focus("a.row", chromedp.ByQuery), chromedp.KeyEvent("n"))
	b.await(`document.activeElement.id === "data.key-4321" && document.activeElement.getBoundingClientRect().top > 0 && document.activeElement.getBoundingClientRect().bottom < innerHeight`)
	assert.Less(t, eval[int](b, laidOut), 15)
	t.Logf("longest of 60 steps through all of it: %.0f ms", eval[float64](b, `(async () => {
		let longest = 0;
		for (let i = 0; i <= 60; i++) {
			const from = performance.now();
			scrollTo(0, i / 60 * document.scrollingElement.scrollHeight);
			await new Promise(requestAnimationFrame);
			longest = Math.max(longest, performance.now() - from);
		}
		return longest;
	})()`))
}

// write writes the output of a command to a file.
func write(t *testing.T, file string, args ...string) {
	t.Helper()
	out, err := os.Create(file)
	require.NoError(t, err)
	status := cli.Main(context.WithoutCancel(t.Context()), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(""), Out: out, Err: os.Stderr, Getenv: func(string) string { return "" }, Now: time.Now,
	})
	require.NoError(t, out.Close())
	require.Less(t, status, 2)
}
