// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// looked is a plane that is looked into: all of it sends its traces to one collector.
type looked struct {
	*plane.Plane
	*collector
	debugging string
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	l := &looked{collector: newCollector(t), debugging: "127.0.0.1:" + freePort(t)}
	_, port, _ := strings.Cut(l.debugging, ":")
	l.Plane = startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 1, Managers: 1,
		KubeAPIServerFlags: []string{"--tracing-config-file=" + l.config(t)},
		APIServerFlags:     []string{"--tracing-config-file=" + l.config(t), "--disable-admission-plugins=BackendResources"},
		ManagerConfig: write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
			"tracing: {endpoint: \""+l.address+"\", samplingRatePerMillion: 1000000}\nserver: {debugging: {enabled: true, port: "+port+"}}\n"+
			"controllers: {enabled: [\"*\", -local-volume-cleanup]}\n"),
	})
	c := clientOf(t, l.Config())
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "seen")}}
	if err := c.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	t.Run("trace of a request", func(t *testing.T) { l.traceOfRequest(t, project.Name) })
	t.Run("trace of a reconcile", func(t *testing.T) { l.traceOfReconcile(t, project.Name) })
	t.Run("pages of the API server", func(t *testing.T) { l.apiserverPages(t) })
	t.Run("pages of the manager", func(t *testing.T) { l.managerPages(t) })
	t.Run("debugging of the manager", func(t *testing.T) { l.managerDebugging(t) })
}

