// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func klusterIn(phase kubernikusv1.KlusterPhase, name string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: name, UID: "uid-" + "k"}, Status: kubernikusv1.KlusterStatus{Phase: phase}}
}

func readyProject() *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "uid-p"}, Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-shop")},
		Status: gardenerv1beta1.ProjectStatus{Phase: gardenerv1beta1.ProjectReady}}
}

// The page shows objects with findings, and each change of them, also when it was opened earlier.
func TestStreamFollowsChanges(t *testing.T) {
	w, reading := newWorld(t, readyProject(), klusterIn(kubernikusv1.KlusterRunning, "web"), klusterIn(kubernikusv1.KlusterPending, "db"))
	b := open(t, optionsOf(reading)).follow()
	w.watched(t, 2)
	b.until("row of the pending Kluster", func() bool { return b.rows["kluster/garden-shop/db"] != nil && !b.checked("Projects").Loading })
	if c := b.checked("Klusters"); c.Count != 2 || c.Warnings != 1 || c.Problem != "" || len(b.rows) != 1 {
		t.Errorf("Klusters = %+v with %d rows, want 2, 1 with a warning", c, len(b.rows))
	}
	change := func(name string, phase kubernikusv1.KlusterPhase) {
		k := klusterIn("", name)
		w.ChangeStatus(k, func() { k.Status.Phase = phase })
	}
	change("db", kubernikusv1.KlusterRunning)
	b.until("end of the finding", func() bool { return len(b.rows) == 0 })
	change("web", kubernikusv1.KlusterPending)
	b.until("new finding", func() bool { return b.rows["kluster/garden-shop/web"] != nil })
	if b.last.Reset || !slices.Contains(b.last.Touched, "kluster/garden-shop/web") {
		t.Errorf("delta = %+v, want only the changed Kluster", b.last)
	}
	w.Remove(klusterIn("", "web"))
	b.until("deletion", func() bool { return len(b.rows) == 0 && b.checked("Klusters").Count == 1 })

	var results Results
	b.read("/api/search?q=shop", &results)
	labels := []string{}
	for _, f := range results.Found {
		labels = append(labels, f.Kind+" "+f.label())
	}
	if want := []string{"Projects shop", "Klusters garden-shop/db"}; !slices.Equal(labels, want) || results.Total != 2 {
		t.Errorf("search = %q of %d, want %q", labels, results.Total, want)
	}
}

// The page shows the first page of a list while the next one is read. What is not in a list is removed at its end, and stays if the list
// fails.
func TestListInPages(t *testing.T) {
	for name, failure := range map[string]error{"complete": nil, "the second page fails": errors.New("timeout")} {
		t.Run(name, func(t *testing.T) {
			_, reading := newWorld(t)
			o := optionsOf(reading)
			s := newStore(o)
			names := func() (all []string) {
				found, _ := s.search(search{kind: "Klusters", limit: 10})
				for _, f := range found {
					all = append(all, f.label())
				}
				return all
			}
			s.set("Klusters", klusterIn(kubernikusv1.KlusterPending, "deleted"))
			var during []string
			paged := interceptor.NewClient(reading, interceptor.Funcs{
				List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					klusters := list.(*kubernikusv1.KlusterList)
					klusters.ResourceVersion = "5"
					if (&client.ListOptions{}).ApplyOptions(options).Continue == "" {
						klusters.Continue, klusters.Items = "next", []kubernikusv1.Kluster{*klusterIn(kubernikusv1.KlusterPending, "a")}
						return nil
					}
					during = names()
					klusters.Items = []kubernikusv1.Kluster{*klusterIn(kubernikusv1.KlusterRunning, "b")}
					return failure
				},
			})
			f := &follower{options: o, kind: o.Kinds[1], store: s, client: paged}
			if err := f.list(t.Context()); !errors.Is(err, failure) {
				t.Fatalf("list = %v, want %v", err, failure)
			}
			if want := []string{"garden-shop/a", "garden-shop/deleted"}; !slices.Equal(during, want) {
				t.Errorf("while the second page is read there are %q, want %q", during, want)
			}
			want, version := []string{"garden-shop/a", "garden-shop/b"}, "5"
			if failure != nil {
				want, version = during, ""
			}
			if got := names(); !slices.Equal(got, want) || f.version != version || s.kinds["Klusters"].loaded != (failure == nil) {
				t.Errorf("at the end there are %q of version %q, loaded %t, want %q and %q", got, f.version, s.kinds["Klusters"].loaded, want, version)
			}
		})
	}
}

