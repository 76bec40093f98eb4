// Package chrome opens pages in a real Chromium and notes what they do: what
// the console says, which requests leave, which dialogs open.
package chrome

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// names are what Debian, Ubuntu and Google call the program.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"}

// Find returns the path of Chromium.
func Find() (string, error) {
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is not installed: apt-get install --no-install-recommends chromium fonts-dejavu-core")
}

// startTimeout is how long Chromium may take until it answers where much else
// is running.
const startTimeout = time.Minute

// A Browser is a running Chromium with a profile of its own. No name but
// loopback addresses resolves in it, so that nothing reaches another host
// even if a page asks for it.
type Browser struct {
	ctx    context.Context
	cancel func()
	dir    string // of the profile
}

// Start starts Chromium; its profile is below temp. It runs until
// [Browser.Close] or the end of ctx.
func Start(ctx context.Context, temp string) (*Browser, error) {
	path, err := Find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(temp, "chromium-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the browser's profile: %w", err)
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.NoDefaultBrowserCheck, chromedp.NoSandbox, chromedp.WSURLReadTimeout(startTimeout),
	}
	for _, name := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-default-apps",
		"disable-extensions", "disable-breakpad", "disable-dev-shm-usage", "metrics-recording-only", "hide-scrollbars",
		"disable-background-timer-throttling", "disable-renderer-backgrounding", "disable-backgrounding-occluded-windows",
		"disable-ipc-flooding-protection", "disable-lcd-text",
	} {
		flags = append(flags, chromedp.Flag(name, true))
	}
	flags = append(flags,
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
	)
	started, cancelStarted := chromedp.NewExecAllocator(ctx, flags...)
	b := &Browser{dir: dir}
	var cancel context.CancelFunc
	// What Chromium of another version says and this client does not know is no
	// matter for a check.
	quiet := func(string, ...any) {}
	b.ctx, cancel = chromedp.NewContext(started, chromedp.WithErrorf(quiet), chromedp.WithLogf(quiet))
	b.cancel = func() { cancel(); cancelStarted() }
	if err := chromedp.Do(b.ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return b, nil
}

// Close ends Chromium and removes its profile.
func (b *Browser) Close() {
	_ = chromedp.Cancel(b.ctx) // waits for the process; it is gone either way
	b.cancel()
	for range 20 { // a process of its may still be writing
		if os.RemoveAll(b.dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A View is how a page is looked at. The zero View is a light desktop.
type View struct {
	Dark     bool
	Width    int  // CSS pixels; 0: [Desktop]
	Phone    bool // a touch screen that obeys the viewport meta tag
	Print    bool
	NoScript bool
	Scale    float64 // device pixels per CSS pixel; 0: 1
}

// Widths in CSS pixels: a common desktop, the narrowest phone in wide use, and
// the text width of an A4 page with margins of 1 cm.
const (
	Desktop = 1280
	Phone   = 360
	Paper   = 718
)

// String names the view in a report: "dark, 360 px".
func (v View) String() string {
	s := "light"
	if v.Dark {
		s = "dark"
	}
	if v.Print {
		s = "print"
	}
	s += fmt.Sprintf(", %d px", v.width())
	if v.NoScript {
		s += ", without JavaScript"
	}
	return s
}

func (v View) width() int {
	if v.Width == 0 {
		return Desktop
	}
	return v.Width
}

// loadTimeout is how long a page may take until it is there and quiet.
const loadTimeout = 30 * time.Second

// A Tab is a page of the browser. Its methods must not be called by several
// goroutines.
type Tab struct {
	ctx    context.Context
	cancel func()
	watch  watch
	world  runtime.ExecutionContextID // of scripts that the page can't see; 0 until needed
}

// NewTab opens an empty tab, which keeps nothing in a cache and always has the
// focus of the keyboard.
func (b *Browser) NewTab() (*Tab, error) {
	t := &Tab{}
	t.ctx, t.cancel = chromedp.NewContext(b.ctx, chromedp.WithListener(t.watch.event))
	if err := chromedp.Do(t.ctx); err != nil {
		t.cancel()
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	_, err := chromedp.Call(t.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
	_, err2 := chromedp.Call(t.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	if err := errors.Join(err, err2); err != nil {
		t.Close()
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	t.watch.answer = func() {
		go chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) // the listener must not wait; a dialog that is gone needs no answer
	}
	return t, nil
}

// Close closes the tab.
func (t *Tab) Close() {
	_ = chromedp.Cancel(t.ctx) // closed, or the browser is gone
	t.cancel()
}

// Open loads url in the given view and waits until it is quiet. What the page
// did is in [Tab.Seen]. A page that answers with an error is loaded like any
// other.
func (t *Tab) Open(url string, v View) error {
	ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
	defer cancel()
	if err := t.setView(ctx, v); err != nil {
		return fmt.Errorf("opening %s (%s): %w", url, v, err)
	}
	t.world = 0
	t.watch.reset()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("opening %s (%s): %w", url, v, err)
	}
	return t.watch.quiet(ctx)
}

// setView makes the tab look as v says.
func (t *Tab) setView(ctx context.Context, v View) error {
	metrics := emulation.SetDeviceMetricsOverrideParams{Width: int64(v.width()), Height: 900, DeviceScaleFactor: max(v.Scale, 1), Mobile: v.Phone}
	if v.Phone {
		metrics.Height = 740
	}
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	if v.Print {
		media.Media = "print"
	}
	_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, metrics)
	_, err2 := chromedp.Call(ctx, emulation.SetEmulatedMedia, media)
	_, err3 := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.NoScript})
	return errors.Join(err, err2, err3)
}

// Settle waits until the page is quiet after something was done to it.
func (t *Tab) Settle() error {
	ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
	defer cancel()
	return t.watch.quiet(ctx)
}

// Seen returns what happened since the tab was opened or the page loaded.
func (t *Tab) Seen() Seen { return t.watch.copy() }

// Press types keys as a person would, so that a page may take a key for itself.
// chromedp/kb names those without a character.
func (t *Tab) Press(keys string) error {
	ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
	defer cancel()
	for _, r := range keys {
		for _, e := range strokes(r) {
			if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, e); err != nil {
				return fmt.Errorf("pressing %q: %w", r, err)
			}
		}
	}
	return nil
}

// strokes are what a keyboard sends for a key: down and up. A character that no
// key has comes without a key code.
func strokes(r rune) [2]input.DispatchKeyEventParams {
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Text: string(r), Key: string(r)}
	if k, ok := kb.Keys[r]; ok {
		down.Code, down.Key, down.Text, down.UnmodifiedText = k.Code, k.Key, k.Text, k.Unmodified
		down.WindowsVirtualKeyCode, down.NativeVirtualKeyCode = k.Windows, k.Native
		if k.Shift {
			down.Modifiers = int64(kb.ModifierShift)
		}
	}
	up := down
	up.Type, up.Text, up.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
	return [2]input.DispatchKeyEventParams{down, up}
}

