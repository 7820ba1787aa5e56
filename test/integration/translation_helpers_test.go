// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// host adds a host to the fake, unless it has one of that name, and returns its id.
func (n *network) host(name string) string {
	n.t.Helper()
	var response struct{ ID string }
	n.page(http.MethodPut, "hosts/"+name, nil, &response)
	return response.ID
}

// annotated waits until a Node has the id of its host.
func (n *network) annotated(node *corev1.Node, id string) {
	n.t.Helper()
	eventually(n.t, func(ctx context.Context) error {
		if err := n.c.Get(ctx, client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		if got := node.Annotations[midonetv1.AnnotationHostID]; got != id {
			return fmt.Errorf("node %s has host %q, want %q", node.Name, got, id)
		}
		return nil
	})
}

// fails sets a fault of the fake, as a person would write it.
func (n *network) fails(fault map[string]any) {
	n.t.Helper()
	n.page(http.MethodPost, "faults", fault, nil)
}

// heal takes all faults away.
func (n *network) heal() { n.t.Helper(); n.page(http.MethodDelete, "faults", nil, nil) }

// stopManager ends the manager; startManager starts it.
func (n *network) stopManager() {
	n.t.Helper()
	if err := n.Managers[0].Stop(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
}

func (n *network) startManager(flags ...string) {
	n.t.Helper()
	if err := n.Managers[0].Start(n.t.Context(), flags...); err != nil {
		n.t.Fatal(err)
	}
}

// compared waits until the manager has compared the backend with the Translations, from beginning to end, since now.
func (n *network) compared() {
	n.t.Helper()
	passes := func() int {
		total := 0
		for _, c := range n.requests().Counts {
			if c.Method == http.MethodGet && c.Path == "/routers" && c.Code == http.StatusOK {
				total += c.Requests
			}
		}
		return total
	}
	before := passes()
	eventually(n.t, func(context.Context) error {
		if now := passes(); now < before+2 { // the one before the second has exited
			return fmt.Errorf("%d passes", now-before)
		}
		return nil
	})
}

// stays fails when something is written that was settled.
func (n *network) stays() {
	n.t.Helper()
	before := revisions(n)
	n.clearRequests()
	n.compared()
	if seen := n.requests(); seen.by(http.MethodPost, http.MethodPut, http.MethodDelete) > 0 {
		n.t.Errorf("written though nothing changed: %+v", seen)
	}
	if after := revisions(n); fmt.Sprint(before) != fmt.Sprint(after) {
		n.t.Errorf("translations were written though nothing changed: before %v, after %v", before, after)
	}
}

// eventsOn returns the events of Groundskeeper's controllers on an object, with a reason; empty: any. Kubernetes reports Services,
// too: that it repairs the allocation of an address.
func (n *network) eventsOn(ctx context.Context, object client.Object, reason string) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	fields := client.MatchingFields{"involvedObject.name": object.GetName()}
	if reason != "" {
		fields["reason"] = reason
	}
	if err := n.c.List(ctx, list, fields); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != object.GetUID() || !strings.HasPrefix(e.ReportingController, "translation-")
	}), nil
}

// Waits for an event on an object with a reason and words in its message.
func (n *network) reported(object client.Object, reason string, words ...string) {
	n.t.Helper()
	eventually(n.t, func(ctx context.Context) error {
		events, err := n.eventsOn(ctx, object, reason)
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Type == corev1.EventTypeWarning && containsAll(event.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("%s has no event %s with %q: %+v", object.GetName(), reason, words, events)
	})
}

func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// reads waits for a status of a Translation: a reason of Synced, whether it is stalled, and words in the message.
func (n *network) reads(key client.ObjectKey, reason string, stalled bool, words ...string) midonetv1.Translation {
	n.t.Helper()
	t := midonetv1.Translation{}
	eventually(n.t, func(ctx context.Context) error {
		t = midonetv1.Translation{}
		if err := n.c.Get(ctx, key, &t); err != nil {
			return err
		}
		synced := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionSynced)
		if synced == nil || synced.Reason != reason || !containsAll(synced.Message, words) || t.Status.ObservedGeneration != t.Generation ||
			meta.IsStatusConditionTrue(t.Status.Conditions, midonetv1.ConditionStalled) != stalled {
			return fmt.Errorf("translation %s should be %s, stalled %t, with %q: %+v", key, reason, stalled, words, t.Status)
		}
		return nil
	})
	return t
}

// owned returns the Translations of an object, by name.
func (n *network) owned(ctx context.Context, owner client.Object) (map[string]types.UID, error) {
	list := &midonetv1.TranslationList{}
	if err := n.c.List(ctx, list, client.MatchingLabels{midonetv1.LabelOwnerUID: string(owner.GetUID())}); err != nil {
		return nil, err
	}
	found := map[string]types.UID{}
	for _, t := range list.Items {
		found[t.Name] = t.UID
	}
	return found, nil
}

// kubectl runs it as an administrator and returns its output.
func (n *network) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(n.t.Context(), n.Kubectl(), append([]string{"--kubeconfig=" + n.AdminKubeconfig()}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// let lets Translations go without the pusher, which would clear up in the backend. A finalizer that is taken from one
// that lives comes back.
func (n *network) let(translations ...midonetv1.Translation) {
	n.t.Helper()
	for i := range translations {
		t := &translations[i]
		n.delete(t)
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := n.c.Patch(n.t.Context(), t, patch); client.IgnoreNotFound(err) != nil {
			n.t.Fatal(err)
		}
	}
}

// neverPanicked searches all output of the managers since the plane began.
func (n *network) neverPanicked() {
	n.t.Helper()
	for _, manager := range n.Managers {
		log, err := os.ReadFile(manager.LogFile())
		if err != nil {
			n.t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if lower := strings.ToLower(line); strings.Contains(lower, "panic") || strings.HasPrefix(lower, "goroutine ") {
				n.t.Fatalf("%s printed: %s", manager.Name(), line)
			}
		}
	}
}
