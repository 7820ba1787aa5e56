// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/statusz"
)

type idleSet struct{ manager.RunnableFunc }

func (idleSet) Idle() []string {
	return []string{"shoots.core.gardener.cloud is not served"}
}

func TestStatusPage(t *testing.T) {
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	config.Controllers.Enabled = []string{"*", "-left-out"}
	noBackend := func(*v1alpha1.ControllersConfiguration) string { return "controllers.x.url is empty" }
	all := []controller{{name: "busy"}, {name: "left-out"}, {name: "useless", off: noBackend}, {name: "filling"}, {name: webhooksName}, {name: "forbidden"}}
	enabled := []controller{all[0], all[3], all[4], all[5]}

	fence, ready := newFence(config.LeaderElection), &readiness{}
	o := newOverview(&config.Controllers, fence, ready, all, enabled)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o.now = func() time.Time { return now }
	o.activity.now, o.started = o.now, now.Add(-time.Minute)
	ready.begin(cachesOf("busy"))
	ready.begin(cachesOf("filling"))
	ready.hold("forbidden", "not allowed to list secrets")
	ready.end(cachesOf("busy"))
	if err := ready.watch(&collector{}, "busy").Add(idleSet{}); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{nil, nil, errors.New("it rains")} {
		_, end := o.activity.Begin(t.Context(), "busy", "team/a")
		end(reconcile.Result{}, err)
	}
	_, end := o.activity.Begin(t.Context(), "comparison", "")
	end(reconcile.Result{}, nil)

	at := "2026-01-02T03:04:05Z"
	done := outcomes{Succeeded: 2, Failed: 1, LastSuccess: at, LastFailure: at}
	want := statusPage{
		Component: statusz.NewComponent(Name, o.started, now), Role: roleStandby, Lease: &leaseStatus{Name: "groundskeeper-system/" + Name},
		WaitingFor: []string{"the caches of controller filling"},
		Controllers: []controllerStatus{
			{Name: "busy", State: controllerstate.Standby, Reasons: idleSet{}.Idle(), outcomes: done},
			{Name: "left-out", State: controllerstate.Disabled, Reasons: []string{"not in controllers.enabled"}},
			{Name: "useless", State: controllerstate.Disabled, Reasons: []string{"controllers.x.url is empty"}},
			{Name: "filling", State: controllerstate.Starting},
			{Name: webhooksName, State: controllerstate.Running},
			{Name: "forbidden", State: controllerstate.Waiting, Reasons: []string{"not allowed to list secrets"}},
		},
		BackgroundTasks: []controllerStatus{{Name: "comparison", State: controllerstate.Running, outcomes: outcomes{Succeeded: 1, LastSuccess: at}}},
	}
	compare := func() {
		t.Helper()
		if diff := cmp.Diff(want, o.page(), cmp.AllowUnexported(controllerStatus{})); diff != "" {
			t.Error(diff)
		}
	}
	compare()
	fence.opened(fence.now(), resourcelock.LeaderElectionRecord{}, false)
	want.Role, want.Lease.Renewed, want.Controllers[0].State = roleLeader, "0s ago", controllerstate.Running
	compare()
	config.LeaderElection.LeaderElect = new(false)
	o.fence = newFence(config.LeaderElection)
	want.Role, want.Lease = roleAlone, nil
	compare()

	ctx := instrument.With(t.Context(), o.activity)
	for _, findings := range [][]string{{"2 orphans", "another"}, nil} {
		instrument.Found(ctx, "busy", findings...)
		if got := o.states()["busy"].Findings; !slices.Equal(got, findings) {
			t.Errorf("published findings = %q, want %q", got, findings)
		}
	}

	page, err := json.Marshal(o.page())
	if err != nil || strings.Contains(string(page), "team/a") || strings.Contains(string(page), "rains") {
		t.Errorf("%v: %s", err, page)
	}
}

func TestReadinessReport(t *testing.T) {
	ready := &readiness{}
	handler := healthHandler(ready, nil, nil)
	check := func(path string, code int, body string) {
		t.Helper()
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, httptest.NewRequest(http.MethodGet, path, nil))
		if response.Code != code || response.Body.String() != body {
			t.Errorf("%s: %d %s", path, response.Code, response.Body)
		}
	}
	ready.begin("the API server")
	ready.begin("the caches")
	ready.end("the API server")
	check("/readyz", http.StatusServiceUnavailable, "waiting for the caches\n")
	check("/readyz?verbose", http.StatusServiceUnavailable, "[+]the API server ok\n[-]the caches: waiting\nreadyz check failed\n")
	check("/livez", http.StatusOK, "ok")
	ready.end("the caches")
	check("/readyz", http.StatusOK, "ok")
	check("/readyz?verbose", http.StatusOK, "[+]the API server ok\n[+]the caches ok\nreadyz check passed\n")
}

func TestDebugging(t *testing.T) {
	level := &logLevel{}
	level.set(slog.LevelInfo)
	t.Cleanup(func() { level.set(slog.LevelInfo) })
	server := httptest.NewServer(debuggingHandler(logr.Discard(), level))
	t.Cleanup(server.Close)
	put := func(body string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/debug/flags/v", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	if code := put("4\n"); code != http.StatusOK || level.Level() != -4 || !klog.V(4).Enabled() || klog.V(5).Enabled() {
		t.Errorf("4: %d, the level is %d", code, level.Level())
	}
	for _, bad := range []string{"", "-1", "11", "all", strings.Repeat("1", 20)} {
		if code := put(bad); code != http.StatusBadRequest || level.Level() != -4 {
			t.Errorf("%q: %d, the level is %d", bad, code, level.Level())
		}
	}
	if code := put("0"); code != http.StatusOK || level.Level() != slog.LevelInfo || klog.V(1).Enabled() {
		t.Errorf("0: %d, the level is %d", code, level.Level())
	}
	if code, body := get(t, server.URL+"/debug/pprof/goroutine?debug=1"); code != http.StatusOK || !strings.HasPrefix(body, "goroutine profile:") {
		t.Errorf("%d %s", code, body)
	}
}

// TestDebuggingIsOff checks that debugging endpoints are not served unless they are enabled.
func TestDebuggingIsOff(t *testing.T) {
	stop, err := serveDebugging(context.Background(), logr.Discard(), v1alpha1.DebuggingConfiguration{Enabled: new(false)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop()
}
