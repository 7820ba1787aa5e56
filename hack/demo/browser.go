// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// still makes the page that is shown a still one, without what differs in each run.
//
//go:embed still.js
var still string

// browser is a Chromium that shows the console. It is controlled by the DevTools protocol, through pipes.
type browser struct {
	requests io.Writer
	answers  *bufio.Reader
	// last is the number of the last request, session the tab, origin that of the console.
	last            int
	session, origin string
}

// startBrowser starts one that ends with the context, and opens the console in it.
func (s *stage) startBrowser(ctx context.Context, console string) (*browser, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, fmt.Errorf("pictures of the console need Chromium (Debian: apt-get install chromium): %w", err)
	}
	command := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
		"--user-data-dir="+s.path("chromium"))
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	theirInput, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, theirOutput, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	command.ExtraFiles = []*os.File{theirInput, theirOutput} // 3 and 4, as the option defines
	err = command.Start()
	_, _ = theirInput.Close(), theirOutput.Close()
	if err != nil {
		return nil, err
	}
	s.background.Go(func() {
		_ = command.Wait() // it is killed in the end
		_, _ = requests.Close(), answers.Close()
	})
	b := &browser{requests: requests, answers: bufio.NewReader(answers)}
	return b, b.open(console)
}

// open opens the console in a tab.
func (b *browser) open(console string) error {
	address, err := url.Parse(console)
	if err != nil {
		return err
	}
	b.origin = "http://" + address.Host
	var tab struct{ TargetID string }
	if err := b.call("Target.createTarget", map[string]any{"url": console}, &tab); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.call("Target.attachToTarget", map[string]any{"targetId": tab.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	size := map[string]any{"width": 1100, "height": 700, "deviceScaleFactor": 1, "mobile": false}
	return errors.Join(b.call("Emulation.setDeviceMetricsOverride", size, nil),
		b.call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": "UTC"}, nil))
}

// picture returns a PNG of a page of the console, as soon as it shows a text.
func (b *browser) picture(ctx context.Context, page, text string) ([]byte, error) {
	if err := until(ctx, func(context.Context) error { return b.holds(`document.querySelector('h1') !== null`) }); err != nil {
		return nil, fmt.Errorf("the console does not open: %w", err)
	}
	if err := b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil); err != nil { // what is shown is a still page
		return nil, err
	}
	if err := b.call("Page.navigate", map[string]any{"url": b.origin + "/#" + page}, nil); err != nil {
		return nil, err
	}
	shown := fmt.Sprintf("document.body.innerText.includes(%s)", strconv.Quote(text))
	if err := until(ctx, func(context.Context) error { return b.holds(shown) }); err != nil {
		return nil, fmt.Errorf("the page %s of the console does not show %q: %w", page, text, err)
	}
	if err := b.holds(still); err != nil {
		return nil, err
	}
	var picture struct{ Data []byte }
	err := b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &picture)
	return picture.Data, err
}

// holds returns an error unless an expression is true in the page.
func (b *browser) holds(expression string) error {
	var evaluated struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	if err := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &evaluated); err != nil {
		return err
	}
	if failed := evaluated.ExceptionDetails; failed != nil {
		return errors.New(failed.Exception.Description)
	}
	if evaluated.Result.Value != true {
		return fmt.Errorf("%s is %v", expression, evaluated.Result.Value)
	}
	return nil
}

// call sends a request and decodes the result.
func (b *browser) call(method string, params map[string]any, result any) error {
	b.last++
	request := map[string]any{"id": b.last, "method": method, "params": params}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	content, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := b.requests.Write(append(content, 0)); err != nil {
		return fmt.Errorf("chromium has ended: %w", err)
	}
	for {
		message, err := b.answers.ReadBytes(0)
		if err != nil {
			return fmt.Errorf("chromium has ended: %w", err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(bytes.TrimSuffix(message, []byte{0}), &answer); err != nil {
			return err
		}
		switch {
		case answer.ID != b.last: // an event
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error.Message)
		case result != nil:
			return json.Unmarshal(answer.Result, result)
		default:
			return nil
		}
	}
}

// camera returns a function that writes a picture of a page of the console next to the page in docs.
func (b *browser) camera(docs string) func(ctx context.Context, file, page, text string) error {
	return func(ctx context.Context, file, page, text string) error {
		taken, err := b.picture(ctx, page, text)
		if err != nil {
			return err
		}
		return writePicture(filepath.Join(filepath.Dir(docs), file), taken)
	}
}