// One kubectl get of a user is one trace: of kube-apiserver, its aggregator, Groundskeeper's server, and its requests to etcd and
// to kube-apiserver.
func (l *looked) traceOfRequest(t *testing.T, project string) {
	viewer := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "viewer-of-projects"}, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: viewer.Name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: viewer.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"}}}
	c := clientOf(t, l.Config())
	if err := errors.Join(c.Create(t.Context(), viewer), c.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "alice")
	if err := l.KubeconfigFor(kubeconfig, "alice"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { // until the permission is in effect
		cmd := exec.CommandContext(ctx, l.Kubectl(), "--kubeconfig="+kubeconfig, "get", "project", project)
		cmd.Env = append(os.Environ(), "KUBECACHEDIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	own := func(s span) bool {
		return s.service == apiserver && s.kind == tracev1.Span_SPAN_KIND_SERVER &&
			strings.HasPrefix(s.attributes["http.target"], "/apis/core.gardener.cloud/v1beta1/projects/"+project) && strings.HasPrefix(s.attributes["user_agent.original"], "kubectl/")
	}
	eventually(t, func(context.Context) error {
		served := l.find(own)
		if len(served) == 0 {
			return errors.New("Groundskeeper's server has no span of the request")
		}
		last := served[len(served)-1] // earlier requests may have been rejected
		proxied, err := l.parentOf(last)
		if err != nil {
			return err
		}
		received := proxied
		for received.parent != "" { // kube-apiserver adds spans of its filters
			if received, err = l.parentOf(received); err != nil {
				return err
			}
		}
		switch {
		case proxied.service != "apiserver" || proxied.kind != tracev1.Span_SPAN_KIND_CLIENT:
			return fmt.Errorf("the span of Groundskeeper's server is below %s", proxied)
		case received.service != "apiserver" || received.kind != tracev1.Span_SPAN_KIND_SERVER:
			return fmt.Errorf("the trace begins with %s", received)
		case last.name != "GET /apis/core.gardener.cloud/v1beta1/projects/{:name}":
			return fmt.Errorf("the span is called %q", last.name)
		}
		requests := l.find(func(s span) bool {
			return s.service == apiserver && s.name == "etcdserverpb.KV/Range" && s.kind == tracev1.Span_SPAN_KIND_CLIENT && l.below(s, last)
		})
		if len(requests) == 0 {
			return fmt.Errorf("no request to etcd is in the trace:\n%s", l.describe(last.trace))
		}
		return nil
	})
	// A decision that is not remembered is requested in the trace of the request that needs it.
	eventually(t, func(context.Context) error {
		reviews := l.find(func(s span) bool {
			return s.service == "apiserver" && strings.HasSuffix(s.name, "/subjectaccessreviews") && slices.ContainsFunc(l.find(own), func(o span) bool {
				return slices.Contains(s.links, o.trace) || s.trace == o.trace
			})
		})
		if len(reviews) == 0 {
			return errors.New("no review of access belongs to the trace of a request")
		}
		return nil
	})
}

// A reconcile is a trace of the manager, and kube-apiserver's spans of its requests lead to it.
func (l *looked) traceOfReconcile(t *testing.T, project string) {
	eventually(t, func(context.Context) error {
		reconciles := l.find(func(s span) bool {
			return s.service == manager && s.name == "reconcile project" && s.attributes["object"] == "/"+project && s.attributes["reconcileID"] != ""
		})
		for _, r := range reconciles {
			requests := l.find(func(s span) bool {
				return s.service == manager && s.parent == r.id && s.kind == tracev1.Span_SPAN_KIND_CLIENT
			})
			linked := l.find(func(s span) bool { return s.service == "apiserver" && slices.Contains(s.links, r.trace) })
			if r.parent == "" && len(requests) > 0 && len(linked) > 0 {
				return nil
			}
		}
		return fmt.Errorf("%d reconciles, none with a request that kube-apiserver links to: %v", len(reconciles), reconciles)
	})
	if strays := l.find(func(s span) bool { return s.service == manager && s.parent == "" && !strings.Contains(s.name, " ") }); len(strays) > 0 {
		t.Errorf("requests that belong to no reconcile have spans: %v", strays)
	}
}

func (l *looked) apiserverPages(t *testing.T) {
	read := func(config *rest.Config, path, accept string) (string, error) {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		body, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).Do(t.Context()).Raw()
		return string(body), err
	}
	own := l.DirectConfig(0)
	page, err := read(own, "/statusz/groundskeeper", "application/json")
	if err != nil {
		t.Fatal(err)
	}
	var status struct {
		Name, Version, Started string
		Store                  struct {
			ID, Etcd string
			Revision int64
			Embedded bool
		}
		Certificate struct {
			Source, NotAfter string
			Names            []string
		}
		Admission struct {
			Enabled  []string
			Disabled []struct{ Name, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(page), &status); err != nil {
		t.Fatalf("%v: %s", err, page)
	}
	if status.Name != apiserver || status.Version == "" || status.Started == "" || status.Store.ID == "" || status.Store.Revision == 0 || !status.Store.Embedded ||
		status.Store.Etcd != l.EmbeddedEtcdDir(0) || status.Certificate.Source == "" || status.Certificate.NotAfter == "" || !slices.Contains(status.Certificate.Names, apiserver+".groundskeeper-system.svc") ||
		!slices.Contains(status.Admission.Enabled, "ProjectMutator") || len(status.Admission.Disabled) != 1 ||
		status.Admission.Disabled[0].Name != "BackendResources" || status.Admission.Disabled[0].Reason != "--disable-admission-plugins" {
		t.Errorf("the status is %s", page)
	}
	for path, want := range map[string]string{
		"/statusz/groundskeeper": "name: " + apiserver, "/statusz": "apiserver statusz", "/flagz": "[BackendResources]\n", // the separator between a flag and its value differs
		"/readyz": "ok", "/livez": "ok",
	} {
		if body, err := read(own, path, "text/plain"); err != nil || !strings.Contains(body, want) {
			t.Errorf("%s: %v, %s", path, err, body)
		}
	}
	client, err := kubernetes.NewForConfig(own)
	if err != nil {
		t.Fatal(err)
	}
	body, err := client.RESTClient().Get().AbsPath("/readyz").Param("verbose", "").Do(t.Context()).Raw()
	for _, check := range []string{"[+]etcd ok", "[+]informer-sync ok", "[+]poststarthook/storage-readiness ok"} {
		if err != nil || !strings.Contains(string(body), check) {
			t.Errorf("%v: %s is not in\n%s", err, check, body)
		}
	}
	stranger, err := l.ConfigFor("stranger")
	if err != nil {
		t.Fatal(err)
	}
	stranger.Host = own.Host
	for _, path := range []string{"/statusz/groundskeeper", "/statusz", "/flagz", "/debug/pprof/heap", "/debug/flags/v"} {
		if body, err := read(stranger, path, "text/plain"); err == nil || !strings.Contains(body, `cannot get path \"`+path) {
			t.Errorf("a stranger reads %s: %v, %s", path, err, body)
		}
	}
}

// page reads a page of the controller manager.
func page(t *testing.T, method, url, body string, accept string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

func (l *looked) managerPages(t *testing.T) {
	at := "http://" + l.Managers[0].Address()
	type work struct {
		Name, State, LastSuccess string
		Reasons                  []string
		Succeeded                int64
	}
	eventually(t, func(context.Context) error {
		code, body := page(t, http.MethodGet, at+"/statusz", "", "application/json")
		var status struct {
			Name, Role  string
			Lease       struct{ Name, Renewed string }
			WaitingFor  []string
			Controllers []work
		}
		if err := json.Unmarshal([]byte(body), &status); code != http.StatusOK || err != nil {
			return fmt.Errorf("%d, %w: %s", code, err, body)
		}
		is := func(name, state string, ok func(work) bool) bool {
			return slices.ContainsFunc(status.Controllers, func(w work) bool { return w.Name == name && w.State == state && ok(w) })
		}
		if status.Name != manager || status.Role != "leader" || status.Lease.Name != "groundskeeper-system/"+manager || !strings.HasSuffix(status.Lease.Renewed, " ago") ||
			len(status.WaitingFor) != 0 ||
			!is("project", "running", func(w work) bool { return w.Succeeded > 0 && w.LastSuccess != "" }) ||
			!is("translation-push", "disabled", func(w work) bool {
				return slices.Equal(w.Reasons, []string{"controllers.translation.midonet.url and controllers.translation.ovn.endpoints are empty"})
			}) ||
			!is("local-volume-cleanup", "disabled", func(w work) bool { return slices.Equal(w.Reasons, []string{"not in controllers.enabled"}) }) ||
			!is("discovery-maintenance", "running", func(w work) bool { return len(w.Reasons) > 0 }) { // the routes are not served here
			return fmt.Errorf("the status is %s", body)
		}
		return nil
	})
	for path, want := range map[string]string{
		"/statusz": "role: leader", "/configz": "leaderElection:", "/livez": "ok", "/readyz?verbose": "[+]the caches of controller project ok\n",
	} {
		if code, body := page(t, http.MethodGet, at+path, "", "text/plain"); code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %s", path, code, body)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/debug/flags/v"} {
		if code, body := page(t, http.MethodGet, at+path, "", ""); code != http.StatusNotFound {
			t.Errorf("%s is served beside metrics: %d, %s", path, code, body)
		}
	}
}

func (l *looked) managerDebugging(t *testing.T) {
	at := "http://" + l.debugging
	if code, body := page(t, http.MethodGet, at+"/debug/pprof/heap", "", ""); code != http.StatusOK || body == "" {
		t.Errorf("the profile of the heap: %d", code)
	}
	if code, body := page(t, http.MethodPut, at+"/debug/flags/v", "5", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	eventually(t, func(context.Context) error { // the Lease is renewed all the time, which is reported from 4 on
		if lines := l.Managers[0].Tail(50); !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, `"level":"DEBUG"`) }) {
			return errors.New("nothing more is logged")
		}
		return nil
	})
	if code, body := page(t, http.MethodPut, at+"/debug/flags/v", "0", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
}