// URL returns the address of the page.
func (t *Tab) URL() (string, error) { return Eval[string](t, "location.href") }

// Eval evaluates an expression in the page's own world, and waits for it when
// it is a promise.
func Eval[T any](t *Tab, js string) (T, error) { return eval[T](t, js, 0) }

// Probe evaluates an expression where it sees the page's elements but the page
// does not see it, and waits for it when it is a promise. It needs JavaScript.
func Probe[T any](t *Tab, js string) (T, error) {
	var zero T
	if t.world == 0 {
		ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
		defer cancel()
		tree, err := chromedp.Call(ctx, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return zero, fmt.Errorf("finding the page's frame: %w", err)
		}
		world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: tree.FrameTree.Frame.ID, WorldName: "checks"})
		if err != nil {
			return zero, fmt.Errorf("making a world for checks: %w", err)
		}
		t.world = world.ExecutionContextID
	}
	return eval[T](t, js, t.world)
}

func eval[T any](t *Tab, js string, world runtime.ExecutionContextID) (T, error) {
	var v T
	ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
	defer cancel()
	yes := true
	r, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: js, ReturnByValue: &yes, AwaitPromise: &yes, Silent: &yes, ContextID: world})
	if err != nil {
		return v, fmt.Errorf("evaluating %.40q: %w", js, err)
	}
	if r.ExceptionDetails != nil {
		return v, fmt.Errorf("evaluating %.40q: %s", js, said(r.ExceptionDetails))
	}
	if len(r.Result.Value) == 0 { // undefined
		return v, nil
	}
	if err := json.Unmarshal(r.Result.Value, &v); err != nil {
		return v, fmt.Errorf("evaluating %.40q: %w", js, err)
	}
	return v, nil
}

// Picture returns a PNG of a part of the page, in CSS pixels from the top left
// of the document.
func (t *Tab) Picture(x, y, width, height float64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.ctx, loadTimeout)
	defer cancel()
	yes := true
	shot, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Format: page.CaptureScreenshotFormatPng, CaptureBeyondViewport: &yes,
		Clip: &page.Viewport{X: x, Y: y, Width: width, Height: height, Scale: 1},
	})
	if err != nil {
		return nil, fmt.Errorf("taking a picture: %w", err)
	}
	return shot.Data, nil
}

// FileURL returns the address of a local file.
func FileURL(path string) string { return "file://" + filepath.ToSlash(path) }