// While the API server does not respond, the page shows the last state, and that it is not current.
func TestOutageKeepsTheLastState(t *testing.T) {
	w, reading := newWorld(t, klusterIn(kubernikusv1.KlusterPending, "db"))
	b := open(t, optionsOf(reading)).follow()
	w.watched(t, 2)
	b.until("row", func() bool { return len(b.rows) == 1 })
	w.fail("klusters", errors.New("connection refused"))
	b.until("problem", func() bool { return b.checked("Klusters").Problem == "connection refused" })
	if c := b.checked("Klusters"); c.Since == nil || !c.Since.Equal(noon) || c.Count != 1 || len(b.rows) != 1 {
		t.Errorf("Klusters = %+v with %d rows, want the last state and its time", c, len(b.rows))
	}
	w.Remove(klusterIn("", "db"))
	w.fail("klusters", nil)
	b.until("recovery", func() bool { return b.checked("Klusters").Problem == "" && len(b.rows) == 0 })
}

// A user with few permissions sees what is allowed, and what is not; what is no longer allowed is discarded.
func TestMissingPermissions(t *testing.T) {
	w, reading := newWorld(t, readyProject(), klusterIn(kubernikusv1.KlusterPending, "db"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "projects"}, "", nil)
	w.fails["projects"] = forbidden
	b := open(t, optionsOf(reading)).follow()
	b.until("both kinds", func() bool { return len(b.rows) == 1 && b.checked("Projects").Problem != "" })
	if got, want := b.checked("Projects").Problem, "you are not allowed to list Projects"; got != want {
		t.Errorf("problem = %q, want %q", got, want)
	}
	w.fail("klusters", forbidden)
	b.until("removal", func() bool { return len(b.rows) == 0 && b.checked("Klusters").Count == 0 })
	var results Results
	if b.read("/api/search?q=db", &results); results.Total != 0 {
		t.Errorf("search finds %+v, which is no longer allowed", results.Found)
	}
}

// A console for one namespace lists only that.
func TestOneNamespace(t *testing.T) {
	other := klusterIn(kubernikusv1.KlusterPending, "web")
	other.Namespace = "garden-other"
	_, reading := newWorld(t, readyProject(), klusterIn(kubernikusv1.KlusterPending, "db"), other)
	o := optionsOf(reading)
	o.Namespace = "garden-shop"
	b := open(t, o).follow()
	b.until("row", func() bool { return len(b.rows) > 0 })
	if len(b.rows) != 1 || b.rows["kluster/garden-shop/db"] == nil || len(b.last.Checked) != 1 || b.last.Namespace != "garden-shop" {
		t.Errorf("rows = %v, checked = %+v, want only those of garden-shop", b.rows, b.last.Checked)
	}
}

