// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testRevocation removes a member. As soon as the watch cache of a server has the change, that server denies all requests of the user, and
// a watch that was started before reports the Project as DELETED.
func (p *membershipPlane) testRevocation(t *testing.T) {
	project := p.create(t, "revoked-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "rita", "admin")}})
	var servers []client.WithWatch
	var watches []watch.Interface
	for i := range p.APIServers {
		server := impersonating(t, p.DirectConfig(i), identity{name: "rita"})
		eventually(t, func(ctx context.Context) error { return toPatch(project)(ctx, server) })
		events, err := server.Watch(t.Context(), &gardenerv1beta1.ProjectList{})
		if err != nil {
			t.Fatal(err)
		}
		defer events.Stop()
		servers, watches = append(servers, server), append(watches, events)
	}
	p.setMembers(t, project, project.Spec.Members[:1])
	start := time.Now()
	for i, server := range servers {
		list := &gardenerv1beta1.ProjectList{}
		current := &metav1.ListOptions{ResourceVersion: project.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
		if err := server.List(t.Context(), list, &client.ListOptions{Raw: current}); err != nil || len(list.Items) > 0 {
			t.Errorf("server %d: rita lists %+v, %v", i, list.Items, err)
		}
		for what, do := range map[string]request{
			"get": toGet(project), "patch": toPatch(project), "update": toUpdate(project), "delete": toDelete(project),
			"get from the cache": func(ctx context.Context, c client.WithWatch) error {
				return c.Get(ctx, client.ObjectKeyFromObject(project), project.DeepCopy(), &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}})
			},
		} {
			if err := do(t.Context(), server); !apierrors.IsForbidden(err) {
				t.Errorf("server %d: %s: %v", i, what, err)
			}
		}
		t.Logf("server %d: revoked within %s", i, time.Since(start))
		for event := range watches[i].ResultChan() {
			if event.Type == watch.Deleted {
				break
			}
		}
	}
}

// testProjectsOfOthers sends requests of a user who is not a member of any Project. The responses for an existing Project equal those for
// one that does not exist, and no other response contains its name.
func (p *membershipPlane) testProjectsOfOthers(t *testing.T) {
	project := p.create(t, "hidden-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}})
	missing := project.DeepCopy()
	missing.Name = name(t, "missing-")
	eventually(t, func(ctx context.Context) error { // the Project has an event that could be listed
		events := &corev1.EventList{}
		if err := p.client.List(ctx, events, client.MatchingFields{"involvedObject.name": project.Name}); err != nil {
			return err
		}
		if len(events.Items) == 0 {
			return errors.New("no event of the project")
		}
		return nil
	})
	configs := map[string]*rest.Config{"the aggregator": p.Config()}
	for i := range p.APIServers {
		configs[fmt.Sprint("server ", i)] = p.DirectConfig(i)
	}
	nina := identity{name: "nina"}
	anonymous := func(err error) string {
		return strings.NewReplacer(project.Name, "PROJECT", missing.Name, "PROJECT").Replace(err.Error())
	}
	for where, config := range configs {
		c := clientWithMapper(t, impersonated(config, nina), p.client.RESTMapper())
		for what, do := range projectRequests() {
			got, want := do(project)(t.Context(), c), do(missing)(t.Context(), c)
			if got == nil || want == nil || apierrors.ReasonForError(got) != apierrors.ReasonForError(want) || anonymous(got) != anonymous(want) {
				t.Errorf("%s: %s: %v; of a project that does not exist: %v", where, what, got, want)
			}
		}
		for _, path := range readablePaths(project) {
			if body := read(t, config, nina.name, path); strings.Contains(body, project.Name) || strings.Contains(body, string(project.UID)) {
				t.Errorf("%s: GET %s: %s", where, path, body)
			}
		}
	}
	for i := range p.APIServers {
		if body := read(t, p.DirectConfig(i), "", "/metrics"); strings.Contains(body, project.Name) || !strings.Contains(body, "apiserver_request_total") {
			t.Errorf("the metrics of server %d have the name of a project, or no requests", i)
		}
		if body := read(t, p.DirectConfig(i), nina.name, "/metrics"); !strings.Contains(body, "cannot get path") {
			t.Errorf("nina reads metrics: %s", body)
		}
	}
}

// readablePaths are paths whose responses could contain the name of a Project.
func readablePaths(project *gardenerv1beta1.Project) []string {
	projects := "/apis/core.gardener.cloud/v1beta1/projects"
	all := []string{
		"/api/v1/events", "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/events", "/api/v1/namespaces",
		"/metrics", "/statusz", "/flagz", "/healthz?verbose", "/readyz?verbose", "/apis/core.gardener.cloud/v1beta1/watch/projects?timeoutSeconds=1",
	}
	for _, query := range []url.Values{
		{}, {"limit": {"1"}}, {"resourceVersion": {"0"}}, {"resourceVersion": {project.ResourceVersion}, "resourceVersionMatch": {"Exact"}},
		{"fieldSelector": {"metadata.name=" + project.Name}}, {"fieldSelector": {"spec.namespace=" + project.NamespaceName()}},
		{"fieldSelector": {"metadata.name!=x"}}, {"labelSelector": {"!x"}},
		{"watch": {"true"}, "timeoutSeconds": {"1"}}, {"watch": {"true"}, "timeoutSeconds": {"1"}, "resourceVersion": {"0"}},
		{"watch": {"true"}, "timeoutSeconds": {"1"}, "fieldSelector": {"metadata.name=" + project.Name}},
		{"watch": {"true"}, "timeoutSeconds": {"1"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"}},
	} {
		all = append(all, projects+"?"+query.Encode())
	}
	return all
}

// read returns the body of a response to a user, or to the administrator without one.
func read(t *testing.T, config *rest.Config, who, path string) string {
	t.Helper()
	config = rest.CopyConfig(config)
	if who != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: who, Groups: []string{"system:authenticated"}}
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
