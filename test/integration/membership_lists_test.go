// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testListAndWatch lists and watches what a user may get.
func (p *membershipPlane) testListAndWatch(t *testing.T) {
	mine := p.create(t, "list-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "lea")}})
	theirs := p.create(t, "list-", gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}})
	lea := impersonating(t, p.Config(), identity{name: "lea"})
	list := &gardenerv1beta1.ProjectList{}
	if err := lea.List(t.Context(), list); err != nil || len(list.Items) != 1 || list.Items[0].Name != mine.Name {
		t.Errorf("lea lists %+v, %v", list.Items, err)
	}
	none := &gardenerv1beta1.ProjectList{}
	if err := impersonating(t, p.Config(), identity{name: "nina"}).List(t.Context(), none, client.Limit(1)); err != nil || len(none.Items) > 0 || none.Continue != "" {
		t.Errorf("nina lists %+v, %v", none, err)
	}
	whole := &gardenerv1beta1.ProjectList{}
	if err := p.client.List(t.Context(), whole); err != nil || len(whole.Items) < 2 {
		t.Errorf("an administrator lists %d, %v", len(whole.Items), err)
	}
	events, err := lea.Watch(t.Context(), &gardenerv1beta1.ProjectList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for _, members := range [][]gardenerv1beta1.ProjectMember{{olivia(), member("User", "lea", "uam")}, {olivia()}} {
		p.setMembers(t, theirs, members)
	}
	var seen []watch.EventType
	for event := range events.ResultChan() {
		if project, ok := event.Object.(*gardenerv1beta1.Project); !ok || project.Name != theirs.Name {
			continue
		}
		if seen = append(seen, event.Type); event.Type == watch.Deleted {
			break
		}
	}
	if len(seen) < 2 || seen[0] != watch.Added || seen[len(seen)-1] != watch.Deleted {
		t.Errorf("lea sees %q of the other project", seen)
	}
}

// testHistory lists and watches earlier versions as a member who was removed since, and as a user who joins a group that was removed.
func (p *membershipPlane) testHistory(t *testing.T) {
	members := []gardenerv1beta1.ProjectMember{olivia(), member("User", "hanna", "admin"), member("Group", "h-staff", "viewer")}
	p.create(t, "history-a-", gardenerv1beta1.ProjectSpec{Members: members[:2]})
	project := p.create(t, "history-b-", gardenerv1beta1.ProjectSpec{Members: members})
	start := project.ResourceVersion
	hanna := impersonating(t, p.Config(), identity{name: "hanna"})
	page := &gardenerv1beta1.ProjectList{}
	if err := hanna.List(t.Context(), page, client.Limit(1)); err != nil || page.Continue == "" {
		t.Fatalf("hanna lists a page: %+v, %v", page.ListMeta, err)
	}
	p.setMembers(t, project, members[:1])
	for user, c := range map[string]client.WithWatch{
		"a removed member": hanna, "who joins a removed group": impersonating(t, p.Config(), identity{name: "hugo", groups: []string{"h-staff"}}),
	} {
		for way, options := range map[string]*client.ListOptions{
			"exactly":     {Raw: &metav1.ListOptions{ResourceVersion: page.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}},
			"with limit":  {Raw: &metav1.ListOptions{ResourceVersion: page.ResourceVersion}, Limit: 500},
			"by continue": {Continue: page.Continue, Limit: 500},
		} {
			list := &gardenerv1beta1.ProjectList{}
			if err := c.List(t.Context(), list, options); !apierrors.IsResourceExpired(err) {
				t.Errorf("%s lists an earlier version %s: got %d projects, %v, want 410", user, way, len(list.Items), err)
			}
		}
		// The version is that of the Project before its members changed.
		events, err := c.Watch(t.Context(), &gardenerv1beta1.ProjectList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: start}})
		if err != nil {
			t.Fatal(err)
		}
		if event := <-events.ResultChan(); event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
			t.Errorf("%s watches from an earlier version: got %s of %+v, want 410", user, event.Type, event.Object)
		}
		events.Stop()
	}
}

// tables sends a request for tables to the server of a configuration, and calls next with the names in each until it returns false.
func tables(t *testing.T, config *rest.Config, query string, next func(kind string, names []string) bool) {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/apis/core.gardener.cloud/v1beta1/projects?"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	for decoder := json.NewDecoder(response.Body); ; {
		var event struct {
			Type         string
			Object, Rows json.RawMessage
		}
		if err := decoder.Decode(&event); err != nil || response.StatusCode != http.StatusOK {
			t.Fatal(response.Status, err)
		}
		table := metav1.Table{}
		if event.Object != nil {
			err = json.Unmarshal(event.Object, &table)
		} else {
			err = json.Unmarshal(event.Rows, &table.Rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i := range table.Rows {
			row := metav1.PartialObjectMetadata{}
			if err := json.Unmarshal(table.Rows[i].Object.Raw, &row); err != nil {
				t.Fatal(err)
			}
			names = append(names, row.Name)
		}
		if !next(event.Type, names) {
			return
		}
	}
}

// testTable lists and watches as kubectl does.
func (p *membershipPlane) testTable(t *testing.T) {
	members := []gardenerv1beta1.ProjectMember{olivia(), member("User", "tara")}
	mine := p.create(t, "table-", gardenerv1beta1.ProjectSpec{Members: members})
	theirs := p.create(t, "table-", gardenerv1beta1.ProjectSpec{Members: members[:1]})
	config := rest.CopyConfig(p.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: "tara", Groups: []string{"system:authenticated"}}
	tables(t, config, "limit=500", func(_ string, names []string) bool {
		if !slices.Equal(names, []string{mine.Name}) {
			t.Errorf("tara lists %q", names)
		}
		return false
	})
	seen := map[string][]string{}
	tables(t, config, "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", func(kind string, names []string) bool {
		if kind == string(watch.Bookmark) { // the initial events have ended: now she becomes a member of the other one, and ceases to be one of hers
			if len(seen) == 1 {
				p.setMembers(t, theirs, members)
				p.setMembers(t, mine, members[:1])
			}
			return true
		}
		seen[kind] = append(seen[kind], names...)
		return kind != string(watch.Deleted)
	})
	if got := seen[string(watch.Added)]; !slices.Equal(got, []string{mine.Name, theirs.Name}) {
		t.Errorf("added %q", got)
	}
	if got := seen[string(watch.Deleted)]; !slices.Equal(got, []string{mine.Name}) {
		t.Errorf("deleted %q", got)
	}
}
