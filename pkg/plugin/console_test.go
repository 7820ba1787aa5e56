// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/console"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// The console shows the same data as status -o json.
func TestConsoleShowsWhatStatusReports(t *testing.T) {
	fails := map[string]error{"TranslationList": errForbidden, "DiscoveryBackendList": errNoMatch}
	c, _ := on(t, fails, stalled())
	want, err := c.inspect(t.Context(), "garden-shop")
	if err != nil {
		t.Fatal(err)
	}
	o := c.consoleOptions("garden-shop")
	o.Connect = func() (client.WithWatch, error) { return c.client, nil }
	o.Health = func(context.Context) *report.Report { return &report.Report{} }

	ctx, stop := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- console.Run(ctx, o, func(url string) { address <- url }) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	u, err := url.Parse(<-address)
	if err != nil {
		t.Fatal(err)
	}
	response, err := browser.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response, err = browser.Get("http://" + u.Host + "/api/stream"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	rows := map[string]*console.Row{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var d console.Delta
		if err := json.Unmarshal([]byte(data), &d); err != nil {
			t.Fatal(err)
		}
		for _, row := range d.Rows {
			rows[row.Key] = row
		}
		var checked []report.Checked
		for _, one := range d.Checked {
			checked = append(checked, one.Checked)
		}
		var findings []report.Finding
		for _, row := range rows {
			findings = append(findings, row.Findings...)
		}
		if slices.Equal(checked, want.Checked) && slices.Equal(findings, want.Findings) {
			return
		}
		t.Logf("so far: %+v %+v", checked, findings)
	}
	t.Errorf("the page never had %+v", want)
}
