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

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
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

// What the findings of the console depend on beside their objects is read with each check: how the manager runs, and the Nodes once a
// finding has the id of one.
func TestConsoleReadsWhatFindingsDependOn(t *testing.T) {
	const host = "8a1e3f70-92c4-4d5b-b6a7-c05d8e9f1b23"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-7", Annotations: map[string]string{midonetv1.AnnotationHostID: host}}}
	c, _ := on(t, nil, node)
	k := newKnown()
	message := func() string {
		return k.named([]report.Finding{{Kind: translationsTitle, Message: "no host " + host}})[0].Message
	}
	k.read(t.Context(), c)
	if m, err := k.manager(); err != nil || m.Silent == "" {
		t.Errorf("the manager = %+v, %v, want that none runs", m, err)
	}
	if k.hosts.nodes != nil {
		t.Error("the Nodes are read although no finding has an id")
	}
	if got, want := message(), "no host "+host; got != want {
		t.Errorf("before the Nodes are read = %q, want %q", got, want)
	}
	k.read(t.Context(), c)
	if got, want := message(), "no host "+host+" (Node worker-7)"; got != want {
		t.Errorf("after the Nodes were read = %q, want %q", got, want)
	}
}

// What status finds about no object of Groundskeeper is on the page, too.
func TestConsoleHasTheOthers(t *testing.T) {
	plan := lostPlan()
	plan.Brake = "Nothing is deleted: 3 of 4."
	record, err := json.Marshal(recordOf(t, plan, 0))
	if err != nil {
		t.Fatal(err)
	}
	c, _ := fakeCluster(t, cluster{inSystem + "/configmaps/" + localvolume.RecordName: string(record)}, ofGroundskeeper)
	want, err := c.inspect(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	o := c.consoleOptions("")
	o.Health(t.Context())
	if diff := cmp.Diff(want.Findings, o.Others(t.Context(), nil).Findings); diff != "" {
		t.Errorf("findings (-status +console):\n%s", diff)
	}
	for _, kind := range []string{managerTitle, report.LocalVolumesTitle} {
		if !slices.ContainsFunc(want.Findings, func(f report.Finding) bool { return f.Kind == kind }) {
			t.Errorf("status has no finding about %s: %+v", kind, want.Findings)
		}
	}
}