// A Kluster that was deleted while the console runs stays on the page, with what is left over.
func TestFinishedDeorbit(t *testing.T) {
	k := klusterIn(kubernikusv1.KlusterTerminating, "web")
	k.Finalizers = []string{kubernikusv1.DeorbiterFinalizer}
	k.DeletionTimestamp = new(metav1.NewTime(noon))
	k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitRelease, Remaining: []kubernikusv1.DeorbitObject{{Kind: "Volume", ID: "v1", Reason: "in use"}}}
	w, reading := newWorld(t, k)
	b := open(t, optionsOf(reading)).follow()
	w.watched(t, 2)
	b.until("row", func() bool { return len(b.rows) == 1 })
	if row := b.rows["kluster/garden-shop/web"]; row.Deorbit == nil || len(row.Deorbit.Stages) != len((&kubernikusv1.Kluster{}).DeorbitStages()) {
		t.Errorf("row = %+v, want the stages", row)
	}
	w.Change(k, func() { k.Finalizers = nil })
	b.until("end", func() bool { return len(b.rows) == 0 && len(b.last.Finished) == 1 })
	if f := b.last.Finished[0]; f.Name != "web" || len(f.Deorbit.Remaining) != 1 || f.Deorbit.Remaining[0].ID != "v1" {
		t.Errorf("finished = %+v, want the leftover", f)
	}
}

func TestObject(t *testing.T) {
	project := readyProject()
	project.Status.Conditions = []gardenerv1beta1.Condition{{Type: "Stale", Status: "False", Reason: "Used", Message: "by a Kluster"}}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, InvolvedObject: corev1.ObjectReference{UID: "uid-p"},
		Type: corev1.EventTypeWarning, Reason: "ProjectStale", Message: "it is unused", LastTimestamp: metav1.NewTime(noon)}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: "q"},
		Status: corev1.ResourceQuotaStatus{Hard: quantities("pods", "4", "secrets", "10"), Used: quantities("pods", "3", "secrets", "1")}}
	_, reading := newWorld(t, project, event, quota, klusterIn(kubernikusv1.KlusterRunning, "web"))
	b := open(t, optionsOf(reading)).follow()
	b.until("lists", func() bool { return b.checked("Klusters").Count == 1 })
	var o Object
	b.read("/api/object?"+url.Values{"kind": {"project"}, "name": {"shop"}}.Encode(), &o)
	if len(o.Conditions) != 1 || o.Conditions[0].Message != "by a Kluster" || len(o.Events) != 1 || o.Events[0].Reason != "ProjectStale" {
		t.Errorf("object = %+v, want a condition and an event", o)
	}
	if p := o.Project; p == nil || p.Namespace != "garden-shop" || fmt.Sprint(p.Quotas) != "[{pods 3 4 75} {secrets 1 10 10}]" || fmt.Sprint(p.Contents) != "[{Klusters 1 }]" {
		t.Errorf("project = %+v, want its quota and contents", o.Project)
	}
	if code, body := b.get("/docs/" + o.Docs); code != http.StatusOK || !strings.HasPrefix(body, "# ") {
		t.Errorf("the documentation of the object = %d %.60s, want its page", code, body)
	}
	if code, body := b.get("/api/object?kind=project&name=none"); code != http.StatusNotFound || !strings.Contains(body, "not found") {
		t.Errorf("missing object = %d %s, want 404", code, body)
	}
	if code, body := b.get("/api/object?kind=secret&namespace=garden-shop&name=none"); code != http.StatusNotFound || !strings.Contains(body, "not a kind") {
		t.Errorf("object of another kind = %d %s, want 404", code, body)
	}
}

// The page contains no code or style inside of documents, which its policy forbids, and no address outside of the console.
func TestAssets(t *testing.T) {
	addresses := regexp.MustCompile(`https?://[^\s"'` + "`" + `)]+`)
	err := fs.WalkDir(assets, "assets", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "licenses.txt") {
			return err
		}
		data, err := fs.ReadFile(assets, path)
		if err != nil {
			return err
		}
		for _, address := range addresses.FindAllString(string(data), -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") { // names of XML namespaces
				t.Errorf("%s contains %s", path, address)
			}
		}
		if strings.HasSuffix(path, ".html") && regexp.MustCompile(`<style|style=|<script[^>]*>[^<]|\son\w+=`).Match(data) {
			t.Errorf("%s contains code or style", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
